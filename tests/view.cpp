// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// up::view: where its elements are, what it refuses, and the cases of all targets on the CPU; view_scan.cpp goes on.
// The header comes first, so that it has all that it needs.
#include <upsweep/view.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/upsweep.hpp>

#include "view_histogram_cases.hpp"
#include "view_reduce_cases.hpp"
#include "view_several_cases.hpp"

namespace up = upsweep;

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, view_reduce, ::testing::Types<up::cpu>);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, view_histogram, ::testing::Types<up::cpu>);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, view_several, ::testing::Types<up::cpu>);

static_assert(up::input_range<up::view<const float, 3>>);
static_assert(up::output_range<up::view<float, 2>>);
static_assert(!up::output_range<up::view<const float, 2>>);
static_assert(std::random_access_iterator<up::view<float, 2>::iterator>);
static_assert(std::is_convertible_v<up::view<float, 2>, up::view<const float, 2>>);
static_assert(!std::is_convertible_v<up::view<const float, 2>, up::view<float, 2>>);
static_assert(!std::is_convertible_v<std::vector<float>&, up::view<float, 2>>);
static_assert(!std::is_convertible_v<const std::vector<float>&, up::view<float, 1>>);

std::vector<int> numbers(int n)
{
    std::vector<int> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

TEST(view, is_where_the_strides_say)
{
    std::vector<int> memory = numbers(40);
    const up::view rows(memory.data(), {3, 4});
    EXPECT_EQ(rows.size(), 12U);
    EXPECT_EQ(rows.extent(0), 3U);
    EXPECT_EQ(rows.stride(0), 4);
    EXPECT_EQ(rows.stride(1), 1);
    EXPECT_EQ(rows(2, 1), 9);
    EXPECT_EQ(rows[9], 9);
    EXPECT_TRUE(rows.is_contiguous());

    const up::view columns(memory.data(), {4, 3}, {1, 10});
    EXPECT_EQ(columns(3, 2), 23);
    EXPECT_EQ(columns[11], 23);
    EXPECT_FALSE(columns.is_contiguous());
    EXPECT_TRUE(std::ranges::equal(columns, std::array{0, 10, 20, 1, 11, 21, 2, 12, 22, 3, 13, 23}));

    const up::view backwards(memory.data() + 39, {2, 2, 2}, {-20, -5, -1});
    EXPECT_TRUE(std::ranges::equal(backwards, std::array{39, 38, 34, 33, 19, 18, 14, 13}));
    EXPECT_EQ(backwards(1, 0, 1), 18);
    backwards(0, 1, 0) = 99;
    EXPECT_EQ(memory[34], 99);

    const up::view again(memory.data(), {2, 3}, {0, 1});
    EXPECT_TRUE(std::ranges::equal(again, std::array{0, 1, 2, 0, 1, 2}));
}

TEST(view, is_made_of_containers)
{
    std::vector<int> memory = numbers(5);
    const std::vector<int>& constants = memory;
    const up::view changeable(memory);
    const up::view readable(constants);
    static_assert(std::is_same_v<decltype(changeable), const up::view<int, 1>>);
    static_assert(std::is_same_v<decltype(readable), const up::view<const int, 1>>);
    changeable(2) = 7;
    EXPECT_EQ(readable(2), 7);
    const up::view<const int, 1> converted = changeable;
    EXPECT_EQ(converted.data(), memory.data());
    EXPECT_TRUE(up::view(std::span(memory)).is_contiguous());
}

TEST(view, knows_whether_its_elements_lie_one_behind_the_other)
{
    int one = 0;
    EXPECT_TRUE((up::view<int, 2>().is_contiguous()));
    EXPECT_TRUE(up::view(&one, {1, 1}, {17, -3}).is_contiguous());
    EXPECT_TRUE(up::view(&one, {2, 1, 3}, {3, 99, 1}).is_contiguous());
    EXPECT_TRUE(up::view(&one, {0, 5}, {9, 9}).is_contiguous());
    EXPECT_FALSE(up::view(&one, {2, 3}, {4, 1}).is_contiguous());
    EXPECT_FALSE(up::view(&one, {2, 3}, {1, 2}).is_contiguous());
    EXPECT_FALSE(up::view(&one, {2}, {-1}).is_contiguous());
    EXPECT_FALSE(up::view(&one, {2}, {0}).is_contiguous());
}

TEST(view, has_as_few_dimensions_as_there_can_be_when_collapsed)
{
    int one = 0;
    const auto a = up::view(&one, {4, 5, 6}, {60, 6, 1}).collapsed(); // rows of 30
    EXPECT_EQ((std::array{a.extent(1), a.extent(2), a.extent(3)}), (std::array<std::size_t, 3>{1, 4, 30}));
    EXPECT_EQ((std::array{a.stride(2), a.stride(3)}), (std::array<std::ptrdiff_t, 2>{60, 1}));
    const auto b = up::view(&one, {4, 1, 6}, {-6, 77, -1}).collapsed();
    EXPECT_EQ((std::array{b.extent(1), b.extent(2), b.extent(3)}), (std::array<std::size_t, 3>{1, 1, 24}));
    EXPECT_EQ(b.stride(3), -1);
    const auto c = up::view(&one, {4, 5}, {1, 4}).collapsed();
    EXPECT_EQ((std::array{c.extent(2), c.extent(3)}), (std::array<std::size_t, 2>{4, 5}));
}

template <class Make>
void expect_no_view(Make make, const std::string& why)
{
    try {
        make();
        FAIL() << "no error";
    } catch (const up::error& failure) {
        EXPECT_EQ(failure.kind(), up::error_kind::invalid_argument);
        EXPECT_NE(std::string(failure.what()).find(why), std::string::npos) << failure.what();
    }
}

TEST(view, beyond_memory_is_refused)
{
    int one = 0;
    constexpr std::size_t large = std::size_t{1} << 40;
    expect_no_view([&] { up::view(&one, {large, large}); }, "product of the extents");
    expect_no_view([&] { up::view(&one, {large, 0, large}); }, "product of the extents");
    expect_no_view([&] { up::view(&one, {std::size_t(-1)}); }, "product of the extents");
    expect_no_view([&] { up::view(&one, {2, large}, {std::ptrdiff_t{1} << 61, 1}); }, "too far apart");
    expect_no_view([&] { up::view(&one, {large}, {std::ptrdiff_t(-large)}); }, "too far apart");
    expect_no_view([&] { up::view(&one, {std::size_t{1} << 60}); }, "too far apart");
    EXPECT_NO_THROW(up::view(&one, {large, 1000}, {0, 0})); // broadcast to more elements than memory has
    EXPECT_NO_THROW(up::view(&one, {0, large}, {5, 3}));
}

// Pieces of an array may be views, too.
TEST(view, may_be_a_piece)
{
    std::vector<double> memory(5000);
    std::iota(memory.begin(), memory.end(), 0.1);
    const up::view left(memory.data(), {50, 40}, {100, 1});
    const up::view right(memory.data() + 40, {50, 60}, {100, 1});
    host_array<double> all(5000);
    std::ranges::copy(right, std::ranges::copy(left, all.begin()).out);
    up::reducer<double> sum(up::cpu{2});
    sum.feed(left);
    sum.feed(right);
    EXPECT_TRUE(bits_equal(sum.result(), up::reduce(up::cpu{2}, all)));
}

} // namespace upsweep::test
