// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The scan ladder: out[i] is the fold of everything up to in[i], with in[i] (inclusive) or without it (exclusive).
//
//   S1   serial                    n - 1 steps, n - 1 applications
//   S2   n independent reductions  n(n-1)/2 applications: parallel, and much more work
//   S3   Hillis and Steele (1986)  log n steps, n log n - n + 1 applications
//   S4   Blelloch (1990)           2 log n steps, 2(n-1) applications: the up-sweep is a reduction
//   S5   the power-of-two scan     up-sweep, then each index adds the aligned blocks that its binary digits name
//   S6   reduce, then scan         scan the tiles, scan their totals, add: the input is read twice
//   S7   decoupled look-back       one pass: a tile looks back at the states of its predecessors
//                                  (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016)
//   S9   two dimensions            rows, then columns; any rectangle's sum is four reads (Crow 1984)
#pragma once

#include "operators.cuh"

namespace lab {

// S1. One thread carries the total along.
template <class T, class Op>
__global__ void scan_serial(const T* in, T* out, unsigned n, Op op)
{
    T total = in[0];
    out[0] = total;
    for (unsigned i = 1; i < n; ++i) {
        total = op(total, in[i]);
        out[i] = total;
    }
}

template <class T, class Op>
__global__ void scan_serial_exclusive(const T* in, T* out, unsigned n, Op op)
{
    T total = op.identity();
    for (unsigned i = 0; i < n; ++i) {
        out[i] = total;
        total = op(total, in[i]);
    }
}

// S2. Every thread folds all that its output needs, without help from the others.
template <class T, class Op>
__global__ void scan_by_reductions(const T* in, T* out, unsigned n, Op op)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    T total = in[0];
    for (unsigned j = 1; j <= i; ++j)
        total = op(total, in[j]);
    out[i] = total;
}

// S3. Each step doubles the reach: after s steps a word holds the fold of the 2^s elements that end with its own. There are
// two buffers, so that one barrier a step is enough. The kernel is for one block.
template <class T, class Op>
__global__ void scan_hillis_steele(const T* in, T* out, Op op)
{
    extern __shared__ unsigned char storage[];
    T* from = reinterpret_cast<T*>(storage);
    T* to = from + blockDim.x;
    const unsigned t = threadIdx.x;
    from[t] = in[t];
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        to[t] = t >= s ? op(from[t - s], from[t]) : from[t];
        __syncthreads();
        T* swapped = from;
        from = to;
        to = swapped;
    }
    out[t] = from[t];
}

// The up-sweep of a tile of 2 * blockDim.x words is Blelloch's reduction tree. Afterwards the word at the end of each
// aligned range of 2^k words holds the total of that range.
template <class T, class Op>
__device__ void up_sweep(T* tile, unsigned t, unsigned words, Op op)
{
    for (unsigned s = 1; s < words; s *= 2) {
        __syncthreads();
        const unsigned right = 2 * s * (t + 1) - 1;
        if (right < words)
            tile[right] = op(tile[right - s], tile[right]);
    }
}

// S4. After the up-sweep the root is given the identity. In the down-sweep, a node hands the fold of what precedes it to its
// left child, and that fold with the left child's total to its right child. The scan is exclusive. The kernel is for one
// block, of half as many threads as there are words, a power of two.
template <class T, class Op>
__global__ void scan_blelloch(const T* in, T* out, Op op)
{
    extern __shared__ unsigned char storage[];
    T* tile = reinterpret_cast<T*>(storage);
    const unsigned t = threadIdx.x, words = 2 * blockDim.x;
    tile[t] = in[t];
    tile[t + blockDim.x] = in[t + blockDim.x];
    up_sweep(tile, t, words, op);
    if (t == 0)
        tile[words - 1] = op.identity(); // thread 0 has written the root itself, so that it need not wait
    for (unsigned s = words / 2; s > 0; s /= 2) {
        __syncthreads();
        const unsigned right = 2 * s * (t + 1) - 1;
        if (right < words) {
            const T before = tile[right], left = tile[right - s];
            tile[right - s] = before;
            tile[right] = op(before, left);
        }
    }
    __syncthreads();
    out[t] = tile[t];
    out[t + blockDim.x] = tile[t + blockDim.x];
}

// S5. After the up-sweep, the fold of the first m words is that of the aligned blocks which the binary digits of m name,
// largest first: 7 = 4 + 2 + 1. Every output needs at most log n applications more. The scan is inclusive, and the kernel
// is for one block, as S4 is.
template <class T, class Op>
__global__ void scan_power_of_two(const T* in, T* out, Op op)
{
    extern __shared__ unsigned char storage[];
    T* tile = reinterpret_cast<T*>(storage);
    const unsigned t = threadIdx.x, words = 2 * blockDim.x;
    tile[t] = in[t];
    tile[t + blockDim.x] = in[t + blockDim.x];
    up_sweep(tile, t, words, op);
    __syncthreads();
    for (unsigned i = t; i < words; i += blockDim.x) {
        unsigned end = 1u << (31 - __clz(static_cast<int>(i + 1)));
        T total = tile[end - 1];
        for (unsigned digit = end / 2; digit > 0; digit /= 2)
            if ((i + 1) & digit) {
                end += digit;
                total = op(total, tile[end - 1]);
            }
        out[i] = total;
    }
}

