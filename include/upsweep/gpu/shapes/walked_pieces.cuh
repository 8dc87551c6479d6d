// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/block_counter.cuh>
#include <upsweep/gpu/shapes/few.cuh>
#include <upsweep/gpu/shapes/line_places.cuh>
#include <upsweep/gpu/shapes/row_panels.cuh>
#include <upsweep/gpu/shapes/walked_lines.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/gpu/target/workspace.cuh>
#include <upsweep/lines.hpp>

// Reductions of lines that lie side by side, of which there are few and long ones: they are cut into pieces, which a first kernel folds,
// and others fold the totals of the pieces.
namespace upsweep::gpu {

inline constexpr std::size_t most_total_bytes = 32; // of an accumulator

// Whether lines have several pieces, and there are so many elements that several kernels are worth it.
template <class T, class Out, std::size_t Rank>
bool are_long(const detail::lines<const T, Out, Rank>& all, std::uint64_t least_elements)
{
    return all.length() >= 4 * piece_rows && all.length() * all.count() >= least_elements;
}

// Whether rows are long, and begin with a sector of memory each. Warps read them as fast as they lie.
template <class T, class Out, std::size_t Rank>
bool have_long_rows_of_sectors(const detail::lines<const T, Out, Rank>& all)
{
    constexpr std::uint64_t long_row_bytes = 16384;
    const auto in_sectors = [](std::uintptr_t bytes) { return bytes % panel_shape::sector == 0; };
    bool begin_with_sectors = in_sectors(reinterpret_cast<std::uintptr_t>(all.in.data()));
    for (std::size_t k = 0; k + 1 < Rank; ++k)
        begin_with_sectors =
            begin_with_sectors &&
            (all.in.extent(k) == 1 || in_sectors(static_cast<std::uintptr_t>(all.in.stride(k)) * sizeof(T)));
    return begin_with_sectors && all.in.extent(Rank - 1) * sizeof(T) >= long_row_bytes;
}

// Whether they are folded by panels, of which there are enough for all multiprocessors.
template <class T, class Out, std::size_t Rank>
bool are_long_panels(const cuda& target, const detail::lines<const T, Out, Rank>& all)
{
    constexpr std::uint64_t least_elements = (std::uint64_t{1} << 26) / std::max(sizeof(T), sizeof(unsigned));
    return are_long(all, least_elements) && !have_long_rows_of_sectors(all) && are_panels(target, all) &&
           cut_into_panels(all).grid().blocks >= panel_shape::least_blocks;
}

// Whether other lines are folded by pieces: many, narrow ones, and those whose accumulators take many registers.
template <class Acc, class T, class Out, std::size_t Rank>
bool are_long_pieces(const detail::lines<const T, Out, Rank>& all)
{
    constexpr bool is_narrow = sizeof(T) < sizeof(unsigned);
    constexpr std::uint64_t least_elements = std::uint64_t{1} << (is_narrow ? 22 : 25);
    constexpr std::uint64_t many = 4096;
    return are_long(all, least_elements) &&
           (is_narrow || (sizeof(T) == sizeof(unsigned) && sizeof(Acc) > sizeof(std::uint64_t)) || all.count() >= many);
}

// Level 0 has the totals of the whole pieces of 256 elements, level k those of the whole groups of 256 of level k - 1; those of the same number
// of all lines lie side by side.
template <class Acc>
struct walked_totals {
    static constexpr int most_levels = 8;
    Acc* levels[most_levels];
    std::uint64_t counts[most_levels]; // of a line
    int count = 0;                     // of levels

