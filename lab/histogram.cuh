// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The histogram ladder: how many samples fall into each bin. Every kernel takes the user's bin function (H10).
//
//   H1   serial
//   H2   racing                     reads, adds, writes: loses counts (kept as an exhibit, in exhibits.cuh)
//   H3   global atomics             right, and every sample is one atomic on global memory
//   H4   thread tables              privatized for each thread: no atomics, then a reduction of each bin over the threads
//   H5   sort, then reduce by key   equal bins become neighbours; one atomic a run
//   H6   block tables               privatized for each block, in shared memory: one global atomic a bin and block
//   H7   blocked partitioning       as H6, but each thread reads a stretch of its own: many more transactions
//   H8   partially privatized       a table too large for shared memory: some of its bins have counters in the block
//   H9   text into letter groups    a-d, e-h, ...: a bin function
//
// Privatization gives each thread or block a table of its own, so that counters are shared by fewer, and adds the tables
// up at the end (for GPUs: Podlozhnyuk, Histogram calculation in CUDA, 2007).
#pragma once

namespace lab {

// H9, H10. A bin function tells the bin of a sample, and `none` for a sample that is outside every bin.
constexpr unsigned none = ~0u;

struct modulo_bins {
    unsigned bins;
    __host__ __device__ unsigned operator()(unsigned sample) const { return sample % bins; }
};

struct letter_groups {
    __host__ __device__ unsigned operator()(unsigned char letter) const
    {
        const unsigned position = static_cast<unsigned>(letter) - 'a';
        return position < 26 ? position / 4 : none;
    }
};

// H1. One thread counts.
template <class S, class Bin>
__global__ void histogram_serial(const S* in, unsigned* counts, unsigned n, Bin bin)
{
    for (unsigned i = 0; i < n; ++i)
        if (const unsigned b = bin(in[i]); b != none)
            ++counts[b];
}

// H3. Neighbouring threads take neighbouring samples, and the grid strides over the input.
template <class S, class Bin>
__global__ void histogram_global_atomics(const S* in, unsigned* counts, unsigned n, Bin bin)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (const unsigned b = bin(in[i]); b != none)
            atomicAdd(&counts[b], 1u);
}

// H4, first launch. The privatized tables have a row of counts for each bin and a column for each thread. No two threads
// share a word, and neighbouring threads write neighbouring words when their samples fall into the same bin.
template <class S, class Bin>
__global__ void histogram_thread_tables(const S* in, unsigned* tables, unsigned n, Bin bin)
{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (unsigned i = thread; i < n; i += threads)
        if (const unsigned b = bin(in[i]); b != none)
            ++tables[b * threads + thread];
}

// H4, second launch. One block folds the row of one bin.
template <class Count>
__global__ void histogram_fold_tables(const Count* tables, Count* counts, unsigned threads)
{
    extern __shared__ unsigned sums[];
    const unsigned t = threadIdx.x;
    unsigned mine = 0;
    for (unsigned i = t; i < threads; i += blockDim.x)
        mine += tables[blockIdx.x * threads + i];
    sums[t] = mine;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            sums[t] += sums[t + s];
        __syncthreads();
    }
    if (t == 0)
        counts[blockIdx.x] = sums[0];
}

// H5. The bins of a tile of samples are sorted by a bitonic network (Batcher 1968; log^2 steps), so that equal bins form
// runs. The thread at the head of a run finds its end and adds its length by one atomic. The block is a power of two.
// Samples outside every bin are sorted to the end.
template <class S, class Bin>
__global__ void histogram_sorted(const S* in, unsigned* counts, unsigned n, Bin bin)
{
    extern __shared__ unsigned keys[];
    const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    keys[t] = i < n ? bin(in[i]) : none;
    for (unsigned size = 2; size <= blockDim.x; size *= 2)
        for (unsigned s = size / 2; s > 0; s /= 2) {
            __syncthreads();
            const unsigned partner = t ^ s;
            if (partner > t && (keys[t] > keys[partner]) == ((t & size) == 0)) {
                const unsigned held = keys[t];
                keys[t] = keys[partner];
                keys[partner] = held;
            }
        }
    __syncthreads();
    const unsigned key = keys[t];
    if (key == none || (t > 0 && keys[t - 1] == key))
        return;
    unsigned end = t + 1;
    while (end < blockDim.x && keys[end] == key)
        ++end;
    atomicAdd(&counts[key], end - t);
}

// H6. The block counts in a privatized table in shared memory, where atomics are cheap. It adds each counter to the global
// table once.
template <class S, class Bin>
__global__ void histogram_privatized(const S* in, unsigned* counts, unsigned n, unsigned bins, Bin bin)
{
    extern __shared__ unsigned table[];
    for (unsigned b = threadIdx.x; b < bins; b += blockDim.x)
        table[b] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (const unsigned b = bin(in[i]); b != none)
            atomicAdd(&table[b], 1u);
    __syncthreads();
    for (unsigned b = threadIdx.x; b < bins; b += blockDim.x)
        if (table[b] != 0)
            atomicAdd(&counts[b], table[b]);
}

// H7. The same, but each thread takes a stretch of the input, so that the lanes of a warp read words that lie far apart.
template <class S, class Bin>
__global__ void histogram_blocked(const S* in, unsigned* counts, unsigned n, unsigned bins, Bin bin)
{
    extern __shared__ unsigned table[];
    for (unsigned b = threadIdx.x; b < bins; b += blockDim.x)
        table[b] = 0;
    __syncthreads();
    const unsigned threads = gridDim.x * blockDim.x, stretch = (n + threads - 1) / threads;
    const unsigned begin = (blockIdx.x * blockDim.x + threadIdx.x) * stretch;
    for (unsigned i = begin; i < begin + stretch && i < n; ++i)
        if (const unsigned b = bin(in[i]); b != none)
            atomicAdd(&table[b], 1u);
    __syncthreads();
    for (unsigned b = threadIdx.x; b < bins; b += blockDim.x)
        if (table[b] != 0)
            atomicAdd(&counts[b], table[b]);
}

// H8. The bins from `first` on, `kept` of them, have counters in the privatized table of the block. Samples in other bins are
// counted in the global table at once.
template <class S, class Bin>
__global__ void histogram_partially_privatized(const S* in, unsigned* counts, unsigned n, unsigned first, unsigned kept,
                                               Bin bin)
{
    extern __shared__ unsigned table[];
    for (unsigned b = threadIdx.x; b < kept; b += blockDim.x)
        table[b] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const unsigned b = bin(in[i]);
        if (b == none)
            continue;
        if (b - first < kept)
            atomicAdd(&table[b - first], 1u);
        else
            atomicAdd(&counts[b], 1u);
    }
    __syncthreads();
    for (unsigned b = threadIdx.x; b < kept; b += blockDim.x)
        if (table[b] != 0)
            atomicAdd(&counts[first + b], table[b]);
}

} // namespace lab
