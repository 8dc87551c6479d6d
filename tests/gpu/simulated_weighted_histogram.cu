// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Weighted histograms of the GPU engine in the simulator: right under every schedule, without a finding, and as cheap
// as they are meant to be. simulated.cu sets the machine up.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/histogram.hpp>
#include <upsweep/weighted_histogram.hpp>

#include "../expected.hpp"
#include "../samples.hpp"
#include "../targets.hpp"
#include "schedules.hpp"

namespace up = upsweep;
namespace sim = upsweep::simulator;
using namespace upsweep::test;

namespace {

template <class W>
void expect_same_sums(std::size_t n, std::size_t bins, bool skewed, const std::vector<sim::schedule>& schedules)
{
    using sum = up::weight_sum_t<W>;
    auto random = generator();
    host_array<std::int32_t> samples(n);
    for (std::int32_t& sample : samples)
        sample = skewed && random() % 4 != 0 ? 3 : static_cast<std::int32_t>(random() % (bins + 2));
    const host_array<W> weights = random_array<W>(random, n);
    const up::integer_bins integers{1, bins};
    host_array<sum> expected(bins);
    const auto out_of_range =
        up::weighted_histogram(up::cpu{}, samples.span(), weights.span(), integers, expected.span());
    under_schedules(schedules, [&] {
        const target_array<up::cuda, std::int32_t> in(samples.span());
        const target_array<up::cuda, W> weights_there(weights.span());
        target_array<up::cuda, sum> sums(bins);
        EXPECT_EQ(
            up::weighted_histogram(up::cuda{}, in.const_span(), weights_there.const_span(), integers, sums.span()),
            out_of_range);
        EXPECT_TRUE(bits_equal(sums.to_host(), expected));
    });
}

TEST(simulated_weighted_histogram, a_copy_for_each_lane_under_60_schedules)
{
    expect_same_sums<float>(3000, 20, false, schedules(60));
}
TEST(simulated_weighted_histogram, a_table_that_lanes_share)
{
    expect_same_sums<float>(3000, 7000, true, schedules(20));
}
TEST(simulated_weighted_histogram, no_table) { expect_same_sums<double>(2000, 19000, true, schedules(0)); }
TEST(simulated_weighted_histogram, integers) { expect_same_sums<std::int64_t>(3000, 900, true, schedules(8)); }
TEST(simulated_weighted_histogram, one_block_comes_last)
{
    expect_same_sums<float>(3000, 20, false, unfair_schedules(3));
}
TEST(simulated_weighted_histogram, one_block_comes_last_to_sums_of_all_blocks)
{
    expect_same_sums<float>(3000, 600, true, unfair_schedules(3));
}

// Calls on one target find the sums as zeros, whatever the calls before were.
TEST(simulated_weighted_histogram, one_target_for_many_calls)
{
    auto random = generator();
    const up::cuda gpu;
    for (const std::size_t bins : {10, 20000, 3, 5000, 300}) {
        const std::size_t n = 1 + random() % 3000;
        const host_array<std::int16_t> samples = random_array<std::int16_t>(random, n);
        const host_array<double> weights = random_array<double>(random, n);
        const target_array<up::cuda, std::int16_t> in(samples.span());
        const target_array<up::cuda, double> weights_there(weights.span());
        const up::integer_bins integers{-30000, bins};
        host_array<double> expected(bins);
        target_array<up::cuda, double> sums(bins);
        EXPECT_EQ(up::weighted_histogram(gpu, in.const_span(), weights_there.const_span(), integers, sums.span()),
                  up::weighted_histogram(up::cpu{}, samples.span(), weights.span(), integers, expected.span()));
        EXPECT_TRUE(bits_equal(sums.to_host(), expected)) << bins << " bins";
        std::vector<std::uint64_t> counts(bins);
        target_array<up::cuda, std::uint64_t> counts_there(bins);
        EXPECT_EQ(up::histogram(gpu, in.const_span(), integers, counts_there.span()),
                  up::histogram(up::cpu{}, samples.span(), integers, counts));
        EXPECT_TRUE(std::ranges::equal(counts_there.to_host(), counts)) << bins << " bins";
    }
}

constexpr std::size_t weighted_samples = 24 * 1024;

sim::counters cost_of(std::size_t bins, std::int32_t stride)
{
    host_array<std::int32_t> samples(weighted_samples);
    host_array<float> weights(weighted_samples);
    for (std::size_t i = 0; i < weighted_samples; ++i) {
        samples[i] = static_cast<std::int32_t>(i) * stride % static_cast<std::int32_t>(bins);
        weights[i] = 1 + static_cast<float>(i % 64) / 64;
    }
    const target_array<up::cuda, std::int32_t> in(samples.span());
    const target_array<up::cuda, float> weights_there(weights.span());
    target_array<up::cuda, float> sums(bins);
    const up::cuda gpu;
    const auto sum = [&] {
        (void)up::weighted_histogram(gpu, in.const_span(), weights_there.const_span(), up::integer_bins{0, bins},
                                     sums.span());
    };
    sum();
    return counted(sum);
}

// Samples and weights are read once, by full transactions; some of the weights once more, for the scale.
TEST(simulated_weighted_histogram, arrays_are_read_once)
{
    const auto cost = cost_of(100, 1);
    constexpr std::uint64_t scale = 3 * 1024 * 32;
    constexpr std::uint64_t overhead = 64 * 1024; // of the sums
    EXPECT_GE(cost.load_bytes, weighted_samples * 8);
    EXPECT_LE(cost.load_bytes_moved, weighted_samples * 8 + scale + overhead);
}

// Few bins: no two lanes of a warp share a word, nor a bank, though all samples are the same.
TEST(simulated_weighted_histogram, constant_samples_do_not_meet_in_few_bins)
{
    const auto cost = cost_of(100, 0);
    EXPECT_LE(cost.atomic_replays, 32U * 3); // of choosing the scale
    EXPECT_EQ(cost.bank_conflicts, 0U);
}

// Many bins: the lanes of a warp add up what they have for one bin before they meet there.
TEST(simulated_weighted_histogram, constant_samples_do_not_meet_in_many_bins)
{
    const auto cost = cost_of(9000, 0);
    EXPECT_LE(cost.atomic_replays, 500U);
}

} // namespace
