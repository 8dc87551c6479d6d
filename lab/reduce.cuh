// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The reduce ladder, in the order in which it was climbed. Each kernel folds `in` to one value a block, with an
// associative operator that has an identity; each mends a fault of the one before it. R5 to R11 are the seven steps of
// Harris, Optimizing Parallel Reduction in CUDA (2007), his first two in the opposite order.
//
//   R1   serial                      n - 1 steps, n - 1 applications
//   R2   one thread of each block    the other threads idle
//   R3   tree in global memory       log n steps; every step goes to memory: 3n words
//   R4   tree in shared memory       n + 1 words
//   R5   interleaved, strided index  whole warps work, but their words collide in the banks
//   R6   interleaved, modulo         no collisions, but every warp keeps lanes idle
//   R7   sequential addressing       neither; any n
//   R8   first add during load       half the blocks, no thread idle in the first step
//   R9   last warp unrolled          six barriers fewer
//   R10  fully unrolled              the block size is known to the compiler: no loop at all
//   R11  many elements a thread      the tree is climbed once for a whole grid's worth of input
//   R12  warp shuffles               registers instead of shared memory: one barrier
//   R13  finished by the last block  one launch, whatever n
#pragma once

#include "operators.cuh"

namespace lab {

// R1. This is the definition, with which all others are compared.
template <class T, class Op>
__global__ void reduce_serial(const T* in, T* out, unsigned n, Op op)
{
    T total = in[0];
    for (unsigned i = 1; i < n; ++i)
        total = op(total, in[i]);
    out[0] = total;
}

// R2. The blocks work in parallel, and inside each block one thread folds alone.
template <class T, class Op>
__global__ void reduce_one_thread(const T* in, T* out, unsigned n, Op op)
{
    const unsigned begin = blockIdx.x * blockDim.x, end = begin + blockDim.x < n ? begin + blockDim.x : n;
    if (threadIdx.x == 0) {
        T total = in[begin];
        for (unsigned i = begin + 1; i < end; ++i)
            total = op(total, in[i]);
        out[blockIdx.x] = total;
    }
}

// R3. The block folds a tree in place, in global memory: every step reads two words and writes one for each pair. The total
// is left in the first word of the tile. n is a multiple of the block.
template <class T, class Op>
__global__ void reduce_global_tree(T* data, Op op)
{
    T* tile = data + blockIdx.x * blockDim.x;
    const unsigned t = threadIdx.x;
    for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            tile[t] = op(tile[t], tile[t + s]);
        __syncthreads();
    }
}

// R4. The tree is in shared memory, so that each word of the input is read once. n is a multiple of the block.
template <class T, class Op>
__global__ void reduce_shared_tree(const T* in, T* out, Op op)
{
    extern __shared__ unsigned char storage[];
    T* tile = reinterpret_cast<T*>(storage);
    const unsigned t = threadIdx.x;
    tile[t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            tile[t] = op(tile[t], tile[t + s]);
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = tile[0];
}

// R5. Neighbours are folded first. The threads that work are the first ones, but their index strides: there are 2-way,
// 4-way, ... bank conflicts.
template <class T, class Op>
__global__ void reduce_interleaved_strided(const T* in, T* out, Op op)
{
    extern __shared__ unsigned char storage[];
    T* tile = reinterpret_cast<T*>(storage);
    const unsigned t = threadIdx.x;
    tile[t] = in[blockIdx.x * blockDim.x + t];
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        __syncthreads();
        const unsigned i = 2 * s * t;
        if (i + s < blockDim.x)
            tile[i] = op(tile[i], tile[i + s]);
    }
    if (t == 0)
        out[blockIdx.x] = tile[0];
}

// R6. Neighbours are folded first, each pair by its left thread: in every warp fewer and fewer lanes work.
template <class T, class Op>
__global__ void reduce_interleaved_modulo(const T* in, T* out, Op op)
{
    extern __shared__ unsigned char storage[];
    T* tile = reinterpret_cast<T*>(storage);
    const unsigned t = threadIdx.x;
    tile[t] = in[blockIdx.x * blockDim.x + t];
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        __syncthreads();
        if (t % (2 * s) == 0)
            tile[t] = op(tile[t], tile[t + s]);
    }
    if (t == 0)
        out[blockIdx.x] = tile[0];
}

// R7. The two halves are folded: the threads that work are the first ones, and their words are neighbours. A tail is filled
// with the identity.
template <class T, class Op>
__global__ void reduce_sequential(const T* in, T* out, unsigned n, Op op)
{
    extern __shared__ unsigned char storage[];
    T* tile = reinterpret_cast<T*>(storage);
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    tile[t] = i < n ? in[i] : op.identity();
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            tile[t] = op(tile[t], tile[t + s]);
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = tile[0];
}

// R8. A block folds two tiles. It folds them with one another while it loads them.
template <class T, class Op>
__global__ void reduce_first_add(const T* in, T* out, unsigned n, Op op)
{
    extern __shared__ unsigned char storage[];
    T* tile = reinterpret_cast<T*>(storage);
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
    const T first = i < n ? in[i] : op.identity();
    tile[t] = i + blockDim.x < n ? op(first, in[i + blockDim.x]) : first;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            tile[t] = op(tile[t], tile[t + s]);
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = tile[0];
}

