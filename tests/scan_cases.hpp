// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include <gtest/gtest.h>
#include <upsweep/reduce.hpp>
#include <upsweep/scan.hpp>

#include "expected.hpp"
#include "gpu/operators.cuh"
#include "samples.hpp"
#include "targets.hpp"

// Inclusive and exclusive scans, on every target: bits, not tolerances. The files named scan_* and gpu/scan* and
// folds.cpp instantiate the suites, each those that it is about.
namespace upsweep::test {

namespace up = upsweep;

// The results of an exclusive scan: those of the inclusive one shifted by one, after the fold of nothing.
template <class Out, class Op>
host_array<Out> shifted(const host_array<Out>& inclusive, const Op& op)
{
    host_array<Out> exclusive(inclusive.size());
    exclusive[0] = convert<Out>(fold_of_nothing<scan_accumulator_t<Op, Out>>(op));
    std::copy(inclusive.begin(), inclusive.end() - 1, exclusive.begin() + 1);
    return exclusive;
}

// Inclusive: the literal fold of every prefix. Exclusive: the same shifted by one, to the bit. With init: init (+)
// that, and init first. From and to addresses of every alignment.
template <class Target, class In, class Out, class Op>
void expect_prefix_folds(Op op, std::span<const std::size_t> sizes = every_size<Target>)
{
    using accumulator = scan_accumulator_t<Op, Out>;
    auto random = generator();
    const host_array<In> values = random_array<In>(random, sizes.back() + 17);
    const target_array<Target, In> in(values.span());
    const auto init = random_value<Out>(random);
    const auto init_accumulator = convert<accumulator>(init);
    std::size_t offset = 0;

    for (const std::size_t n : sizes) {
        offset = (offset + 1) % 17;
        const auto folds = literal_folds(converted<accumulator>(values.span().subspan(offset, n)).span(), op);
        host_array<accumulator> after_init(n);
        after_init[0] = init_accumulator;
        for (std::size_t i = 1; i < n; ++i)
            after_init[i] = op(init_accumulator, folds[i - 1]);
        const host_array<Out> inclusive = converted<Out>(folds.span());
        const host_array<Out> exclusive = shifted(inclusive, op);
        const host_array<Out> exclusive_after_init = converted<Out>(after_init.span());

        on_every_variant<Target>([&](const Target& target) {
            const std::size_t offset_out = offset * 7 % 18;
            target_array<Target, Out> memory(n + 18);
            const std::span<Out> out = memory.span().subspan(offset_out, n);
            const auto from = in.const_span().subspan(offset, n);
            const auto written = [&] {
                const host_array<Out> all = memory.to_host();
                return host_array<Out>(all.span().subspan(offset_out, n));
            };
            inclusive_scan(target, from, out, op);
            ASSERT_TRUE(bits_equal(written(), inclusive)) << "inclusive scan of " << n;
            exclusive_scan(target, from, out, op);
            ASSERT_TRUE(bits_equal(written(), exclusive)) << "exclusive scan of " << n;
            exclusive_scan(target, from, out, op, init);
            ASSERT_TRUE(bits_equal(written(), exclusive_after_init))
                << "exclusive scan of " << n << " after " << printed(init);
        });
    }
}

// In place, the same results, at addresses of every alignment; what lies beside the array stays.
template <class Target, class T, class Op>
void expect_in_place(Op op, std::span<const std::size_t> sizes)
{
    using accumulator = scan_accumulator_t<Op, T>;
    auto random = generator();
    constexpr std::size_t beside = 17;
    for (std::size_t offset = 0; const std::size_t n : sizes) {
        offset = (offset + 5) % beside;
        const host_array<T> values = random_array<T>(random, n);
        const auto folds = literal_folds(converted<accumulator>(values.span()).span(), op);
        const host_array<T> expected_inclusive = converted<T>(folds.span());
        const host_array<T> expected_exclusive = shifted(expected_inclusive, op);
        host_array<T> all = random_array<T>(random, n + 2 * beside);
        const auto with = [&](const host_array<T>& part) {
            std::ranges::copy(part, all.begin() + static_cast<std::ptrdiff_t>(offset));
            return all.span();
        };
        on_every_variant<Target>([&](const Target& target) {
            target_array<Target, T> inclusive(with(values));
            const std::span<T> elements = inclusive.span().subspan(offset, n);
            inclusive_scan(target, std::span<const T>(elements), elements, op);
            ASSERT_TRUE(bits_equal(inclusive.to_host(), host_array<T>(with(expected_inclusive))))
                << "inclusive scan of " << n << " from element " << offset;

            target_array<Target, T> exclusive(with(values));
            exclusive_scan(target, exclusive.span().subspan(offset, n), exclusive.span().subspan(offset, n), op);
            ASSERT_TRUE(bits_equal(exclusive.to_host(), host_array<T>(with(expected_exclusive))))
                << "exclusive scan of " << n << " from element " << offset;
        });
    }
}

// NaN, which may come of an element of any sign and payload or be the initial value, is the quiet one without payload in all
// results that it is in.
template <class Target, class T, class Op>
void expect_one_nan(Op op, std::size_t n, std::size_t place)
{
    auto random = generator();
    host_array<T> values = random_array<T>(random, n);
    const host_array<T> sound = values;
    values[place] = nan_with_payload<T>();
    const T nan = convert<T>(std::numeric_limits<float>::quiet_NaN());
    const auto expected = [&](std::size_t first_nan, const host_array<T>& otherwise) {
        host_array<T> results = otherwise;
        std::fill(results.begin() + static_cast<std::ptrdiff_t>(std::min(first_nan, n)), results.end(), nan);
        return results;
    };
    const target_array<Target, T> in(values.span()), in_sound(sound.span());
    target_array<Target, T> out(n), without(n);
    const Target target{};
    const T init = random_value<T>(random);

    inclusive_scan(target, in_sound.const_span(), without.span(), op);
    inclusive_scan(target, in.const_span(), out.span(), op);
    ASSERT_TRUE(bits_equal(out.to_host(), expected(place, without.to_host()))) << n << " at " << place;
    exclusive_scan(target, in_sound.const_span(), without.span(), op, init);
    exclusive_scan(target, in.const_span(), out.span(), op, init);
    ASSERT_TRUE(bits_equal(out.to_host(), expected(place + 1, without.to_host()))) << n << " at " << place;
    exclusive_scan(target, in_sound.const_span(), out.span(), op, nan_with_payload<T>());
    ASSERT_TRUE(bits_equal(out.to_host(), expected(0, without.to_host()))) << n << ", as init";

    using result = result_t<Op, T>;
    ASSERT_TRUE(
        bits_equal(up::reduce(target, in.const_span(), op), convert<result>(std::numeric_limits<float>::quiet_NaN())));
}

// NaN that the operator makes of other operands, in some prefixes and not in longer ones: the fold of the first 24 elements
// overflows, and the next one makes NaN of that; the fold of the first 32 folds that one with finite elements before. Also with
// so many elements, a power of two, in the place of each.
template <class Target, class T, class Op>
void expect_nan_that_passes(Op op, const T& other, const T& makes_nan, std::size_t times)
{
    const std::size_t n = 40 * times + 3;
    host_array<T> values(n);
    std::ranges::fill(values, other);
    values[0] = values[16 * times] = std::numeric_limits<T>::max();
    values[24 * times] = makes_nan;
    const auto folds = literal_folds(converted<T>(values.span()).span(), op);
    const host_array<T> expected = converted<T>(folds.span());
    ASSERT_TRUE(expected[24 * times] != expected[24 * times] && expected[32 * times] == expected[32 * times]);
    on_every_variant<Target>([&](const Target& target) {
        const target_array<Target, T> in(values.span());
        target_array<Target, T> out(n);
        inclusive_scan(target, in.const_span(), out.span(), op);
        ASSERT_TRUE(bits_equal(out.to_host(), expected)) << "inclusive, " << n;
        exclusive_scan(target, in.const_span(), out.span(), op);
        ASSERT_TRUE(bits_equal(out.to_host(), shifted(expected, op))) << "exclusive, " << n;
    });
}

template <class On, class Op>
void expect_scans(Op op, std::span<const std::size_t> sizes = operator_sizes<typename On::target>)
{
    using target = typename On::target;
    using element = typename On::element;
    expect_prefix_folds<target, element, element>(op, sizes);
    expect_in_place<target, element>(op, sizes);
}

template <class On, class Out, class Op>
void expect_scans_to(Op op)
{
    using target = typename On::target;
    expect_prefix_folds<target, typename On::element, Out>(op, operator_sizes<target>);
}

// --- sums of every type ---------------------------------------------------------------------------------------------

template <class On>
class scan_sums : public ::testing::Test {
};
TYPED_TEST_SUITE_P(scan_sums);

// Sums of integers wrap in the type of the results.
TYPED_TEST_P(scan_sums, of_every_size) { expect_scans<TypeParam>(up::plus{}, every_size<typename TypeParam::target>); }

REGISTER_TYPED_TEST_SUITE_P(scan_sums, of_every_size);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(scan_sums);

// --- integers -------------------------------------------------------------------------------------------------------

template <class On>
class scan_integers : public ::testing::Test {
};
TYPED_TEST_SUITE_P(scan_integers);

// Elements are converted to the type of the results before they are folded: bytes into counts, flags into positions.
TYPED_TEST_P(scan_integers, widens_to_64_bits) { expect_scans_to<TypeParam, std::uint64_t>(up::plus{}); }

TYPED_TEST_P(scan_integers, of_nothing_writes_nothing)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    target_array<target, element> out(0);
    on_every_variant<target>([&](const target& where) {
        up::inclusive_scan(where, std::span<const element>{}, out.span(), up::plus{});
        up::exclusive_scan(where, std::span<const element>{}, out.span(), up::minimum{}, element{1});
    });
}