    walked_totals(const cuda& target, std::uint64_t length, std::uint64_t lines)
    {
        make_levels(target, length >> log_piece_rows, lines, 0);
    }
    // With a level 0 that is there already, so many of each line.
    walked_totals(const cuda& target, Acc* first, std::uint64_t each, std::uint64_t lines)
    {
        counts[count++] = each;
        levels[0] = first;
        make_levels(target, each >> log_piece_rows, lines, 1);
    }

private:
    void make_levels(const cuda& target, std::uint64_t most, std::uint64_t lines, int first)
    {
        std::uint64_t all = 0;
        for (; most != 0; most >>= log_piece_rows)
            all += counts[count++] = most;
        auto* next =
            static_cast<Acc*>(target.workspace().memory(workspace_purpose::large_totals, all * lines * sizeof(Acc)));
        for (int k = first; k < count; next += counts[k++] * lines)
            levels[k] = next;
    }
};

// Blocks of a multiprocessor, of lanes that fold large accumulators in their registers, or smaller values.
template <class Element>
inline constexpr unsigned walked_piece_blocks = sizeof(Element) > 16 ? 1 : 3;

// A lane has a piece of a line.
template <class Acc, class T, class Out, std::size_t Rank, class Op>
__global__ void __launch_bounds__(long_walk::threads, walked_piece_blocks<walked_element_t<Op, Acc, T>>)
    fold_walked_pieces_kernel(const __grid_constant__ lines_on_device<T, Out, Rank> of, divider lines,
                              const __grid_constant__ walked_totals<Acc> totals, Op op)
{
    const std::uint64_t place = blockIdx.x * std::uint64_t{long_walk::threads} + threadIdx.x;
    const std::uint64_t number = lines.quotient(place);
    if (number >= totals.counts[0])
        return;
    const T* const from =
        of.in.first_of(place - number * lines.divisor) + static_cast<std::int64_t>(number * piece_rows) * of.in.stride;
    totals.levels[0][place] =
        fold_walk<walked_element_t<Op, Acc, T>>(op.template identity<Acc>(), from, of.in.stride, piece_rows, op);
}

// The last values of 32 lines, up to 256 of each, which a block folds: each of its 8 warps has 32 of them, and a lane those of one line.
template <class Acc, class Op>
class block_of_totals {
    static constexpr int warps = long_walk::threads / lanes;

public:
    struct memory {
        raw_array<Acc, warps * lanes> of_warps; // [lane] of each warp
        raw_array<Acc, lanes * lanes> rest;     // [lane] of each value, of the warp that has fewer than 32
    };
    static_assert(sizeof(Acc) <= most_total_bytes,
                  "the shared memory of a block has room for accumulators of up to 32 bytes");

    __device__ block_of_totals(memory& shared, const Op& op) : shared_(shared), op_(op) {}

