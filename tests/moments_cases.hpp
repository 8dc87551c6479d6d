// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/axis.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/monoids.hpp>
#include <upsweep/reduce.hpp>
#include <upsweep/view.hpp>

#include "samples.hpp"
#include "targets.hpp"

// Means and variances, which engines fold by kernels and loops of their own, have the bits of a loop over the stack of fold_order.hpp.
namespace upsweep::test {

template <class Target>
class moments_of_arrays : public ::testing::Test {
};
TYPED_TEST_SUITE_P(moments_of_arrays);

inline bool same_number(double a, double b)
{
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}
inline bool same_moments(const moments<double>& a, const moments<double>& b)
{
    return a.count() == b.count() && same_number(a.mean(), b.mean()) &&
           same_number(a.sum_of_squares(), b.sum_of_squares());
}

template <class T>
moments<double> moments_by_a_loop(std::span<const T> elements)
{
    const mean_and_variance op;
    fold_stack<moments<double>, mean_and_variance> stack(op);
    for (const T& element : elements)
        stack.push(convert<moments<double>>(element), 0);
    return elements.empty() ? moments<double>{} : stack.fold();
}

// Numbers far from zero, subnormal ones, zeros of both signs, infinities and NaN.
template <class T>
host_array<T> some_numbers(std::mt19937_64& random, std::size_t size)
{
    host_array<T> values(size);
    const auto kind = random() % 4;
    const auto number = [&] {
        switch (kind) {
        case 0: return 1e8 + static_cast<double>(random() % 1000) / 300;
        case 1:
            return static_cast<double>(random() % 50) * static_cast<double>(std::numeric_limits<float>::denorm_min());
        case 2: return random() % 3 == 0 ? -0.0 : 0.0;
        default: return static_cast<double>(random() % 100000) / 1000 - 50;
        }
    };
    for (T& value : values) {
        if constexpr (std::is_integral_v<T>)
            value = static_cast<T>(random());
        else
            value = static_cast<T>(static_cast<std::conditional_t<sub_word_float<T>, float, T>>(number()));
        if constexpr (std::is_same_v<T, double>)
            if (kind == 1)
                value *= 0x1p-925; // subnormal doubles
    }
    if constexpr (!std::is_integral_v<T>)
        if (size > 2 && random() % 3 == 0)
            values[random() % size] =
                random() % 2 == 0 ? detail::quiet_nan<T>() : T(-std::numeric_limits<float>::infinity());
    return values;
}

template <class Target, class T>
void expect_moments_of_a_loop(std::size_t size)
{
    auto random = generator();
    for (int repeat = 0; repeat < 3; ++repeat) {
        const host_array<T> values = some_numbers<T>(random, size);
        const target_array<Target, T> in(values.span());
        const auto expected = moments_by_a_loop(std::span<const T>(values.span()));
        const auto got = reduce(Target{}, in.const_span(), mean_and_variance{});
        EXPECT_TRUE(same_moments(got, expected)) << size << " elements of " << sizeof(T) << " bytes";
        if (size > 1) { // at another address
            const auto behind = reduce(Target{}, in.const_span().subspan(1), mean_and_variance{});
            EXPECT_TRUE(same_moments(behind, moments_by_a_loop(std::span<const T>(values.span()).subspan(1)))) << size;
        }
    }
}

TYPED_TEST_P(moments_of_arrays, have_the_bits_of_a_loop)
{
    for (const std::size_t size : {0, 1, 2, 3, 5, 31, 64, 1000, 4095, 4096, 4097})
        expect_moments_of_a_loop<TypeParam, float>(size);
    for (const std::size_t size : {70001, 263000}) {
        expect_moments_of_a_loop<TypeParam, float>(sampled<TypeParam>(size));
        expect_moments_of_a_loop<TypeParam, double>(sampled<TypeParam>(size));
    }
    for (const std::size_t size : {7, 9001}) {
        expect_moments_of_a_loop<TypeParam, f16>(size);
        expect_moments_of_a_loop<TypeParam, std::int8_t>(size);
        expect_moments_of_a_loop<TypeParam, std::uint64_t>(size);
    }
}

// Of lines along axis 1 of an array of these extents.
template <class Target, class T>
void expect_moments_of_lines(const std::array<std::size_t, 3>& extents)
{
    auto random = generator();
    const auto [before, length, behind] = extents;
    const std::array strides{static_cast<std::ptrdiff_t>(length * behind), static_cast<std::ptrdiff_t>(behind),
                             std::ptrdiff_t{1}};
    const host_array<T> values = some_numbers<T>(random, before * length * behind);
    const target_array<Target, T> in(values.span());
    target_array<Target, moments<double>> out(before * behind);
    reduce(Target{}, view<const T, 3>(in.const_span().data(), extents, strides), axis{1},
           view<moments<double>, 2>(out.span().data(), {before, behind}), mean_and_variance{});
    const auto got = out.to_host();
    std::vector<T> line(length);
    for (std::size_t k = 0; k < before * behind; ++k) {
        for (std::size_t i = 0; i < length; ++i)
            line[i] = values[k / behind * length * behind + i * behind + k % behind];
        ASSERT_TRUE(same_moments(got[k], moments_by_a_loop(std::span<const T>(line))))
            << before << " x " << length << " x " << behind << ", line " << k;
    }
}

TYPED_TEST_P(moments_of_arrays, have_the_bits_of_a_loop_along_an_axis)
{
    const std::array<std::size_t, 3> shapes[] = {
        {9, 5, 1},    {3, 96, 1},   {5, 1000, 1}, {2, 1024, 1}, {3, 1151, 1},  {2, 3000, 1}, {2, 9000, 1}, // rows
        {1, 3, 40},   {1, 17, 300}, {2, 63, 33},  {1, 64, 40},  {1, 100, 257}, {3, 129, 3},  {1, 3000, 5}, // columns
        {1, 2100, 2}, {4, 1, 7},    {1, 16, 100}, {1, 33, 70}};
    for (const auto& shape : shapes) {
        expect_moments_of_lines<TypeParam, float>(shape);
        expect_moments_of_lines<TypeParam, double>(shape);
    }
    expect_moments_of_lines<TypeParam, float>({1, 66100, 2}); // more than 256 pieces of 256
    expect_moments_of_lines<TypeParam, std::int16_t>({3, 200, 7});
    expect_moments_of_lines<TypeParam, std::int16_t>({20, 40, 1});
}

REGISTER_TYPED_TEST_SUITE_P(moments_of_arrays, have_the_bits_of_a_loop, have_the_bits_of_a_loop_along_an_axis);

} // namespace upsweep::test