REGISTER_TYPED_TEST_SUITE_P(scan_integers, widens_to_64_bits, of_nothing_writes_nothing);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(scan_integers);

// The other operators.
template <class On>
class scan_operators : public ::testing::Test {
};
TYPED_TEST_SUITE_P(scan_operators);

TYPED_TEST_P(scan_operators, minimum) { expect_scans<TypeParam>(up::minimum{}); }
TYPED_TEST_P(scan_operators, multiplies) { expect_scans<TypeParam>(up::multiplies{}); }
TYPED_TEST_P(scan_operators, maximum) { expect_scans<TypeParam>(up::maximum{}); }
TYPED_TEST_P(scan_operators, bit_and) { expect_scans<TypeParam>(up::bit_and{}); }
TYPED_TEST_P(scan_operators, bit_or) { expect_scans<TypeParam>(up::bit_or{}); }
TYPED_TEST_P(scan_operators, bit_xor) { expect_scans<TypeParam>(up::bit_xor{}); }
TYPED_TEST_P(scan_operators, logical_and) { expect_scans<TypeParam>(up::logical_and{}); }
TYPED_TEST_P(scan_operators, logical_or) { expect_scans<TypeParam>(up::logical_or{}); }
TYPED_TEST_P(scan_operators, sums_as_double) { expect_scans_to<TypeParam, double>(up::plus{}); }

