// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The histogram ladder: how many samples fall into each bin. Every kernel takes the user's bin function (H10).
//
//   H1   serial
//   H2   racing                     reads, adds, writes: loses counts (kept as an exhibit, in exhibits.cuh)
//   H3   global atomics             right, and every sample is one atomic on global memory
//   H4   a table for each thread    no atomics: tables, then a reduction of each bin over the threads
//   H5   sort, then reduce by key   equal bins stand together; one atomic a run
//   H6   privatised                 a table in shared memory for each block: one global atomic a bin and block
//   H7   blocked partitioning       as H6, but each thread reads its own stretch: many more transactions
//   H8   partially privatised       a table too large for shared memory: some of its bins are private
//   H9   text into letter groups    a-d, e-h, ...: a bin function
#pragma once

namespace lab {

// H9, H10: what a bin function looks like. A sample outside every bin is given `none`.
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

// H1.
template <class S, class Bin>
__global__ void histogram_serial(const S* in, unsigned* counts, unsigned n, Bin bin)
{
    for (unsigned i = 0; i < n; ++i)
        if (const unsigned b = bin(in[i]); b != none)
            ++counts[b];
}

// H3. Neighbouring threads take neighbouring samples; the grid strides over the input.
template <class S, class Bin>
__global__ void histogram_global_atomics(const S* in, unsigned* counts, unsigned n, Bin bin)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (const unsigned b = bin(in[i]); b != none)
            atomicAdd(&counts[b], 1u);
}

// H4, first launch. tables has a row of counts for each bin, a column for each thread: neighbouring threads write
// neighbouring words when they meet the same bin, and nobody shares a word.
template <class S, class Bin>
__global__ void histogram_thread_tables(const S* in, unsigned* tables, unsigned n, Bin bin)
{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (unsigned i = thread; i < n; i += threads)
        if (const unsigned b = bin(in[i]); b != none)
            ++tables[b * threads + thread];
}

// H4, second launch: one block folds one bin's row.
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

// H5. A tile of bins is sorted (bitonic: log^2 steps), so that equal bins form runs; the head of each run finds its end
// and adds its length once. The block is a power of two; what lies outside every bin sorts to the end.
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

// H6. The block counts in its own table, close by; the global table is touched once a bin and block.
template <class S, class Bin>
__global__ void histogram_privatised(const S* in, unsigned* counts, unsigned n, unsigned bins, Bin bin)
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

// H7. The same, but each thread takes a stretch of the input: the lanes of a warp read far apart.
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

// H8. The bins from `first` on, `kept` of them, are private; the rest go to the global table at once.
template <class S, class Bin>
__global__ void histogram_partially_privatised(const S* in, unsigned* counts, unsigned n, unsigned first, unsigned kept,
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
