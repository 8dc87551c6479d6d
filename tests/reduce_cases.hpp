// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>
#include <upsweep/reduce.hpp>

#include "expected.hpp"
#include "gpu/operators.cuh"
#include "samples.hpp"
#include "targets.hpp"

// Reduce, on every target: bits, not tolerances. The files named reduce_* and gpu/reduce* and folds.cpp
// instantiate the suites, each those that it is about.
namespace upsweep::test {

namespace up = upsweep;

// Reduces prefixes of random elements, from addresses of every alignment, and compares with the literal fold.
template <class Target, class T, class Op>
void expect_literal_folds(Op op, std::span<const std::size_t> sizes = every_size<Target>)
{
    using accumulator = accumulator_t<Op, T>;
    auto random = generator();
    const host_array<T> values = random_array<T>(random, sizes.back() + 17);
    const target_array<Target, T> in(values.span());
    std::size_t offset = 0;
    for (const std::size_t n : sizes) {
        offset = (offset + 1) % 17;
        const host_array<accumulator> converted_values = converted<accumulator>(values.span().subspan(offset, n));
        const auto expected = as_expected<result_t<Op, T>>(literal_fold(converted_values.span(), op));
        on_every_variant<Target>([&](const Target& target) {
            const auto got = reduce(target, in.const_span().subspan(offset, n), op);
            static_assert(std::is_same_v<decltype(got), const result_t<Op, T>>);
            ASSERT_TRUE(bits_equal(got, expected)) << n << " elements";
        });
    }
}

// An aligned block is its two halves; a larger power of two and a smaller one are folded apart and then together.
template <class Target, class T, class Op>
void expect_concatenation(Op op, std::size_t size)
{
    auto random = generator();
    const host_array<T> values = random_array<T>(random, size);
    const Target target{};
    using accumulator = accumulator_t<Op, T>;
    const auto folded = [&](std::size_t first, std::size_t count) {
        const target_array<Target, T> part(values.span().subspan(first, count));
        return convert<accumulator>(reduce(target, part.const_span(), op));
    };
    for (std::size_t left = 1; left < values.size(); left *= 8) {
        const auto of_left = folded(0, left);
        for (std::size_t right = 1; right <= left; right *= 2) {
            // The operator itself leaves the pattern of a NaN to the processor.
            const auto expected = as_expected<accumulator>(op(of_left, folded(left, right)));
            ASSERT_TRUE(bits_equal(folded(0, left + right), expected)) << left << " + " << right;
        }
    }
}

// The overload for a result in the target's memory.
template <class Target, class T, class Op>
void expect_result_in_memory(Op op)
{
    auto random = generator();
    const target_array<Target, T> in(random_array<T>(random, 1000).span());
    const Target target{};
    target_array<Target, result_t<Op, T>> result(1);
    reduce(target, in.const_span(), result.span().data(), op);
    EXPECT_TRUE(bits_equal(result.to_host()[0], reduce(target, in.const_span(), op)));
}

template <class On, class Op>
void expect_reduces(Op op, std::span<const std::size_t> sizes = operator_sizes<typename On::target>)
{
    using target = typename On::target;
    using element = typename On::element;
    expect_literal_folds<target, element>(op, sizes);
    expect_concatenation<target, element>(op, std::bit_ceil(sizes.back()));
    expect_result_in_memory<target, element>(op);
}

// The reduce of nothing.
template <class Target, class T, class Op>
auto of_nothing(Op op)
{
    return reduce(Target{}, std::span<const T>{}, op);
}

// --- sums of every type ---------------------------------------------------------------------------------------------

template <class On>
class reduce_sums : public ::testing::Test {
};
TYPED_TEST_SUITE_P(reduce_sums);

TYPED_TEST_P(reduce_sums, of_every_size)
{
    expect_reduces<TypeParam>(up::plus{}, every_size<typename TypeParam::target>);
}

REGISTER_TYPED_TEST_SUITE_P(reduce_sums, of_every_size);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(reduce_sums);

// --- integers -------------------------------------------------------------------------------------------------------

template <class On>
class reduce_integers : public ::testing::Test {
};
TYPED_TEST_SUITE_P(reduce_integers);

TYPED_TEST_P(reduce_integers, multiplies) { expect_reduces<TypeParam>(up::multiplies{}); }
TYPED_TEST_P(reduce_integers, minimum) { expect_reduces<TypeParam>(up::minimum{}); }
TYPED_TEST_P(reduce_integers, maximum) { expect_reduces<TypeParam>(up::maximum{}); }

TYPED_TEST_P(reduce_integers, of_nothing_is_the_identity)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
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
TYPED_TEST_P(reduce_integers, extrema_at_either_end_are_found)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    using limits = std::numeric_limits<element>;
    for (const std::size_t n : operator_sizes<target>) {
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
TYPED_TEST_P(reduce_integers, is_invariant_under_permutation)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    auto random = generator();
    host_array<element> values = random_array<element>(random, sampled<target>(100003));
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
TYPED_TEST_P(reduce_integers, sums_of_extremes_have_64_bits)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    for (const element value : {std::numeric_limits<element>::min(), std::numeric_limits<element>::max()}) {
        const std::size_t count = sampled<target>(200003);
        host_array<element> values(count);
        std::ranges::fill(values, value);
        const auto sum = up::reduce(target{}, target_array<target, element>(values.span()).const_span(), up::plus{});
        static_assert(sizeof sum == 8);
        EXPECT_EQ(static_cast<std::uint64_t>(sum), count * static_cast<std::uint64_t>(value));
    }
}

REGISTER_TYPED_TEST_SUITE_P(reduce_integers, multiplies, minimum, maximum, of_nothing_is_the_identity,
                            extrema_at_either_end_are_found, is_invariant_under_permutation,
                            sums_of_extremes_have_64_bits);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(reduce_integers);

// The other operators.
template <class On>
class reduce_bits : public ::testing::Test {
};
TYPED_TEST_SUITE_P(reduce_bits);

TYPED_TEST_P(reduce_bits, bit_and) { expect_reduces<TypeParam>(up::bit_and{}); }
TYPED_TEST_P(reduce_bits, bit_or) { expect_reduces<TypeParam>(up::bit_or{}); }
TYPED_TEST_P(reduce_bits, bit_xor) { expect_reduces<TypeParam>(up::bit_xor{}); }
TYPED_TEST_P(reduce_bits, logical_and) { expect_reduces<TypeParam>(up::logical_and{}); }
TYPED_TEST_P(reduce_bits, logical_or) { expect_reduces<TypeParam>(up::logical_or{}); }

// One element against the grain, anywhere in a long array, on any number of threads.
TYPED_TEST_P(reduce_bits, logical_operators_find_a_single_element)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    auto random = generator();
    host_array<element> values(sampled<target>(std::size_t{1} << 21));
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

REGISTER_TYPED_TEST_SUITE_P(reduce_bits, bit_and, bit_or, bit_xor, logical_and, logical_or,
                            logical_operators_find_a_single_element);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(reduce_bits);

// --- floating-point numbers -----------------------------------------------------------------------------------------

template <class On>
class reduce_floats : public ::testing::Test {
};
TYPED_TEST_SUITE_P(reduce_floats);

TYPED_TEST_P(reduce_floats, multiplies) { expect_reduces<TypeParam>(up::multiplies{}); }
TYPED_TEST_P(reduce_floats, minimum) { expect_reduces<TypeParam>(up::minimum{}); }
TYPED_TEST_P(reduce_floats, maximum) { expect_reduces<TypeParam>(up::maximum{}); }
TYPED_TEST_P(reduce_floats, logical_and) { expect_reduces<TypeParam>(up::logical_and{}); }
TYPED_TEST_P(reduce_floats, logical_or) { expect_reduces<TypeParam>(up::logical_or{}); }

template <class Target, class T, class Op>
auto reduced(std::initializer_list<float> values, Op op)
{
    const host_array<T> elements = converted<T>(std::span<const float>(values));
    const target_array<Target, T> in(elements.span());
    return up::reduce(Target{}, in.const_span(), op);
}

TYPED_TEST_P(reduce_floats, of_nothing_is_the_identity)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    using accumulator = up::accumulator_t<up::plus, element>;
    EXPECT_TRUE(bits_equal((of_nothing<target, element>(up::plus{})), accumulator(+0.0))); // not the -0.0 that pads
    EXPECT_TRUE(bits_equal((of_nothing<target, element>(up::multiplies{})), accumulator(1)));
    EXPECT_TRUE((of_nothing<target, element>(up::logical_and{})));
    EXPECT_FALSE((of_nothing<target, element>(up::logical_or{})));
    EXPECT_THROW((of_nothing<target, element>(up::minimum{})), up::error);
    EXPECT_THROW((of_nothing<target, element>(up::maximum{})), up::error);
}