REGISTER_TYPED_TEST_SUITE_P(scan_operators, minimum, multiplies, maximum, bit_and, bit_or, bit_xor, logical_and,
                            logical_or, sums_as_double);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(scan_operators);

// --- floating-point numbers -----------------------------------------------------------------------------------------

template <class On>
class scan_float_sums : public ::testing::Test {
};
TYPED_TEST_SUITE_P(scan_float_sums);

TYPED_TEST_P(scan_float_sums, converts_to_float) { expect_scans_to<TypeParam, float>(up::plus{}); }

TYPED_TEST_P(scan_float_sums, converts_to_double) { expect_scans_to<TypeParam, double>(up::plus{}); }

// scan[i] is the reduce of the first i + 1 elements, for types that both accumulate alike.
TYPED_TEST_P(scan_float_sums, is_the_reduce_of_every_prefix)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    auto random = generator();
    const std::size_t count = sampled<target>(700);
    const target_array<target, element> in(random_array<element>(random, count).span());
    target_array<target, up::accumulator_t<up::plus, element>> out(count);
    up::inclusive_scan(target{}, in.const_span(), out.span(), up::plus{});
    const auto results = out.to_host();
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_TRUE(bits_equal(results[i], up::reduce(target{}, in.const_span().first(i + 1), up::plus{}))) << i;
}

