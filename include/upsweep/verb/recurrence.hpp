// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/lines.hpp>
#include <upsweep/types.hpp>
#include <upsweep/verb/axis.hpp>
#include <upsweep/view.hpp>

// Linear recurrences, for every target. engine<Target, verb::linear_recurrence> has
//
//     template <class Acc>
//     static void scan(const Target&, const view<const A, Rank>& a, const view<const B, Rank>& b, const view<Out, Rank>& out, axis along,
//                      const state_before<Acc, H, Rank>& before);
//     template <class Acc>
//     static void gradient(const Target&, const view<const A, Rank>& a, const view<const H, Rank>& h,
//                          const view<const G, Rank>& out_gradient, const view<DA, Rank>& a_gradient,
//                          const view<DB, Rank>& b_gradient, axis along, const state_before<Acc, H0, Rank>& before,
//                          const line_results<DH, Rank>& before_gradient);
//
// scan goes along the axis by ascending index. gradient is given views in which the index descends with time: it goes by ascending
// index, too. That the views agree has been checked, that the target reaches the memory has not.
namespace upsweep {

// From which end of an axis a recurrence begins.
enum class direction { forward, backward };
inline constexpr direction forward = direction::forward;
inline constexpr direction backward = direction::backward;

namespace detail {

template <class T>
concept any_float = std::floating_point<T> || sub_word_float<T>;

// f16 and bf16 have states of f32.
template <class... T>
using state_t = std::conditional_t<(std::same_as<T, double> || ...), double, float>;

// The states before the first elements of all lines: one value, or where `data` is not null an element a line.
template <class Acc, class H, std::size_t Rank>
struct state_before {
    Acc value{};
    const H* data = nullptr;
    std::array<std::ptrdiff_t, Rank> strides{}; // 0 along the axis
};

// Where one result a line goes, if it is asked for.
template <class T, std::size_t Rank>
struct line_results {
    T* data = nullptr;
    std::array<std::ptrdiff_t, Rank> strides{};
};

inline constexpr std::string_view recurrence_call = "linear_recurrence";
inline constexpr std::string_view recurrence_gradient_call = "linear_recurrence_gradient";

// The view seen from the end from which the recurrence begins.
template <class T, std::size_t Rank>
view<T, Rank> seen_from(direction begin, const view<T, Rank>& all, axis along)
{
    if (begin == direction::forward || all.empty())
        return all;
    std::array<std::size_t, Rank> extents;
    std::array<std::ptrdiff_t, Rank> strides;
    for (std::size_t k = 0; k < Rank; ++k) {
        extents[k] = all.extent(k);
        strides[k] = k == along.index ? -all.stride(k) : all.stride(k);
    }
    const auto last = static_cast<std::ptrdiff_t>(all.extent(along.index)) - 1;
    return {all.data() + last * all.stride(along.index), extents, strides};
}

template <class T, class U, std::size_t Rank>
void check_same_extents(std::string_view call, const view<T, Rank>& a, const view<U, Rank>& b)
{
    for (std::size_t k = 0; k < Rank; ++k)
        if (a.extent(k) != b.extent(k))
            throw error(
                error_kind::invalid_argument, call, "the extents of the views differ",
                "give all views the extents of the coefficients, but for the states before the first elements, which "
                "lack the axis or have it once");
}

template <class T, std::size_t Rank>
void check_distinct(std::string_view call, const view<T, Rank>& out)
{
    if (!out.empty() && overlaps_itself(footprint_of(out.begin(), out.size())))
        throw error(error_kind::invalid_argument, call, "strides of an output put two results at the same place",
                    "write to a view whose elements lie apart");
}

// Views that share no byte.
template <class T, std::size_t Rank, class U, std::size_t OtherRank>
void check_apart(std::string_view call, const view<T, Rank>& a, const view<U, OtherRank>& b)
{
    if (!a.empty() && !b.empty() && overlap(footprint_of(a.begin(), a.size()), footprint_of(b.begin(), b.size())))
        throw error(error_kind::invalid_argument, call, "an output overlaps another view",
                    "write to views of their own; out alone may be a or b");
}

template <class Acc, target Target, class A, class B, class Out, class H, std::size_t Rank>
void linear_recurrence(const Target& target, const view<A, Rank>& a, const view<B, Rank>& b, const view<Out, Rank>& out,
                       const state_before<Acc, H, Rank>& before, axis along, direction begin)
{
    static_assert(any_float<std::remove_const_t<A>> && any_float<std::remove_const_t<B>> && any_float<Out>,
                  "a linear recurrence is one of floating-point numbers");
    check_axis(recurrence_call, along, Rank);
    check_same_extents(recurrence_call, a, b);
    check_same_extents(recurrence_call, a, out);
    if (out.empty())
        return;
    check_overlap(recurrence_call, a.begin(), out.begin(), out.size());
    check_overlap(recurrence_call, b.begin(), out.begin(), out.size());
    engine<Target, verb::linear_recurrence>::template scan<Acc>(
        target, seen_from(begin, view<const std::remove_const_t<A>, Rank>(a), along),
        seen_from(begin, view<const std::remove_const_t<B>, Rank>(b), along), seen_from(begin, out, along), along,
        before);
}

template <class Acc, target Target, class A, class H, class G, class DA, class DB, class H0, class DH, std::size_t Rank>
void linear_recurrence_gradient(const Target& target, const view<A, Rank>& a, const view<H, Rank>& h,
                                const view<G, Rank>& out_gradient, const view<DA, Rank>& a_gradient,
                                const view<DB, Rank>& b_gradient, const state_before<Acc, H0, Rank>& before,
                                const line_results<DH, Rank>& before_gradient, axis along, direction begin)
{
    constexpr std::string_view call = recurrence_gradient_call;
    check_same_extents(call, a, h);
    check_same_extents(call, a, out_gradient);
    check_same_extents(call, a, a_gradient);
    check_same_extents(call, a, b_gradient);
    check_distinct(call, a_gradient);
    check_distinct(call, b_gradient);
    check_apart(call, a_gradient, b_gradient);
    const auto check_output = [&](const auto& out) {
        check_apart(call, out, a);
        check_apart(call, out, h);
        check_apart(call, out, out_gradient);
    };
    check_output(a_gradient);
    check_output(b_gradient);
    const direction back = begin == direction::forward ? direction::backward : direction::forward;
    engine<Target, verb::linear_recurrence>::template gradient<Acc>(
        target, seen_from(back, view<const std::remove_const_t<A>, Rank>(a), along),
        seen_from(back, view<const std::remove_const_t<H>, Rank>(h), along),
        seen_from(back, view<const std::remove_const_t<G>, Rank>(out_gradient), along),
        seen_from(back, a_gradient, along), seen_from(back, b_gradient, along), along, before, before_gradient);
}

} // namespace detail

// Writes h_t = a_t h_(t-1) + b_t along an axis, for every choice of the other indices, beginning with the state h_(-1) = h0: that
// of each line, a view with the extents of `a` without the axis, or with it once; or one value for all lines. With up::backward the
// recurrence begins at the end of the axis: h_t = a_t h_(t+1) + b_t. All views have the extents of `a`; strides may be any, those of `a`
// and `b` zero (the same coefficient everywhere). `out` may be `a` or `b`.
//
//     up::linear_recurrence(cpu, up::view(decay, {batch, channels, time}), up::view(x, {batch, channels, time}),
//                           up::view(h, {batch, channels, time}), up::view(h0, {batch, channels}), up::axis{2}, up::forward);
//
// Elements are f32, f64, f16 or bf16; the state is f64 where one of them is, else f32, and is rounded to the type of `out` as it is written.
//
// It is a scan of affine maps (Blelloch 1990), (a, b) and then (c, d) being (c a, c b + d), in the canonical order: the state after m
// elements is h0, to which the totals of the aligned blocks that the binary digits of m name are applied, the largest first
// (docs/fold-order.md). The bits depend on the length alone; a loop would round otherwise. A product of zero and infinity is zero, so that
// coefficients whose products overflow make no NaN of a state that is zero, nor products that underflow of one that is infinite,
// and a coefficient of zero forgets all that was before it, but NaN. What no order but the loop's can promise: where products of
// coefficients overflow, a state that is not zero is infinite or, as the difference of infinities, NaN, however small the loop's is.
//
// Five to eight operations an element, one pass over memory. Temporary memory: some totals for each line that is folded at the time.
template <target Target, class A, class B, class Out, class H, std::size_t Rank, std::size_t StateRank>
void linear_recurrence(const Target& target, const view<A, Rank>& a, const view<B, Rank>& b, const view<Out, Rank>& out,
                       const view<H, StateRank>& h0, axis along, direction begin = forward)
{
    using state = detail::state_t<std::remove_const_t<A>, std::remove_const_t<B>, Out>;
    detail::check_axis(detail::recurrence_call, along, Rank);
    const auto strides = detail::strides_of_reduction(detail::recurrence_call, a, along, h0);
    if (!out.empty())
        detail::check_apart(detail::recurrence_call, out, h0);
    const detail::state_before<state, std::remove_const_t<H>, Rank> before{{}, h0.data(), strides};
    detail::linear_recurrence<state>(target, a, b, out, before, along, begin);
}

// The same beginning with one value in all lines.
template <target Target, class A, class B, class Out, class H, std::size_t Rank>
    requires(std::is_arithmetic_v<H> || detail::any_float<H>)
void linear_recurrence(const Target& target, const view<A, Rank>& a, const view<B, Rank>& b, const view<Out, Rank>& out,
                       const H& h0, axis along, direction begin = forward)
{
    using state = detail::state_t<std::remove_const_t<A>, std::remove_const_t<B>, Out>;
    const detail::state_before<state, state, Rank> before{convert<state>(h0), nullptr, {}};
    detail::linear_recurrence<state>(target, a, b, out, before, along, begin);
}

// The same beginning with zero.
template <target Target, class A, class B, class Out, std::size_t Rank>
void linear_recurrence(const Target& target, const view<A, Rank>& a, const view<B, Rank>& b, const view<Out, Rank>& out,
                       axis along, direction begin = forward)
{
    upsweep::linear_recurrence(target, a, b, out, 0.0F, along, begin);
}

// The gradient of a linear recurrence, by the chain rule: given the coefficients `a`, the results `h`, the states before them `h0` and the
// gradient of a function by each result, writes its gradients by each a_t, b_t and state of h0. Of a forward recurrence, for one,
//
//     b_gradient_t = out_gradient_t + a_(t+1) b_gradient_(t+1)     a_gradient_t = b_gradient_t h_(t-1)     h0_gradient = a_0 b_gradient_0
//
// of which the first is a linear recurrence in the other direction, with the bits of one whose first coefficient is zero; each of the products
// is rounded once. The outputs overlap no other view. One pass over memory.
template <target Target, class A, class H, class G, class DA, class DB, class H0, class DH, std::size_t Rank,
          std::size_t StateRank>
void linear_recurrence_gradient(const Target& target, const view<A, Rank>& a, const view<H, Rank>& h,
                                const view<G, Rank>& out_gradient, const view<DA, Rank>& a_gradient,
                                const view<DB, Rank>& b_gradient, const view<H0, StateRank>& h0,
                                const view<DH, StateRank>& h0_gradient, axis along, direction begin = forward)
{
    using state = detail::state_t<std::remove_const_t<A>, std::remove_const_t<H>, std::remove_const_t<G>, DA, DB>;
    constexpr std::string_view call = detail::recurrence_gradient_call;
    detail::check_axis(call, along, Rank);
    const auto strides = detail::strides_of_reduction(call, a, along, h0);
    const auto gradient_strides = detail::strides_of_reduction(call, a, along, h0_gradient);
    detail::check_distinct(call, h0_gradient);
    const auto check_output = [&](const auto& out, const auto&... others) {
        (detail::check_apart(call, out, others), ...);
    };
    check_output(h0_gradient, a, h, out_gradient, a_gradient, b_gradient, h0);
    check_output(h0, a_gradient, b_gradient);
    detail::linear_recurrence_gradient<state>(
        target, a, h, out_gradient, a_gradient, b_gradient,
        detail::state_before<state, std::remove_const_t<H0>, Rank>{{}, h0.data(), strides},
        detail::line_results<DH, Rank>{h0_gradient.data(), gradient_strides}, along, begin);
}

// The same of a recurrence that began with zero.
template <target Target, class A, class H, class G, class DA, class DB, std::size_t Rank>
void linear_recurrence_gradient(const Target& target, const view<A, Rank>& a, const view<H, Rank>& h,
                                const view<G, Rank>& out_gradient, const view<DA, Rank>& a_gradient,
                                const view<DB, Rank>& b_gradient, axis along, direction begin = forward)
{
    using state = detail::state_t<std::remove_const_t<A>, std::remove_const_t<H>, std::remove_const_t<G>, DA, DB>;
    detail::check_axis(detail::recurrence_gradient_call, along, Rank);
    detail::linear_recurrence_gradient<state>(target, a, h, out_gradient, a_gradient, b_gradient,
                                              detail::state_before<state, state, Rank>{},
                                              detail::line_results<state, Rank>{}, along, begin);
}

} // namespace upsweep