TYPED_TEST_P(reduce_floats, keeps_the_sign_of_zero)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    using accumulator = up::accumulator_t<up::plus, element>;
    EXPECT_TRUE(bits_equal((reduced<target, element>({-0.0F}, up::plus{})), accumulator(-0.0)));
    EXPECT_TRUE(bits_equal((reduced<target, element>({-0.0F, -0.0F, -0.0F}, up::plus{})), accumulator(-0.0)));
    EXPECT_TRUE(bits_equal((reduced<target, element>({-0.0F, 0.0F, -0.0F}, up::plus{})), accumulator(0.0)));
    EXPECT_TRUE(bits_equal((reduced<target, element>({0.0F, -0.0F, 0.0F}, up::minimum{})), element(-0.0F)));
    EXPECT_TRUE(bits_equal((reduced<target, element>({-0.0F, 0.0F, -0.0F}, up::maximum{})), element(0.0F)));
}

TYPED_TEST_P(reduce_floats, propagates_infinity_and_nan)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    constexpr float inf = std::numeric_limits<float>::infinity();
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    using accumulator = up::accumulator_t<up::plus, element>;
    const accumulator any_nan = std::numeric_limits<accumulator>::quiet_NaN();
    EXPECT_EQ((reduced<target, element>({1, inf, -1}, up::plus{})), inf);
    EXPECT_TRUE(bits_equal((reduced<target, element>({1, inf, -inf}, up::plus{})), any_nan));
    EXPECT_TRUE(bits_equal((reduced<target, element>({inf, 0, 1}, up::multiplies{})), any_nan));
    for (const std::size_t n :
         operator_sizes<target>) { // a NaN is found wherever it stands, among numbers that would hide it
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
TYPED_TEST_P(reduce_floats, accumulates_sub_word_floats_in_float)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    host_array<element> values(4097);
    std::ranges::fill(values, static_cast<element>(1.0F / 4096));
    values[4096] = static_cast<element>(1.0F);
    const auto sum = up::reduce(target{}, target_array<target, element>(values.span()).const_span(), up::plus{});
    EXPECT_EQ(sum, 2);
}

