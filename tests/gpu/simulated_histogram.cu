// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Histograms of the GPU engine in the simulator: right under every schedule, without a finding, and as cheap as they
// are meant to be. simulated.cu sets the machine up.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/histogram.hpp>

#include "../samples.hpp"
#include "../targets.hpp"
#include "schedules.hpp"

namespace up = upsweep;
namespace sim = upsweep::simulator;
using namespace upsweep::test;

namespace {

// The histogram of random integers below `bins` and a few beyond, under the schedules.
template <class T = std::uint32_t>
void expect_same_counts(std::size_t n, std::size_t bins, const std::vector<sim::schedule>& schedules)
{
    auto random = generator();
    host_array<T> samples(n);
    for (T& sample : samples)
        sample = static_cast<T>(random() % (bins + 2));
    const up::integer_bins integers{1, bins};
    std::vector<std::uint64_t> expected(bins);
    const auto out_of_range = up::histogram(up::cpu{}, samples.span(), integers, expected);
    under_schedules(schedules, [&] {
        const target_array<up::cuda, T> in(samples.span());
        target_array<up::cuda, std::uint64_t> counts(bins);
        EXPECT_EQ(up::histogram(up::cuda{}, in.const_span(), integers, counts.span()), out_of_range);
        EXPECT_TRUE(std::ranges::equal(counts.to_host(), expected));
    });
}

TEST(simulated_histogram, few_samples_under_200_schedules) { expect_same_counts(5000, 20, schedules(200)); }
TEST(simulated_histogram, few_bytes_under_schedules) { expect_same_counts<std::uint8_t>(20001, 200, schedules(20)); }
TEST(simulated_histogram, few_bins_under_schedules) { expect_same_counts(50000, 20, schedules(10)); }
TEST(simulated_histogram, bytes_under_schedules) { expect_same_counts<std::uint8_t>(100001, 200, schedules(4)); }
TEST(simulated_histogram, totals_taken_by_all_blocks) { expect_same_counts(5000, 5000, schedules(20)); }
TEST(simulated_histogram, a_table_for_two_blocks) { expect_same_counts(9000, 65536, schedules(8)); }
TEST(simulated_histogram, partitions) { expect_same_counts(16384 * 2 + 100, 120000, schedules(8)); }
TEST(simulated_histogram, one_block_comes_last)
{
    expect_same_counts(5000, 20, unfair_schedules(3));
    expect_same_counts(50000, 20, unfair_schedules(3));
}
TEST(simulated_histogram, one_block_comes_last_to_the_partitions)
{
    expect_same_counts(16384 * 4 + 100, 120000, unfair_schedules(3));
}

// Calls on one target find the counters as zeros, whatever the calls before were.
TEST(simulated_histogram, one_target_for_many_calls)
{
    auto random = generator();
    const up::cuda gpu;
    for (const std::size_t bins : {10, 70000, 3, 5000, 120000, 256, 70000}) {
        const host_array<std::int16_t> samples = random_array<std::int16_t>(random, 1 + random() % 4000);
        const target_array<up::cuda, std::int16_t> in(samples.span());
        const up::integer_bins integers{-30000, bins};
        std::vector<std::uint64_t> expected(bins);
        target_array<up::cuda, std::uint64_t> counts(bins);
        EXPECT_EQ(up::histogram(gpu, in.const_span(), integers, counts.span()),
                  up::histogram(up::cpu{}, samples.span(), integers, expected));
        EXPECT_TRUE(std::ranges::equal(counts.to_host(), expected)) << bins << " bins";
    }
}

template <class T, class Bins>
sim::counters cost_in(const Bins& bins, const host_array<T>& samples)
{
    const target_array<up::cuda, T> in(samples.span());
    target_array<up::cuda, std::uint64_t> counts(bins.count);
    const up::cuda gpu;
    const auto count = [&] { (void)up::histogram(gpu, in.const_span(), bins, counts.span()); };
    count();
    return counted(count);
}

sim::counters cost_of(const host_array<std::int32_t>& samples, std::size_t bins)
{
    return cost_in(up::integer_bins{0, bins}, samples);
}

constexpr std::size_t many = 50 * 1024; // more than the blocks of the simulated GPU have in registers at once

// Each sample is read once, by full transactions.
TEST(simulated_histogram, samples_are_read_once)
{
    host_array<std::int32_t> samples(many);
    for (std::size_t i = 0; i < many; ++i)
        samples[i] = static_cast<std::int32_t>(i % 500);
    const auto cost = cost_of(samples, 500);
    constexpr std::uint64_t overhead = 32 * 1024; // of the totals
    EXPECT_GE(cost.load_bytes, many * 4);
    EXPECT_LE(cost.load_bytes_moved, many * 4 + overhead);
}

// The blocks of a cluster that have half a table each do not read the samples of one another.
TEST(simulated_histogram, halves_of_a_table_cost_no_second_read)
{
    constexpr std::size_t bins = 65536;
    host_array<std::int32_t> samples(many);
    for (std::size_t i = 0; i < many; ++i)
        samples[i] = static_cast<std::int32_t>(i * 2'654'435'761U % bins);
    const target_array<up::cuda, std::int32_t> in(samples.span());
    target_array<up::cuda, std::uint64_t> counts(bins);
    const up::cuda gpu;
    const sim::recording recorded;
    (void)up::histogram(gpu, in.const_span(), up::integer_bins{0, bins}, counts.span());
    expect_nothing_found(recorded);

    // Of the loads of samples alone: blocks that wait for one another load as often as the schedule lets them.
    std::uint64_t moved = 0;
    for (const sim::line_report& line : recorded.launches().back().lines)
        if (line.where.file.ends_with("source/array.cuh"))
            moved += line.counts.load_bytes_moved;
    EXPECT_EQ(moved, many * 4);
}

// Few bins: no two lanes of a warp share a counter, nor a bank, though all samples are the same.
TEST(simulated_histogram, constant_samples_do_not_meet_in_few_bins)
{
    host_array<std::int32_t> samples(many);
    std::ranges::fill(samples, 77);
    const auto cost = cost_of(samples, 100);
    EXPECT_EQ(cost.atomic_replays, 0U);
    EXPECT_EQ(cost.bank_conflicts, 0U);
}

// Many bins: the instruction adds up what lanes count at one address; samples a stride apart are spread over the banks.
TEST(simulated_histogram, strides_do_not_meet_in_a_bank)
{
    for (const int stride : {32, 1024}) {
        host_array<std::int32_t> samples(many);
        for (std::size_t i = 0; i < many; ++i)
            samples[i] = static_cast<std::int32_t>(i) / 4 % 32 * stride; // the lanes of a warp, four samples each
        EXPECT_LE(cost_of(samples, 32768).worst_bank, 2U) << "stride " << stride;
    }
}

// Samples that are all alike are sorted by partition without two lanes that meet at an address or in a bank.
TEST(simulated_histogram, constant_samples_do_not_meet_in_partitions)
{
    host_array<std::int32_t> samples(many);
    std::ranges::fill(samples, 77);
    EXPECT_LE(cost_of(samples, 120000).worst_bank, 2U);
}

// Edges of even bins are computed where a sample is compared with one: nobody reads them.
TEST(simulated_histogram, even_bins_have_no_table)
{
    host_array<float> floats(many);
    host_array<std::int32_t> integers(many);
    for (std::size_t i = 0; i < many; ++i)
        floats[i] = static_cast<float>(integers[i] = static_cast<std::int32_t>(i % 300));
    const auto loads = cost_of(integers, 100).shared_load_accesses;
    for (const double hi : {300.0, 250.0, 333.3}) {
        EXPECT_EQ(cost_in(up::even_bins{0, hi, 100}, floats).shared_load_accesses, loads) << hi;
        EXPECT_EQ(cost_in(up::even_bins{0, hi, 100}, integers).shared_load_accesses, loads) << hi;
    }
}

// Every sample is one atomic in shared memory; the totals are one a counter and block, and nobody waits for other
// blocks.
TEST(simulated_histogram, atomics_are_in_shared_memory)
{
    host_array<std::int32_t> samples(many);
    for (std::size_t i = 0; i < many; ++i)
        samples[i] = static_cast<std::int32_t>(i % 3);
    const auto cost = cost_of(samples, 3);
    EXPECT_EQ(cost.shared_atomic_accesses, many);
    EXPECT_LE(cost.global_atomic_accesses, 3U * (3 + 3));
    EXPECT_EQ(cost.fences, 0U);
}

// Nor where there are few samples, or bytes, of which several values go to a counter.
TEST(simulated_histogram, nobody_waits_for_other_blocks)
{
    host_array<std::int32_t> samples(5000);
    host_array<std::uint8_t> bytes(5000);
    for (std::size_t i = 0; i < samples.size(); ++i)
        bytes[i] = static_cast<std::uint8_t>(samples[i] = static_cast<std::int32_t>(i % 200));
    const auto cost = cost_of(samples, 200);
    EXPECT_EQ(cost.shared_atomic_accesses, samples.size());
    EXPECT_LE(cost.global_atomic_accesses, 2U * (200 + 3));
    EXPECT_EQ(cost.fences, 0U);
    const auto of_bytes = cost_in(up::even_bins{0, 200, 10}, bytes);
    EXPECT_EQ(of_bytes.shared_atomic_accesses, bytes.size() + 200);
    EXPECT_LE(of_bytes.global_atomic_accesses, 10U + 3);
    EXPECT_EQ(of_bytes.fences, 0U);
}

} // namespace
