// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/reduce.hpp>
#include <upsweep/scan.hpp>

#include "expected.hpp"
#include "samples.hpp"
#include "targets.hpp"

// Monoids of the user, on every target: ones whose operands may not be swapped, ones over structs, and ones that
// accumulate in another type than the elements'. monoids.cpp and gpu/monoids.cu instantiate the suite.
namespace upsweep::test::user {

namespace up = upsweep;

template <class Target>
class monoids : public ::testing::Test {
};
TYPED_TEST_SUITE_P(monoids);

template <class Target>
constexpr std::size_t many = sampled<Target>(150001); // several pieces for every thread

// Reduces and scans in every variant of the target and compares with a plain loop, which associativity makes exact.
template <class Target, class T, class Monoid>
void expect_loop(const std::vector<T>& values, const Monoid& monoid)
{
    host_array<T> inclusive(values.size());
    host_array<T> exclusive(values.size());
    T total = monoid.neutral;
    for (std::size_t i = 0; i < values.size(); ++i) {
        exclusive[i] = total;
        total = monoid(total, values[i]);
        inclusive[i] = total;
    }
    const target_array<Target, T> in{std::span<const T>(values)};
    on_every_variant<Target>([&](const Target& target) {
        ASSERT_EQ(up::reduce(target, in.const_span(), monoid), total);
        target_array<Target, T> out(values.size());
        up::inclusive_scan(target, in.const_span(), out.span(), monoid);
        ASSERT_TRUE(bits_equal(out.to_host(), inclusive));
        up::exclusive_scan(target, in.const_span(), out.span(), monoid);
        ASSERT_TRUE(bits_equal(out.to_host(), exclusive));
    });
}

// x -> scale * x + shift modulo 2^64. Composition is associative and not commutative; its scan is a linear recurrence.
struct affine {
    std::uint64_t scale = 1;
    std::uint64_t shift = 0;
    friend bool operator==(const affine&, const affine&) = default;
};
struct then_affine {
    UPSWEEP_HOST_DEVICE affine operator()(affine f, affine g) const
    {
        return {g.scale * f.scale, g.scale * f.shift + g.shift};
    }
};
inline constexpr then_affine then;

TYPED_TEST_P(monoids, compose_affine_maps_in_order)
{
    auto random = generator();
    std::vector<affine> maps(many<TypeParam>);
    for (affine& map : maps)
        map = {random() | 1, random()};
    expect_loop<TypeParam>(maps, up::monoid{then, affine{}, up::ordered});
}

// 2 x 2 matrices modulo a prime: the Fibonacci numbers are a scan.
using matrix = std::array<std::uint32_t, 4>;
inline constexpr std::uint64_t prime = 998244353;
struct multiply_matrices {
    UPSWEEP_HOST_DEVICE static std::uint32_t entry(const matrix& a, const matrix& b, std::size_t row,
                                                   std::size_t column)
    {
        const std::uint64_t sum = std::uint64_t{a[2 * row]} * b[column] + std::uint64_t{a[2 * row + 1]} * b[2 + column];
        return static_cast<std::uint32_t>(sum % prime);
    }
    UPSWEEP_HOST_DEVICE matrix operator()(const matrix& a, const matrix& b) const
    {
        return {entry(a, b, 0, 0), entry(a, b, 0, 1), entry(a, b, 1, 0), entry(a, b, 1, 1)};
    }
};
inline constexpr multiply_matrices matrix_product;
inline constexpr matrix unit_matrix{1, 0, 0, 1};

TYPED_TEST_P(monoids, multiply_matrices_in_order)
{
    auto random = generator();
    std::vector<matrix> matrices(many<TypeParam>);
    for (matrix& m : matrices)
        for (std::uint32_t& entry : m)
            entry = static_cast<std::uint32_t>(random() % prime);
    expect_loop<TypeParam>(matrices, up::monoid{matrix_product, unit_matrix, up::ordered});
}

TYPED_TEST_P(monoids, fibonacci_numbers_are_a_scan)
{
    const std::vector<matrix> steps(50, matrix{1, 1, 1, 0});
    const target_array<TypeParam, matrix> in{std::span<const matrix>(steps)};
    target_array<TypeParam, matrix> powers(steps.size());
    up::inclusive_scan(TypeParam{}, in.const_span(), powers.span(),
                       up::monoid{matrix_product, unit_matrix, up::ordered});
    const host_array<matrix> results = powers.to_host();
    std::uint32_t fibonacci = 0;
    std::uint32_t next = 1;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const auto after = static_cast<std::uint32_t>((std::uint64_t{fibonacci} + next) % prime);
        fibonacci = next;
        next = after;
        ASSERT_EQ(results[i][1], fibonacci) << i;
    }
}

// The first element that is not empty: ordered, idempotent, and sensitive to any swap.
struct first_of_two {
    using element = std::optional<std::uint32_t>;
    UPSWEEP_HOST_DEVICE element operator()(const element& a, const element& b) const { return a ? a : b; }
};

TYPED_TEST_P(monoids, keep_the_first_that_is_not_null)
{
    auto random = generator();
    std::vector<std::optional<std::uint32_t>> values(many<TypeParam>);
    for (auto& value : values)
        if (random() % 5 == 0)
            value = static_cast<std::uint32_t>(random());
    expect_loop<TypeParam>(values, up::monoid{first_of_two{}, std::optional<std::uint32_t>{}, up::ordered});
}

