// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Reduce over bool and the integers, on every target.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "reduce_cases.hpp"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

template <class On>
class reduce_integers : public ::testing::Test {
};
using integers = every<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                       std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(reduce_integers, integers);

#define TARGET typename TypeParam::target
#define ELEMENT typename TypeParam::element

TYPED_TEST(reduce_integers, plus) { expect_reduces<TARGET, ELEMENT>(up::plus{}); }
TYPED_TEST(reduce_integers, multiplies) { expect_reduces<TARGET, ELEMENT>(up::multiplies{}); }
TYPED_TEST(reduce_integers, minimum) { expect_reduces<TARGET, ELEMENT>(up::minimum{}); }
TYPED_TEST(reduce_integers, maximum) { expect_reduces<TARGET, ELEMENT>(up::maximum{}); }

// The other operators, for one type of each kind.
template <class On>
class reduce_bits : public ::testing::Test {
};
using kinds = every<bool, std::uint8_t, std::int64_t>;
TYPED_TEST_SUITE(reduce_bits, kinds);

TYPED_TEST(reduce_bits, bit_and) { expect_reduces<TARGET, ELEMENT>(up::bit_and{}); }
TYPED_TEST(reduce_bits, bit_or) { expect_reduces<TARGET, ELEMENT>(up::bit_or{}); }
TYPED_TEST(reduce_bits, bit_xor) { expect_reduces<TARGET, ELEMENT>(up::bit_xor{}); }
TYPED_TEST(reduce_bits, logical_and) { expect_reduces<TARGET, ELEMENT>(up::logical_and{}); }
TYPED_TEST(reduce_bits, logical_or) { expect_reduces<TARGET, ELEMENT>(up::logical_or{}); }

TYPED_TEST(reduce_integers, of_nothing_is_the_identity)
{
    using target = TARGET;
    using element = ELEMENT;
    EXPECT_EQ((of_nothing<target, element>(up::plus{})), 0U);
    EXPECT_EQ((of_nothing<target, element>(up::multiplies{})), 1U);
    EXPECT_EQ((of_nothing<target, element>(up::bit_and{})), static_cast<element>(~std::uint64_t{0}));
    EXPECT_EQ((of_nothing<target, element>(up::bit_or{})), element{0});
    EXPECT_EQ((of_nothing<target, element>(up::bit_xor{})), element{0});
    EXPECT_TRUE((of_nothing<target, element>(up::logical_and{})));
    EXPECT_FALSE((of_nothing<target, element>(up::logical_or{})));
    EXPECT_THROW((of_nothing<target, element>(up::minimum{})), up::error);
    EXPECT_THROW((of_nothing<target, element>(up::maximum{})), up::error);
}

// Extreme elements at the ends, where a wrong neutral element or a dropped tail would win or lose.
TYPED_TEST(reduce_integers, extrema_at_either_end_are_found)
{
    using target = TARGET;
    using element = ELEMENT;
    using limits = std::numeric_limits<element>;
    for (const std::size_t n : telling_sizes) {
        host_array<element> values(n);
        for (const std::size_t place : {std::size_t{0}, n - 1}) {
            std::ranges::fill(values, limits::max());
            values[place] = limits::min();
            ASSERT_EQ(up::reduce(target{}, target_array<target, element>(values.span()).const_span(), up::minimum{}),
                      limits::min());
            std::ranges::fill(values, limits::min());
            ASSERT_EQ(up::reduce(target{}, target_array<target, element>(values.span()).const_span(), up::maximum{}),
                      limits::min());
            values[place] = limits::max();
            ASSERT_EQ(up::reduce(target{}, target_array<target, element>(values.span()).const_span(), up::maximum{}),
                      limits::max());
        }
    }
}

// Exact arithmetic has one answer whatever the order of the elements.
TYPED_TEST(reduce_integers, is_invariant_under_permutation)
{
    using target = TARGET;
    using element = ELEMENT;
    auto random = generator();
    host_array<element> values = random_array<element>(random, 100003);
    const auto reduced = [&](auto op) {
        return up::reduce(target{}, target_array<target, element>(values.span()).const_span(), op);
    };
    const auto sum = reduced(up::plus{});
    const auto product = reduced(up::multiplies{});
    const auto parity = reduced(up::bit_xor{});
    std::ranges::shuffle(values, random);
    EXPECT_EQ(reduced(up::plus{}), sum);
    EXPECT_EQ(reduced(up::multiplies{}), product);
    EXPECT_EQ(reduced(up::bit_xor{}), parity);
}

// Narrow elements do not overflow: the sum of the largest elements is what 64 bits make of it.
TYPED_TEST(reduce_integers, sums_of_extremes_have_64_bits)
{
    using target = TARGET;
    using element = ELEMENT;
    for (const element value : {std::numeric_limits<element>::min(), std::numeric_limits<element>::max()}) {
        host_array<element> values(200003);
        std::ranges::fill(values, value);
        const auto sum = up::reduce(target{}, target_array<target, element>(values.span()).const_span(), up::plus{});
        static_assert(sizeof sum == 8);
        EXPECT_EQ(static_cast<std::uint64_t>(sum), 200003 * static_cast<std::uint64_t>(value));
    }
}

// One element against the grain, anywhere in a long array, on any number of threads.
TYPED_TEST(reduce_bits, logical_operators_find_a_single_element)
{
    using target = TARGET;
    using element = ELEMENT;
    auto random = generator();
    host_array<element> values(std::size_t{1} << 21);
    on_every_variant<target>([&](const target& where) {
        for (int trial = 0; trial < 5; ++trial) {
            const std::size_t place = random() % values.size();
            std::ranges::fill(values, element{1});
            values[place] = element{0};
            ASSERT_FALSE(
                up::reduce(where, target_array<target, element>(values.span()).const_span(), up::logical_and{}))
                << place;
            std::ranges::fill(values, element{0});
            values[place] = element{1};
            ASSERT_TRUE(up::reduce(where, target_array<target, element>(values.span()).const_span(), up::logical_or{}))
                << place;
        }
    });
}

} // namespace
