// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/recurrence.hpp>

#include "line_shapes.hpp"
#include "refusal.hpp"

// Linear recurrences along each axis of views, and their gradients: every line has the bits that docs/fold-order.md says.
namespace upsweep::test {

template <class Target>
class recurrences : public ::testing::Test {
};
TYPED_TEST_SUITE_P(recurrences);

// --- what is expected ------------------------------------------------------------------------------------------------

template <class T>
struct plain_map {
    T a{};
    T b{};
};
template <class T>
T product_of(T x, T y)
{
    if ((x == 0 && std::isinf(y)) || (y == 0 && std::isinf(x)))
        return 0;
    return x * y;
}
struct compose_plain {
    template <class T>
    plain_map<T> operator()(plain_map<T> first, plain_map<T> then) const
    {
        return {product_of(then.a, first.a), product_of(then.a, first.b) + then.b};
    }
};

// The states after 1, 2, ... elements: that after m is the one after m without its lowest binary digit, to which the total of the last
// block is applied.
template <class T>
host_array<T> expected_states(std::span<const T> a, std::span<const T> b, T before)
{
    host_array<plain_map<T>> maps(a.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        maps[i] = {a[i], b[i]};
    host_array<T> states(a.size());
    for (std::size_t m = 1; m <= a.size(); ++m) {
        const std::size_t block = m & -m;
        const auto last = block_total(maps.span().subspan(m - block, block), compose_plain{});
        states[m - 1] = product_of(last.a, m == block ? before : states[m - block - 1]) + last.b;
    }
    return states;
}
template <class T>
host_array<T> reversed_if(bool is_reversed, host_array<T> line)
{
    if (is_reversed)
        std::ranges::reverse(line.span());
    return line;
}
template <class Acc, class A, class B>
host_array<Acc> expected_line(const host_array<A>& a, const host_array<B>& b, Acc before, bool is_backward)
{
    const auto wide_a = reversed_if(is_backward, converted<Acc>(a.span()));
    const auto wide_b = reversed_if(is_backward, converted<Acc>(b.span()));
    return reversed_if(is_backward, expected_states<Acc>(wide_a.span(), wide_b.span(), before));
}

// Coefficients whose products over long lines neither vanish nor grow at once, some of them zero or negative.
template <class T>
host_array<T> random_coefficients(std::mt19937_64& random, std::size_t size)
{
    host_array<T> values(size);
    for (T& value : values) {
        const auto magnitude = static_cast<float>(random() % 4096) / 4096.0F * 0.5F + 0.7F;
        value = random() % 97 == 0 ? T(0.0F) : random() % 5 == 0 ? T(-magnitude) : T(magnitude);
    }
    return values;
}

// An array of so many elements, and more around it, of which each element of the view is at a place of its own.
template <std::size_t Rank>
std::array<std::ptrdiff_t, Rank> strides_of_transposed(const std::array<std::size_t, Rank>& extents)
{
    std::array<std::ptrdiff_t, Rank> strides{};
    std::ptrdiff_t stride = 1;
    for (std::size_t k = 0; k < Rank; ++k) {
        strides[k] = stride;
        stride *= static_cast<std::ptrdiff_t>(extents[k]);
    }
    return strides;
}

// --- forward and backward --------------------------------------------------------------------------------------------

template <class Target, class A, class B, class Out>
void expect_recurrences(direction begin)
{
    using state = detail::state_t<A, B, Out>;
    auto random = generator();
    on_every_axis<Target>([&](const auto& s, std::size_t k) {
        constexpr std::size_t rank = std::tuple_size_v<decltype(s.extents)>;
        const viewed_array<Target, B, rank> b(s, random);
        const host_array<A> coefficients = random_coefficients<A>(random, b.size()); // rows without gaps
        const target_array<Target, A> a(coefficients.span());
        const view<const A, rank> a_view(a.const_span().data(), s.extents);
        const split lines = split_at(s.extents, k);
        const host_array<B> inputs = b.elements();
        auto extents_before = s.extents;
        extents_before[k] = 1;
        const host_array<float> before = random_array<float>(random, lines.lines());
        const target_array<Target, float> before_there(before.span());
        const view<const float, rank> before_view(before_there.const_span().data(), extents_before);

        host_array<Out> expected(b.size());
        for (std::size_t line = 0; lines.length != 0 && line < lines.lines(); ++line) {
            const auto states = expected_line<state>(line_of(coefficients, lines, line), line_of(inputs, lines, line),
                                                     static_cast<state>(before[line]), begin == backward);
            for (std::size_t i = 0; i < lines.length; ++i)
                expected[lines.at(line, i)] = as_expected<Out>(states[i]);
        }
        on_every_variant<Target>([&](const Target& target) {
            target_array<Target, Out> out(b.size());
            linear_recurrence(target, a_view, b.readable(), view<Out, rank>(out.span().data(), s.extents), before_view,
                              axis{k}, begin);
            ASSERT_TRUE(bits_equal(out.to_host(), expected));
        });
        if (b.size() == 0)
            return;
        // Columns first, so that what is along memory in one view is not in another.
        target_array<Target, Out> transposed(b.size());
        const shape<rank> of_out{s.extents, strides_of_transposed(s.extents)};
        linear_recurrence(Target{}, a_view, b.readable(),
                          view<Out, rank>(transposed.span().data(), of_out.extents, of_out.strides), before_view,
                          axis{k}, begin);
        const host_array<Out> got = transposed.to_host();
        std::size_t i = 0;
        for (const std::ptrdiff_t offset : offsets_of(of_out))
            ASSERT_TRUE(bits_equal(got[static_cast<std::size_t>(offset)], expected[i++])) << "transposed";
        if constexpr (std::is_same_v<A, Out>) {
            target_array<Target, Out> in_place(coefficients.span());
            const view<Out, rank> both(in_place.span().data(), s.extents);
            linear_recurrence(Target{}, both, b.readable(), both, before_view, axis{k}, begin);
            ASSERT_TRUE(bits_equal(in_place.to_host(), expected)) << "in place";
        }
    });
}
TYPED_TEST_P(recurrences, of_floats) { expect_recurrences<TypeParam, float, float, float>(forward); }
TYPED_TEST_P(recurrences, backward_of_floats) { expect_recurrences<TypeParam, float, float, float>(backward); }
TYPED_TEST_P(recurrences, of_half_floats) { expect_recurrences<TypeParam, bf16, bf16, bf16>(forward); }
TYPED_TEST_P(recurrences, backward_of_floats_as_doubles)
{
    expect_recurrences<TypeParam, float, f16, double>(backward);
}

// One line that is cut into pieces for all threads, of lengths around those of blocks and chunks.
TYPED_TEST_P(recurrences, of_long_lines)
{
    auto random = generator();
    for (const std::size_t size :
         {1UL, 7UL, 8UL, 9UL, 15UL, 16UL, 255UL, 256UL, 257UL, 4095UL, 4097UL, 70001UL, 3 * many_elements<TypeParam>}) {
        const host_array<float> a = random_coefficients<float>(random, size);
        const host_array<float> b = random_array<float>(random, size);
        const target_array<TypeParam, float> a_there(a.span());
        const view<const float, 1> a_view(a_there.const_span().data(), {size});
        for (const direction begin : {forward, backward}) {
            const auto without = expected_line<float>(a, b, 0.0F, begin == backward);
            const auto with = expected_line<float>(a, b, -3.5F, begin == backward);
            on_every_variant<TypeParam>([&](const TypeParam& target) {
                target_array<TypeParam, float> in_place(b.span());
                const view<float, 1> both(in_place.span().data(), {size});
                linear_recurrence(target, a_view, both, both, axis{0}, begin);
                ASSERT_TRUE(bits_equal(in_place.to_host(), without)) << size;
                const target_array<TypeParam, float> b_there(b.span());
                target_array<TypeParam, float> out(size);
                linear_recurrence(target, a_view, view<const float, 1>(b_there.const_span().data(), {size}),
                                  view<float, 1>(out.span().data(), {size}), -3.5, axis{0}, begin);
                ASSERT_TRUE(bits_equal(out.to_host(), with)) << size;
            });
        }
    }
}

// Lines along an axis of a matrix, to another array and in place.
template <class Target, class T>
void expect_recurrences_of_lines(const std::array<std::size_t, 2>& extents, std::size_t k, float before)
{
    auto random = generator();
    const std::size_t size = extents[0] * extents[1];
    const split lines = split_at(extents, k);
    const host_array<T> a = random_coefficients<T>(random, size);
    const host_array<T> b = random_array<T>(random, size);
    const target_array<Target, T> a_there(a.span());
    const target_array<Target, T> b_there(b.span());
    const view<const T, 2> a_view(a_there.const_span().data(), extents);
    const view<const T, 2> b_view(b_there.const_span().data(), extents);
    for (const direction begin : {forward, backward}) {
        target_array<Target, T> out(size);
        linear_recurrence(Target{}, a_view, b_view, view<T, 2>(out.span().data(), extents), before, axis{k}, begin);
        target_array<Target, T> in_place(b.span());
        const view<T, 2> both(in_place.span().data(), extents);
        linear_recurrence(Target{}, a_view, both, both, before, axis{k}, begin);
        const host_array<T> got = out.to_host();
        for (std::size_t line = 0; line < lines.lines(); ++line) {
            const auto expected =
                expected_line<float>(line_of(a, lines, line), line_of(b, lines, line), before, begin == backward);
            ASSERT_TRUE(bits_equal(line_of(got, lines, line), converted<T>(expected.span()))) << line;
        }
        ASSERT_TRUE(bits_equal(in_place.to_host(), got)) << "in place";
    }
}

// Lines of several pieces, as many as let a warp of a GPU have whole ones.
TYPED_TEST_P(recurrences, of_many_long_lines) { expect_recurrences_of_lines<TypeParam, float>({90, 1300}, 1, -3.5F); }

// Lines side by side, as many as let a thread of a GPU have one each.
TYPED_TEST_P(recurrences, of_many_long_columns)
{
    expect_recurrences_of_lines<TypeParam, float>({77, 2100}, 0, 0.75F);
    expect_recurrences_of_lines<TypeParam, bf16>({77, 2100}, 0, 0.75F);
}

// A loop, as everybody writes it: the results are near it where it is well conditioned.
TYPED_TEST_P(recurrences, are_near_a_loop)
{
    auto random = generator();
    constexpr std::size_t size = 10001;
    host_array<double> b(size);
    for (double& value : b)
        value = static_cast<double>(random() % 1000) - 500;
    const host_array<double> decay{0.96875};
    const target_array<TypeParam, double> a_there(decay.span());
    const target_array<TypeParam, double> b_there(b.span());
    target_array<TypeParam, double> out(size);
    linear_recurrence(TypeParam{}, view<const double, 1>(a_there.const_span().data(), {size}, {0}), // one coefficient
                      view<const double, 1>(b_there.const_span().data(), {size}),
                      view<double, 1>(out.span().data(), {size}), 100, axis{0});
    const host_array<double> got = out.to_host();
    double h = 100;
    for (std::size_t i = 0; i < size; ++i) {
        h = decay[0] * h + b[i];
        ASSERT_NEAR(got[i], h, 1e-9) << i;
    }
}

// --- zero, infinity and NaN ------------------------------------------------------------------------------------------

template <class Target>
host_array<float> states_of(const host_array<float>& a, const host_array<float>& b, float before)
{
    const target_array<Target, float> a_there(a.span());
    const target_array<Target, float> b_there(b.span());
    target_array<Target, float> out(a.size());
    linear_recurrence(Target{}, view<const float, 1>(a_there.const_span().data(), {a.size()}),
                      view<const float, 1>(b_there.const_span().data(), {a.size()}),
                      view<float, 1>(out.span().data(), {a.size()}), before, axis{0});
    return out.to_host();
}
host_array<float> filled_array(std::size_t size, float value)
{
    host_array<float> all(size);
    std::ranges::fill(all, value);
    return all;
}

TYPED_TEST_P(recurrences, products_of_coefficients_that_overflow_leave_zero_alone)
{
    for (const std::size_t size : {300UL, 10000UL}) {
        const host_array<float> a = filled_array(size, 3);
        host_array<float> b = filled_array(size, 0);
        for (const float state : states_of<TypeParam>(a, b, 0))
            ASSERT_EQ(state, 0);
        // The state is zero up to the last few elements.
        b[size - 5] = 2;
        const auto states = states_of<TypeParam>(a, b, 0);
        EXPECT_EQ(states[size - 6], 0);
        EXPECT_EQ(states[size - 5], 2);
        EXPECT_EQ(states[size - 1], 162);
        // States that grow are infinite, and no NaN.
        for (const float state : states_of<TypeParam>(a, filled_array(size, 1), 1)) {
            ASSERT_EQ(state, state);
            ASSERT_GT(state, 0);
        }
    }
}

TYPED_TEST_P(recurrences, a_coefficient_of_zero_forgets)
{
    auto random = generator();
    constexpr std::size_t size = 5000;
    host_array<float> a = filled_array(size, 3);
    host_array<float> b = filled_array(size, 1);
    for (std::size_t i = 150; i < size; i += 1 + random() % 400) {
        a[i] = 0;
        b[i] = static_cast<float>(i);
    }
    const auto states = states_of<TypeParam>(a, b, std::numeric_limits<float>::infinity());
    const auto expected = expected_line<float>(a, b, std::numeric_limits<float>::infinity(), false);
    EXPECT_TRUE(bits_equal(states, expected));
    for (std::size_t i = 0; i < size; ++i) {
        if (a[i] == 0) {
            ASSERT_EQ(states[i], b[i]) << i;
        }
    }
}

TYPED_TEST_P(recurrences, infinity_and_nan)
{
    auto random = generator();
    const float inf = std::numeric_limits<float>::infinity();
    for (int round = 0; round < 30; ++round) {
        const std::size_t size = 1 + random() % 2000;
        host_array<float> a = random_coefficients<float>(random, size);
        host_array<float> b = random_array<float>(random, size);
        for (std::size_t i = 0; i < size / 100 + 1; ++i) {
            const std::array<float, 6> specials{inf, -inf, nan_with_payload<float>(), 0, 1e30F, 1e-30F};
            (random() % 2 == 0 ? a : b)[random() % size] = specials[random() % (round < 15 ? 6 : 2)];
        }
        const auto expected = expected_line<float>(a, b, 1.0F, false);
        ASSERT_TRUE(bits_equal(states_of<TypeParam>(a, b, 1.0F), converted<float>(expected.span()))) << size;
    }
    const float nan = states_of<TypeParam>({1, 1}, {nan_with_payload<float>(), 1}, 0)[1];
    EXPECT_TRUE(same_bits(nan, std::numeric_limits<float>::quiet_NaN()));
}

// --- the gradient ----------------------------------------------------------------------------------------------------

template <class Target, class T>
void expect_gradients(direction begin)
{
    using state = detail::state_t<T>;
    auto random = generator();
    on_every_axis<Target>([&](const auto& s, std::size_t k) {
        constexpr std::size_t rank = std::tuple_size_v<decltype(s.extents)>;
        const viewed_array<Target, T, rank> gradient(s, random);
        const std::size_t size = gradient.size();
        const host_array<T> a = random_coefficients<T>(random, size);
        const host_array<T> h = random_array<T>(random, size);
        const split lines = split_at(s.extents, k);
        const host_array<T> before = random_array<T>(random, lines.lines());
        const host_array<T> of_out = gradient.elements();
        host_array<T> of_a(size);
        host_array<T> of_b(size);
        host_array<T> of_before(lines.lines());
        for (std::size_t line = 0; lines.length != 0 && line < lines.lines(); ++line) {
            const bool is_forward = begin == forward;
            const auto line_a = converted<state>(line_of(a, lines, line).span());
            const auto line_h = converted<state>(line_of(h, lines, line).span());
            const std::size_t n = lines.length;
            host_array<state> shifted(n); // the coefficient of the next element; in the end there is none
            for (std::size_t i = 0; i < n; ++i)
                shifted[i] = is_forward ? (i + 1 < n ? line_a[i + 1] : 0) : (i > 0 ? line_a[i - 1] : 0);
            const auto line_b = expected_line<state>(shifted, line_of(of_out, lines, line), state{}, is_forward);
            const auto first = convert<state>(before[line]);
            for (std::size_t i = 0; i < n; ++i) {
                const state previous =
                    is_forward ? (i > 0 ? line_h[i - 1] : first) : (i + 1 < n ? line_h[i + 1] : first);
                of_b[lines.at(line, i)] = as_expected<T>(line_b[i]);
                of_a[lines.at(line, i)] = as_expected<T>(line_b[i] * previous);
            }
            const std::size_t begins = is_forward ? 0 : n - 1;
            of_before[line] = as_expected<T>(line_a[begins] * line_b[begins]);
        }
        const target_array<Target, T> a_there(a.span());
        const target_array<Target, T> h_there(h.span());
        const target_array<Target, T> before_there(before.span());
        auto extents_before = s.extents;
        extents_before[k] = 1;
        const view<const T, rank> a_view(a_there.const_span().data(), s.extents);
        const view<const T, rank> h_view(h_there.const_span().data(), s.extents);
        const view<const T, rank> before_view(before_there.const_span().data(), extents_before);
        on_every_variant<Target>([&](const Target& target) {
            target_array<Target, T> a_out(size);
            target_array<Target, T> b_out(size);
            target_array<Target, T> before_out(lines.lines());
            linear_recurrence_gradient(target, a_view, h_view, gradient.readable(),
                                       view<T, rank>(a_out.span().data(), s.extents),
                                       view<T, rank>(b_out.span().data(), s.extents), before_view,
                                       view<T, rank>(before_out.span().data(), extents_before), axis{k}, begin);
            ASSERT_TRUE(bits_equal(b_out.to_host(), of_b)) << "b";
            ASSERT_TRUE(bits_equal(a_out.to_host(), of_a)) << "a";
            ASSERT_TRUE(bits_equal(before_out.to_host(), of_before)) << "states before";
        });
    });
}
TYPED_TEST_P(recurrences, gradients_of_floats) { expect_gradients<TypeParam, float>(forward); }
TYPED_TEST_P(recurrences, gradients_of_backward_half_floats) { expect_gradients<TypeParam, bf16>(backward); }

// What a gradient is: how a sum of weighted results changes with each operand.
TYPED_TEST_P(recurrences, gradients_are_slopes)
{
    auto random = generator();
    constexpr std::size_t size = 37;
    const auto random_numbers = [&] {
        host_array<double> values(size);
        for (double& value : values)
            value = static_cast<double>(random() % 2001) / 1000.0 - 1.0;
        return values;
    };
    const host_array<double> weights = random_numbers();
    const auto weights_there = target_array<TypeParam, double>(weights.span());
    for (const direction begin : {forward, backward}) {
        const auto results = [&](const host_array<double>& a, const host_array<double>& b, double before) {
            const target_array<TypeParam, double> a_there(a.span());
            const target_array<TypeParam, double> b_there(b.span());
            target_array<TypeParam, double> out(size);
            linear_recurrence(TypeParam{}, view<const double, 1>(a_there.const_span().data(), {size}),
                              view<const double, 1>(b_there.const_span().data(), {size}),
                              view<double, 1>(out.span().data(), {size}), before, axis{0}, begin);
            return out.to_host();
        };
        const auto weighted = [&](const host_array<double>& a, const host_array<double>& b, double before) {
            double sum = 0;
            const host_array<double> out = results(a, b, before);
            for (std::size_t i = 0; i < size; ++i)
                sum += weights[i] * out[i];
            return sum;
        };
        const host_array<double> a = random_numbers();
        const host_array<double> b = random_numbers();
        const host_array<double> before{0.75};
        const target_array<TypeParam, double> a_there(a.span());
        const target_array<TypeParam, double> before_there(before.span());
        const host_array<double> h = results(a, b, before[0]);
        const target_array<TypeParam, double> h_there(h.span());
        target_array<TypeParam, double> a_out(size);
        target_array<TypeParam, double> b_out(size);
        target_array<TypeParam, double> before_out(1);
        const auto viewed = [](const auto& there, std::size_t extent) {
            return view<const double, 1>(there.const_span().data(), {extent});
        };
        linear_recurrence_gradient(TypeParam{}, viewed(a_there, size), viewed(h_there, size),
                                   viewed(weights_there, size), view<double, 1>(a_out.span().data(), {size}),
                                   view<double, 1>(b_out.span().data(), {size}), viewed(before_there, 1),
                                   view<double, 1>(before_out.span().data(), {1}), axis{0}, begin);
        const double step = 1e-6;
        for (std::size_t i = 0; i < size; ++i) {
            host_array<double> more = a;
            host_array<double> less = a;
            more[i] += step;
            less[i] -= step;
            ASSERT_NEAR(a_out.to_host()[i], (weighted(more, b, 0.75) - weighted(less, b, 0.75)) / (2 * step), 1e-6);
            host_array<double> higher = b;
            host_array<double> lower = b;
            higher[i] += step;
            lower[i] -= step;
            ASSERT_NEAR(b_out.to_host()[i], (weighted(a, higher, 0.75) - weighted(a, lower, 0.75)) / (2 * step), 1e-6);
        }
        ASSERT_NEAR(before_out.to_host()[0], (weighted(a, b, 0.75 + step) - weighted(a, b, 0.75 - step)) / (2 * step),
                    1e-6);
    }
}

// --- nothing, and what is refused ------------------------------------------------------------------------------------

TYPED_TEST_P(recurrences, lines_without_elements)
{
    const host_array<float> before{1, 2, 3};
    const target_array<TypeParam, float> before_there(before.span());
    target_array<TypeParam, float> gradient(before.span());
    const view<const float, 2> in(nullptr, {3, 0});
    const view<float, 2> out(nullptr, {3, 0});
    const view<const float, 1> states(before_there.const_span().data(), {3});
    EXPECT_NO_THROW(linear_recurrence(TypeParam{}, in, in, out, states, axis{1}));
    linear_recurrence_gradient(TypeParam{}, in, in, in, out, out, states, view<float, 1>(gradient.span().data(), {3}),
                               axis{1});
    EXPECT_TRUE(bits_equal(gradient.to_host(), host_array<float>{0, 0, 0}));
}

TYPED_TEST_P(recurrences, what_is_refused)
{
    target_array<TypeParam, float> memory(500);
    const host_array<float> untouched = memory.to_host();
    float* const data = memory.span().data();
    const auto at = [&](std::size_t offset) { return view<float, 2>(data + offset, {4, 6}); };
    const auto call = [&](const view<float, 2>& a, const view<float, 2>& b, const view<float, 2>& out, std::size_t k) {
        return [=] { linear_recurrence(TypeParam{}, a, b, out, 1.0F, axis{k}); };
    };
    expect_refusal(call(at(0), at(50), at(100), 2), {"linear_recurrence", "axis 2 of a view of 2"});
    expect_refusal(call(at(0), view<float, 2>(data, {6, 4}), at(100), 0), {"linear_recurrence", "extents"});
    expect_refusal(call(at(0), at(50), view<float, 2>(data + 100, {4, 5}), 0), {"extents"});
    expect_refusal(call(at(0), at(50), at(1), 0), {"overlap"});
    expect_refusal(call(at(0), at(50), at(51), 0), {"overlap"});
    expect_refusal(call(at(0), at(50), view<float, 2>(data + 100, {4, 6}, {3, 1}), 0), {"same place"});
    expect_refusal(
        [&] { linear_recurrence(TypeParam{}, at(0), at(50), at(100), view<float, 1>(data + 200, {5}), axis{0}); },
        {"linear_recurrence", "extents"});
    expect_refusal(
        [&] { linear_recurrence(TypeParam{}, at(0), at(50), at(100), view<float, 1>(data + 110, {6}), axis{0}); },
        {"overlaps"});
    const auto gradient = [&](std::size_t a, std::size_t b) {
        return [&, a, b] { linear_recurrence_gradient(TypeParam{}, at(0), at(50), at(100), at(a), at(b), axis{0}); };
    };
    expect_refusal(gradient(150, 160), {"linear_recurrence_gradient", "overlaps"});
    expect_refusal(gradient(0, 200), {"overlaps"});
    expect_refusal(gradient(150, 100), {"overlaps"});
    EXPECT_TRUE(bits_equal(memory.to_host(), untouched));
    EXPECT_NO_THROW(gradient(150, 200)());
}

REGISTER_TYPED_TEST_SUITE_P(recurrences, of_floats, backward_of_floats, of_half_floats, backward_of_floats_as_doubles,
                            of_long_lines, of_many_long_lines, of_many_long_columns, are_near_a_loop,
                            products_of_coefficients_that_overflow_leave_zero_alone, a_coefficient_of_zero_forgets,
                            infinity_and_nan, gradients_of_floats, gradients_of_backward_half_floats,
                            gradients_are_slopes, lines_without_elements, what_is_refused);

} // namespace upsweep::test
