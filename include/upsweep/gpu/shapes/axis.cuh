// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/shapes/segments.cuh>
#include <upsweep/gpu/shapes/tiled_lines.cuh>
#include <upsweep/gpu/shapes/walked_lines.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/verb/axis.hpp>
#include <upsweep/view.hpp>

// The engines of folds along an axis, which choose by where the lines lie and how long they are.
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

// The kernels for lines.
enum class line_kernels {
    segments, // short lines whose elements lie close together are segments of equal length
    walks,    // many lines, or short ones, side by side
    tiles     // long lines
};
template <class T, class Out, std::size_t Rank>
line_kernels kernels_for(const detail::lines<const T, Out, Rank>& all)
{
    constexpr std::uint64_t shortest_in_tiles = sizeof(T) < 4 ? std::uint64_t{1} << 20 : 4096; // words are copied
    constexpr std::uint64_t short_column = 64;
    constexpr std::uint64_t many_columns = 65536; // as many as lanes keep the memory busy
    if (!lie_side_by_side(all))
        return all.length() < shortest_in_tiles ? line_kernels::segments : line_kernels::tiles;
    const bool walks = all.length() < short_column || (all.count() >= many_columns && all.length() < longest_walk);
    return walks ? line_kernels::walks : line_kernels::tiles;
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::reduce_lines> {
    template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
    static void fold(const cuda& target, const lines<const T, Out, Rank>& all, const Op& op, const Finish& finish)
    {
        constexpr auto call = "reduce";
        const gpu::current_device current(target.device());
        const gpu::line_kernels kernels = gpu::kernels_for(all);
        if (kernels == gpu::line_kernels::segments) {
            gpu::with_lines(target, call, all, [&](const auto& from, const auto& to, const auto& segments) {
                gpu::reduce_segments<Acc>(target, from, segments.count * segments.length, segments, to, op, finish);
            });
            return;
        }
        gpu::check_lines(target, call, all);
        if (kernels == gpu::line_kernels::walks)
            gpu::with_walk_shape(all.length(), [&]<class Shape>(Shape) {
                gpu::launch_walk<Shape>(target, call, gpu::reduce_walked_kernel<Shape, Acc, T, Out, Rank, Op, Finish>,
                                        all, op, finish);
            });
        else
            gpu::launch_over_tiles<gpu::reduce_tiled_kernel<Acc, T, Out, Rank, Op, Finish>, Acc, Op>(
                target, call, all, gpu::lie_side_by_side(all), op, finish);
    }
};

template <>
struct engine<cuda, verb::scan_lines> {
    template <scan_kind Kind, class Acc, class T, class Out, std::size_t Rank, class Op>
    static void scan(const cuda& target, const lines<const T, Out, Rank>& all, const Op& op, const Acc* init)
    {
        constexpr auto call = "scan";
        const gpu::current_device current(target.device());
        const gpu::line_kernels kernels = gpu::kernels_for(all);
        if (kernels == gpu::line_kernels::segments) {
            gpu::with_lines(target, call, all, [&](const auto& from, const auto& to, const auto& segments) {
                gpu::scan_segments<Kind, Acc>(target, from, segments.count * segments.length, segments, to, op, init);
            });
            return;
        }
        gpu::check_lines(target, call, all);
        const gpu::scan_start<Acc> start = gpu::start_of_scan(op, init);
        if (kernels == gpu::line_kernels::walks)
            gpu::with_walk_shape(all.length(), [&]<class Shape>(Shape) {
                gpu::launch_walk<Shape>(target, call, gpu::scan_walked_kernel<Shape, Kind, Acc, T, Out, Rank, Op>, all,
                                        op, start);
            });
        else
            gpu::launch_over_tiles<gpu::scan_tiled_kernel<Kind, Acc, T, Out, Rank, Op>, Acc, Op>(
                target, call, all, gpu::lie_side_by_side(all), op, start);
    }
};

} // namespace upsweep::detail
