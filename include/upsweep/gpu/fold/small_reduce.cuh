// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/warp_tile.cuh>
#include <upsweep/op.hpp>

// Reduce of so few elements that each block has one tile. The last block looks back at the totals of all others and
// folds its own elements, of which there may be less than a tile, after them. As in small scans, the fewer instructions
// the better.
namespace upsweep::gpu {

template <class Source, int Warps = 8, int Rows = 4>
struct small_reduce_shape {
    static constexpr int warps = Warps;
    static constexpr int threads = warps * lanes;
    static constexpr int elements = vector_elements<sizeof(std::iter_value_t<Source>)>;
    static constexpr int rows = sizeof(std::iter_value_t<Source>) <= 16 ? Rows : 1; // vectors of a lane
    static constexpr int warp_tile = elements * lanes * rows;
    static constexpr int tile = warp_tile * warps;
    static constexpr unsigned most_tiles = warps * lanes; // so that a lane has the total of one
};

// The total of those of a lane's vectors that exist, in the striped arrangement, in any order.
template <class Acc, class Source, class T, int Count, int Rows, class Op>
__device__ Acc total_of_existing(Source in, unsigned first, unsigned count, const lane_vector<T, Count> (&values)[Rows],
                                 const Op& op)
{
    using partial = lane_accumulator_t<Op, Acc, T>;
    partial total = op.template identity<partial>();
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        const unsigned from = first + static_cast<unsigned>((r * lanes + lane_id()) * Count);
        replace_if(from + Count <= count, total, op(total, vector_total<Acc>(values[r], op)));
    }
    if (const unsigned end = count % Count; end != 0) {
        const unsigned from = count - end;
        if (from >= first && from / Count % lanes == static_cast<unsigned>(lane_id()) &&
            from < first + Rows * lanes * Count)
#pragma unroll 1
            for (unsigned i = from; i < count; ++i)
                total = op(total, convert<partial>(in[i]));
    }
    return convert<Acc>(total);
}

// The total of a lane's elements. Where their order matters, it brings the vectors from the striped into the blocked
// arrangement by way of `space`, and totals[r] is the total of values[r].
template <class Source, class Vector, int Rows, class Acc, class Op>
__device__ Acc total_in_lane(Source in, unsigned first, unsigned count, Vector (&values)[Rows], Acc (&totals)[Rows],
                             Vector* space, const Op& op)
{
    if constexpr (is_any_order<Op, Acc>) {
        return total_of_existing<Acc>(in, first, count, values, op);
    } else {
        striped_to_blocked(values, space);
#pragma unroll
        for (int r = 0; r < Rows; ++r)
            totals[r] = vector_total<Acc>(values[r], op);
        return lane_total<Rows>(totals, op);
    }
}

// before (+) the fold of the first `count` elements of one lane, which are fewer than it has; totals[r] is that of
// values[r].
template <class Acc, class T, int Count, int Rows, class Op>
__device__ Acc fold_in_lane(const Acc& before, const lane_vector<T, Count> (&values)[Rows], const Acc (&totals)[Rows],
                            int count, const Op& op)
{
    Acc before_rows[Rows];
    lane_folds<Rows>(before, totals, before_rows, op);
    Acc before_row = before_rows[0];
    lane_vector<T, Count> row = values[0];
#pragma unroll
    for (int r = 1; r < Rows; ++r) {
        replace_if(r == count / Count, before_row, before_rows[r]);
        replace_if(r == count / Count, row, values[r]);
    }
    Acc elements[Count];
    Acc folds[Count];
#pragma unroll
    for (int j = 0; j < Count; ++j)
        elements[j] = convert<Acc>(row[j]);
    lane_folds<Count>(before_row, elements, folds, op);
#pragma unroll
    for (int j = 1; j < Count; ++j)
        replace_if(j == count % Count, folds[0], folds[j]);
    return folds[0];
}

template <class Shape, class Acc, class Source, class Op, class Result>
__global__ void __launch_bounds__(Shape::threads)
    small_reduce_kernel(Source in, unsigned count, Op op, Result* result, tile_state_memory memory)
{
    constexpr int elements = Shape::elements;
    constexpr int rows = Shape::rows;
    constexpr int levels = std::countr_zero(static_cast<unsigned>(Shape::warps));
    using vector = lane_vector<std::iter_value_t<Source>, elements>;
    using look_back_of_block = block_look_back<Acc, Op, Shape::warps>;
    __shared__ raw_array<Acc, Shape::warps> of_warps;
    __shared__ typename look_back_of_block::memory of_tiles;
    constexpr bool changes_arrangement = rows > 1 && !is_any_order<Op, Acc>;
    __shared__ raw_array<vector, changes_arrangement ? Shape::threads * rows : 1> space;

    const unsigned tile = blockIdx.x * Shape::tile;
    const unsigned warp_tile = tile + static_cast<unsigned>(warp_id() * Shape::warp_tile);
    const bool alone = gridDim.x == 1;
    const bool last = blockIdx.x + 1 == gridDim.x;
    vector values[rows];
    load_striped(in, warp_tile, tile, count, values);
    look_back_of_block folds(memory, of_tiles, op);
    if (!alone)
        folds.prefetch();

    Acc totals[rows];
    vector* const space_of_warp = &space[changes_arrangement ? warp_id() * lanes * rows : 0];
    const warp_tree<Acc> of_lanes(total_in_lane(in, warp_tile, count, values, totals, space_of_warp, op), op);
    if (lane_id() == 0)
        of_warps[warp_id()] = of_lanes.total;
    __syncthreads();
    const warp_tree<Acc, levels> of_block(of_warps[lane_id() % Shape::warps], op);
    if (!last)
        return folds.publish(of_block.total);

    Acc before = op.template identity<Acc>();
    Acc after = of_block.total;
    if (!alone)
        before = folds.fold(before, of_block.total, after);
    if (is_any_order<Op, Acc> || count - tile == Shape::tile) {
        if (threadIdx.x == 0)
            *result = detail::result_by<Result>(op, after);
        return;
    }
    if constexpr (!is_any_order<Op, Acc>) {
        // The array ends among the elements of one lane, or just before them.
        const Acc before_warp = shuffle(of_block.fold_before(before, op), warp_id());
        const unsigned mine = warp_tile + static_cast<unsigned>(lane_id() * rows * elements);
        if (mine <= count && count < mine + rows * elements)
            *result = detail::result_by<Result>(op, fold_in_lane(of_lanes.fold_before(before_warp, op), values, totals,
                                                                 static_cast<int>(count - mine), op));
    }
}

} // namespace upsweep::gpu
