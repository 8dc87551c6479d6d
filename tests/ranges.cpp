// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What a call may be given on the CPU: spans, containers and any random-access range, so that a transform fuses into the fold.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <numeric>
#include <ranges>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/upsweep.hpp>

#include "expected.hpp"
#include "samples.hpp"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

constexpr up::cpu cpu{3};
constexpr int n = 200003;

TEST(ranges, may_be_spans_containers_and_arrays)
{
    const std::vector<int> vector(1000, 2);
    std::vector<int> changeable = vector;
    const std::array<int, 3> array{1, 2, 3};
    const int c_array[] = {4, 5};
    const std::deque<int> deque(1000, 3);
    EXPECT_EQ(up::reduce(cpu, vector, up::plus{}), 2000);
    EXPECT_EQ(up::reduce(cpu, changeable, up::plus{}), 2000);
    EXPECT_EQ(up::reduce(cpu, std::vector<int>(10, 1), up::plus{}), 10);
    EXPECT_EQ(up::reduce(cpu, std::span<const int>(vector), up::plus{}), 2000);
    EXPECT_EQ(up::reduce(cpu, std::span<int>(changeable).subspan(1, 5), up::plus{}), 10);
    EXPECT_EQ(up::reduce(cpu, std::span<const int, 3>(array), up::plus{}), 6);
    EXPECT_EQ(up::reduce(cpu, array, up::plus{}), 6);
    EXPECT_EQ(up::reduce(cpu, c_array, up::plus{}), 9);
    EXPECT_EQ(up::reduce(cpu, deque, up::plus{}), 3000);
    EXPECT_EQ(up::reduce(cpu, std::ranges::subrange(vector.begin(), vector.begin() + 7), up::plus{}), 14);
    EXPECT_EQ(up::reduce(cpu, vector), 2000); // a sum unless told otherwise
}

TEST(ranges, may_pack_bools_into_bits)
{
    std::vector<bool> flags(n);
    for (std::size_t i = 0; i < flags.size(); ++i)
        flags[i] = i % 3 == 0;
    EXPECT_EQ(up::reduce(cpu, flags, up::plus{}), (n + 2) / 3);
    EXPECT_TRUE(up::reduce(cpu, flags, up::logical_or{}));
    std::vector<std::uint32_t> places(n);
    up::exclusive_scan(cpu, flags, places, up::plus{});
    for (std::uint32_t i = 0; i < n; ++i)
        ASSERT_EQ(places[i], (i + 2) / 3);
}

TEST(ranges, may_be_empty)
{
    EXPECT_EQ(up::reduce(cpu, std::vector<int>{}, up::plus{}), 0);
    EXPECT_EQ(up::reduce(cpu, std::views::empty<double>, up::multiplies{}), 1.0);
    std::vector<float> none;
    up::inclusive_scan(cpu, none, none, up::plus{});
    std::vector<std::uint64_t> counts(4, 7);
    up::histogram(cpu, none, up::even_bins{0, 1, 4}, counts);
    EXPECT_EQ(counts, std::vector<std::uint64_t>(4, 0));
}

TEST(ranges, may_have_one_element)
{
    const std::vector<double> one{-0.0};
    std::vector<double> out(1, 1.0);
    EXPECT_TRUE(bits_equal(up::reduce(cpu, one, up::plus{}), -0.0));
    up::inclusive_scan(cpu, one, out, up::plus{});
    EXPECT_TRUE(bits_equal(out[0], -0.0));
}

// The transform is evaluated inside the fold; the order is that of the transformed array.
TEST(ranges, fuse_a_transform)
{
    auto random = generator();
    const host_array<float> values = random_array<float>(random, n);
    const auto squares = values.span() | std::views::transform([](float x) { return static_cast<double>(x) * x; });
    host_array<double> written(n);
    std::ranges::copy(squares, written.begin());
    on_every_variant<up::cpu>([&](up::cpu target) {
        ASSERT_TRUE(bits_equal(up::reduce(target, squares, up::plus{}), up::reduce(target, written, up::plus{})));
        host_array<double> fused(n);
        host_array<double> plain(n);
        up::inclusive_scan(target, squares, fused, up::plus{});
        up::inclusive_scan(target, written, plain, up::plus{});
        ASSERT_TRUE(bits_equal(fused, plain));
    });
}