    // before (+) the fold of the values at(0) to at(count - 1).
    template <class At>
    __device__ Acc fold_after(const Acc& before, int count, const At& at)
    {
        const int first = warp_id() * lanes;
        if (first + lanes <= count) {
            shared_.of_warps[static_cast<int>(threadIdx.x)] = block_total<lanes>(at, first, op_);
        } else {
#pragma unroll
            for (int r = 0; r < lanes; ++r)
                if (first + r < count)
                    shared_.rest[r * lanes + lane_id()] = at(first + r);
        }
        __syncthreads();
        const auto of_warp = [&](int w) { return shared_.of_warps[w * lanes + lane_id()]; };
        const auto of_rest = [&](int r) { return shared_.rest[r * lanes + lane_id()]; };
        const Acc of_whole = fold_few<Acc, warps>(before, of_warp, 0, count / lanes, op_);
        const Acc fold = fold_few<Acc, lanes / 2>(of_whole, of_rest, 0, count % lanes, op_);
        __syncthreads();
        return fold;
    }

private:
    memory& shared_;
    Op op_;
};

// A block has a group of totals of 32 lines.
template <class Acc, class Op>
__global__ void __launch_bounds__(long_walk::threads)
    fold_walked_groups_kernel(std::uint64_t lines, divider blocks_of_group,
                              const __grid_constant__ walked_totals<Acc> totals, int level, Op op)
{
    __shared__ typename block_of_totals<Acc, Op>::memory shared;
    block_of_totals<Acc, Op> block(shared, op);
    const std::uint64_t number = blocks_of_group.quotient(blockIdx.x);
    const std::uint64_t line =
        (blockIdx.x - number * blocks_of_group.divisor) * lanes + static_cast<unsigned>(lane_id());
    const Acc* const from = totals.levels[level - 1] + number * piece_rows * lines + (line < lines ? line : 0);
    const Acc fold = block.fold_after(op.template identity<Acc>(), piece_rows,
                                      [&](int r) { return from[static_cast<unsigned>(r) * lines]; });
    if (warp_id() == 0 && line < lines)
        totals.levels[level][number * lines + line] = fold;
}

// A block has what is left of 32 lines: of each level the totals that are in no group, the last level first, and the elements behind the last
// piece.
template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
__global__ void __launch_bounds__(long_walk::threads, 2)
    reduce_walked_pieces_kernel(const __grid_constant__ lines_on_device<T, Out, Rank> of,
                                const __grid_constant__ walked_totals<Acc> totals, Op op, Finish finish)
{
    __shared__ typename block_of_totals<Acc, Op>::memory shared;
    block_of_totals<Acc, Op> block(shared, op);
    const std::uint64_t line = std::uint64_t{blockIdx.x} * lanes + static_cast<unsigned>(lane_id());
    const std::uint64_t mine = line < of.count ? line : 0;
    Acc fold = op.template identity<Acc>();
#pragma unroll 1
    for (int k = totals.count - 1; k >= 0; --k) {
        const auto left = static_cast<int>(totals.counts[k] % piece_rows);
        const Acc* const from = totals.levels[k] + (totals.counts[k] - static_cast<unsigned>(left)) * of.count + mine;
        fold = block.fold_after(fold, left, [&](int r) { return from[static_cast<unsigned>(r) * of.count]; });
    }
    const auto left = static_cast<int>(of.length % piece_rows);
    const T* const from =
        of.in.first_of(mine) + static_cast<std::int64_t>(of.length - static_cast<unsigned>(left)) * of.in.stride;
    fold = block.fold_after(fold, left, [&](int r) { return convert<Acc>(from[r * of.in.stride]); });
    if (warp_id() == 0 && line < of.count)
        finish(fold, *of.out.first_of(line));
}

// Folds totals of pieces of lines, and the elements behind the last piece.
template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_totals(const cuda& target, std::string_view call, const lines_on_device<T, Out, Rank>& of,
                   const walked_totals<Acc>& totals, const Op& op, const Finish& finish)
{
    const std::uint64_t blocks_of_group = (of.count + lanes - 1) / lanes;
    const auto grid = [](std::uint64_t blocks) {
        return grid_shape{static_cast<unsigned>(blocks), long_walk::threads, 0};
    };
    for (int level = 1; level < totals.count; ++level)
        launch(target, call, fold_walked_groups_kernel<Acc, Op>, grid(totals.counts[level] * blocks_of_group), of.count,
               divider(blocks_of_group), totals, level, op);
    launch(target, call, reduce_walked_pieces_kernel<Acc, T, Out, Rank, Op, Finish>, grid(blocks_of_group), of, totals,
           op, finish);
}

// Folds the totals that fold_pieces(lines, totals) has had a kernel write, of the whole pieces, and the elements behind them.
template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish, class FoldPieces>
void reduce_pieces_of_lines(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                            const Op& op, const Finish& finish, FoldPieces fold_pieces)
{
    const lines_on_device<T, Out, Rank> of{line_places<const T, Rank>(all.in), line_places<Out, Rank>(all.out),
                                           all.length(), all.count()};
    const walked_totals<Acc> totals(target, all.length(), all.count());
    if (totals.count != 0)
        fold_pieces(of, totals);
    reduce_totals(target, call, of, totals, op, finish);
}

// Folds lines of accumulators that lie side by side without gaps, as totals of pieces do.
template <class Acc, class Out, std::size_t Rank, class Op, class Finish>
void reduce_lines_of_totals(const cuda& target, std::string_view call, const detail::lines<const Acc, Out, Rank>& all,
                            const Op& op, const Finish& finish)
{
    const lines_on_device<Acc, Out, Rank> nothing_else{line_places<const Acc, Rank>(all.in),
                                                       line_places<Out, Rank>(all.out), 0, all.count()};
    auto* const totals = const_cast<Acc*>(all.in.data()); // which is only read
    reduce_totals(target, call, nothing_else, walked_totals<Acc>(target, totals, all.length(), all.count()), op,
                  finish);
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_walked_pieces(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                          const Op& op, const Finish& finish)
{
    reduce_pieces_of_lines<Acc>(target, call, all, op, finish, [&](const auto& of, const walked_totals<Acc>& totals) {
        const std::uint64_t pieces = totals.counts[0] * all.count();
        const auto blocks = static_cast<unsigned>((pieces + long_walk::threads - 1) / long_walk::threads);
        launch(target, call, fold_walked_pieces_kernel<Acc, T, Out, Rank, Op>,
               grid_shape{blocks, long_walk::threads, 0}, of, divider(all.count()), totals, op);
    });
}
template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_panels(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                   const Op& op, const Finish& finish, unsigned least_blocks = panel_shape::least_blocks)
{
    reduce_pieces_of_lines<Acc>(target, call, all, op, finish, [&](const auto& of, const walked_totals<Acc>& totals) {
        const panel_cuts cuts = cut_into_panels(all, least_blocks);
        launch<fold_panels_kernel<Acc, T, Out, Rank, Op>>(target, call, cuts.grid(), of, cuts, totals.levels[0], op);
    });
}

} // namespace upsweep::gpu