// The inclusive scan of one value of each thread of a block: every warp scans by shuffles, and then the first warp scans
// the totals of all.
template <class T, class Op>
__device__ T scan_block(T mine, Op op, T* total)
{
    __shared__ T of_warp[32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (unsigned s = 1; s < 32; s *= 2) {
        const T before = __shfl_up_sync(0xffffffffu, mine, s);
        if (lane >= s)
            mine = op(before, mine);
    }
    if (lane == 31)
        of_warp[warp] = mine;
    __syncthreads();
    if (warp == 0) {
        T sum = lane < warps ? of_warp[lane] : op.identity();
        for (unsigned s = 1; s < 32; s *= 2) {
            const T before = __shfl_up_sync(0xffffffffu, sum, s);
            if (lane >= s)
                sum = op(before, sum);
        }
        of_warp[lane] = sum;
    }
    __syncthreads();
    if (warp > 0)
        mine = op(of_warp[warp - 1], mine);
    *total = of_warp[warps - 1];
    return mine;
}

// S6, first launch. Every block scans a tile by itself and keeps its total aside; the same kernel scans the totals. A block
// consists of whole warps.
template <class T, class Op>
__global__ void scan_tiles(const T* in, T* out, T* totals, unsigned n, Op op)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    T total;
    const T mine = scan_block(i < n ? in[i] : op.identity(), op, &total);
    if (i < n)
        out[i] = mine;
    if (threadIdx.x == 0)
        totals[blockIdx.x] = total;
}

// S6, last launch. The fold of all that precedes a tile is added to each of its words.
template <class T, class Op>
__global__ void scan_add_totals(T* out, const T* totals, unsigned n, Op op)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x > 0 && i < n)
        out[i] = op(totals[blockIdx.x - 1], out[i]);
}

// What a tile tells its successors: nothing yet, its own total, or the fold of everything up to its end. (Merrill and
// Garland call these states X, A for aggregate, and P for prefix.)
enum tile_state : unsigned { tile_empty = 0, tile_total = 1, tile_prefix = 2 };

// The value is written before the state that says it is there: the fence keeps the two in this order.
template <class T>
__device__ void publish(T* values, unsigned* tile_states, unsigned tile, T value, unsigned state)
{
    values[tile] = value;
    __threadfence();
    atomicExch(&tile_states[tile], state);
}

// The fold of all tiles before `tile`, nearest first: totals, until one of them knows its whole prefix.
template <class T, class Op>
__device__ T look_back(const T* totals, const T* prefixes, unsigned* tile_states, unsigned tile, Op op)
{
    T prefix = op.identity();
    for (unsigned other = tile; other > 0;) {
        unsigned state = tile_empty;
        while (state == tile_empty)
            state = atomicAdd(&tile_states[other - 1], 0u);
        __threadfence();
        prefix = op(state == tile_prefix ? prefixes[other - 1] : totals[other - 1], prefix);
        other = state == tile_prefix ? 0 : other - 1;
    }
    return prefix;
}

// S7. Decoupled look-back, in one pass. A block takes a ticket that says which tile is its own, so that it only ever waits
// for tiles whose blocks already run. It publishes the total of its tile, looks back over its predecessors until one of
// them knows its whole prefix, and publishes its own prefix. The tile states and the ticket start at zero.
template <class T, class Op>
__global__ void scan_look_back(const T* in, T* out, T* totals, T* prefixes, unsigned* tile_states, unsigned* ticket,
                               unsigned n, Op op)
{
    __shared__ unsigned tile;
    __shared__ T before;
    if (threadIdx.x == 0)
        tile = atomicAdd(ticket, 1u);
    __syncthreads();
    const unsigned i = tile * blockDim.x + threadIdx.x;
    T total;
    const T mine = scan_block(i < n ? in[i] : op.identity(), op, &total);
    if (threadIdx.x == 0) {
        if (tile > 0)
            publish(totals, tile_states, tile, total, tile_total);
        const T prefix = look_back(totals, prefixes, tile_states, tile, op);
        publish(prefixes, tile_states, tile, op(prefix, total), tile_prefix);
        before = prefix;
    }
    __syncthreads();
    if (i < n)
        out[i] = op(before, mine);
}

// S9. One block scans a row, tile by tile, and carries the total from each tile to the next.
template <class T, class Op>
__global__ void scan_rows(const T* in, T* out, unsigned columns, Op op)
{
    const T* row = in + static_cast<size_t>(blockIdx.x) * columns;
    T* result = out + static_cast<size_t>(blockIdx.x) * columns;
    T carried = op.identity();
    for (unsigned begin = 0; begin < columns; begin += blockDim.x) {
        const unsigned i = begin + threadIdx.x;
        T total;
        const T mine = scan_block(i < columns ? row[i] : op.identity(), op, &total);
        if (i < columns)
            result[i] = op(carried, mine);
        carried = op(carried, total);
        __syncthreads();
    }
}

// S9. One thread scans a column in place. Neighbouring threads have neighbouring columns, so that a warp reads whole
// transactions.
template <class T, class Op>
__global__ void scan_columns(T* data, unsigned rows, unsigned columns, Op op)
{
    const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns)
        return;
    T total = data[column];
    for (unsigned row = 1; row < rows; ++row) {
        T& here = data[static_cast<size_t>(row) * columns + column];
        total = op(total, here);
        here = total;
    }
}

struct rectangle {
    unsigned top, left, bottom, right; // first row and column inside, first ones outside
};

// S9. The sum over a rectangle, whatever its size, takes four corners of the table (Crow 1984).
template <class T>
__global__ void sum_rectangles(const T* table, unsigned columns, const rectangle* queries, T* sums, unsigned count)
{
    const unsigned q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= count)
        return;
    const rectangle r = queries[q];
    auto corner = [&](unsigned row, unsigned column) {
        return row == 0 || column == 0 ? T{} : table[static_cast<size_t>(row - 1) * columns + column - 1];
    };
    sums[q] = corner(r.bottom, r.right) - corner(r.top, r.right) - corner(r.bottom, r.left) + corner(r.top, r.left);
}

} // namespace lab