// One warp folds the last 64 words. Lanes do not run in step by themselves, so that a barrier of the warp separates each
// read from the write that follows it. The block has at least 64 threads.
template <class T, class Op>
__device__ void fold_last_warp(T* tile, unsigned t, Op op)
{
    T mine = op(tile[t], tile[t + 32]);
    for (unsigned s = 16; s > 0; s /= 2) {
        tile[t] = mine;
        __syncwarp();
        const T other = tile[t + s];
        __syncwarp();
        if (t < s)
            mine = op(mine, other);
    }
    if (t == 0)
        tile[0] = mine;
}

// R9. When one warp is left, it needs no barriers of the block.
template <class T, class Op>
__global__ void reduce_unrolled_last_warp(const T* in, T* out, unsigned n, Op op)
{
    extern __shared__ unsigned char storage[];
    T* tile = reinterpret_cast<T*>(storage);
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
    const T first = i < n ? in[i] : op.identity();
    tile[t] = i + blockDim.x < n ? op(first, in[i + blockDim.x]) : first;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 32; s /= 2) {
        if (t < s)
            tile[t] = op(tile[t], tile[t + s]);
        __syncthreads();
    }
    if (t < 32)
        fold_last_warp(tile, t, op);
    if (t == 0)
        out[blockIdx.x] = tile[0];
}

// One step of the unrolled tree. The compiler leaves it out where the block is too small for it.
template <unsigned Block, unsigned Half, class T, class Op>
__device__ void fold_half(T* tile, unsigned t, Op op)
{
    if constexpr (Block >= 2 * Half) {
        if (t < Half)
            tile[t] = op(tile[t], tile[t + Half]);
        __syncthreads();
    }
}

// R10. The block size is a template argument, so that the compiler decides every test of it.
template <unsigned Block, class T, class Op>
__global__ void reduce_fully_unrolled(const T* in, T* out, unsigned n, Op op)
{
    __shared__ T tile[Block];
    const unsigned t = threadIdx.x, i = blockIdx.x * Block * 2 + t;
    const T first = i < n ? in[i] : op.identity();
    tile[t] = i + Block < n ? op(first, in[i + Block]) : first;
    __syncthreads();
    fold_half<Block, 512>(tile, t, op);
    fold_half<Block, 256>(tile, t, op);
    fold_half<Block, 128>(tile, t, op);
    fold_half<Block, 64>(tile, t, op);
    if (t < 32)
        fold_last_warp(tile, t, op);
    if (t == 0)
        out[blockIdx.x] = tile[0];
}

// R11. A thread first folds one word of every gridDim-th tile by itself, in n / threads steps, and only then takes part in
// the tree. Neighbouring threads read neighbouring words.
template <unsigned Block, class T, class Op>
__global__ void reduce_many_per_thread(const T* in, T* out, unsigned n, Op op)
{
    __shared__ T tile[Block];
    const unsigned t = threadIdx.x;
    T mine = op.identity();
    for (unsigned i = blockIdx.x * Block + t; i < n; i += gridDim.x * Block)
        mine = op(mine, in[i]);
    tile[t] = mine;
    __syncthreads();
    fold_half<Block, 512>(tile, t, op);
    fold_half<Block, 256>(tile, t, op);
    fold_half<Block, 128>(tile, t, op);
    fold_half<Block, 64>(tile, t, op);
    if (t < 32)
        fold_last_warp(tile, t, op);
    if (t == 0)
        out[blockIdx.x] = tile[0];
}

// Folds the values of the lanes, through registers. Lane 0 gets the total.
template <class T, class Op>
__device__ T fold_warp(T mine, Op op)
{
    for (unsigned s = 16; s > 0; s /= 2) {
        const T other = __shfl_down_sync(0xffffffffu, mine, s);
        if (threadIdx.x % 32 < s)
            mine = op(mine, other);
    }
    return mine;
}

// Folds the values of the threads. Every warp folds its own, and the first warp folds the totals of all. Thread 0 gets the
// total. Shared memory holds one word a warp.
template <class T, class Op>
__device__ T fold_block(T mine, Op op)
{
    __shared__ T of_warp[32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    mine = fold_warp(mine, op);
    if (lane == 0)
        of_warp[warp] = mine;
    __syncthreads();
    if (warp == 0)
        mine = fold_warp(lane < warps ? of_warp[lane] : op.identity(), op);
    return mine;
}

// R12. With shuffles, shared memory holds one word a warp, and the block passes one barrier. A block consists of whole warps.
template <class T, class Op>
__global__ void reduce_shuffle(const T* in, T* out, unsigned n, Op op)
{
    T mine = op.identity();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine = op(mine, in[i]);
    mine = fold_block(mine, op);
    if (threadIdx.x == 0)
        out[blockIdx.x] = mine;
}

// R13. Every block takes a ticket after it has written its partial result; the fence keeps the two in this order. The block
// that takes the last ticket therefore finds all partial results written, and folds them. `out` has a word for each block
// and, at [gridDim.x], the total. The ticket starts at zero and ends at zero.
template <class T, class Op>
__global__ void reduce_last_block(const T* in, T* out, unsigned* ticket, unsigned n, Op op)
{
    __shared__ bool last;
    T mine = op.identity();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine = op(mine, in[i]);
    mine = fold_block(mine, op);
    if (threadIdx.x == 0) {
        out[blockIdx.x] = mine;
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last)
        return;
    mine = op.identity();
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x)
        mine = op(mine, out[i]);
    mine = fold_block(mine, op);
    if (threadIdx.x == 0)
        out[gridDim.x] = mine;
}

} // namespace lab
