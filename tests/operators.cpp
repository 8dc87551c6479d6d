// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The operators by themselves: what they compute, that their identities are neutral to the bit, and in which type they
// accumulate.
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <gtest/gtest.h>
#include <upsweep/op.hpp>

#include "expected.hpp"
#include "samples.hpp"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

// --- neutral to the bit ---------------------------------------------------------------------------------------------

template <class T, class Op>
void expect_neutral(Op op, std::initializer_list<T> corner_cases)
{
    const T identity = op.template identity<T>();
    auto random = generator();
    host_array<T> values = random_array<T>(random, 1000);
    std::ranges::copy(corner_cases, values.begin());
    for (const T& value : values) {
        EXPECT_TRUE(bits_equal(op(value, identity), value));
        EXPECT_TRUE(bits_equal(op(identity, value), value));
    }
}

template <class T>
class integer_operators : public ::testing::Test {
};
using integers = ::testing::Types<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                                  std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(integer_operators, integers);

TYPED_TEST(integer_operators, identities_are_neutral)
{
    using limits = std::numeric_limits<TypeParam>;
    const auto corners = {limits::min(), limits::max(), TypeParam{0}, TypeParam{1}};
    expect_neutral<TypeParam>(up::plus{}, corners);
    expect_neutral<TypeParam>(up::multiplies{}, corners);
    expect_neutral<TypeParam>(up::minimum{}, corners);
    expect_neutral<TypeParam>(up::maximum{}, corners);
    expect_neutral<TypeParam>(up::bit_and{}, corners);
    expect_neutral<TypeParam>(up::bit_or{}, corners);
    expect_neutral<TypeParam>(up::bit_xor{}, corners);
}

template <class T>
class float_operators : public ::testing::Test {
};
using wide_floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(float_operators, wide_floats);

TYPED_TEST(float_operators, identities_are_neutral)
{
    using limits = std::numeric_limits<TypeParam>;
    const auto corners = {TypeParam(0.0),      TypeParam(-0.0),      limits::infinity(), -limits::infinity(),
                          limits::quiet_NaN(), limits::denorm_min(), limits::max(),      limits::lowest()};
    expect_neutral<TypeParam>(up::plus{}, corners);
    expect_neutral<TypeParam>(up::multiplies{}, corners);
    expect_neutral<TypeParam>(up::minimum{}, corners);
    expect_neutral<TypeParam>(up::maximum{}, corners);
}

TEST(logical_operators, identities_are_neutral)
{
    expect_neutral<bool>(up::logical_and{}, {false, true});
    expect_neutral<bool>(up::logical_or{}, {false, true});
}

// --- what they compute ----------------------------------------------------------------------------------------------

TEST(plus, wraps_in_every_integer_width)
{
    static_assert(up::plus{}(std::int8_t{127}, std::int8_t{1}) == -128);
    static_assert(up::plus{}(std::int16_t{32767}, std::int16_t{1}) == -32768);
    static_assert(up::plus{}(std::numeric_limits<std::int32_t>::max(), 1) == std::numeric_limits<std::int32_t>::min());
    static_assert(up::plus{}(std::numeric_limits<std::int64_t>::max(), std::int64_t{1}) ==
                  std::numeric_limits<std::int64_t>::min());
    static_assert(up::plus{}(std::uint8_t{255}, std::uint8_t{1}) == 0);
    static_assert(up::plus{}(true, true)); // of bool: or
}

TEST(multiplies, wraps_in_every_integer_width)
{
    static_assert(up::multiplies{}(std::int8_t{16}, std::int8_t{16}) == 0);
    static_assert(up::multiplies{}(std::uint16_t{65535}, std::uint16_t{65535}) ==
                  1); // overflows the int it promotes to
    static_assert(up::multiplies{}(std::numeric_limits<std::int32_t>::min(), -1) ==
                  std::numeric_limits<std::int32_t>::min());
    static_assert(up::multiplies{}(std::int64_t{1} << 62, std::int64_t{4}) == 0);
    static_assert(!up::multiplies{}(true, false)); // of bool: and
}