TEST(ranges, may_be_generated)
{
    EXPECT_EQ(up::reduce(cpu, std::views::iota(0, n), up::plus{}), std::int64_t{n} * (n - 1) / 2);
    EXPECT_EQ(up::reduce(cpu, std::views::iota(0, n), up::maximum{}), n - 1);
    std::vector<std::int64_t> triangle(n);
    up::inclusive_scan(cpu, std::views::iota(std::int64_t{1}, std::int64_t{n} + 1), triangle, up::plus{});
    for (std::int64_t i = 0; i < n; ++i)
        ASSERT_EQ(triangle[static_cast<std::size_t>(i)], (i + 1) * (i + 2) / 2);
    std::vector<std::uint64_t> counts(3);
    up::histogram(cpu, std::views::iota(0, n), up::bins_by([](int x) { return x % 3; }, 3), counts);
    EXPECT_EQ(counts, (std::vector<std::uint64_t>{66668, 66668, 66667}));
}

// Reading backwards is a fold of the reversed array; writing backwards makes a scan run from the end.
TEST(ranges, may_be_reversed)
{
    auto random = generator();
    const host_array<double> values = random_array<double>(random, n);
    host_array<double> reversed = values;
    std::ranges::reverse(reversed);
    EXPECT_TRUE(bits_equal(up::reduce(cpu, values.span() | std::views::reverse, up::plus{}),
                           up::reduce(cpu, reversed, up::plus{})));
    host_array<double> suffixes(n);
    host_array<double> expected(n);
    up::inclusive_scan(cpu, values.span() | std::views::reverse, suffixes.span() | std::views::reverse, up::plus{});
    up::inclusive_scan(cpu, reversed, expected, up::plus{});
    std::ranges::reverse(expected);
    EXPECT_TRUE(bits_equal(suffixes, expected));
}

TEST(ranges, of_outputs_may_be_any_random_access_range)
{
    const std::vector<int> ones(5000, 1);
    std::deque<int> deque(5000);
    up::inclusive_scan(cpu, ones, deque, up::plus{});
    for (int i = 0; i < 5000; ++i)
        ASSERT_EQ(deque[static_cast<std::size_t>(i)], i + 1);
    std::array<int, 4> array{1, 2, 3, 4};
    up::exclusive_scan(cpu, array, array, up::plus{}, 10);
    EXPECT_EQ(array, (std::array<int, 4>{10, 11, 13, 16}));
}

// Members of structs, without a copy.
TEST(ranges, may_project)
{
    struct point {
        int x;
        int y;
    };
    const std::vector<point> points(1000, point{1, 2});
    EXPECT_EQ(up::reduce(cpu, points | std::views::transform(&point::y), up::plus{}), 2000);
}

TEST(ranges, a_scan_accepts_every_size_of_result)
{
    const std::vector<std::uint8_t> bytes(3000, 200);
    std::vector<std::uint64_t> wide(3000);
    std::vector<std::uint8_t> narrow(3000);
    up::inclusive_scan(cpu, bytes, wide, up::plus{});
    up::inclusive_scan(cpu, bytes, narrow, up::plus{});
    EXPECT_EQ(wide.back(), 600000U);
    EXPECT_EQ(narrow.back(), 600000 % 256);
}

// The result may be written to a type of the caller's choice; integers wrap.
TEST(ranges, a_reduce_writes_to_any_type)
{
    const std::vector<std::uint16_t> values(1000, 1000);
    double as_double = 0;
    std::uint16_t as_short = 0;
    up::reduce(cpu, values, &as_double, up::plus{});
    up::reduce(cpu, values, &as_short, up::plus{});
    EXPECT_EQ(as_double, 1e6);
    EXPECT_EQ(as_short, 1000000 % 65536);
}

} // namespace