TYPED_TEST_P(scan_float_sums, keeps_the_sign_of_zero)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    const element minus_zero(-0.0F);
    const element zero(0.0F);
    on_every_variant<target>([&](const target& where) {
        host_array<element> zeros(sampled<target>(300000));
        std::ranges::fill(zeros, minus_zero);
        const target_array<target, element> in(zeros.span());
        target_array<target, element> out(zeros.size());
        up::inclusive_scan(where, in.const_span(), out.span(), up::plus{});
        ASSERT_TRUE(bits_equal(out.to_host(), zeros));
        up::exclusive_scan(where, in.const_span(), out.span(), up::plus{}, minus_zero);
        ASSERT_TRUE(bits_equal(out.to_host(), zeros));
        up::exclusive_scan(where, in.const_span(), out.span(), up::plus{}); // the sum of nothing is +0, of -0 it is -0
        zeros[0] = zero;
        ASSERT_TRUE(bits_equal(out.to_host(), zeros));
    });
}

// A result that is rounded twice, or an accumulator of 16 bits, would stay at 256 (bf16) or 2048 (f16).
TYPED_TEST_P(scan_float_sums, rounds_sub_word_floats_once)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    host_array<element> ones(5000);
    std::ranges::fill(ones, element(1.0F));
    const target_array<target, element> in(ones.span());
    target_array<target, element> out(ones.size());
    up::inclusive_scan(target{}, in.const_span(), out.span(), up::plus{});
    const host_array<element> results = out.to_host();
    for (std::size_t i = 0; i < results.size(); ++i)
        ASSERT_TRUE(bits_equal(results[i], element(static_cast<float>(i + 1)))) << i;
}

REGISTER_TYPED_TEST_SUITE_P(scan_float_sums, converts_to_float, converts_to_double, is_the_reduce_of_every_prefix,
                            keeps_the_sign_of_zero, rounds_sub_word_floats_once);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(scan_float_sums);

// The other operators.
template <class On>
class scan_floats : public ::testing::Test {
};
TYPED_TEST_SUITE_P(scan_floats);

TYPED_TEST_P(scan_floats, multiplies) { expect_scans<TypeParam>(up::multiplies{}); }
TYPED_TEST_P(scan_floats, minimum) { expect_scans<TypeParam>(up::minimum{}); }
TYPED_TEST_P(scan_floats, maximum) { expect_scans<TypeParam>(up::maximum{}); }
TYPED_TEST_P(scan_floats, logical_and) { expect_scans<TypeParam>(up::logical_and{}); }
TYPED_TEST_P(scan_floats, logical_or) { expect_scans<TypeParam>(up::logical_or{}); }

TYPED_TEST_P(scan_floats, nan_has_one_pattern_of_bits)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    for (const std::size_t n : operator_sizes<target>)
        for (const std::size_t place : {std::size_t{0}, n / 2, n - 1}) {
            expect_one_nan<target, element>(up::plus{}, n, place);
            expect_one_nan<target, element>(up::multiplies{}, n, place);
            expect_one_nan<target, element>(up::minimum{}, n, place);
            expect_one_nan<target, element>(up::maximum{}, n, place);
        }
}

TYPED_TEST_P(scan_floats, nan_passes)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    if constexpr (std::is_floating_point_v<element>)
        for (const std::size_t times : {1, 2, 8, 64, 512}) {
            const element infinite = std::numeric_limits<element>::infinity();
            expect_nan_that_passes<target, element>(up::plus{}, 0, -infinite, times);
            expect_nan_that_passes<target, element>(up::multiplies{}, 1, 0, times);
        }
}

TYPED_TEST_P(scan_floats, without_init_begins_with_the_identity)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    const target_array<target, element> in(host_array<element>{element(3.0F)}.span());
    const auto first = [&](auto op) {
        target_array<target, element> out(1);
        up::exclusive_scan(target{}, in.const_span(), out.span(), op);
        return out.to_host()[0];
    };
    constexpr float inf = std::numeric_limits<float>::infinity();
    EXPECT_TRUE(bits_equal(first(up::plus{}), element(0.0F)));
    EXPECT_TRUE(bits_equal(first(up::multiplies{}), element(1.0F)));
    EXPECT_TRUE(bits_equal(first(up::minimum{}), element(inf)));
    EXPECT_TRUE(bits_equal(first(up::maximum{}), element(-inf)));
    EXPECT_TRUE(bits_equal(first(up::logical_and{}), element(1.0F)));
    EXPECT_TRUE(bits_equal(first(up::logical_or{}), element(0.0F)));
}

