// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The 16-bit floating-point types: every one of their values, and the rounding of floats to them.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>
#include <upsweep/types.hpp>

#include "samples.hpp"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

// The formats, from their definition: sign, exponent with a bias, mantissa; exponent 0 is denormal, all ones is
// special.
template <class T>
struct format;
template <>
struct format<up::f16> {
    static constexpr int mantissa_bits = 10;
    static constexpr int bias = 15;
};
template <>
struct format<up::bf16> {
    static constexpr int mantissa_bits = 7;
    static constexpr int bias = 127;
};

template <class T>
double value_of(std::uint16_t bits)
{
    constexpr int mantissa_bits = format<T>::mantissa_bits;
    const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
    const int exponent = (bits & 0x7fffU) >> mantissa_bits;
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    if (exponent == 2 * format<T>::bias + 1)
        return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::quiet_NaN();
    if (exponent == 0)
        return sign * std::ldexp(mantissa, 1 - format<T>::bias - mantissa_bits);
    return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - format<T>::bias - mantissa_bits);
}

template <class T>
class sub_word : public ::testing::Test {
};
using both = ::testing::Types<up::f16, up::bf16>;
TYPED_TEST_SUITE(sub_word, both);

TYPED_TEST(sub_word, every_value_is_the_one_that_its_bits_define)
{
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const double expected = value_of<TypeParam>(static_cast<std::uint16_t>(bits));
        const float got = TypeParam::from_bits(static_cast<std::uint16_t>(bits));
        if (std::isnan(expected))
            ASSERT_TRUE(std::isnan(got)) << bits;
        else
            ASSERT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(expected)), std::bit_cast<std::uint32_t>(got))
                << bits;
    }
}

TYPED_TEST(sub_word, every_value_survives_the_way_through_float)
{
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const float value = TypeParam::from_bits(static_cast<std::uint16_t>(bits));
        if (!std::isnan(value))
            ASSERT_EQ(TypeParam(value).bits, bits);
        else
            ASSERT_TRUE(std::isnan(static_cast<float>(TypeParam(value)))) << bits;
    }
}

// Between two neighbours, the nearer one; half-way, the one with an even last bit; above the largest value plus half a
// step, infinity.
TYPED_TEST(sub_word, floats_round_to_nearest_even)
{
    constexpr std::uint16_t infinity = (2 * format<TypeParam>::bias + 1) << format<TypeParam>::mantissa_bits;
    for (std::uint16_t bits = 0; bits < infinity; ++bits) {
        const double low = value_of<TypeParam>(bits);
        const bool is_largest = bits + 1 == infinity;
        // What the value after the largest would be, had the format one more exponent.
        const double step = is_largest ? low - value_of<TypeParam>(static_cast<std::uint16_t>(bits - 1))
                                       : value_of<TypeParam>(static_cast<std::uint16_t>(bits + 1)) - low;
        const auto middle = static_cast<float>(low + step / 2);
        const auto above = static_cast<std::uint16_t>(bits + 1);
        const std::uint16_t even = bits % 2 == 0 ? bits : above;
        ASSERT_EQ(TypeParam(middle).bits, even) << bits;
        ASSERT_EQ(TypeParam(-middle).bits, even | 0x8000) << bits;
        ASSERT_EQ(TypeParam(std::nextafter(middle, 0.0F)).bits, bits) << bits;
        ASSERT_EQ(TypeParam(std::nextafter(middle, std::numeric_limits<float>::infinity())).bits, above) << bits;
    }
}

TYPED_TEST(sub_word, random_floats_round_to_a_nearest_neighbour)
{
    auto random = generator();
    for (int i = 0; i < 100000; ++i) {
        const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        const TypeParam rounded(value);
        const double got = value_of<TypeParam>(rounded.bits);
        if (std::isnan(value)) {
            ASSERT_TRUE(std::isnan(got));
        } else if (std::isinf(got)) {
            ASSERT_GT(std::abs(value), value_of<TypeParam>(TypeParam(std::numeric_limits<float>::infinity()).bits - 1));
        } else {
            for (const int neighbour : {-1, 1}) {
                const double other = value_of<TypeParam>(static_cast<std::uint16_t>(rounded.bits + neighbour));
                if (std::isfinite(other)) {
                    ASSERT_LE(std::abs(got - static_cast<double>(value)), std::abs(other - static_cast<double>(value)));
                }
            }
        }
    }
}

TYPED_TEST(sub_word, are_two_bytes_of_storage)
{
    static_assert(sizeof(TypeParam) == 2 && std::is_trivially_copyable_v<TypeParam>);
    static_assert(TypeParam(1.5F) == 1.5F);
    EXPECT_EQ(TypeParam().bits, 0);
}

} // namespace
