// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/fold/reduce.cuh>
#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/line_places.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>

// Folds of long rows whose elements lie one behind the other. A warp folds a *piece*, 4 KiB of a row, in registers, as plain reductions
// do, and waits for no other warp; totals of pieces go to memory. They are folded by further kernels, which are short:
//
//   fold_pieces_kernel       level 0: the total of each whole piece of each row
//   fold_groups_kernel       level k + 1: the total of each whole group of 128 totals of level k, until a row has less than 128
//   reduce_pieces_kernel     a warp a row: the totals of the last level, those of each level before it that are in no whole group, and
//                            the elements behind the last piece
//
// which are the aligned blocks that the binary digits of the row's length cut it into, largest first.
namespace upsweep::gpu {

template <class T>
struct piece_shape {
    static constexpr int threads = 256;
    static constexpr int blocks = 4; // of a multiprocessor: all four have 128 KiB on their way
    static constexpr int rows = 8;   // of vectors
    static constexpr int elements = vector_elements<sizeof(T)>;
    static constexpr int row = elements * lanes;
    static constexpr int piece = row * rows;
};

// The totals of the pieces and groups of all rows, level by level.
template <class Acc>
struct piece_totals {
    static constexpr int most_levels = 8; // 2^56 pieces
    struct level {
        Acc* totals;         // of the first row, followed by those of the others
        std::uint64_t count; // in a row
    };
    level levels[most_levels];
    int count = 0; // of levels; in the last one there are less totals than make a group

