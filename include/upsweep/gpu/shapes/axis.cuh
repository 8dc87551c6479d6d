// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/fold/line_start.cuh>
#include <upsweep/gpu/shapes/adjacent_lines.cuh>
#include <upsweep/gpu/shapes/block_lines.cuh>
#include <upsweep/gpu/shapes/columns.cuh>
#include <upsweep/gpu/shapes/lane_rows.cuh>
#include <upsweep/gpu/shapes/pieces.cuh>
#include <upsweep/gpu/shapes/scan_panels.cuh>
#include <upsweep/gpu/shapes/segments.cuh>
#include <upsweep/gpu/shapes/short_rows.cuh>
#include <upsweep/gpu/shapes/staged_rows.cuh>
#include <upsweep/gpu/shapes/tiled_lines.cuh>
#include <upsweep/gpu/shapes/walked_lines.cuh>
#include <upsweep/gpu/shapes/warp_rows.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/monoids.hpp>
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

// Whether the operator, and not memory, limits a scan. Such scans go to kernels in which a lane folds several consecutive elements, which take fewer
// operations between lanes.
template <class Op, class Acc>
inline constexpr bool limits_scans = std::same_as<Op, log_sum_exp>&& std::same_as<Acc, double>;

// Which kernels take lines.
enum class line_kernels {
    short_rows, // of up to four elements: a lane folds them in registers
    segments,   // lines whose elements lie close together are segments of equal length
    staged,     // rows of narrow elements, and short ones of others, through shared memory
    lanes,      // a reduction of very many rows: a lane folds one
    rows,       // many that lie in one piece each, and are not short: a warp folds one
    pieces,     // a reduction of long ones that lie in one piece each
    tiles,      // long ones that lie in one piece
    walks,      // many lines side by side, or short ones; reductions of short rows that lie apart
    columns     // others side by side
};

// Whether rows of these types may be scanned by a warp each.
template <class Op, class Acc, class T, class Out>
inline constexpr bool may_be_scanned_warp_rows = !are_staged_of_any_length<true, Acc, T, Out> && !limits_scans<Op, Acc>;