TEST(minimum, orders_zeros_and_propagates_nan)
{
    const up::minimum least;
    EXPECT_TRUE(bits_equal(least(0.0F, -0.0F), -0.0F));
    EXPECT_TRUE(bits_equal(least(-0.0F, 0.0F), -0.0F));
    EXPECT_TRUE(bits_equal(least(0.0F, 0.0F), 0.0F));
    EXPECT_TRUE(bits_equal(least(-1.0F, 1.0F), -1.0F));
    EXPECT_TRUE(bits_equal(least(2.0F, inf), 2.0F));
    EXPECT_TRUE(bits_equal(least(-inf, -2.0F), -inf));
    EXPECT_TRUE(bits_equal(least(nan_value, -inf), nan_value));
    EXPECT_TRUE(bits_equal(least(-inf, nan_value), nan_value));
    EXPECT_EQ(least(std::uint8_t{200}, std::uint8_t{100}), 100);
    EXPECT_EQ(least(std::int8_t{-1}, std::int8_t{1}), -1);
}

TEST(maximum, orders_zeros_and_propagates_nan)
{
    const up::maximum greatest;
    EXPECT_TRUE(bits_equal(greatest(0.0F, -0.0F), 0.0F));
    EXPECT_TRUE(bits_equal(greatest(-0.0F, 0.0F), 0.0F));
    EXPECT_TRUE(bits_equal(greatest(-0.0F, -0.0F), -0.0F));
    EXPECT_TRUE(bits_equal(greatest(-1.0F, 1.0F), 1.0F));
    EXPECT_TRUE(bits_equal(greatest(2.0F, -inf), 2.0F));
    EXPECT_TRUE(bits_equal(greatest(inf, nan_value), nan_value));
    EXPECT_TRUE(bits_equal(greatest(nan_value, inf), nan_value));
    EXPECT_EQ(greatest(std::uint8_t{200}, std::uint8_t{100}), 200);
    EXPECT_EQ(greatest(std::int8_t{-1}, std::int8_t{1}), 1);
}

TEST(logical_operators, take_anything_but_zero_as_true)
{
    EXPECT_TRUE(up::convert<bool>(nan_value));
    EXPECT_TRUE(up::convert<bool>(1e-300));
    EXPECT_TRUE(up::convert<bool>(std::int64_t{1} << 40));
    EXPECT_TRUE(up::convert<bool>(up::f16::from_bits(1)));
    EXPECT_FALSE(up::convert<bool>(-0.0));
    EXPECT_FALSE(up::convert<bool>(up::bf16(-0.0F)));
}

// --- the type of the accumulator ------------------------------------------------------------------------------------

TEST(accumulator, of_sums_and_products_of_integers_has_64_bits)
{
    static_assert(std::same_as<up::accumulator_t<up::plus, bool>, std::int64_t>);
    static_assert(std::same_as<up::accumulator_t<up::plus, std::int8_t>, std::int64_t>);
    static_assert(std::same_as<up::accumulator_t<up::multiplies, std::int32_t>, std::int64_t>);
    static_assert(std::same_as<up::accumulator_t<up::plus, std::uint16_t>, std::uint64_t>);
    static_assert(std::same_as<up::accumulator_t<up::multiplies, std::uint64_t>, std::uint64_t>);
}

TEST(accumulator, of_sub_word_floats_is_float)
{
    static_assert(std::same_as<up::accumulator_t<up::plus, up::f16>, float>);
    static_assert(std::same_as<up::accumulator_t<up::maximum, up::bf16>, float>);
    static_assert(std::same_as<up::scan_accumulator_t<up::plus, up::f16>, float>);
}

TEST(accumulator, of_logical_operators_is_bool)
{
    static_assert(std::same_as<up::accumulator_t<up::logical_and, double>, bool>);
    static_assert(std::same_as<up::scan_accumulator_t<up::logical_or, std::uint8_t>, bool>);
}

TEST(accumulator, is_otherwise_the_type_itself)
{
    static_assert(std::same_as<up::accumulator_t<up::plus, float>, float>);
    static_assert(std::same_as<up::accumulator_t<up::plus, double>, double>);
    static_assert(std::same_as<up::accumulator_t<up::minimum, std::int8_t>, std::int8_t>);
    static_assert(std::same_as<up::accumulator_t<up::bit_xor, std::uint16_t>, std::uint16_t>);
    static_assert(std::same_as<up::scan_accumulator_t<up::plus, std::int8_t>, std::int8_t>); // a scan wraps
}

} // namespace
