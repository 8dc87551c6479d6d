// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Folds of several lines in one tile, in the order of their elements: what the ladders segments and keys have in common. A line that goes on
// behind its tile is finished by a second launch.
#pragma once

#include "operators.cuh"

namespace lab {

constexpr unsigned every_lane = 0xffffffffu;
constexpr unsigned no_segment = ~0u;

// Folds the values of the lanes, neighbours first, so that the operator need not commute. Lane 0 gets the total.
template <class T, class Op>
__device__ T fold_warp_in_order(T mine, Op op)
{
    for (unsigned s = 1; s < 32; s *= 2) {
        const T other = __shfl_down_sync(every_lane, mine, s);
        if (threadIdx.x % (2 * s) == 0)
            mine = op(mine, other);
    }
    return mine;
}

// The same for the values of the threads of a block. Thread 0 gets the total.
template <class T, class Op>
__device__ T fold_block_in_order(T mine, Op op)
{
    __shared__ T of_warp[32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    mine = fold_warp_in_order(mine, op);
    if (lane == 0)
        of_warp[warp] = mine;
    __syncthreads();
    if (warp == 0)
        mine = fold_warp_in_order(lane < warps ? of_warp[lane] : op.identity(), op);
    return mine;
}

// The bits of the lanes up to this one.
__device__ inline unsigned up_to_this_lane(unsigned lanes) { return lanes & (every_lane >> (31 - threadIdx.x % 32)); }

// The inclusive scan of one value of each lane, which begins anew at each lane in `heads`. A lane takes no value from before
// the last head, whose place it knows (Sengupta, Harris and Garland, Efficient Parallel Scan Algorithms for GPUs, 2008).
template <class T, class Op>
__device__ T segmented_scan_warp(T mine, unsigned heads, Op op)
{
    const unsigned lane = threadIdx.x % 32, before = up_to_this_lane(heads);
    const unsigned head = before == 0 ? 0 : 31 - static_cast<unsigned>(__clz(static_cast<int>(before)));
    for (unsigned s = 1; s < 32; s *= 2) {
        const T other = __shfl_up_sync(every_lane, mine, s);
        if (lane >= head + s)
            mine = op(other, mine);
    }
    return mine;
}

// The same for the threads of a block. `open` tells that no head lies between the beginning of the block and the thread.
template <class T, class Op>
__device__ T segmented_scan_block(T mine, bool head, Op op, bool* open)
{
    __shared__ T of_warp[32];
    __shared__ bool begins[32];
    __shared__ unsigned warps_with_heads;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const unsigned heads = __ballot_sync(every_lane, head);
    mine = segmented_scan_warp(mine, heads, op);
    if (lane == 31) {
        of_warp[warp] = mine;
        begins[warp] = heads != 0;
    }
    __syncthreads();
    if (warp == 0) {
        const unsigned with_heads = __ballot_sync(every_lane, lane < warps && begins[lane]);
        of_warp[lane] = segmented_scan_warp(lane < warps ? of_warp[lane] : op.identity(), with_heads, op);
        if (lane == 0)
            warps_with_heads = with_heads;
    }
    __syncthreads();
    const bool open_in_warp = up_to_this_lane(heads) == 0;
    if (warp > 0 && open_in_warp)
        mine = op(of_warp[warp - 1], mine);
    *open = open_in_warp && (warps_with_heads & ((1u << warp) - 1)) == 0;
    return mine;
}

// The last launch. Tile t has left open the segment open_segments[t], of which it has folded open_values[t], and a later tile
// has written the fold of the segment's end to `out`. One block puts what belongs together, as many tiles at a time as it has threads.
template <class T, class Op>
__global__ void segments_fix_up(const unsigned* open_segments, const T* open_values, unsigned tiles, T* out, Op op)
{
    __shared__ T last;
    T carried = op.identity();
    for (unsigned begin = 0; begin < tiles; begin += blockDim.x) {
        const unsigned tile = begin + threadIdx.x;
        const unsigned segment = tile < tiles ? open_segments[tile] : no_segment;
        const bool head = tile == 0 || tile >= tiles || open_segments[tile - 1] != segment;
        bool open;
        T value = segmented_scan_block(tile < tiles ? open_values[tile] : op.identity(), head, op, &open);
        if (open)
            value = op(carried, value);
        if (segment != no_segment && (tile + 1 == tiles || open_segments[tile + 1] != segment))
            out[segment] = op(value, out[segment]);
        if (threadIdx.x == blockDim.x - 1)
            last = value;
        __syncthreads();
        carried = last;
    }
}

} // namespace lab
