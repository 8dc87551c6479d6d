// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What a call may be given on the CPU: spans, containers and other random-access ranges; views.cpp goes on.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/upsweep.hpp>

#include "expected.hpp"
#include "samples.hpp"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

constexpr up::cpu three_threads{3};
constexpr int n = 200003;

TEST(ranges, may_be_spans_containers_and_arrays)
{
    const std::vector<int> vector(1000, 2);
    std::vector<int> changeable = vector;
    const std::array<int, 3> array{1, 2, 3};
    const int c_array[] = {4, 5};
    const std::deque<int> deque(1000, 3);
    EXPECT_EQ(up::reduce(three_threads, vector, up::plus{}), 2000);
    EXPECT_EQ(up::reduce(three_threads, changeable, up::plus{}), 2000);
    EXPECT_EQ(up::reduce(three_threads, std::vector<int>(10, 1), up::plus{}), 10);
    EXPECT_EQ(up::reduce(three_threads, std::span<const int>(vector), up::plus{}), 2000);
    EXPECT_EQ(up::reduce(three_threads, std::span<int>(changeable).subspan(1, 5), up::plus{}), 10);
    EXPECT_EQ(up::reduce(three_threads, std::span<const int, 3>(array), up::plus{}), 6);
    EXPECT_EQ(up::reduce(three_threads, array, up::plus{}), 6);
    EXPECT_EQ(up::reduce(three_threads, c_array, up::plus{}), 9);
    EXPECT_EQ(up::reduce(three_threads, deque, up::plus{}), 3000);
    EXPECT_EQ(up::reduce(three_threads, vector), 2000); // a sum unless told otherwise
}

TEST(ranges, may_pack_bools_into_bits)
{
    std::vector<bool> flags(n);
    for (std::size_t i = 0; i < flags.size(); ++i)
        flags[i] = i % 3 == 0;
    EXPECT_EQ(up::reduce(three_threads, flags, up::plus{}), (n + 2) / 3);
    EXPECT_TRUE(up::reduce(three_threads, flags, up::logical_or{}));
    std::vector<std::uint32_t> places(n);
    up::exclusive_scan(three_threads, flags, places, up::plus{});
    for (std::uint32_t i = 0; i < n; ++i)
        ASSERT_EQ(places[i], (i + 2) / 3);
}

TEST(ranges, may_be_empty)
{
    EXPECT_EQ(up::reduce(three_threads, std::vector<int>{}, up::plus{}), 0);
    std::vector<float> none;
    up::inclusive_scan(three_threads, none, none, up::plus{});
    std::vector<std::uint64_t> counts(4, 7);
    up::histogram(three_threads, none, up::even_bins{0, 1, 4}, counts);
    EXPECT_EQ(counts, std::vector<std::uint64_t>(4, 0));
}

TEST(ranges, may_have_one_element)
{
    const std::vector<double> one{-0.0};
    std::vector<double> out(1, 1.0);
    EXPECT_TRUE(bits_equal(up::reduce(three_threads, one, up::plus{}), -0.0));
    up::inclusive_scan(three_threads, one, out, up::plus{});
    EXPECT_TRUE(bits_equal(out[0], -0.0));
}

TEST(ranges, of_outputs_may_be_any_random_access_range)
{
    const std::vector<int> ones(5000, 1);
    std::deque<int> deque(5000);
    up::inclusive_scan(three_threads, ones, deque, up::plus{});
    for (int i = 0; i < 5000; ++i)
        ASSERT_EQ(deque[static_cast<std::size_t>(i)], i + 1);
    std::array<int, 4> array{1, 2, 3, 4};
    up::exclusive_scan(three_threads, array, array, up::plus{}, 10);
    EXPECT_EQ(array, (std::array<int, 4>{10, 11, 13, 16}));
}

TEST(ranges, a_scan_accepts_every_size_of_result)
{
    const std::vector<std::uint8_t> bytes(3000, 200);
    std::vector<std::uint64_t> wide(3000);
    std::vector<std::uint8_t> narrow(3000);
    up::inclusive_scan(three_threads, bytes, wide, up::plus{});
    up::inclusive_scan(three_threads, bytes, narrow, up::plus{});
    EXPECT_EQ(wide.back(), 600000U);
    EXPECT_EQ(narrow.back(), 600000 % 256);
}

// The result may be written to a type of the caller's choice; integers wrap.
TEST(ranges, a_reduce_writes_to_any_type)
{
    const std::vector<std::uint16_t> values(1000, 1000);
    double as_double = 0;
    std::uint16_t as_short = 0;
    up::reduce(three_threads, values, &as_double, up::plus{});
    up::reduce(three_threads, values, &as_short, up::plus{});
    EXPECT_EQ(as_double, 1e6);
    EXPECT_EQ(as_short, 1000000 % 65536);
}

} // namespace
