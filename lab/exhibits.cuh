// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Kernels with one fault each, of the kinds that textbooks print, kept so that the simulator can name the fault.
#pragma once

#include "operators.cuh"

namespace lab {

// H2. Two threads that read the same count both add one to it, and one of the two additions is lost.
template <class S, class Bin>
__global__ void faulty_racing_histogram(const S* in, unsigned* counts, unsigned n, Bin bin)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        ++counts[bin(in[i])];
}

// X1. __syncthreads is a barrier of the block and not of the grid: a block reads what another one has not written yet.
template <class T>
__global__ void faulty_barrier_across_blocks(T* data, unsigned n)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned s = 1; s < n; s *= 2) {
        const T before = i >= s && i < n ? data[i - s] : T{};
        __syncthreads();
        if (i < n)
            data[i] += before;
        __syncthreads();
    }
}

// X2. The tile is read before every thread has loaded its word of it.
template <class T>
__global__ void faulty_no_barrier_after_load(const T* in, T* out)
{
    extern __shared__ unsigned char storage[];
    T* tile = reinterpret_cast<T*>(storage);
    const unsigned t = threadIdx.x;
    tile[t] = in[blockIdx.x * blockDim.x + t];
    for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = tile[0];
}

// X3. The tail of the last tile is never filled, and is folded all the same.
template <class T>
__global__ void faulty_uninitialised_tail(const T* in, T* out, unsigned n)
{
    extern __shared__ unsigned char storage[];
    T* tile = reinterpret_cast<T*>(storage);
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (i < n)
        tile[t] = in[i];
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = tile[0];
}

// X4. The barrier is inside the branch, and half of the block never comes to it.
template <class T>
__global__ void faulty_divergent_barrier(const T* in, T* out)
{
    extern __shared__ unsigned char storage[];
    T* tile = reinterpret_cast<T*>(storage);
    const unsigned t = threadIdx.x;
    tile[t] = in[t];
    __syncthreads();
    if (t < blockDim.x / 2) {
        tile[t] += tile[t + blockDim.x / 2];
        __syncthreads();
    }
    if (t == 0)
        out[0] = tile[0];
}

// X5. The last warp folds as it did before Volta (2017), when the lanes of a warp were taken to run in step.
template <class T>
__global__ void faulty_warp_in_step(const T* in, T* out)
{
    extern __shared__ unsigned char storage[];
    T* tile = reinterpret_cast<T*>(storage);
    const unsigned t = threadIdx.x;
    tile[t] = in[t];
    tile[t + 32] = in[t + 32];
    for (unsigned s = 32; s > 0; s /= 2)
        if (t < s)
            tile[t] += tile[t + s];
    if (t == 0)
        out[0] = tile[0];
}

// X6. The loop reads one element past the end: `<=` stands in place of `<`.
template <class T>
__global__ void faulty_one_too_many(const T* in, T* out, unsigned n)
{
    T total{};
    for (unsigned i = 0; i <= n; ++i)
        total += in[i];
    out[0] = total;
}

// X7. A block writes its partial result and then takes a ticket, but no fence keeps the two in this order for other blocks.
template <class T>
__global__ void faulty_no_fence(const T* in, T* partial, unsigned* ticket, T* out)
{
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = in[blockIdx.x];
        if (atomicAdd(ticket, 1u) == gridDim.x - 1) {
            T total{};
            for (unsigned b = 0; b < gridDim.x; ++b)
                total += partial[b];
            out[0] = total;
        }
    }
}

} // namespace lab
