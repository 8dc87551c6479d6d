// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Reduce over the floating-point types, on every target: bits, not tolerances.
#include <cstdint>
#include <limits>

#include "reduce_cases.hpp"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

template <class On>
class reduce_floats : public ::testing::Test {
};
using floats = every<up::f16, up::bf16, float, double>;
TYPED_TEST_SUITE(reduce_floats, floats);

#define TARGET typename TypeParam::target
#define ELEMENT typename TypeParam::element

TYPED_TEST(reduce_floats, plus) { expect_reduces<TARGET, ELEMENT>(up::plus{}); }
TYPED_TEST(reduce_floats, multiplies) { expect_reduces<TARGET, ELEMENT>(up::multiplies{}); }
TYPED_TEST(reduce_floats, minimum) { expect_reduces<TARGET, ELEMENT>(up::minimum{}); }
TYPED_TEST(reduce_floats, maximum) { expect_reduces<TARGET, ELEMENT>(up::maximum{}); }
TYPED_TEST(reduce_floats, logical_and) { expect_reduces<TARGET, ELEMENT>(up::logical_and{}); }
TYPED_TEST(reduce_floats, logical_or) { expect_reduces<TARGET, ELEMENT>(up::logical_or{}); }

template <class Target, class T, class Op>
auto reduced(std::initializer_list<float> values, Op op)
{
    host_array<T> elements(values.size());
    std::ranges::transform(values, elements.begin(), [](float value) { return static_cast<T>(value); });
    return up::reduce(Target{}, target_array<Target, T>(elements.span()).const_span(), op);
}

TYPED_TEST(reduce_floats, of_nothing_is_the_identity)
{
    using target = TARGET;
    using element = ELEMENT;
    using accumulator = up::accumulator_t<up::plus, element>;
    EXPECT_TRUE(bits_equal((of_nothing<target, element>(up::plus{})), accumulator(+0.0))); // not the -0.0 that pads
    EXPECT_TRUE(bits_equal((of_nothing<target, element>(up::multiplies{})), accumulator(1)));
    EXPECT_TRUE((of_nothing<target, element>(up::logical_and{})));
    EXPECT_FALSE((of_nothing<target, element>(up::logical_or{})));
    EXPECT_THROW((of_nothing<target, element>(up::minimum{})), up::error);
    EXPECT_THROW((of_nothing<target, element>(up::maximum{})), up::error);
}

TYPED_TEST(reduce_floats, keeps_the_sign_of_zero)
{
    using target = TARGET;
    using element = ELEMENT;
    using accumulator = up::accumulator_t<up::plus, element>;
    EXPECT_TRUE(bits_equal((reduced<target, element>({-0.0F}, up::plus{})), accumulator(-0.0)));
    EXPECT_TRUE(bits_equal((reduced<target, element>({-0.0F, -0.0F, -0.0F}, up::plus{})), accumulator(-0.0)));
    EXPECT_TRUE(bits_equal((reduced<target, element>({-0.0F, 0.0F, -0.0F}, up::plus{})), accumulator(0.0)));
    EXPECT_TRUE(bits_equal((reduced<target, element>({0.0F, -0.0F, 0.0F}, up::minimum{})), element(-0.0F)));
    EXPECT_TRUE(bits_equal((reduced<target, element>({-0.0F, 0.0F, -0.0F}, up::maximum{})), element(0.0F)));
}

TYPED_TEST(reduce_floats, propagates_infinity_and_nan)
{
    using target = TARGET;
    using element = ELEMENT;
    constexpr float inf = std::numeric_limits<float>::infinity();
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    using accumulator = up::accumulator_t<up::plus, element>;
    const accumulator any_nan = std::numeric_limits<accumulator>::quiet_NaN();
    EXPECT_EQ((reduced<target, element>({1, inf, -1}, up::plus{})), inf);
    EXPECT_TRUE(bits_equal((reduced<target, element>({1, inf, -inf}, up::plus{})), any_nan));
    EXPECT_TRUE(bits_equal((reduced<target, element>({inf, 0, 1}, up::multiplies{})), any_nan));
    for (const std::size_t n : telling_sizes) { // a NaN is found wherever it stands, among numbers that would hide it
        host_array<element> values(n);
        std::ranges::fill(values, static_cast<element>(-inf));
        for (const std::size_t place : {std::size_t{0}, n / 2, n - 1}) {
            values[place] = static_cast<element>(nan);
            const target_array<target, element> in(values.span());
            ASSERT_TRUE(bits_equal(up::reduce(target{}, in.const_span(), up::minimum{}), element(nan))) << n;
            ASSERT_TRUE(bits_equal(up::reduce(target{}, in.const_span(), up::maximum{}), element(nan))) << n;
            ASSERT_TRUE(up::reduce(target{}, in.const_span(), up::logical_and{})); // and is true
            values[place] = static_cast<element>(-inf);
        }
    }
}

// 4096 times 1/4096 + 1: element by element in 16 bits the small addends would all be lost.
TYPED_TEST(reduce_floats, accumulates_sub_word_floats_in_float)
{
    using target = TARGET;
    using element = ELEMENT;
    host_array<element> values(4097);
    std::ranges::fill(values, static_cast<element>(1.0F / 4096));
    values[4096] = static_cast<element>(1.0F);
    const auto sum = up::reduce(target{}, target_array<target, element>(values.span()).const_span(), up::plus{});
    EXPECT_EQ(sum, 2);
}

} // namespace