REGISTER_TYPED_TEST_SUITE_P(scan_floats, nan_has_one_pattern_of_bits, nan_passes, multiplies, minimum, maximum,
                            logical_and, logical_or, without_init_begins_with_the_identity);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(scan_floats);

// --- what does not depend on the type of the elements ---------------------------------------------------------------

template <class Target>
class scan_on : public ::testing::Test {
};
TYPED_TEST_SUITE_P(scan_on);

// Operands of an operator that does not commute keep their order.
TYPED_TEST_P(scan_on, maps_are_composed_in_order)
{
    expect_prefix_folds<TypeParam, affine, affine>(composition, large_element_sizes<TypeParam>);
}
TYPED_TEST_P(scan_on, matrices_are_multiplied_in_order)
{
    expect_prefix_folds<TypeParam, matrix, matrix>(product, large_element_sizes<TypeParam>);
}

TYPED_TEST_P(scan_on, flags_become_positions) { expect_prefix_folds<TypeParam, bool, std::uint32_t>(up::plus{}); }

// Elements are read through the iterator, so that a transform costs no pass of its own.
TYPED_TEST_P(scan_on, what_an_iterator_makes)
{
    constexpr std::uint64_t n = 5000;
    on_every_variant<TypeParam>([&](const TypeParam& target) {
        target_array<TypeParam, std::uint64_t> out(n);
        up::inclusive_scan(target, square_range{squares(0), squares(n)}, out.span());
        const host_array<std::uint64_t> results = out.to_host();
        for (std::uint64_t i = 0; i < n; ++i)
            ASSERT_EQ(results[i], i * (i + 1) * (2 * i + 1) / 6) << i;
    });
}

// The last result of an inclusive scan of 64-bit integers is the reduce.
TYPED_TEST_P(scan_on, ends_with_the_reduce)
{
    auto random = generator();
    const std::size_t count = sampled<TypeParam>(200003);
    const target_array<TypeParam, std::int64_t> in(random_array<std::int64_t>(random, count).span());
    target_array<TypeParam, std::int64_t> out(count);
    up::inclusive_scan(TypeParam{}, in.const_span(), out.span(), up::multiplies{});
    EXPECT_EQ(out.to_host()[count - 1], up::reduce(TypeParam{}, in.const_span(), up::multiplies{}));
}

// An output that is longer than the input keeps its tail.
TYPED_TEST_P(scan_on, writes_as_many_results_as_there_are_elements)
{
    const target_array<TypeParam, int> in(host_array<int>{1, 2, 3}.span());
    target_array<TypeParam, int> out(host_array<int>{-1, -1, -1, -1, -1}.span());
    up::inclusive_scan(TypeParam{}, in.const_span(), out.span(), up::plus{});
    EXPECT_TRUE(bits_equal(out.to_host(), host_array<int>{1, 3, 6, -1, -1}));
}

template <class Target>
void expect_refused_scan(std::span<const int> in, std::span<int> out, const std::string& why)
{
    try {
        up::inclusive_scan(Target{}, in, out);
        FAIL() << "no error";
    } catch (const up::error& failure) {
        EXPECT_EQ(failure.kind(), up::error_kind::invalid_argument);
        EXPECT_NE(std::string(failure.what()).find(why), std::string::npos) << failure.what();
    }
}

TYPED_TEST_P(scan_on, spans_that_overlap_by_half_are_refused)
{
    target_array<TypeParam, int> memory(100);
    expect_refused_scan<TypeParam>(memory.const_span().first(50), memory.span().subspan(1, 50), "overlap");
    expect_refused_scan<TypeParam>(memory.const_span().subspan(49, 50), memory.span().first(50), "overlap");
}

TYPED_TEST_P(scan_on, an_output_that_is_too_short_is_refused)
{
    const target_array<TypeParam, int> in(10);
    target_array<TypeParam, int> out(9);
    expect_refused_scan<TypeParam>(in.const_span(), out.span(), "shorter");
}

REGISTER_TYPED_TEST_SUITE_P(scan_on, maps_are_composed_in_order, matrices_are_multiplied_in_order,
                            flags_become_positions, what_an_iterator_makes, ends_with_the_reduce,
                            writes_as_many_results_as_there_are_elements, spans_that_overlap_by_half_are_refused,
                            an_output_that_is_too_short_is_refused);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(scan_on);

} // namespace upsweep::test
