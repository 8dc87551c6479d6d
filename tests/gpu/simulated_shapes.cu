// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Joint histograms and those of matrices in the simulator: right under every schedule, without a finding, and as cheap
// as they are meant to be. simulated.cu sets the machine up.
#include <cstdint>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "../joint_histogram_cases.hpp"
#include "../matrix_histogram_cases.hpp"
#include "schedules.hpp"

namespace up = upsweep;
namespace sim = upsweep::simulator;
using namespace upsweep::test;

namespace {

void expect_rows(const matrix_shape& shape, std::size_t bins, const std::vector<sim::schedule>& schedules)
{
    auto random = generator();
    const up::integer_bins integers{1, bins};
    under_schedules(schedules, [&] {
        const matrix_in_memory<up::cuda, std::uint16_t> memory(random, shape);
        expect_row_histograms<up::cuda>(memory.view(), memory.host_view(), integers, bins);
    });
}

TEST(simulated_shapes, rows_of_warps) { expect_rows({30, 70, 1, 0}, 20, schedules(40)); }
TEST(simulated_shapes, rows_shared_by_blocks) { expect_rows({2, 9000, 1, 0}, 50, schedules(20)); }
TEST(simulated_shapes, rows_in_parts) { expect_rows({2, 300, 0, 1}, 60000, schedules(4)); }
TEST(simulated_shapes, one_block_comes_last_to_the_rows) { expect_rows({2, 9000, 0, 0}, 50, unfair_schedules(3)); }

TEST(simulated_shapes, channels_under_schedules)
{
    auto random = generator();
    under_schedules(schedules(20), [&] {
        const matrix_in_memory<up::cuda, std::uint8_t> memory(random, {10, 300, 5, 1});
        for (const std::size_t channels : {3, 4, 6})
            expect_channel_histograms<up::cuda>(memory.view(), memory.host_view(), channels, up::even_bins{0, 99, 9},
                                                9);
    });
}

TEST(simulated_shapes, points_under_schedules)
{
    auto random = generator();
    under_schedules(schedules(20), [&] {
        expect_joint<up::cuda>(random_points<float, std::uint8_t>(random, 2000),
                               std::tuple{up::edges{0, 1, 2, 50}, up::even_bins{0, 90, 9}});
    });
}

TEST(simulated_shapes, pairs_of_bytes_under_schedules)
{
    auto random = generator();
    under_schedules(schedules(20), [&] {
        expect_joint<up::cuda>(random_points<std::uint8_t, std::int8_t>(random, 3000),
                               std::tuple{up::edges{0, 1, 2, 50}, up::even_bins{0, 90, 9}});
    });
    under_schedules(schedules(3), [&] {
        expect_joint<up::cuda>(random_points<std::uint8_t, std::int8_t>(random, 3000),
                               std::tuple{up::integer_bins{0, 200}, up::integer_bins{-99, 256}});
    });
}

// Of all launches of f().
template <class F>
sim::counters cost_of(F f)
{
    f();
    const sim::recording recorded;
    f();
    for (const auto& finding : recorded.findings())
        ADD_FAILURE() << finding.text();
    sim::counters sum{};
    for (const auto& launch : recorded.launches()) {
        sum.load_bytes += launch.total.load_bytes;
        sum.load_bytes_moved += launch.total.load_bytes_moved;
        sum.load_transactions += launch.total.load_transactions;
        sum.global_atomic_accesses += launch.total.global_atomic_accesses;
    }
    return sum;
}

constexpr std::uint64_t overhead = 48 * 1024; // of the totals

// Each input is read once, by full transactions.
TEST(simulated_shapes, points_are_read_once)
{
    constexpr std::size_t many = 24 * 1024;
    auto random = generator();
    const auto points = random_points<float, std::uint8_t>(random, many);
    const target_array<up::cuda, float> xs(std::get<0>(points).span());
    const target_array<up::cuda, std::uint8_t> ys(std::get<1>(points).span());
    target_array<up::cuda, std::uint64_t> counts(100);
    const up::cuda gpu;
    const auto cost = cost_of([&] {
        (void)up::joint_histogram(gpu, std::tuple{xs.const_span(), ys.const_span()},
                                  std::tuple{up::even_bins{0, 99, 10}, up::integer_bins{0, 10}}, counts.span());
    });
    EXPECT_GE(cost.load_bytes, many * 5);
    EXPECT_LE(cost.load_bytes_moved, many * 5 + overhead);
}

// So are the rows, though they begin anywhere: no sector is fetched twice but where two rows meet.
TEST(simulated_shapes, rows_are_read_once)
{
    auto random = generator();
    for (const matrix_shape& shape : {matrix_shape{200, 250, 6, 1}, matrix_shape{3, 20000, 6, 1}}) {
        const matrix_in_memory<up::cuda, std::uint8_t> memory(random, shape);
        const auto in = memory.view();
        target_array<up::cuda, std::uint64_t> counts(shape.rows * 20);
        target_array<up::cuda, up::outside> out_of_range(shape.rows);
        const up::cuda gpu;
        const up::integer_bins bins{0, 20};
        for (const int kind : {0, 1, 2}) {
            const auto cost = cost_of([&] {
                if (kind == 0)
                    (void)up::histogram(gpu, in, bins, counts.span().first(20));
                else if (kind == 1)
                    up::histogram_rows(gpu, in, bins, counts.span(), out_of_range.span());
                else
                    up::histogram_channels(gpu, in, 2, bins, counts.span().first(40), out_of_range.span().first(2));
            });
            EXPECT_GE(cost.load_bytes, in.size()) << name_of(shape) << ", " << kind;
            EXPECT_LE(cost.load_bytes, in.size() + overhead) << name_of(shape) << ", " << kind;
        }
    }
}

// Rows that a warp counts alone need no atomics in device memory.
TEST(simulated_shapes, short_rows_are_stored)
{
    auto random = generator();
    const matrix_in_memory<up::cuda, std::uint8_t> memory(random, {200, 256, 0, 0});
    target_array<up::cuda, std::uint64_t> counts(200 * 20);
    target_array<up::cuda, up::outside> out_of_range(200);
    const up::cuda gpu;
    const auto cost = cost_of([&] {
        up::histogram_rows(gpu, memory.view(), up::integer_bins{0, 20}, counts.span(), out_of_range.span());
    });
    EXPECT_EQ(cost.global_atomic_accesses, 0U);
    EXPECT_EQ(cost.load_bytes_moved, 200U * 256U);
}

} // namespace
