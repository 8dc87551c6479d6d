// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>
#include <upsweep/verb/reduce.hpp>
#include <upsweep/verb/scan.hpp>
#include <upsweep/view.hpp>

// Reduce and scan along an axis of a view, for every target. engine<Target, verb::reduce_lines> has
//
//     template <class Acc>
//     static void fold(const Target&, const lines<const T, Out, Rank>&, const Op&, const Finish&);
//
// which writes finish(fold) of each line, accumulated in Acc, and engine<Target, verb::scan_lines>
//
//     template <scan_kind Kind, class Acc>
//     static void scan(const Target&, const lines<const T, Out, Rank>&, const Op&, const Acc* init);
//
// which writes the results of each line as engine<Target, verb::scan> does. That the shapes agree and that folds exist
// has been checked, that the target reaches the memory has not. A line has at least one element.
namespace upsweep {

namespace detail {

// What reductions write: a fold in the type of the results.
template <class Op>
struct as_results_of {
    template <class Result, class Acc>
    UPSWEEP_HOST_DEVICE void operator()(const Acc& fold, Result& result) const
    {
        result = as_result<Result, Op>(fold);
    }
};

// Their sum, divided by their number.
template <class Sum>
struct as_mean {
    Sum count;
    template <class Result, class Acc>
    UPSWEEP_HOST_DEVICE void operator()(const Acc& fold, Result& result) const
    {
        result = as_result<Result, plus>(static_cast<Sum>(fold) / count);
    }
};

// Results need a place each, and must not overwrite elements.
template <class In, class Out>
void check_results(std::string_view call, In in, std::size_t count, Out out, std::size_t results)
{
    if (overlaps_itself(footprint_of(out, results)))
        throw error(error_kind::invalid_argument, call, "strides of the output put two results at the same place",
                    "write to a view whose elements lie apart");
    if (count != 0 && overlap(footprint_of(in, count), footprint_of(out, results)))
        throw error(error_kind::invalid_argument, call, "input and output overlap", "write to a view of its own");
}

[[noreturn]] inline void refuse_shape(std::string_view call)
{
    throw error(error_kind::invalid_argument, call, "the extents of the output are not those of the input",
                "give the output the input's extents, but for the axis of a reduction, which it lacks or has once");
}

// The strides of the output of a reduction by the dimensions of the input, of which it lacks the axis or has it with
// extent 1.
template <class T, std::size_t Rank, class Out, std::size_t OutRank>
std::array<std::ptrdiff_t, Rank> strides_of_reduction(std::string_view call, const view<T, Rank>& in, axis along,
                                                      const view<Out, OutRank>& out)
{
    static_assert(OutRank == Rank || OutRank + 1 == Rank,
                  "the results of a reduction along an axis have as many dimensions as its input, or one less");
    std::array<std::ptrdiff_t, Rank> strides{};
    for (std::size_t k = 0, of_out = 0; k < Rank; ++k) {
        if (k == along.index && OutRank != Rank)
            continue;
        if (out.extent(of_out) != (k == along.index ? 1 : in.extent(k)))
            refuse_shape(call);
        strides[k] = k == along.index ? 0 : out.stride(of_out);
        ++of_out;
    }
    return strides;
}

template <class Acc, target Target, class T, std::size_t Rank, class Out, std::size_t OutRank, class Op, class Finish>
void reduce_lines(const Target& target, const view<const T, Rank>& in, axis along, const view<Out, OutRank>& out,
                  const Op& op, const Finish& finish)
{
    check_axis("reduce", along, Rank);
    const auto strides = strides_of_reduction("reduce", in, along, out);
    if (out.empty())
        return;
    check_fold_exists<Op>(in.extent(along.index));
    check_results("reduce", in.begin(), in.size(), out.begin(), out.size());
    engine<Target, verb::reduce_lines>::template fold<Acc>(target, lines_of(in, along, out.data(), 1, strides), op,
                                                           finish);
}

template <scan_kind Kind, target Target, class T, std::size_t Rank, class Out, class Op, class Init>
void scan_lines(const Target& target, const view<const T, Rank>& in, axis along, const view<Out, Rank>& out,
                const Op& op, const Init& init)
{
    using accumulator = typename monoid_scan_accumulator<Op, Out>::type;
    check_axis("scan", along, Rank);
    std::array<std::ptrdiff_t, Rank> strides{};
    for (std::size_t k = 0; k < Rank; ++k) {
        if (out.extent(k) != in.extent(k))
            refuse_shape("scan");
        strides[k] = out.stride(k);
    }
    if (in.empty())
        return;
    check_overlap("scan", in.begin(), out.begin(), in.size());
    engine<Target, verb::scan_lines>::template scan<Kind, accumulator>(
        target, lines_of(in, along, out.data(), in.extent(along.index), strides), op, init);
}

} // namespace detail

// Folds a view along an axis: for every choice of the other indices, the result has the bits of up::reduce over the
// elements along the axis, by ascending index, whatever the strides and the other extents are. `out` has the extents of
// `in` without the axis, or with it once; elements of `out` are converted as those of up::reduce. An axis of extent 0
// gives the operator's identity (+0.0 for a sum of floating-point numbers); minimum and maximum have none and throw.
//
//     up::reduce(cpu, up::view(image, {rows, columns, 3}), up::axis{1}, up::view(sums, {rows, 3}), up::plus{});
//
// One operation an element and one pass over the input, which is not copied; temporary memory: some totals for each
// line that is folded at the time.
template <target Target, class T, std::size_t Rank, class Result, std::size_t OutRank, class Op>
void reduce(const Target& target, const view<T, Rank>& in, axis along, const view<Result, OutRank>& out, Op op)
{
    using element = std::remove_const_t<T>;
    using accumulator = typename detail::reduce_accumulator<Op, element>::type;
    detail::reduce_lines<accumulator>(target, view<const element, Rank>(in), along, out, op,
                                      detail::as_results_of<Op>{});
}

// The mean along an axis: the sum in the type in which up::reduce adds up, f64 for integers, divided by the extent.
// That of no elements is NaN.
template <target Target, class T, std::size_t Rank, class Result, std::size_t OutRank>
void mean(const Target& target, const view<T, Rank>& in, axis along, const view<Result, OutRank>& out)
{
    using element = std::remove_const_t<T>;
    using accumulator = accumulator_t<plus, element>;
    using sum = std::conditional_t<std::integral<accumulator>, double, accumulator>;
    detail::check_axis("mean", along, Rank);
    detail::reduce_lines<accumulator>(target, view<const element, Rank>(in), along, out, plus{},
                                      detail::as_mean<sum>{static_cast<sum>(in.extent(along.index))});
}

// Scans a view along an axis: for every choice of the other indices, the results have the bits of up::inclusive_scan
// over the elements along the axis. `out` has the extents of `in` and may be `in`; views that overlap otherwise, and an
// output two of whose elements lie at one place, are refused before anything is written (invalid_argument).
//
// Below 3 n operations and one pass over the input.
template <target Target, class T, std::size_t Rank, class Out, class Op>
void inclusive_scan(const Target& target, const view<T, Rank>& in, axis along, const view<Out, Rank>& out, Op op)
{
    detail::scan_lines<scan_kind::inclusive>(target, view<const std::remove_const_t<T>, Rank>(in), along, out, op,
                                             nullptr);
}

// The same shifted by one, with the identity before the first element (+0.0 for a sum of floating-point numbers).
template <target Target, class T, std::size_t Rank, class Out, class Op>
void exclusive_scan(const Target& target, const view<T, Rank>& in, axis along, const view<Out, Rank>& out, Op op)
{
    detail::scan_lines<scan_kind::exclusive>(target, view<const std::remove_const_t<T>, Rank>(in), along, out, op,
                                             nullptr);
}

// The same with init before the first element of every line, and init (+) each result.
template <target Target, class T, std::size_t Rank, class Out, class Op, class Init>
void exclusive_scan(const Target& target, const view<T, Rank>& in, axis along, const view<Out, Rank>& out, Op op,
                    const Init& init)
{
    using accumulator = typename detail::monoid_scan_accumulator<Op, Out>::type;
    const auto first = convert<accumulator>(init);
    detail::scan_lines<scan_kind::exclusive>(target, view<const std::remove_const_t<T>, Rank>(in), along, out, op,
                                             &first);
}

} // namespace upsweep
