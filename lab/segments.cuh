// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The segments ladder: out[s] is the fold of in[offsets[s]] to in[offsets[s + 1] - 1]. Segments may be empty, and have any
// mix of lengths: that is the whole difficulty. The operator need not commute.
//
//   G1   one thread a segment   as many steps as the longest segment has elements; lanes read words that lie far apart
//   G2   one warp a segment     a warp reads neighbours, but of a short segment most lanes have nothing
//                               (G1 and G2: Bell and Garland, Implementing Sparse Matrix-Vector Multiplication on
//                               Throughput-Oriented Processors, 2009)
//   G3   one block a segment    a long segment has a whole block, and a short one, too
//   G4   by element             equal shares of elements: each looks its segment up (log s reads), then a segmented scan
//                               (Sengupta, Harris, Zhang and Owens, Scan Primitives for GPU Computing, 2007)
//   G5   load-balanced          equal shares of elements plus segments, by the diagonals of merge path (Green, McColl and
//                               Bader, GPU Merge Path, 2012; Merrill and Garland, Merge-based Parallel Sparse
//                               Matrix-Vector Multiplication, 2016)
#pragma once

#include "segmented.cuh"

namespace lab {

// G1. The loop of the definition.
template <class T, class Op>
__global__ void segments_by_threads(const T* in, const unsigned* offsets, T* out, unsigned segments, Op op)
{
    const unsigned segment = blockIdx.x * blockDim.x + threadIdx.x;
    if (segment >= segments)
        return;
    const unsigned begin = offsets[segment], end = offsets[segment + 1];
    T total = begin < end ? in[begin] : op.identity();
    for (unsigned i = begin + 1; i < end; ++i)
        total = op(total, in[i]);
    out[segment] = total;
}

// G2. A warp folds 32 elements at a time, in their order. (An operator that commutes would let every lane fold alone, with
// strides of 32, and fold the lanes once.)
template <class T, class Op>
__global__ void segments_by_warps(const T* in, const unsigned* offsets, T* out, unsigned segments, Op op)
{
    const unsigned segment = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (segment >= segments)
        return;
    const unsigned end = offsets[segment + 1];
    T total = op.identity();
    for (unsigned i = offsets[segment]; i < end; i += 32) {
        const T folded = fold_warp_in_order(i + lane < end ? in[i + lane] : op.identity(), op);
        if (lane == 0)
            total = op(total, folded);
    }
    if (lane == 0)
        out[segment] = total;
}

// G3. A block does as a warp of G2 does.
template <class T, class Op>
__global__ void segments_by_blocks(const T* in, const unsigned* offsets, T* out, Op op)
{
    const unsigned end = offsets[blockIdx.x + 1], t = threadIdx.x;
    T total = op.identity();
    for (unsigned i = offsets[blockIdx.x]; i < end; i += blockDim.x) {
        const T folded = fold_block_in_order(i + t < end ? in[i + t] : op.identity(), op);
        if (t == 0)
            total = op(total, folded);
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = total;
}

// The segment of element i is the last one that begins at or before it; of several that begin there, all but the last are
// empty.
__device__ inline unsigned segment_of(unsigned i, const unsigned* offsets, unsigned segments)
{
    unsigned low = 0, high = segments;
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        if (offsets[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// G4, first launch. No element is in an empty segment, which nobody else writes therefore.
template <class T, class Op>
__global__ void segments_fill_empty(const unsigned* offsets, T* out, unsigned segments, Op op)
{
    const unsigned segment = blockIdx.x * blockDim.x + threadIdx.x;
    if (segment < segments && offsets[segment] == offsets[segment + 1])
        out[segment] = op.identity();
}

// G4, second launch. Every thread has one element, and finds its segment by bisection of the offsets. The thread with the last
// element of a segment writes what the tile has of it; what a tile leaves open is for segments_fix_up.
template <class T, class Op>
__global__ void segments_by_elements(const T* in, unsigned n, const unsigned* offsets, T* out, unsigned segments,
                                     unsigned* open_segments, T* open_values, Op op)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool inside = i < n;
    const unsigned segment = inside ? segment_of(i, offsets, segments) : no_segment;
    const bool head = !inside || offsets[segment] == i, tail = !inside || offsets[segment + 1] == i + 1;
    bool open;
    const T mine = segmented_scan_block(inside ? in[i] : op.identity(), head, op, &open);
    if (inside && tail)
        out[segment] = mine;
    if (threadIdx.x == blockDim.x - 1) {
        open_segments[blockIdx.x] = tail ? no_segment : segment;
        open_values[blockIdx.x] = mine;
    }
}

// Elements and ends of segments are merged: the end of a segment comes before the element at which the next one begins. How many ends are
// among the first `diagonal` items?
__device__ inline unsigned merge_path(unsigned diagonal, const unsigned* ends, unsigned segments, unsigned n)
{
    unsigned low = diagonal > n ? diagonal - n : 0, high = diagonal < segments ? diagonal : segments;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (ends[middle] < diagonal - middle)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// What a thread takes of elements and ends of segments together. It is odd, so that the lanes of a warp, so many words apart,
// begin in different banks.
constexpr unsigned items_per_thread = 7;

// G5. Two threads find where the tile begins and ends on the merge path, and then each thread finds its own share in shared memory. It
// walks along the share: an element is folded, an end of a segment hands the total over. Of the first segment that ends in its share, earlier
// threads may have the beginning: the segmented scan of what the threads leave open tells.
template <class T, class Op>
__global__ void segments_load_balanced(const T* in, unsigned n, const unsigned* offsets, T* out, unsigned segments,
                                       unsigned* open_segments, T* open_values, Op op)
{
    extern __shared__ unsigned char storage[];
    __shared__ unsigned corner[2];
    const unsigned t = threadIdx.x, tile = items_per_thread * blockDim.x, begin = blockIdx.x * tile;
    const unsigned items = begin + tile < n + segments ? tile : n + segments - begin;
    if (t < 2)
        corner[t] = merge_path(t == 0 ? begin : begin + items, offsets + 1, segments, n);
    __syncthreads();
    const unsigned first_segment = corner[0], tile_segments = corner[1] - first_segment;
    const unsigned first = begin - first_segment, tile_elements = items - tile_segments;
    T* values = reinterpret_cast<T*>(storage);
    unsigned* ends = reinterpret_cast<unsigned*>(values + tile_elements);
    for (unsigned i = t; i < tile_elements; i += blockDim.x)
        values[i] = in[first + i];
    for (unsigned i = t; i < tile_segments; i += blockDim.x)
        ends[i] = offsets[first_segment + i + 1] - first;
    __syncthreads();

    const unsigned mine = t * items_per_thread < items ? t * items_per_thread : items;
    const unsigned stop = mine + items_per_thread < items ? mine + items_per_thread : items;
    const unsigned share_segment = merge_path(mine, ends, tile_segments, tile_elements);
    unsigned segment = share_segment, element = mine - segment;
    T total = op.identity(), first_total = op.identity();
    for (unsigned item = mine; item < stop; ++item) {
        if (segment == tile_segments || element < ends[segment]) {
            total = op(total, values[element++]);
        } else {
            if (segment == share_segment)
                first_total = total;
            else
                out[first_segment + segment] = total;
            ++segment;
            total = op.identity();
        }
    }
    bool open;
    const T left_open = segmented_scan_block(total, segment > share_segment, op, &open);
    values[t] = left_open; // nobody reads the elements any more
    __syncthreads();
    if (segment > share_segment)
        out[first_segment + share_segment] = t == 0 ? first_total : op(values[t - 1], first_total);
    if (t == blockDim.x - 1) {
        open_segments[blockIdx.x] =
            first_segment + tile_segments < segments ? first_segment + tile_segments : no_segment;
        open_values[blockIdx.x] = left_open;
    }
}

} // namespace lab
