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
template <class T, class Out = T>
void scan_large_tiles_between(std::size_t offset_in, std::size_t offset_out, bool in_place = false)
{
    auto random = generator();
    const std::size_t n = 70 * 32768 / sizeof(Out) + 5;
    const host_array<T> values = random_array<T>(random, n + 32);
    host_array<Out> expected = random_array<Out>(random, n + 32);
    if constexpr (std::is_same_v<T, Out>)
        if (in_place)
            std::ranges::copy(values, expected.begin());
    target_array<up::cuda, Out> out(expected.span());
    const target_array<up::cuda, T> in(values.span());
    const auto folds = literal_folds(
        converted<up::scan_accumulator_t<up::plus, Out>>(values.span().subspan(offset_in, n)).span(), up::plus{});
    std::ranges::copy(converted<Out>(folds.span()), expected.begin() + static_cast<std::ptrdiff_t>(offset_out));

    const std::span<Out> results = out.span().subspan(offset_out, n);
    std::span<const T> elements = in.const_span().subspan(offset_in, n);
    if constexpr (std::is_same_v<T, Out>)
        if (in_place)
            elements = results;
    up::inclusive_scan(up::cuda{}, elements, results);
    EXPECT_TRUE(bits_equal(out.to_host(), expected)) << offset_in << " and " << offset_out;
}

// The same from the last element to the first.
template <class T, class Out = T>
void scan_large_tiles_from_the_end(std::size_t offset_in, std::size_t offset_out)
{
    auto random = generator();
    const std::size_t n = 70 * 32768 / sizeof(Out) + 5;
    const auto last = static_cast<std::ptrdiff_t>(n) - 1;
    const host_array<T> values = random_array<T>(random, n + 32);
    host_array<T> from_the_end(n);
    const auto elements = values.span().subspan(offset_in, n);
    std::reverse_copy(elements.begin(), elements.end(), from_the_end.begin());
    const host_array<Out> expected = converted<Out>(
        literal_folds(converted<up::scan_accumulator_t<up::plus, Out>>(from_the_end.span()).span(), up::plus{}).span());
    host_array<Out> all = random_array<Out>(random, n + 32);
    target_array<up::cuda, Out> out(all.span());
    const target_array<up::cuda, T> in(values.span());
    up::inclusive_scan(up::cuda{}, up::view<const T, 1>(in.const_span().data() + offset_in + last, {n}, {-1}),
                       up::view<Out, 1>(out.span().data() + offset_out + last, {n}, {-1}));
    std::reverse_copy(expected.begin(), expected.end(), all.span().subspan(offset_out).begin());
    EXPECT_TRUE(bits_equal(out.to_host(), all)) << offset_in << " and " << offset_out;
}

TEST(simulated, scan_of_many_large_tiles_from_the_end)
{
    scan_large_tiles_from_the_end<std::int32_t>(3, 3); // words begin with the memory of the last element
    scan_large_tiles_from_the_end<std::int32_t>(1, 0);
    scan_large_tiles_from_the_end<std::uint8_t, std::uint64_t>(0, 1);
    scan_large_tiles_from_the_end<std::int8_t>(5, 5);
    under_schedules(schedules(1), [] { scan_large_tiles_from_the_end<double>(2, 5); });
}

TEST(simulated, scan_of_many_large_tiles_from_the_end_in_place)
{
    auto random = generator();
    const std::size_t n = 70 * 8192 + 5;
    const host_array<std::int32_t> values = random_array<std::int32_t>(random, n);
    host_array<std::int32_t> expected(n);
    std::ranges::reverse_copy(values, expected.begin());
    const host_array<std::int32_t> folds = literal_folds(expected.span(), up::plus{});
    for (std::size_t i = 0; i < n; ++i)
        expected[n - 1 - i] = i == 0 ? 0 : folds[i - 1];
    target_array<up::cuda, std::int32_t> array(values.span());
    const up::view<std::int32_t, 1> from_the_end(array.span().data() + n - 1, {n}, {-1});
    up::exclusive_scan(up::cuda{}, up::view<const std::int32_t, 1>(from_the_end), from_the_end);
    EXPECT_TRUE(bits_equal(array.to_host(), expected));
}

TEST(simulated, scan_of_many_large_tiles_from_and_to_any_element)
{
    scan_large_tiles_between<std::int32_t>(1, 0);
    scan_large_tiles_between<double>(0, 3);
    scan_large_tiles_between<up::f16>(7, 1);
    scan_large_tiles_between<std::int8_t>(13, 13, true);
}

// Bytes of which wider results are made are read by the pieces of lanes, aligned or not.
TEST(simulated, scan_of_many_large_tiles_from_bytes_to_wider_results)
{
    scan_large_tiles_between<std::uint8_t, std::uint64_t>(0, 0);
    scan_large_tiles_between<std::int8_t, std::uint64_t>(4, 1);
    under_schedules(schedules(1), [] { scan_large_tiles_between<std::uint8_t, std::uint64_t>(3, 2); });
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
    scan_large_tiles_between<std::uint8_t, std::uint64_t>(5, 0);
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
