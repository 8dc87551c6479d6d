// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <upsweep/fold_order.hpp>
#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/source/warp_tile.cuh>
#include <upsweep/op.hpp>

// Scan of so few elements that each block has one tile and all blocks are resident at once. The tile stays in
// registers; a block publishes its total and looks back at those of all blocks before it. What takes time is the way to
// memory and back, the exchange, and fetching instructions, each of which is used once: so there is little code.
namespace upsweep::gpu {

// With two vectors a lane a tile has 8 KiB, and an H200 holds 4 MiB in one go. With four, which is slower for that little, it
// holds 8 MiB.
template <class Source, class Out, int Rows>
struct small_scan_shape {
    static constexpr int warps = 8;
    static constexpr int threads = warps * lanes;
    static constexpr int blocks = 4; // of a multiprocessor
    static constexpr std::size_t largest = larger_element<Source, Out>;
    static constexpr int elements = vector_elements<largest>;
    static constexpr int rows = largest <= 16 ? Rows : 1; // vectors of a lane
    static constexpr int row = elements * lanes;
    static constexpr int warp_tile = row * rows;
    static constexpr int tile = warp_tile * warps;
};

// An aligned array has a kernel of its own, which has none of the code that shifts vectors.
template <class Shape, bool Aligned, scan_kind Kind, class Acc, class Source, class Out, class Op>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    small_scan_kernel(Source in, Out out, unsigned count, Op op, scan_start<Acc> start, tile_state_memory memory)
{
    constexpr int elements = Shape::elements;
    constexpr int rows = Shape::rows;
    constexpr int levels = std::countr_zero(static_cast<unsigned>(Shape::warps));
    using look_back_of_block = block_look_back<Acc, Op, Shape::warps, reload::missing>;
    using from = lane_vector<std::iter_value_t<Source>, elements>;
    using to = lane_vector<std::iter_value_t<Out>, elements>;
    __shared__ raw_array<Acc, Shape::warps> of_warps;
    __shared__ typename look_back_of_block::memory of_tiles;
    using wider = std::conditional_t<(sizeof(from) > sizeof(to)), from, to>;
    __shared__ raw_array<wider, rows == 1 ? 1 : Shape::threads * rows> space; // to change the arrangement

    const unsigned tile = blockIdx.x * Shape::tile;
    const unsigned warp_tile = tile + static_cast<unsigned>(warp_id() * Shape::warp_tile);
    void* const space_of_warp_tile = &space[rows == 1 ? 0 : warp_id() * lanes * rows];
    const vector_scan<elements, Kind, Acc, Source, Out, Op> vectors{op, start};
    constexpr bool may_shift = !Aligned && may_be_shifted<elements, rows, Source>;
    warp_tile_loader<Source, elements, rows, may_shift> loader(in, warp_tile, tile, count);
    const bool alone = gridDim.x == 1;
    look_back_of_block folds(memory, of_tiles, op);
    if (!alone)
        folds.prefetch_epoch_first();
    from values[rows];
    loader.blocked(values, static_cast<from*>(space_of_warp_tile), in);

    Acc totals[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r)
        totals[r] = vectors.total(values[r]);
    const warp_tree<Acc> of_lanes(lane_total<rows>(totals, op), op);
    if (lane_id() == 0)
        of_warps[warp_id()] = of_lanes.total;
    __syncthreads();
    const warp_tree<Acc, levels> of_block(of_warps[lane_id() % Shape::warps], op);

    Acc before = start.before;
    Acc after = op(before, of_block.total);
    if (!alone) {
        folds.publish(of_block.total);
        before = folds.fold(start.before, of_block.total, after);
    }
    const Acc before_warps = of_block.fold_before(before, op);
    replace_if(warp_id() + 1 < Shape::warps, after, shuffle(before_warps, (warp_id() + 1) % Shape::warps));
    const Acc before_lane = of_lanes.fold_before(shuffle(before_warps, warp_id()), op);
    replace_if(lane_id() + 1 < lanes, after, shuffle_down(before_lane));

    Acc before_rows[rows + 1];
    lane_folds<rows>(before_lane, totals, before_rows, op);
    before_rows[rows] = after;
    to results[rows];
    Acc nan{};
#pragma unroll
    for (int r = 0; r < rows; ++r)
        results[r] = vectors.results(values[r], before_rows[r], before_rows[r + 1],
                                     r == 0 && blockIdx.x == 0 && threadIdx.x == 0, nan);
    name_nan<Op>(nan, results);
    store_warp_tile<!Aligned>(out, warp_tile, count, results, static_cast<to*>(space_of_warp_tile));
}

} // namespace upsweep::gpu