    // Of rows with so many whole pieces each.
    piece_totals(const cuda& target, std::uint64_t rows, std::uint64_t pieces)
    {
        std::uint64_t all = 0;
        for (std::uint64_t of_level = pieces;; of_level /= group_tiles) {
            levels[count++] = {nullptr, of_level};
            all += of_level * rows;
            if (of_level < group_tiles)
                break;
        }
        auto* next = static_cast<Acc*>(target.workspace().memory(workspace_purpose::large_totals, all * sizeof(Acc)));
        for (int k = 0; k < count; next += levels[k++].count * rows)
            levels[k].totals = next;
    }
};

template <class Acc, class T, class Out, std::size_t Rank, class Op>
__global__ void __launch_bounds__(piece_shape<T>::threads, piece_shape<T>::blocks)
    fold_pieces_kernel(const __grid_constant__ lines_on_device<T, Out, Rank> of, divider pieces, bool of_many, Op op,
                       Acc* totals)
{
    using shape = piece_shape<T>;
    const std::uint64_t task = warp_in_grid();
    if (task >= of.count * pieces.divisor)
        return;
    const std::uint64_t line = pieces.quotient(task);
    const T* const from = of.in.first_of(line) + (task - line * pieces.divisor) * shape::piece;
    const Acc total = warp_tile_total<shape, Acc>(from, is_aligned<shape::elements>(from), of_many, op);
    if (lane_id() == 0)
        totals[task] = total;
}

// The totals of a row from the first one on, as a lane holds those of a group; beyond `count` they are the identity.
template <class Acc, class Op>
__device__ void load_group(const Acc* first, int count, Acc (&totals)[group_rows], const Op& op)
{
#pragma unroll
    for (int r = 0; r < group_rows; ++r) {
        const int i = r * lanes + lane_id();
        totals[r] = op.template identity<Acc>();
        if (i < count)
            totals[r] = first[i];
    }
}

template <class Acc, class Op>
__global__ void fold_groups_kernel(const Acc* totals, std::uint64_t count, std::uint64_t rows, divider groups, Op op,
                                   Acc* of_groups)
{
    const std::uint64_t task = warp_in_grid();
    if (task >= rows * groups.divisor)
        return;
    const std::uint64_t row = groups.quotient(task);
    Acc group[group_rows];
    load_group(totals + row * count + (task - row * groups.divisor) * group_tiles, group_tiles, group, op);
    const Acc total = warp_total(group, op);
    if (lane_id() == 0)
        of_groups[task] = total;
}

// before (+) the fold of `count` elements, fewer than a piece. Every lane of the warp gets it.
template <class Acc, class T, class Op>
__device__ Acc fold_after_pieces(Acc before, const T* from, int count, const Op& op)
{
    using shape = piece_shape<T>;
    constexpr int elements = shape::elements;
    const int rows = count / shape::row; // of vectors, whole ones
    const bool aligned = is_aligned<elements>(from);
    Acc totals[shape::rows];
#pragma unroll
    for (int r = 0; r < shape::rows; ++r) {
        totals[r] = op.template identity<Acc>();
        if (r < rows) {
            const T* const mine = from + r * shape::row + lane_id() * elements;
            const auto vector = aligned ? load_vector<elements>(mine) : gather_vector<elements>(mine);
            Acc of_lane[1] = {convert<Acc>(vector_total<Acc>(vector, op))};
            totals[r] = warp_total(of_lane, op);
        }
    }
    Acc before_rows[shape::rows];
    lane_folds<shape::rows>(before, totals, before_rows, op);
    before = fold_number(before_rows, rows);

    const int left = count % shape::row;
    if (left == 0)
        return before;
    const int mine = left - lane_id() * elements;
    const auto vector = gather_vector<elements>(from + rows * shape::row + lane_id() * elements, mine);
    Acc values[elements];
#pragma unroll
    for (int j = 0; j < elements; ++j) {
        values[j] = op.template identity<Acc>();
        replace_if(j < mine, values[j], convert<Acc>(vector[j]));
    }
    const warp_tree<Acc> tree(lane_total<elements>(values, op), op);
    Acc folds[elements];
    lane_folds<elements>(tree.fold_before(before, op), values, folds, op);
    return shuffle(fold_number(folds, left % elements), left / elements);
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
__global__ void __launch_bounds__(piece_shape<T>::threads)
    reduce_pieces_kernel(const __grid_constant__ lines_on_device<T, Out, Rank> of,
                         const __grid_constant__ piece_totals<Acc> pieces, Op op, Finish finish)
{
    const std::uint64_t line = warp_in_grid();
    if (line >= of.count)
        return;
    Acc fold = op.template identity<Acc>();
    for (int k = pieces.count - 1; k >= 0; --k) {
        const auto& level = pieces.levels[k];
        const int left = static_cast<int>(level.count % group_tiles);
        Acc totals[group_rows];
        load_group(level.totals + (line + 1) * level.count - left, left, totals, op);
        Acc unused;
        fold = fold_in_group(fold, totals, left, unused, op);
    }
    const std::uint64_t first = pieces.levels[0].count * piece_shape<T>::piece;
    fold = fold_after_pieces(fold, of.in.first_of(line) + first, static_cast<int>(of.length - first), op);
    if (lane_id() == 0)
        finish(fold, *of.out.first_of(line));
}

// Whether rows are long enough for it: few of their elements lie behind the last piece. Of not so many elements the ring of
// tiled_lines.cuh, one kernel, is faster; it does not take narrow ones.
template <class T, class Out, std::size_t Rank>
bool are_long_rows(const detail::lines<const T, Out, Rank>& all)
{
    constexpr std::uint64_t many = std::uint64_t{32} << 20;
    constexpr std::uint64_t least = 4 * piece_shape<T>::piece;
    return all.in.stride(0) == 1 && all.length() >= least &&
           (sizeof(T) < 4 || all.length() * all.count() * sizeof(T) > many);
}

// Of rows with at least one piece. As fast as plain reductions; resident blocks that take pieces by turns take 3 to 5 % longer.
template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_long_rows(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                      const Op& op, const Finish& finish)
{
    using shape = piece_shape<T>;
    const auto grid = [](std::uint64_t warps) { return grid_of_warps(warps, shape::threads); };
    const lines_on_device<T, Out, Rank> of{line_places<const T, Rank>(all.in), line_places<Out, Rank>(all.out),
                                           all.length(), all.count()};
    const piece_totals<Acc> pieces(target, all.count(), all.length() / shape::piece);
    const auto& levels = pieces.levels;
    launch(target, call, fold_pieces_kernel<Acc, T, Out, Rank, Op>, grid(levels[0].count * all.count()), of,
           divider(levels[0].count), all.length() * all.count() > many_bytes / sizeof(T), op, levels[0].totals);
    for (int k = 0; k + 1 < pieces.count; ++k)
        launch(target, call, fold_groups_kernel<Acc, Op>, grid(levels[k + 1].count * all.count()), levels[k].totals,
               levels[k].count, all.count(), divider(levels[k + 1].count), op, levels[k + 1].totals);
    launch(target, call, reduce_pieces_kernel<Acc, T, Out, Rank, Op, Finish>, grid(all.count()), of, pieces, op,
           finish);
}

} // namespace upsweep::gpu
