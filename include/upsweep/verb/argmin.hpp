// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/lines.hpp>
#include <upsweep/monoids.hpp>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>
#include <upsweep/types.hpp>
#include <upsweep/verb/axis.hpp>
#include <upsweep/view.hpp>

// The positions of minima and maxima, for every target. engine<Target, verb::argument> has
//
//     template <class Op>
//     static void find(const Target&, In first, std::size_t count, Index* result);
//
// which writes the position of the first element that precedes(Op) all others, and engine<Target, verb::argument_lines>
//
//     template <class Op>
//     static void find(const Target&, const lines<const T, Index, Rank>&);
//
// which does so for each line. Op is minimum or maximum. There is an element, and the index can hold its position; that the target
// reaches the memory has not been checked.
namespace upsweep {

namespace detail {

// The numbers that have an order: integers, bool, and floating-point numbers of all widths.
template <class T>
concept ordered_number = std::integral<T> || std::floating_point<T> || sub_word_float<T>;

// Elements are compared as they are, f16 and bf16 as float.
template <class T>
using compared_t = std::conditional_t<sub_word_float<T>, float, T>;

template <class Op>
inline constexpr std::string_view argument_call = std::same_as<Op, minimum> ? "argmin" : "argmax";

// There has to be an element, and an index of its position.
template <class Op, class Index>
void check_argument(std::size_t count)
{
    if (count == 0)
        throw error(error_kind::invalid_argument, argument_call<Op>, "of no elements, none is the first",
                    "check that the input is not empty");
    if (!std::in_range<Index>(count - 1))
        throw error(error_kind::invalid_argument, argument_call<Op>, "the type of the result cannot count the elements",
                    "take std::int64_t or std::size_t");
}

template <class Op, target Target, class R, class Index>
void find_argument(const Target& target, R&& in, Index* result)
{
    static_assert(ordered_number<std::ranges::range_value_t<R>>, "only numbers have a minimum and a maximum");
    const std::size_t count = size_of(in);
    check_argument<Op, Index>(count);
    engine<Target, verb::argument>::template find<Op>(target, first_of(in), count, result);
}

template <class Op, target Target, class T, std::size_t Rank, class Index, std::size_t OutRank>
void find_arguments(const Target& target, const view<const T, Rank>& in, axis along, const view<Index, OutRank>& out)
{
    static_assert(ordered_number<T>, "only numbers have a minimum and a maximum");
    static_assert(std::integral<Index> && !std::same_as<Index, bool>, "positions are integers");
    constexpr std::string_view call = argument_call<Op>;
    check_axis(call, along, Rank);
    const auto strides = strides_of_reduction(call, in, along, out);
    if (out.empty())
        return;
    check_argument<Op, Index>(in.extent(along.index));
    check_results(call, in.begin(), in.size(), out.begin(), out.size());
    engine<Target, verb::argument_lines>::template find<Op>(target, lines_of(in, along, out.data(), 1, strides));
}

} // namespace detail

// Writes to *result where the least element is: the lowest index among equal ones, counted from 0. Elements are integers, bool or
// floating-point numbers, which are ordered as for up::minimum: NaN, if there is one, comes before all others, and -0.0 before
// +0.0. So the index is that of the first element with the bits of up::reduce(target, in, up::minimum{}), or of the first NaN.
// NumPy's argmin differs where zeros of both signs are the least: they are equal to it, and it takes the first. No elements have no
// least one, and an Index that cannot hold a position is refused, too (invalid_argument).
//
// One comparison an element and one pass over the input; some hundred elements around the result are read twice.
template <target Target, input_range R, std::integral Index>
void argmin(const Target& target, R&& in, Index* result)
{
    detail::find_argument<minimum>(target, in, result);
}

// Where the greatest element is, by the order of up::maximum: the first NaN, else the lowest index among the greatest, of which
// +0.0 is greater than -0.0.
template <target Target, input_range R, std::integral Index>
void argmax(const Target& target, R&& in, Index* result)
{
    detail::find_argument<maximum>(target, in, result);
}

// The same with the position returned; the call waits for it.
template <target Target, input_range R>
[[nodiscard]] std::size_t argmin(const Target& target, R&& in)
{
    return detail::returned<Target>::template value<std::size_t>(
        target, "argmin", [&](std::size_t* to) { upsweep::argmin(target, in, to); });
}
template <target Target, input_range R>
[[nodiscard]] std::size_t argmax(const Target& target, R&& in)
{
    return detail::returned<Target>::template value<std::size_t>(
        target, "argmax", [&](std::size_t* to) { upsweep::argmax(target, in, to); });
}

// Finds the least element along an axis of a view: for every choice of the other indices, out has what up::argmin gives for the
// elements along the axis. `out` has the extents of `in` without the axis, or with it once. An axis of extent 0 is refused, unless there
// are no results.
//
//     up::argmin(cpu, up::view(image, {rows, columns}), up::axis{1}, up::view(columns_of_minima, {rows}));
//
// One comparison an element and one pass over the input.
template <target Target, class T, std::size_t Rank, class Index, std::size_t OutRank>
void argmin(const Target& target, const view<T, Rank>& in, axis along, const view<Index, OutRank>& out)
{
    detail::find_arguments<minimum>(target, view<const std::remove_const_t<T>, Rank>(in), along, out);
}

// The same of the greatest.
template <target Target, class T, std::size_t Rank, class Index, std::size_t OutRank>
void argmax(const Target& target, const view<T, Rank>& in, axis along, const view<Index, OutRank>& out)
{
    detail::find_arguments<maximum>(target, view<const std::remove_const_t<T>, Rank>(in), along, out);
}

} // namespace upsweep