// The place of the least value, the lowest index among equals.
struct placed {
    float value = std::numeric_limits<float>::infinity();
    std::uint32_t index = std::numeric_limits<std::uint32_t>::max();
    friend bool operator==(const placed&, const placed&) = default;
};
struct lesser {
    UPSWEEP_HOST_DEVICE placed operator()(const placed& a, const placed& b) const
    {
        return b.value < a.value || (b.value == a.value && b.index < a.index) ? b : a;
    }
};

TYPED_TEST_P(monoids, find_the_place_of_the_minimum)
{
    auto random = generator();
    std::vector<placed> values(many<TypeParam>);
    for (std::uint32_t i = 0; i < many<TypeParam>; ++i)
        values[i] = {static_cast<float>(random() % 1000), i};
    expect_loop<TypeParam>(values, up::monoid{lesser{}, placed{}, up::commutative});
}

// The state of an operator travels with it.
struct add_modulo {
    std::uint64_t modulus;
    UPSWEEP_HOST_DEVICE std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return (a + b) % modulus; }
};

TYPED_TEST_P(monoids, carry_their_state)
{
    auto random = generator();
    std::vector<std::uint64_t> values(many<TypeParam>);
    for (std::uint64_t& value : values)
        value = random() % 1000003;
    volatile std::uint64_t source = 1000003; // unknown to the compiler: the state is really carried
    expect_loop<TypeParam>(values, up::monoid{add_modulo{source}, std::uint64_t{0}, up::commutative});
}

// A floating-point monoid of the user folds in the canonical order like any other.
struct hypotenuse { // associative but for rounding
    UPSWEEP_HOST_DEVICE float operator()(float a, float b) const { return std::sqrt(a * a + b * b); }
};

TYPED_TEST_P(monoids, of_floats_follow_the_canonical_order)
{
    auto random = generator();
    const host_array<float> values = random_array<float>(random, many<TypeParam>);
    const up::monoid monoid{hypotenuse{}, 0.0F, up::commutative};
    host_array<float> positive = values;
    for (float& value : positive)
        value = std::abs(value) + 1.0F; // 0 is neutral, to the bit, for numbers whose squares do not underflow
    const target_array<TypeParam, float> in(positive.span());
    on_every_variant<TypeParam>([&](const TypeParam& target) {
        for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{1000}, many<TypeParam>})
            ASSERT_TRUE(bits_equal(up::reduce(target, in.const_span().first(n), monoid),
                                   literal_fold(positive.first(n), hypotenuse{})));
    });
}

// Elements become the monoid's type before they are folded: from numbers to what is known about them.
struct extent {
    int least = std::numeric_limits<int>::max();
    int greatest = std::numeric_limits<int>::min();
    std::uint64_t count = 0;

    extent() = default;
    UPSWEEP_HOST_DEVICE explicit extent(int value) : least(value), greatest(value), count(1) {}
    friend bool operator==(const extent&, const extent&) = default;
};
struct unite_extents {
    UPSWEEP_HOST_DEVICE extent operator()(const extent& a, const extent& b) const
    {
        extent result;
        result.least = b.least < a.least ? b.least : a.least;
        result.greatest = b.greatest > a.greatest ? b.greatest : a.greatest;
        result.count = a.count + b.count;
        return result;
    }
};
inline constexpr unite_extents unite;

TYPED_TEST_P(monoids, may_accumulate_in_another_type)
{
    auto random = generator();
    std::vector<int> values(many<TypeParam>);
    for (int& value : values)
        value = static_cast<int>(random() % 2000000) - 1000000;
    extent expected;
    for (const int value : values)
        expected = unite(expected, extent(value));
    const target_array<TypeParam, int> in{std::span<const int>(values)};
    const up::monoid monoid{unite, extent{}, up::commutative};
    on_every_variant<TypeParam>([&](const TypeParam& target) {
        ASSERT_EQ(up::reduce(target, in.const_span(), monoid), expected);
        target_array<TypeParam, extent> out(values.size());
        up::inclusive_scan(target, in.const_span(), out.span(), monoid);
        ASSERT_EQ(out.to_host()[many<TypeParam> - 1], expected);
        ASSERT_EQ(out.to_host()[0], extent(values[0]));
    });
}

TYPED_TEST_P(monoids, of_nothing_give_their_identity)
{
    EXPECT_EQ(up::reduce(TypeParam{}, std::span<const affine>{}, up::monoid{then, affine{}, up::ordered}), affine{});
    EXPECT_EQ(up::reduce(TypeParam{}, std::span<const int>{}, up::monoid{unite, extent{}}), extent{});
}

TYPED_TEST_P(monoids, put_init_before_the_first_element)
{
    const std::vector<affine> maps = {{2, 1}, {3, 0}, {1, 5}};
    const affine init{7, 7};
    target_array<TypeParam, affine> out(3);
    up::exclusive_scan(TypeParam{}, target_array<TypeParam, affine>{std::span<const affine>(maps)}.const_span(),
                       out.span(), up::monoid{then, affine{}, up::ordered}, init);
    const host_array<affine> results = out.to_host();
    EXPECT_EQ(results[0], init);
    EXPECT_EQ(results[1], then(init, maps[0]));
    EXPECT_EQ(results[2], then(init, then(maps[0], maps[1])));
}

REGISTER_TYPED_TEST_SUITE_P(monoids, compose_affine_maps_in_order, multiply_matrices_in_order,
                            fibonacci_numbers_are_a_scan, keep_the_first_that_is_not_null,
                            find_the_place_of_the_minimum, carry_their_state, of_floats_follow_the_canonical_order,
                            may_accumulate_in_another_type, of_nothing_give_their_identity,
                            put_init_before_the_first_element);

} // namespace upsweep::test::user
