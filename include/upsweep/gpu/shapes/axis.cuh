// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/shapes/columns.cuh>
#include <upsweep/gpu/shapes/segments.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/verb/axis.hpp>
#include <upsweep/view.hpp>

// The engines of folds along an axis. Lines whose elements lie closer together than the lines do are segments of equal length of the
// view whose last dimension is the axis; others are columns.
namespace upsweep::gpu {

// The same elements in another order: dimension 0 comes last.
template <class T, std::size_t Rank>
view<T, Rank> with_axis_last(const view<T, Rank>& lines)
{
    std::array<std::size_t, Rank> extents;
    std::array<std::ptrdiff_t, Rank> strides;
    for (std::size_t k = 0; k < Rank; ++k) {
        extents[k] = lines.extent((k + 1) % Rank);
        strides[k] = lines.stride((k + 1) % Rank);
    }
    return {lines.data(), extents, strides};
}

// Calls f with the sources of the elements and of the places for results, line by line, if kernels reach them.
template <class T, class Out, std::size_t Rank, class F>
void with_lines(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all, F f)
{
    const current_device current(target.device());
    const auto in = with_axis_last(all.in);
    const auto out = with_axis_last(all.out);
    with_sources(in.begin(), out.begin(), [&](const auto& from, const auto& to) {
        check_place(target, call, from, in.size());
        check_place(target, call, to, out.size());
        f(from, to, equal_segments{all.length(), all.count()});
    });
}

// Whether neighbouring lines lie closer together than the elements of one.
template <class T, class Out, std::size_t Rank>
bool lie_side_by_side(const detail::lines<const T, Out, Rank>& all)
{
    const auto distance = [&](std::size_t k) { return all.in.stride(k) < 0 ? -all.in.stride(k) : all.in.stride(k); };
    return all.length() > 1 && all.count() > 1 && distance(Rank - 1) < distance(0);
}

// Refuses lines that kernels cannot reach.
template <class T, class Out, std::size_t Rank>
void check_lines(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all)
{
    check_place(target, call, strided_source(all.in.begin().elements()), all.in.size());
    check_place(target, call, strided_source(all.out.begin().elements()), all.out.size());
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_columns(const cuda& target, const detail::lines<const T, Out, Rank>& all, const Op& op,
                    const Finish& finish)
{
    const current_device current(target.device());
    check_lines(target, "reduce", all);
    with_column_shape<T>(all.length(), [&]<class Shape>(Shape) {
        launch_columns<reduce_columns_kernel<Shape, Acc, T, Out, Rank, Op, Finish>, Shape, Acc, Op>(target, "reduce",
                                                                                                    all, op, finish);
    });
}

template <scan_kind Kind, class Acc, class T, class Out, std::size_t Rank, class Op>
void scan_columns(const cuda& target, const detail::lines<const T, Out, Rank>& all, const Op& op, const Acc* init)
{
    const current_device current(target.device());
    check_lines(target, "scan", all);
    const scan_start<Acc> start = start_of_scan(op, init);
    with_column_shape<T>(all.length(), [&]<class Shape>(Shape) {
        launch_columns<scan_columns_kernel<Shape, Kind, Acc, T, Out, Rank, Op>, Shape, Acc, Op>(target, "scan", all, op,
                                                                                                start);
    });
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::reduce_lines> {
    template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
    static void fold(const cuda& target, const lines<const T, Out, Rank>& all, const Op& op, const Finish& finish)
    {
        if (gpu::lie_side_by_side(all))
            return gpu::reduce_columns<Acc>(target, all, op, finish);
        gpu::with_lines(target, "reduce", all, [&](const auto& from, const auto& to, const auto& segments) {
            gpu::reduce_segments<Acc>(target, from, segments.count * segments.length, segments, to, op, finish);
        });
    }
};

template <>
struct engine<cuda, verb::scan_lines> {
    template <scan_kind Kind, class Acc, class T, class Out, std::size_t Rank, class Op>
    static void scan(const cuda& target, const lines<const T, Out, Rank>& all, const Op& op, const Acc* init)
    {
        if (gpu::lie_side_by_side(all))
            return gpu::scan_columns<Kind, Acc>(target, all, op, init);
        gpu::with_lines(target, "scan", all, [&](const auto& from, const auto& to, const auto& segments) {
            gpu::scan_segments<Kind, Acc>(target, from, segments.count * segments.length, segments, to, op, init);
        });
    }
};

} // namespace upsweep::detail
