// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/argmin.hpp>

#include "line_shapes.hpp"
#include "refusal.hpp"

// Positions of minima and maxima: the lowest index among equal elements, NaN before all others, -0.0 less than +0.0.
namespace upsweep::test {

template <class Target>
class arguments : public ::testing::Test {
};
TYPED_TEST_SUITE_P(arguments);

// A rank for every kind of number, by which the least comes first: a plain loop compares these.
template <class T>
double rank_of(const T& element, bool is_minimum)
{
    if constexpr (std::is_integral_v<T>) {
        const auto wide = static_cast<double>(element); // exact for what these tests use
        return is_minimum ? wide : -wide;
    } else {
        const auto wide = static_cast<double>(element);
        if (std::isnan(wide))
            return -std::numeric_limits<double>::infinity();
        const double in_order = std::isinf(wide) ? std::copysign(1e300, wide)
                                : wide == 0      ? std::copysign(1e-320, wide)
                                                 : wide;
        return is_minimum ? in_order : -in_order;
    }
}
template <class T>
std::size_t expected_argument(std::span<const T> elements, bool is_minimum)
{
    std::size_t best = 0;
    for (std::size_t i = 1; i < elements.size(); ++i)
        if (rank_of(elements[i], is_minimum) < rank_of(elements[best], is_minimum))
            best = i;
    return best;
}

// Elements that are equal to many others, the lowest and the highest of their type among them. Where `specials` is set, zeros of both
// signs and infinities are most of them; NaN is put in by the tests.
template <class T>
host_array<T> repeating_array(std::mt19937_64& random, std::size_t size, bool specials)
{
    host_array<T> values(size);
    for (T& value : values) {
        const auto small = static_cast<int>(random() % 7);
        if constexpr (std::is_same_v<T, bool>)
            value = small > 3;
        else if constexpr (std::is_integral_v<T>)
            value = small == 0 && specials ? std::numeric_limits<T>::min()
                    : small == 6           ? std::numeric_limits<T>::max()
                                           : static_cast<T>(small + (sizeof(T) == 4 ? 1'000'000 : 20));
        else if (specials)
            value = T(small < 3 ? 0.0F : small == 3 ? std::numeric_limits<float>::infinity() : -0.0F);
        else
            value = T(static_cast<float>(small) - 3.5F);
    }
    return values;
}

template <class Target, class T>
void expect_arguments(const host_array<T>& values)
{
    const target_array<Target, T> in(values.span());
    const std::size_t least = expected_argument<T>(values.span(), true);
    const std::size_t greatest = expected_argument<T>(values.span(), false);
    on_every_variant<Target>([&](const Target& target) {
        ASSERT_EQ(argmin(target, in.const_span()), least) << values.size();
        target_array<Target, std::int64_t> found(1);
        argmax(target, in.const_span(), found.span().data());
        ASSERT_EQ(found.to_host()[0], static_cast<std::int64_t>(greatest)) << values.size();
    });
}

template <class Target, class T>
void expect_arguments_of_every_size()
{
    auto random = generator();
    std::vector<std::size_t> sizes(every_size<Target>.begin(), every_size<Target>.end());
    sizes.push_back(many_elements<Target> * 2);
    for (const std::size_t size : sizes) {
        host_array<T> values = repeating_array<T>(random, size, size % 2 == 0);
        expect_arguments<Target>(values);
        if (std::is_integral_v<T> && sizeof(T) < 4)
            continue;
        // One least and one greatest element, wherever they are.
        if constexpr (std::is_integral_v<T>) {
            values[random() % size] = std::numeric_limits<T>::min();
            values[random() % size] = std::numeric_limits<T>::max();
        } else {
            values[random() % size] = T(-100.0F);
            values[random() % size] = T(100.0F);
        }
        expect_arguments<Target>(values);
        if constexpr (!std::is_integral_v<T>) {
            for (int k = 0; k < 3; ++k)
                values[random() % size] = k == 1 ? nan_with_payload<T>() : T(std::numeric_limits<float>::quiet_NaN());
            expect_arguments<Target>(values);
        }
    }
}
TYPED_TEST_P(arguments, of_floats) { expect_arguments_of_every_size<TypeParam, float>(); }
TYPED_TEST_P(arguments, of_doubles) { expect_arguments_of_every_size<TypeParam, double>(); }
TYPED_TEST_P(arguments, of_half_floats) { expect_arguments_of_every_size<TypeParam, f16>(); }
TYPED_TEST_P(arguments, of_bytes) { expect_arguments_of_every_size<TypeParam, std::int8_t>(); }
TYPED_TEST_P(arguments, of_words) { expect_arguments_of_every_size<TypeParam, std::uint32_t>(); }
TYPED_TEST_P(arguments, of_truths) { expect_arguments_of_every_size<TypeParam, bool>(); }

// 64-bit integers that are equal as doubles.
TYPED_TEST_P(arguments, of_integers_that_differ_in_their_last_bit)
{
    constexpr std::int64_t large = std::int64_t{1} << 62;
    for (const std::size_t size : {5UL, 300UL, 5000UL}) {
        host_array<std::int64_t> values(size);
        std::ranges::fill(values, large);
        values[size - 2] = large - 1;
        values[size / 2] = large + 1;
        const target_array<TypeParam, std::int64_t> in(values.span());
        EXPECT_EQ(argmin(TypeParam{}, in.const_span()), size - 2);
        EXPECT_EQ(argmax(TypeParam{}, in.const_span()), size / 2);
    }
}

TYPED_TEST_P(arguments, of_zeros_and_nan)
{
    const float nan = nan_with_payload<float>();
    const float inf = std::numeric_limits<float>::infinity();
    const auto both = [](std::initializer_list<float> values) {
        const host_array<float> all(values);
        const target_array<TypeParam, float> in(all.span());
        return std::pair(argmin(TypeParam{}, in.const_span()), argmax(TypeParam{}, in.const_span()));
    };
    using positions = std::pair<std::size_t, std::size_t>;
    EXPECT_EQ(both({0.0F, -0.0F, 0.0F, -0.0F}), positions(1, 0));
    EXPECT_EQ(both({-0.0F, -0.0F, 0.0F}), positions(0, 2));
    EXPECT_EQ(both({1, -inf, nan, inf, -nan}), positions(2, 2));
    EXPECT_EQ(both({inf, inf}), positions(0, 0));
    EXPECT_EQ(both({-inf, 1, inf, -inf, inf}), positions(0, 2));
}

// Along each axis of views of every shape, with the index in several types.
template <class Target, class T, class Index>
void expect_arguments_along_axes(bool specials)
{
    auto random = generator();
    on_every_axis<Target>([&](const auto& s, std::size_t k) {
        constexpr std::size_t rank = std::tuple_size_v<decltype(s.extents)>;
        const std::vector<std::ptrdiff_t> offsets = offsets_of(s);
        if (offsets.empty())
            return;
        const auto [lowest, highest] = std::ranges::minmax(offsets);
        const std::size_t origin = s.misplaced + static_cast<std::size_t>(-lowest);
        host_array<T> memory = repeating_array<T>(random, origin + static_cast<std::size_t>(highest) + 1, specials);
        if constexpr (!std::is_integral_v<T>)
            for (std::size_t i = random() % 50; i < memory.size(); i += 1 + random() % 2000)
                memory[i] = nan_with_payload<T>();
        const target_array<Target, T> in(memory.span());
        host_array<T> elements(offsets.size());
        for (std::size_t i = 0; i < offsets.size(); ++i)
            elements[i] = memory[origin + static_cast<std::size_t>(offsets[i])];
        const view<const T, rank> viewed(in.const_span().data() + origin, s.extents, s.strides);
        const split lines = split_at(s.extents, k);
        auto extents = s.extents;
        extents[k] = 1;
        for (const bool is_minimum : {true, false}) {
            host_array<Index> expected(lines.lines());
            for (std::size_t line = 0; line < lines.lines(); ++line)
                expected[line] =
                    static_cast<Index>(expected_argument<T>(line_of(elements, lines, line).span(), is_minimum));
            on_every_variant<Target>([&](const Target& target) {
                target_array<Target, Index> out(expected.size());
                const view<Index, rank> to(out.span().data(), extents);
                if (is_minimum)
                    argmin(target, viewed, axis{k}, to);
                else
                    argmax(target, viewed, axis{k}, to);
                ASSERT_TRUE(bits_equal(out.to_host(), expected)) << (is_minimum ? "argmin" : "argmax");
            });
        }
    });
}
TYPED_TEST_P(arguments, along_axes_of_floats) { expect_arguments_along_axes<TypeParam, float, std::int64_t>(true); }
TYPED_TEST_P(arguments, along_axes_of_bytes)
{
    expect_arguments_along_axes<TypeParam, std::uint8_t, std::uint32_t>(false);
}
TYPED_TEST_P(arguments, along_axes_of_doubles) { expect_arguments_along_axes<TypeParam, double, std::int32_t>(false); }

// Rows that end with a tile of vectors or anywhere in one, and begin at every place of a vector; the result is often among the last elements. Few rows are
// cut into parts, many are not.
template <class Target>
void expect_arguments_along_rows(std::size_t rows, std::size_t length, std::size_t misplaced)
{
    auto random = generator();
    host_array<float> memory = repeating_array<float>(random, misplaced + rows * length, false);
    for (std::size_t row = 0; row < rows; ++row)
        if (row % 3 != 0)
            memory[misplaced + (row + 1) * length - 1 - random() % 5] =
                row % 3 == 1 ? 100.0F : nan_with_payload<float>();
    const target_array<Target, float> in(memory.span());
    const view<const float, 2> viewed(in.const_span().data() + misplaced, {rows, length});
    host_array<std::int64_t> expected(rows);
    for (std::size_t row = 0; row < rows; ++row)
        expected[row] = static_cast<std::int64_t>(expected_argument<float>(
            std::span<const float>(memory.span()).subspan(misplaced + row * length, length), false));
    target_array<Target, std::int64_t> out(rows);
    argmax(Target{}, viewed, axis{1}, view<std::int64_t, 2>(out.span().data(), {rows, 1}));
    ASSERT_TRUE(bits_equal(out.to_host(), expected)) << rows << " x " << length << " from " << misplaced;
}
TYPED_TEST_P(arguments, along_rows_of_every_length)
{
    for (const std::size_t length : {255, 256, 259, 383, 511, 512, 513, 640, 1000, 1023, 1024, 1027, 1500, 2049})
        for (const std::size_t misplaced : {0, 1, 2, 3})
            expect_arguments_along_rows<TypeParam>(3, length, misplaced);
    for (const std::size_t length : {1000, 1024, 1027, 1500})
        for (const std::size_t misplaced : {0, 3})
            expect_arguments_along_rows<TypeParam>(400, length, misplaced);
}

TYPED_TEST_P(arguments, of_views_count_in_the_order_of_the_range)
{
    const host_array<int> values{5, 3, 9, 3, 7, 9};
    const target_array<TypeParam, int> in(values.span());
    const view<const int, 2> transposed(in.const_span().data(), {3, 2}, {1, 3}); // 5 3, 3 7, 9 9
    EXPECT_EQ(argmin(TypeParam{}, transposed), 1U);
    EXPECT_EQ(argmax(TypeParam{}, transposed), 4U);
}

TYPED_TEST_P(arguments, what_is_refused)
{
    target_array<TypeParam, float> memory(3000);
    float* const data = memory.span().data();
    target_array<TypeParam, std::int8_t> small(10);
    const host_array<std::int8_t> before = small.to_host();
    const std::span<const float> none;
    expect_refusal([&] { (void)argmin(TypeParam{}, none); }, {"argmin", "no elements", "not empty"});
    expect_refusal([&] { argmax(TypeParam{}, none, small.span().data()); }, {"argmax", "no elements"});
    expect_refusal([&] { argmax(TypeParam{}, memory.const_span().first(129), small.span().data()); },
                   {"argmax", "type"});
    target_array<TypeParam, std::int8_t> large_enough(1);
    EXPECT_NO_THROW(argmin(TypeParam{}, memory.const_span().first(128), large_enough.span().data()));
    const view<const float, 2> in(data, {10, 200});
    const auto to = [&](std::size_t extent) { return view<std::int8_t, 1>(small.span().data(), {extent}); };
    expect_refusal([&] { argmin(TypeParam{}, in, axis{1}, to(10)); }, {"argmin", "type of the result"});
    expect_refusal([&] { argmin(TypeParam{}, in, axis{2}, to(10)); }, {"argmin", "axis 2"});
    expect_refusal([&] { argmax(TypeParam{}, in, axis{0}, to(10)); }, {"argmax", "extents"});
    expect_refusal([&] { argmin(TypeParam{}, view<const float, 2>(data, {10, 0}), axis{1}, to(10)); }, {"no elements"});
    EXPECT_NO_THROW(argmin(TypeParam{}, view<const float, 2>(data, {10, 0}), axis{0}, to(0)));
    expect_refusal([&] { argmin(TypeParam{}, in, axis{0}, view<int, 1>(reinterpret_cast<int*>(data) + 5, {200})); },
                   {"overlap"});
    EXPECT_TRUE(bits_equal(small.to_host(), before));
}

REGISTER_TYPED_TEST_SUITE_P(arguments, of_floats, of_doubles, of_half_floats, of_bytes, of_words, of_truths,
                            of_integers_that_differ_in_their_last_bit, of_zeros_and_nan, along_axes_of_floats,
                            along_axes_of_bytes, along_axes_of_doubles, along_rows_of_every_length,
                            of_views_count_in_the_order_of_the_range, what_is_refused);

} // namespace upsweep::test
