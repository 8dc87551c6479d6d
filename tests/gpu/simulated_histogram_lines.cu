// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Histograms along an axis and of segments in the simulator: right under every schedule and without a finding, and what
// they read. simulated.cu sets the machine up.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "../axis_histogram_cases.hpp"
#include "../segmented_histogram_cases.hpp"
#include "schedules.hpp"

namespace up = upsweep;
namespace sim = upsweep::simulator;
using namespace upsweep::test;

namespace {

void expect_lines(const shape<2>& s, std::size_t axis, std::size_t bins, const std::vector<sim::schedule>& schedules)
{
    auto random = generator();
    under_schedules(schedules, [&] {
        expect_histograms_along<up::cuda, float, std::uint64_t>(s, axis, up::even_bins{-3, 5, bins}, random);
    });
}

// Few lines, which are cut among blocks; many short ones, each group a warp's; and lines that a block has as a whole.
TEST(simulated_histogram_lines, columns_cut_among_blocks) { expect_lines({{1500, 16}, {16, 1}}, 0, 20, schedules(30)); }
TEST(simulated_histogram_lines, one_block_comes_last_to_the_columns)
{
    expect_lines({{1500, 16}, {16, 1}}, 0, 20, unfair_schedules(3));
}
TEST(simulated_histogram_lines, columns_of_warps) { expect_lines({{7, 3100}, {3100, 1}}, 0, 5, schedules(10)); }
TEST(simulated_histogram_lines, lines_that_lie_apart) { expect_lines({{30, 90}, {200, 2}}, 1, 9, schedules(20)); }

void expect_segments_under(const std::vector<sim::schedule>& schedules)
{
    auto random = generator();
    const host_array<float> samples = random_samples<float>(random, 20'000);
    std::vector<std::int32_t> offsets{5, 5, 6, 6, 40};
    for (int k = 0; k < 30; ++k)
        offsets.push_back(offsets.back() + k % 5);
    for (const int end : {9000, 9001, 9001, 19'000, 19'999})
        offsets.push_back(end);
    const std::size_t segments = offsets.size() - 1;
    const up::even_bins bins{-20, 110, 9};
    const auto place = places<float>(bins);
    std::vector<std::uint64_t> expected(segments * 9);
    std::vector<up::outside> beside(segments);
    for (std::size_t k = 0; k < segments; ++k)
        for (auto i = static_cast<std::size_t>(offsets[k]); i < static_cast<std::size_t>(offsets[k + 1]); ++i)
            count_place(place(samples[i]), expected.data() + k * 9, 9, beside[k]);
    under_schedules(schedules, [&] {
        const target_array<up::cuda, float> in(samples.span());
        const target_array<up::cuda, std::int32_t> cuts{std::span<const std::int32_t>(offsets)};
        expect_segments<up::cuda, std::uint64_t>(expected, beside, [&](const up::cuda& gpu, auto counts, auto outside) {
            up::segmented_histogram(gpu, in.const_span(), cuts.const_span(), bins, counts, outside);
        });
    });
}

TEST(simulated_histogram_lines, segments_under_schedules) { expect_segments_under(schedules(40)); }
TEST(simulated_histogram_lines, one_block_comes_last_to_the_segments) { expect_segments_under(unfair_schedules(3)); }

// Each sample is read once, by full transactions, and the offsets some times.
TEST(simulated_histogram_lines, what_is_read)
{
    constexpr std::size_t count = 32 * 1024;
    auto random = generator();
    const target_array<up::cuda, float> in(random_samples<float>(random, count).span());
    target_array<up::cuda, std::uint64_t> counts(512 * 8);
    target_array<up::cuda, up::outside> beside(512);
    const up::cuda gpu;
    const up::even_bins bins{-20, 110, 8};
    const auto columns = counted([&] {
        up::histogram(gpu, up::view(in.const_span().data(), {64, 512}), up::axis{0}, bins,
                      up::view(counts.span().data(), {8, 512}), beside.span());
    });
    EXPECT_EQ(columns.load_bytes, count * sizeof(float));
    EXPECT_EQ(columns.load_bytes_moved, count * sizeof(float));
    std::vector<std::int64_t> offsets;
    for (std::size_t k = 0; k <= 512; ++k)
        offsets.push_back(static_cast<std::int64_t>(64 * k));
    const target_array<up::cuda, std::int64_t> cuts{std::span<const std::int64_t>(offsets)};
    const auto segments = counted(
        [&] { up::segmented_histogram(gpu, in.const_span(), cuts.const_span(), bins, counts.span(), beside.span()); });
    EXPECT_GE(segments.load_bytes, count * sizeof(float));
    EXPECT_LE(segments.load_bytes, count * sizeof(float) + 128 * 1024);
}

} // namespace
