// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The kernels of the GPU engine in the simulator: right under every schedule, without a finding, and as cheap as they
// are meant to be.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/upsweep.hpp>

#include "../expected.hpp"
#include "../samples.hpp"
#include "../targets.hpp"
#include "schedules.hpp"
#include "upsweep/simulator/simulator.h"

namespace up = upsweep;
namespace sim = upsweep::simulator;
using namespace upsweep::test;

namespace {

// Some tiles and a piece of one. As many tiles as there are blocks at once, 24 here, have kernels of their own: 8192 or
// 16384 bytes each in a scan, 16384 in a reduce.
void reduce_under(const std::vector<sim::schedule>& schedules, std::size_t count)
{
    auto random = generator();
    const host_array<float> values = random_array<float>(random, count);
    const float expected = literal_fold(values.span(), up::plus{});
    under_schedules(schedules, [&] {
        const target_array<up::cuda, float> in(values.span());
        EXPECT_TRUE(bits_equal(up::reduce(up::cuda{}, in.const_span()), expected));
    });
}

TEST(simulated, reduce_of_few_tiles_under_200_schedules) { reduce_under(schedules(200), 5 * 4096 + 1234); }
TEST(simulated, reduce_of_more_tiles_under_100_schedules) { reduce_under(schedules(100), 13 * 8192 + 1234); }

template <class T = float>
void scan_under(const std::vector<sim::schedule>& schedules, std::size_t count)
{
    auto random = generator();
    const host_array<T> values = random_array<T>(random, count);
    const host_array<T> expected = literal_folds(values.span(), up::plus{});
    under_schedules(schedules, [&] {
        const target_array<up::cuda, T> in(values.span());
        target_array<up::cuda, T> out(values.size());
        up::inclusive_scan(up::cuda{}, in.const_span(), out.span());
        EXPECT_TRUE(bits_equal(out.to_host(), expected));
    });
}

TEST(simulated, scan_of_few_tiles_under_100_schedules) { scan_under(schedules(100), 9 * 2048 + 321); }
TEST(simulated, scan_of_few_larger_tiles_under_50_schedules) { scan_under(schedules(50), 13 * 4096 + 321); }
TEST(simulated, scan_of_more_tiles_under_15_schedules) { scan_under(schedules(15), 25 * 4096 + 321); }
TEST(simulated, scan_of_more_tiles_of_bytes) { scan_under<std::int8_t>(schedules(2), 25 * 16384 + 321); }

// The large tiles, of which a block takes the next when it has finished one.
TEST(simulated, scan_of_many_large_tiles)
{
    auto random = generator();
    const host_array<std::int32_t> values = random_array<std::int32_t>(random, 70 * 8192 + 5);
    const host_array<std::int32_t> expected = literal_folds(values.span(), up::plus{});
    under_schedules(schedules(4), [&] {
        target_array<up::cuda, std::int32_t> array(values.span());
        up::inclusive_scan(up::cuda{}, array.const_span(), array.span());
        EXPECT_TRUE(bits_equal(array.to_host(), expected));
    });
}

// Elements and results that begin anywhere, between others of the same array, which stay.
template <class T>
void scan_large_tiles_between(std::size_t offset_in, std::size_t offset_out, bool in_place = false)
{
    auto random = generator();
    const std::size_t n = 70 * 32768 / sizeof(T) + 5;
    const host_array<T> values = random_array<T>(random, n + 32);
    host_array<T> expected = in_place ? values : random_array<T>(random, n + 32);
    target_array<up::cuda, T> out(expected.span());
    const target_array<up::cuda, T> in(values.span());
    const auto folds = literal_folds(
        converted<up::scan_accumulator_t<up::plus, T>>(values.span().subspan(offset_in, n)).span(), up::plus{});
    std::ranges::copy(converted<T>(folds.span()), expected.begin() + static_cast<std::ptrdiff_t>(offset_out));

    const std::span<T> results = out.span().subspan(offset_out, n);
    const std::span<const T> elements = in_place ? results : in.const_span().subspan(offset_in, n);
    up::inclusive_scan(up::cuda{}, elements, results);
    EXPECT_TRUE(bits_equal(out.to_host(), expected)) << offset_in << " and " << offset_out;
}

TEST(simulated, scan_of_many_large_tiles_from_and_to_any_element)
{
    scan_large_tiles_between<std::int32_t>(1, 0);
    scan_large_tiles_between<double>(0, 3);
    scan_large_tiles_between<up::f16>(7, 1);
    scan_large_tiles_between<std::int8_t>(13, 13, true);
}

// Their warps wait for one another at mbarriers.
TEST(simulated, scan_of_many_large_tiles_from_and_to_any_element_under_schedules)
{
    under_schedules(schedules(1), [] { scan_large_tiles_between<double>(1, 5); });
}

// Where there are no mbarriers, they meet at named barriers.
TEST(simulated, scan_of_many_large_tiles_from_and_to_any_element_of_an_older_generation)
{
    sim::options options = sim::current_options();
    options.machine.major = 8;
    const sim::with_options with(options);
    scan_large_tiles_between<std::int32_t>(1, 31);
    scan_large_tiles_between<std::int8_t>(13, 13, true);
}

TEST(simulated, reduce_with_each_block_stalled_and_each_block_first)
{
    auto random = generator();
    const host_array<float> values = random_array<float>(random, 5 * 16384 + 1234);
    const float expected = literal_fold(values.span(), up::plus{});
    const auto reduce = [&] {
        const target_array<up::cuda, float> in(values.span());
        EXPECT_TRUE(bits_equal(up::reduce(up::cuda{}, in.const_span()), expected));
    };
    const unsigned blocks = blocks_of(reduce);
    EXPECT_GT(blocks, 2U);
    under_schedules(unfair_schedules(blocks), reduce);
}

TEST(simulated, scan_with_each_block_stalled_and_each_block_first)
{
    auto random = generator();
    const host_array<float> values = random_array<float>(random, 9 * 2048 + 321);
    const host_array<float> expected = literal_folds(values.span(), up::plus{});
    const auto scan = [&] {
        const target_array<up::cuda, float> in(values.span());
        target_array<up::cuda, float> out(values.size());
        up::inclusive_scan(up::cuda{}, in.const_span(), out.span());
        EXPECT_TRUE(bits_equal(out.to_host(), expected));
    };
    const unsigned blocks = blocks_of(scan);
    EXPECT_GT(blocks, 2U);
    under_schedules(unfair_schedules(blocks), scan);
}

// A workspace is used again without being cleared: what an earlier call left there is not taken for a total.
TEST(simulated, one_target_for_many_calls)
{
    auto random = generator();
    const up::cuda gpu;
    for (int call = 0; call < 20; ++call) {
        const host_array<double> values = random_array<double>(random, 1 + random() % 60000);
        const target_array<up::cuda, double> in(values.span());
        target_array<up::cuda, double> out(values.size());
        const auto folds = literal_folds(values.span(), up::plus{});
        EXPECT_TRUE(bits_equal(up::reduce(gpu, in.const_span()), folds[values.size() - 1]));
        up::inclusive_scan(gpu, in.const_span(), out.span());
        EXPECT_TRUE(bits_equal(out.to_host(), folds));
    }
}

// Each byte of the input is read once, by full transactions, and nothing but the result and the totals is written.
TEST(simulated, reduce_reads_each_byte_once)
{
    auto random = generator();
    constexpr std::uint64_t bytes = 8 * 65536;
    const target_array<up::cuda, float> in(random_array<float>(random, bytes / sizeof(float)).span());
    const up::cuda gpu;
    (void)up::reduce(gpu, in.const_span());
    const auto cost = counted([&] { (void)up::reduce(gpu, in.const_span()); });
    constexpr std::uint64_t overhead = 8192; // of the tile states
    EXPECT_GE(cost.load_bytes, bytes);
    EXPECT_LE(cost.load_bytes_moved, bytes + overhead);
    EXPECT_LE(cost.store_bytes, 16 * 16 + 64); // a tile state for each 32 KiB
    EXPECT_EQ(cost.bank_conflicts, 0U);
}

TEST(simulated, few_tiles_cost_no_more)
{
    auto random = generator();
    constexpr std::uint64_t bytes = 8 * 8192;
    target_array<up::cuda, float> array(random_array<float>(random, bytes / sizeof(float)).span());
    const up::cuda gpu;
    (void)up::reduce(gpu, array.const_span());
    const auto of_reduce = counted([&] { (void)up::reduce(gpu, array.const_span()); });
    const auto of_scan = counted([&] { up::inclusive_scan(gpu, array.const_span(), array.span()); });
    constexpr std::uint64_t overhead = 8192; // of the tile states
    EXPECT_GE(of_reduce.load_bytes, bytes);
    EXPECT_LE(of_reduce.load_bytes_moved, bytes + overhead);
    EXPECT_LE(of_reduce.store_bytes, 4 * 16 + 64);
    EXPECT_GE(of_scan.load_bytes, bytes);
    EXPECT_LE(of_scan.load_bytes_moved, bytes + overhead);
    EXPECT_LE(of_scan.store_bytes_moved, bytes + 8 * 32 + 64);
    EXPECT_EQ(of_reduce.bank_conflicts + of_scan.bank_conflicts, 0U);
}

TEST(simulated, scan_reads_and_writes_each_byte_once)
{
    auto random = generator();
    constexpr std::uint64_t bytes = 80 * 32768;
    target_array<up::cuda, float> array(random_array<float>(random, bytes / sizeof(float)).span());
    const up::cuda gpu;
    up::inclusive_scan(gpu, array.const_span(), array.span());
    const auto cost = counted([&] { up::inclusive_scan(gpu, array.const_span(), array.span()); });
    EXPECT_GE(cost.load_bytes, bytes);
    EXPECT_LE(cost.store_bytes_moved, bytes + 80 * 32 + 64);
    EXPECT_EQ(cost.bank_conflicts, 0U);
}

} // namespace