template <bool Scans, class Op, class Acc, class T, class Out, std::size_t Rank>
line_kernels kernels_for(const detail::lines<const T, Out, Rank>& all, bool side_by_side)
{
    constexpr std::uint64_t long_row = 4096;
    constexpr std::uint64_t short_column = 64;
    constexpr std::uint64_t many_columns = 65536; // as many as lanes keep the memory busy
    const bool has_tiles = all.length() >= long_row && lines_in_one_piece(all, side_by_side) != 0;
    if (!side_by_side && are_short_rows(all))
        return line_kernels::short_rows;
    if (!Scans && sizeof(Acc) <= most_total_bytes && !side_by_side && are_walked_rows(all))
        return line_kernels::walks;
    if (!Scans && !side_by_side) {
        constexpr bool is_staged = are_staged_of_any_length<false, Acc, T, T>;
        const bool can_be_rows = are_warp_rows_to_reduce(all);
        const bool fill_warps = can_be_rows && fill_warp_rows<is_staged>(all);
        if (may_be_lane_rows<T> && are_lane_rows<Op, Acc>(all, fill_warps))
            return line_kernels::lanes;
        if (fill_warps || (!is_staged && can_be_rows && are_few_or_lie_apart(all)))
            return line_kernels::rows;
    }
    if (!Scans && !side_by_side && are_long_rows(all))
        return line_kernels::pieces;
    using result = std::conditional_t<Scans, Out, T>;
    if (may_be_staged<Scans, Acc, T, result> && !side_by_side && are_staged_rows<Scans>(all))
        return line_kernels::staged;
    if (Scans && may_be_scanned_warp_rows<Op, Acc, T, result> && !side_by_side && are_warp_rows(all))
        return line_kernels::rows;
    if (!side_by_side)
        return has_tiles && sizeof(T) >= 4 ? line_kernels::tiles
                                           : line_kernels::segments; // which copies bytes as words
    if (all.length() < short_column || (all.count() >= many_columns && all.length() < longest_walk))
        return line_kernels::walks;
    return has_tiles ? line_kernels::tiles : line_kernels::columns;
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::reduce_lines> {
    template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
    static void fold(const cuda& target, const lines<const T, Out, Rank>& all, const Op& op, const Finish& finish)
    {
        const gpu::current_device current(target.device());
        if constexpr (gpu::folds_blocks<Op, Acc, T>)
            fold_blocks<Acc>(target, all, op, finish);
        else
            fold_values<Acc>(target, all, op, finish);
    }

private:
    template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
    static void fold_values(const cuda& target, const lines<const T, Out, Rank>& all, const Op& op,
                            const Finish& finish)
    {
        constexpr auto call = "reduce";
        const bool side_by_side = gpu::lie_side_by_side(all);
        const gpu::line_kernels kernels = gpu::kernels_for<false, Op, Acc>(all, side_by_side);
        if (kernels == gpu::line_kernels::segments)
            return fold_segments<Acc>(target, all, op, finish);
        gpu::check_lines(target, call, all);
        if constexpr (gpu::may_be_short_rows<T, Out>)
            if (kernels == gpu::line_kernels::short_rows)
                return gpu::reduce_short_rows<Acc>(target, call, all, op, finish);
        if constexpr (gpu::may_be_staged<false, Acc, T, T>)
            if (kernels == gpu::line_kernels::staged)
                return gpu::reduce_staged_rows<Acc>(target, call, all, op, finish);
        if constexpr (gpu::may_be_lane_rows<T>)
            if (kernels == gpu::line_kernels::lanes)
                return gpu::reduce_lane_rows<Acc>(target, call, all, op, finish);
        if (kernels == gpu::line_kernels::rows)
            return gpu::reduce_warp_rows<Acc>(target, call, all, op, finish);
        if (kernels == gpu::line_kernels::pieces)
            return gpu::reduce_long_rows<Acc>(target, call, all, op, finish);
        if (side_by_side && fold_whole_units<Acc>(target, all, op, finish))
            return;
        if constexpr (gpu::adjacent_lines::is_narrow<T>) {
            namespace adjacent = gpu::adjacent_lines;
            using accumulator = adjacent::accumulator_in_words<Op, Acc, T>;
            if (side_by_side && adjacent::lie_in_words<accumulator, Acc>(all, adjacent::in_word<T> + 1))
                return fold_others<accumulator>(target, adjacent::in_words(all), true, adjacent::op_on_adjacent<Op>{op},
                                                adjacent::finish_adjacent<Acc, Finish>{finish});
        }
        fold_others<Acc>(target, all, side_by_side, op, finish);
    }

    // A few columns that are long, as rows of units. Returns whether they were.
    template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
    static bool fold_whole_units(const cuda& target, const lines<const T, Out, Rank>& all, const Op& op,
                                 const Finish& finish)
    {
        namespace adjacent = gpu::adjacent_lines;
        return adjacent::with_whole_units<Acc>(all, [&]<class Units, int Count>(const Units& units,
                                                                                std::integral_constant<int, Count>) {
            const bool are_long = gpu::are_long_rows(units);
            if (are_long)
                gpu::reduce_long_rows<adjacent::adjacent<Acc, Count>>(target, "reduce", units,
                                                                      adjacent::op_on_adjacent<Op>{op},
                                                                      adjacent::finish_adjacent<Acc, Finish>{finish});
            return are_long;
        });
    }

    // Lines that lie side by side, and long ones in one piece.
    template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
    static void fold_others(const cuda& target, const lines<const T, Out, Rank>& all, bool side_by_side, const Op& op,
                            const Finish& finish)
    {
        constexpr auto call = "reduce";
        const gpu::line_kernels kernels = gpu::kernels_for<false, Op, Acc>(all, side_by_side);
        // Lanes that walk along narrow elements have too few bytes each to keep the memory busy.
        const bool may_walk = kernels == gpu::line_kernels::walks && !gpu::adjacent_lines::is_narrow<T>;
        if constexpr (sizeof(Acc) <= gpu::most_total_bytes)
            if (side_by_side && !may_walk && gpu::are_long_panels(target, all))
                return gpu::reduce_panels<Acc>(target, call, all, op, finish);
        if (kernels == gpu::line_kernels::walks)
            return gpu::reduce_walked<Acc>(target, call, all, op, finish);
        if constexpr (gpu::fits_tiles<Acc, T>)
            if (kernels == gpu::line_kernels::tiles)
                return gpu::reduce_tiled<Acc>(target, call, all, gpu::lines_in_one_piece(all, side_by_side), op,
                                              finish);
        if constexpr (sizeof(Acc) <= gpu::most_total_bytes)
            if (gpu::are_long_pieces<Acc>(all))
                return gpu::reduce_walked_pieces<Acc>(target, call, all, op, finish);
        gpu::reduce_columns<Acc>(target, call, all, op, finish);
    }

    // By an operator that folds blocks as something else than its accumulators.
    template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
    static void fold_blocks(const cuda& target, const lines<const T, Out, Rank>& all, const Op& op,
                            const Finish& finish)
    {
        constexpr auto call = "reduce";
        // Lanes that have a line of one element each read neighbours, whichever way lines lie.
        const bool side_by_side = all.length() == 1 || gpu::lie_side_by_side(all);
        const gpu::block_line_kernels kernels = gpu::block_kernels_for(all, side_by_side);
        if (kernels == gpu::block_line_kernels::segments)
            return fold_segments<Acc>(target, all, op, finish);
        gpu::check_lines(target, call, all);
        if constexpr (gpu::may_be_lane_rows<T>)
            if (kernels == gpu::block_line_kernels::lanes)
                return gpu::reduce_lane_rows<Acc>(target, call, all, op, finish);
        if (kernels == gpu::block_line_kernels::rows)
            gpu::reduce_block_rows<Acc>(target, call, all, op, finish);
        else if (kernels == gpu::block_line_kernels::pieces)
            gpu::reduce_long_rows<Acc>(target, call, all, op, finish);
        else if (kernels == gpu::block_line_kernels::walks)
            gpu::reduce_block_walks<Acc>(target, call, all, op, finish);
        else if (gpu::are_long_panels(target, all))
            gpu::reduce_panels<Acc>(target, call, all, op, finish);
        else
            gpu::reduce_walked_pieces<Acc>(target, call, all, op, finish);
    }

    template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
    static void fold_segments(const cuda& target, const lines<const T, Out, Rank>& all, const Op& op,
                              const Finish& finish)
    {
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
        scan(target, all, op, gpu::start_of_lines(Kind, op, init));
    }

    // What the scans are, and what they begin with, is known when they run: an inclusive one may have an initial value.
    template <class Acc, class T, class Out, std::size_t Rank, class Op>
    static void scan(const cuda& target, const lines<const T, Out, Rank>& all, const Op& op,
                     const gpu::line_start<Acc>& start)
    {
        constexpr auto call = "scan";
        const gpu::current_device current(target.device());
        const bool side_by_side = gpu::lie_side_by_side(all);
        const gpu::line_kernels kernels = gpu::kernels_for<true, Op, Acc>(all, side_by_side);
        if (kernels == gpu::line_kernels::segments) {
            gpu::with_lines(target, call, all, [&](const auto& from, const auto& to, const auto& segments) {
                gpu::scan_segments<Acc>(target, from, segments.count * segments.length, segments, to, op, start);
            });
            return;
        }
        gpu::check_lines(target, call, all);
        if constexpr (gpu::may_be_short_rows<T, Out>)
            if (kernels == gpu::line_kernels::short_rows)
                return gpu::scan_short_rows(target, call, all, op, start);
        if constexpr (gpu::may_be_staged<true, Acc, T, Out>)
            if (kernels == gpu::line_kernels::staged)
                return gpu::scan_staged_rows(target, call, all, op, start);
        if constexpr (gpu::may_be_scanned_warp_rows<Op, Acc, T, Out>)
            if (kernels == gpu::line_kernels::rows)
                return gpu::scan_warp_rows(target, call, all, op, start);
        if constexpr (gpu::adjacent_lines::is_narrow<T>) {
            namespace adjacent = gpu::adjacent_lines;
            constexpr int each = adjacent::in_word<T>;
            using accumulator = adjacent::adjacent<Acc, each>;
            if constexpr (sizeof(accumulator) <= sizeof(uint4)) { // sums of bytes in 64 bits are faster byte by byte
                constexpr bool words_fit = gpu::fits_tiles<accumulator, adjacent::adjacent<T, each>>;
                const bool are_faster = (words_fit || kernels != gpu::line_kernels::tiles) &&
                                        adjacent::are_scanned_faster_in_words<accumulator>(all);
                if (side_by_side && are_faster && adjacent::lie_in_words<accumulator, Acc>(all, each))
                    return scan_others(target, adjacent::in_words(all), true, adjacent::op_on_adjacent<Op>{op},
                                       adjacent::start_of_each<each>(start));
            }
        }
        scan_others(target, all, side_by_side, op, start);
    }

private:
    // Lines that lie side by side, and long ones in one piece.
    template <class Acc, class T, class Out, std::size_t Rank, class Op>
    static void scan_others(const cuda& target, const lines<const T, Out, Rank>& all, bool side_by_side, const Op& op,
                            const gpu::line_start<Acc>& start)
    {
        constexpr auto call = "scan";
        const gpu::line_kernels kernels = gpu::kernels_for<true, Op, Acc>(all, side_by_side);
        if (kernels == gpu::line_kernels::walks)
            return gpu::scan_walked(target, call, all, op, start);
        if constexpr (gpu::may_be_scan_panels<Acc, T, Out>)
            if (side_by_side) {
                const gpu::scan_panel_choice panels = gpu::choose_scan_panels<Acc>(target, all);
                if constexpr (gpu::may_have_folders<Acc>)
                    if (panels.look_back == gpu::panel_look_back::by_folders)
                        return gpu::scan_by_panels<true>(target, call, all, panels.cuts, op, start);
                if (panels.look_back == gpu::panel_look_back::by_tree)
                    return gpu::scan_by_panels<false>(target, call, all, panels.cuts, op, start);
            }
        if constexpr (gpu::fits_tiles<Acc, T>)
            if (kernels == gpu::line_kernels::tiles)
                return gpu::scan_tiled(target, call, all, gpu::lines_in_one_piece(all, side_by_side), op, start);
        gpu::scan_columns(target, call, all, op, start);
    }
};

} // namespace upsweep::detail
