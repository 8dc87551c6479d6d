// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/axis.hpp>
#include <upsweep/monoids.hpp>
#include <upsweep/reduce.hpp>
#include <upsweep/scan.hpp>

#include "expected.hpp"
#include "samples.hpp"
#include "targets.hpp"

// The operators of monoids.hpp: their identities are neutral to the bit, they are associative up to rounding, and reduce and scan compute with
// them what a loop does.
namespace upsweep::test {

template <class Target>
class ready_operators : public ::testing::Test {
};
TYPED_TEST_SUITE_P(ready_operators);

// All members have equal bits; NaN is one of them.
inline bool equal_bits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }
inline bool equal_bits(double a, double b)
{
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
inline bool equal_bits(std::int32_t a, std::int32_t b) { return a == b; }
template <class T>
bool equal_bits(const moments<T>& a, const moments<T>& b)
{
    return a.count() == b.count() && equal_bits(a.mean(), b.mean()) &&
           equal_bits(a.sum_of_squares(), b.sum_of_squares());
}
template <class T>
bool equal_bits(const indexed<T>& a, const indexed<T>& b)
{
    return equal_bits(a.value, b.value) && a.index == b.index;
}
template <class T>
bool equal_bits(const maybe<T>& a, const maybe<T>& b)
{
    return a.has_value() == b.has_value() && equal_bits(a.value(), b.value());
}
template <class T>
bool equal_bits(const shift_and_bound<T>& a, const shift_and_bound<T>& b)
{
    return equal_bits(a.shift, b.shift) && equal_bits(a.bound, b.bound);
}

template <class Op, class T>
void expect_neutral_identity(const Op& op, const std::vector<T>& values)
{
    const T neutral = Op::template identity<T>();
    for (const T& value : values) {
        EXPECT_TRUE(equal_bits(op(value, neutral), value)) << "value " << &value - values.data() << " on the left";
        EXPECT_TRUE(equal_bits(op(neutral, value), value)) << "value " << &value - values.data() << " on the right";
    }
}

template <class T>
std::vector<T> telling_numbers()
{
    using limits = std::numeric_limits<T>;
    if constexpr (std::is_integral_v<T>)
        return {0, 1, -1, 100, limits::max(), limits::max() - 1, limits::min(), limits::min() + 1};
    else
        return {T(0),          -T(0), T(1),          T(-2.5),          limits::infinity(),   -limits::infinity(),
                limits::max(), T(3),  limits::min(), limits::lowest(), limits::denorm_min(), limits::quiet_NaN()};
}

TYPED_TEST_P(ready_operators, identities_are_neutral)
{
    expect_neutral_identity(log_sum_exp{}, telling_numbers<float>());
    expect_neutral_identity(log_sum_exp{}, telling_numbers<double>());
    expect_neutral_identity(last_valid{}, telling_numbers<float>());
    std::vector<moments<double>> of_doubles{{}};
    std::vector<indexed<float>> places;
    std::vector<maybe<double>> some{{}};
    std::vector<shift_and_bound<float>> maps;
    for (const double x : telling_numbers<double>()) {
        of_doubles.emplace_back(x);
        of_doubles.emplace_back(7U, x, 1 - x);
        some.emplace_back(x);
    }
    for (const float x : telling_numbers<float>()) {
        places.push_back({x, 0});
        places.push_back({x, std::uint64_t{1} << 63});
        for (const float y : telling_numbers<float>())
            maps.push_back({x, y});
    }
    std::vector<shift_and_bound<std::int32_t>> maps_of_integers;
    for (const std::int32_t x : telling_numbers<std::int32_t>())
        for (const std::int32_t y : telling_numbers<std::int32_t>())
            maps_of_integers.push_back({x, y});
    expect_neutral_identity(mean_and_variance{}, of_doubles);
    expect_neutral_identity(indexed_minimum{}, places);
    expect_neutral_identity(indexed_maximum{}, places);
    expect_neutral_identity(last_valid{}, some);
    expect_neutral_identity(max_plus{}, maps);
    expect_neutral_identity(min_plus{}, maps);
    expect_neutral_identity(max_plus{}, maps_of_integers);
    expect_neutral_identity(min_plus{}, maps_of_integers);
}

TYPED_TEST_P(ready_operators, are_associative)
{
    auto random = generator();
    const auto number = [&] { return static_cast<double>(random() % 20001) / 100.0 - 100.0; };
    const auto thrice = [](const auto& op, const auto& a, const auto& b, const auto& c, auto near) {
        near(op(op(a, b), c), op(a, op(b, c)));
    };
    const auto near = [](double a, double b) { EXPECT_NEAR(a, b, 1e-13 * (1 + std::abs(a))); };
    const auto equal = [](const auto& a, const auto& b) { EXPECT_TRUE(equal_bits(a, b)); };
    for (int round = 0; round < 2000; ++round) {
        thrice(log_sum_exp{}, number(), number() / 10, number() / 100, near);
        const auto some = [&] { return moments<double>(1 + random() % 1000, number(), std::abs(number())); };
        thrice(mean_and_variance{}, some(), some(), some(), [&](const auto& a, const auto& b) {
            EXPECT_EQ(a.count(), b.count());
            near(a.mean(), b.mean());
            EXPECT_NEAR(a.sum_of_squares(), b.sum_of_squares(), 1e-12 * a.sum_of_squares());
        });
        const auto place = [&] {
            return indexed<float>{random() % 5 == 0 ? NAN : static_cast<float>(random() % 3), random() % 4};
        };
        const auto a = place();
        const auto b = place();
        const auto c = place();
        thrice(indexed_minimum{}, a, b, c, [](const auto& x, const auto& y) { EXPECT_EQ(x.index, y.index); });
        thrice(indexed_maximum{}, a, b, c, [](const auto& x, const auto& y) { EXPECT_EQ(x.index, y.index); });
        const auto gap = [&] { return random() % 2 == 0 ? NAN : static_cast<float>(number()); };
        thrice(last_valid{}, gap(), gap(), gap(), equal);
        const auto map = [&] { // of integers, so that sums are exact
            return shift_and_bound<float>{static_cast<float>(random() % 100) - 50.0F,
                                          random() % 4 == 0 ? -INFINITY : static_cast<float>(random() % 100)};
        };
        thrice(max_plus{}, map(), map(), map(), equal);
        thrice(min_plus{}, map(), map(), map(), equal);
    }
}

TYPED_TEST_P(ready_operators, log_sum_exp_is_near_that_of_the_mathematics)
{
    auto random = generator();
    for (int round = 0; round < 20000; ++round) {
        const double a =
            std::ldexp(static_cast<double>(random() % 2000001) - 1e6, -14 - static_cast<int>(random() % 30));
        const double b = a - std::ldexp(static_cast<double>(random() % 1000001), -13 - static_cast<int>(random() % 30));
        const long double expected = a + std::log1p(std::exp(static_cast<long double>(b) - a));
        const double got = log_sum_exp{}(a, b);
        ASSERT_NEAR(got, static_cast<double>(expected),
                    8e-16 * (std::abs(a) + std::abs(static_cast<double>(expected) - a)))
            << a << ' ' << b;
        ASSERT_TRUE(equal_bits(log_sum_exp{}(b, a), got));
        const float single = log_sum_exp{}(static_cast<float>(a), static_cast<float>(b));
        const auto wide_a = static_cast<long double>(static_cast<float>(a));
        const long double wide =
            wide_a + std::log1p(std::exp(static_cast<long double>(static_cast<float>(b)) - wide_a));
        // The distance is rounded, too: as if b were another by half a unit in the last place of it.
        const long double more = (wide - wide_a) * (2 + std::abs(static_cast<float>(b) - wide_a) / 2);
        ASSERT_NEAR(single, static_cast<double>(wide),
                    1e-37 + 0x1p-22 * static_cast<double>(std::max(std::abs(wide_a), more)));
    }
    EXPECT_TRUE(equal_bits(log_sum_exp{}(1000.0, 1000.0), 1000.0 + std::log(2.0)));
    EXPECT_TRUE(equal_bits(log_sum_exp{}(INFINITY, INFINITY), INFINITY));
    EXPECT_TRUE(equal_bits(log_sum_exp{}(-INFINITY, -INFINITY), -INFINITY));
    EXPECT_TRUE(equal_bits(log_sum_exp{}(0.0F, nan_with_payload<float>()), std::numeric_limits<float>::quiet_NaN()));
}

// Reduce and scans have the bits of the canonical order.
template <class Target, class T, class Acc, class Op>
void expect_canonical(const host_array<T>& values, Op op)
{
    const auto converted_values = converted<Acc>(values.span());
    const Acc expected = literal_fold(converted_values.span(), op);
    const host_array<Acc> folds = literal_folds(converted_values.span(), op);
    const target_array<Target, T> in(values.span());
    on_every_variant<Target>([&](const Target& target) {
        ASSERT_TRUE(equal_bits(reduce(target, in.const_span(), op), expected));
        target_array<Target, Acc> out(values.size());
        inclusive_scan(target, in.const_span(), out.span(), op);
        const auto got = out.to_host();
        for (std::size_t i = 0; i < got.size(); ++i)
            ASSERT_TRUE(equal_bits(got[i], folds[i])) << i;
    });
}

TYPED_TEST_P(ready_operators, have_the_canonical_order)
{
    auto random = generator();
    const std::size_t size = sampled<TypeParam>(50003);
    host_array<float> values(size);
    host_array<float> gaps(size);
    host_array<indexed<float>> places(size);
    host_array<shift_and_bound<double>> maps(size);
    for (std::size_t i = 0; i < size; ++i) {
        values[i] = static_cast<float>(random() % 100000) / 1000.0F - 50.0F;
        gaps[i] = random() % 3 == 0 ? values[i] : nan_with_payload<float>();
        places[i] = {static_cast<float>(random() % 1000), i};
        maps[i] = {static_cast<double>(random() % 2000) / 7 - 140, static_cast<double>(random() % 1000) / 3};
    }
    expect_canonical<TypeParam, float, float>(values, log_sum_exp{});
    expect_canonical<TypeParam, float, float>(gaps, last_valid{});
    expect_canonical<TypeParam, indexed<float>, indexed<float>>(places, indexed_minimum{});
    expect_canonical<TypeParam, shift_and_bound<double>, shift_and_bound<double>>(maps, max_plus{});
    expect_canonical<TypeParam, float, moments<double>>(values, mean_and_variance{});
}

TYPED_TEST_P(ready_operators, compute_what_loops_do)
{
    auto random = generator();
    const std::size_t size = sampled<TypeParam>(20003);
    host_array<float> values(size);
    for (float& value : values)
        value = 1e4F + static_cast<float>(random() % 1000) / 8.0F;
    const target_array<TypeParam, float> in(values.span());
    long double sum = 0;
    long double squares = 0;
    for (const float value : values.span())
        sum += value;
    const long double mean = sum / static_cast<long double>(size);
    for (const float value : values.span())
        squares += (value - mean) * (value - mean);
    const auto got = reduce(TypeParam{}, in.const_span(), mean_and_variance{});
    EXPECT_EQ(got.count(), size);
    EXPECT_NEAR(got.mean(), static_cast<double>(mean), 1e-9);
    EXPECT_NEAR(got.variance(), static_cast<double>(squares / static_cast<long double>(size)), 1e-8);
    EXPECT_NEAR(got.sample_variance(), static_cast<double>(squares / static_cast<long double>(size - 1)), 1e-8);
    EXPECT_TRUE(std::isnan(moments<double>().variance()));
    EXPECT_TRUE(std::isnan(moments<double>(3.0).sample_variance()));
    EXPECT_EQ(moments<double>(3.0).variance(), 0);

    // Gaps are filled along each row.
    const host_array<float> measured{NAN, 1, NAN, 2, NAN, NAN, 3, NAN};
    const target_array<TypeParam, float> measured_there(measured.span());
    target_array<TypeParam, float> filled(8);
    inclusive_scan(TypeParam{}, view<const float, 2>(measured_there.const_span().data(), {2, 4}), axis{1},
                   view<float, 2>(filled.span().data(), {2, 4}), last_valid{});
    const host_array<float> expected{NAN, 1, 1, 2, NAN, NAN, 3, 3};
    for (std::size_t i = 0; i < 8; ++i)
        EXPECT_TRUE(equal_bits(filled.to_host()[i], expected[i])) << i;

    // A queue: what waits is at most what came, and never less than nothing.
    host_array<shift_and_bound<std::int32_t>> steps(size);
    for (auto& step : steps)
        step = {static_cast<std::int32_t>(random() % 11) - 5, 0};
    const target_array<TypeParam, shift_and_bound<std::int32_t>> steps_there(steps.span());
    target_array<TypeParam, shift_and_bound<std::int32_t>> scanned(size);
    inclusive_scan(TypeParam{}, steps_there.const_span(), scanned.span(), max_plus{});
    const auto maps = scanned.to_host();
    std::int32_t waiting = 9;
    for (std::size_t i = 0; i < size; ++i) {
        waiting = std::max(waiting + steps[i].shift, 0);
        ASSERT_EQ(max_plus::apply(maps[i], 9), waiting) << i;
    }
}

REGISTER_TYPED_TEST_SUITE_P(ready_operators, identities_are_neutral, are_associative,
                            log_sum_exp_is_near_that_of_the_mathematics, have_the_canonical_order,
                            compute_what_loops_do);

} // namespace upsweep::test