REGISTER_TYPED_TEST_SUITE_P(reduce_floats, multiplies, minimum, maximum, logical_and, logical_or,
                            of_nothing_is_the_identity, keeps_the_sign_of_zero, propagates_infinity_and_nan,
                            accumulates_sub_word_floats_in_float);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(reduce_floats);

// --- what does not depend on the type of the elements ---------------------------------------------------------------

template <class Target>
class reduce_on : public ::testing::Test {
};
TYPED_TEST_SUITE_P(reduce_on);

// Operands of an operator that does not commute keep their order.
TYPED_TEST_P(reduce_on, maps_are_composed_in_order)
{
    expect_literal_folds<TypeParam, affine>(composition, large_element_sizes<TypeParam>);
}
TYPED_TEST_P(reduce_on, matrices_are_multiplied_in_order)
{
    expect_literal_folds<TypeParam, matrix>(product, large_element_sizes<TypeParam>);
}

// One element less and one more than a number of bytes that engines take at once.
template <class Target, class T>
void expect_reduces_of_whole_tiles()
{
    auto random = generator();
    const host_array<T> values = random_array<T>(random, 30 * 16384 / sizeof(T));
    const target_array<Target, T> in(values.span());
    const host_array<accumulator_t<up::plus, T>> summands = converted<accumulator_t<up::plus, T>>(values.span());
    for (const std::size_t tiles : {1, 2, 3, 24, 28})
        for (const std::size_t n :
             {tiles * 16384 / sizeof(T) - 1, tiles * 16384 / sizeof(T), tiles * 16384 / sizeof(T) + 1})
            EXPECT_TRUE(bits_equal(up::reduce(Target{}, in.const_span().first(n)),
                                   literal_fold(summands.span().first(n), up::plus{})))
                << n << " elements";
}

TYPED_TEST_P(reduce_on, whole_tiles)
{
    expect_reduces_of_whole_tiles<TypeParam, float>();
    expect_reduces_of_whole_tiles<TypeParam, std::int16_t>();
}

// Elements are read through the iterator, so that a transform costs no pass of its own.
TYPED_TEST_P(reduce_on, what_an_iterator_makes)
{
    const std::uint64_t n = 50000;
    on_every_variant<TypeParam>([&](const TypeParam& target) {
        EXPECT_EQ(up::reduce(target, square_range{squares(0), squares(n)}, up::plus{}), (n - 1) * n * (2 * n - 1) / 6);
    });
}

// The result may be written to a type of the caller's choice; integers wrap.
TYPED_TEST_P(reduce_on, results_of_any_type)
{
    host_array<std::uint16_t> values(1000);
    std::ranges::fill(values, std::uint16_t{1000});
    const target_array<TypeParam, std::uint16_t> in(values.span());
    target_array<TypeParam, double> as_double(1);
    target_array<TypeParam, std::uint16_t> as_short(1);
    const TypeParam target{};
    up::reduce(target, in.const_span(), as_double.span().data(), up::plus{});
    up::reduce(target, in.const_span(), as_short.span().data(), up::plus{});
    EXPECT_EQ(as_double.to_host()[0], 1e6);
    EXPECT_EQ(as_short.to_host()[0], 1000000 % 65536);
}

TYPED_TEST_P(reduce_on, nothing_has_no_minimum)
{
    target_array<TypeParam, float> result(host_array<float>{42}.span());
    try {
        up::reduce(TypeParam{}, std::span<const float>{}, result.span().data(), up::minimum{});
        FAIL() << "no error";
    } catch (const up::error& failure) {
        EXPECT_EQ(failure.kind(), up::error_kind::invalid_argument);
        EXPECT_NE(std::string(failure.what()).find("no elements"), std::string::npos) << failure.what();
    }
    EXPECT_EQ(result.to_host()[0], 42);
}

REGISTER_TYPED_TEST_SUITE_P(reduce_on, maps_are_composed_in_order, matrices_are_multiplied_in_order, whole_tiles,
                            what_an_iterator_makes, results_of_any_type, nothing_has_no_minimum);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(reduce_on);

} // namespace upsweep::test
