// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Ranges that compute their elements, so that a transform fuses into the fold. In a file of their own because clang
// before 16 cannot compile the views of libstdc++.
#include <algorithm>
#include <cstdint>
#include <ranges>
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

TEST(views, may_be_part_of_a_container)
{
    const std::vector<int> vector(1000, 2);
    EXPECT_EQ(up::reduce(cpu, std::ranges::subrange(vector.begin(), vector.begin() + 7), up::plus{}), 14);
    EXPECT_EQ(up::reduce(cpu, std::views::empty<double>, up::multiplies{}), 1.0);
}

// The transform is evaluated inside the fold; the order is that of the transformed array.
TEST(views, fuse_a_transform)
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

TEST(views, may_be_generated)
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
TEST(views, may_be_reversed)
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

// Members of structs, without a copy.
TEST(views, may_project)
{
    struct point {
        int x;
        int y;
    };
    const std::vector<point> points(1000, point{1, 2});
    EXPECT_EQ(up::reduce(cpu, points | std::views::transform(&point::y), up::plus{}), 2000);
}

} // namespace
