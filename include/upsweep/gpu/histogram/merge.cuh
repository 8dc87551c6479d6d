// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <upsweep/gpu/histogram/table.cuh>
#include <upsweep/gpu/primitive/ptx.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/outside.hpp>

// How the privatized tables of the blocks become the counters of the caller: each block adds its table to the totals of
// the grid, in global memory. When all blocks have done so, the totals are put where the caller wants them, and zeros
// are left for the next kernel.
namespace upsweep::gpu {

// The totals of the grid, and how its blocks wait for one another. Between kernels all of them but `generation` are
// zero.
struct grid_totals {
    std::uint32_t* arrived;    // how many blocks have come to the barrier
    std::uint64_t* generation; // how many barriers have been passed; it is never reset
    std::uint64_t* totals;

    __device__ void add(bin_index k, std::uint64_t count) const
    {
        atomicAdd(reinterpret_cast<unsigned long long*>(totals + k), static_cast<unsigned long long>(count));
    }
    __device__ std::uint64_t total(bin_index k) const { return load_relaxed(totals + k); }

    // Adds to a total to which each of `blocks` blocks adds exactly once, if only zero. The upper 16 bits of the total
    // count the blocks, so that the last one to come knows that it is: it sets the total to zero again and calls
    // take(the sum).
    template <class F>
    __device__ void add_once(bin_index k, std::uint64_t count, unsigned blocks, F take) const
    {
        constexpr int shift = 48;
        const std::uint64_t before =
            atomicAdd(reinterpret_cast<unsigned long long*>(totals + k), (1ULL << shift) + count);
        if (before >> shift == blocks - 1) {
            totals[k] = 0;
            take((before & ((std::uint64_t{1} << shift) - 1)) + count);
        }
    }

    // Returns whether this block is the last of `blocks` to come here: what the others have written before is then
    // visible to it. All threads of a block call this.
    __device__ bool is_last(unsigned blocks) const
    {
        __shared__ bool last;
        __syncthreads();
        if (threadIdx.x == 0) {
            fence();
            last = atomicAdd(arrived, 1U) == blocks - 1;
            if (last)
                atomicExch(arrived, 0U);
            fence();
        }
        __syncthreads();
        return last;
    }

    // Waits until all of `blocks` blocks have come here. They are resident at once, since the launch is cooperative.
    __device__ void wait_for_all(unsigned blocks) const
    {
        __syncthreads();
        if (threadIdx.x == 0) {
            const std::uint64_t before = load_relaxed(generation);
            fence();
            if (atomicAdd(arrived, 1U) == blocks - 1) {
                atomicExch(arrived, 0U);
                fence();
                store_relaxed(generation, before + 1);
            } else {
                while (load_relaxed(generation) == before) {
                }
            }
            fence();
        }
        __syncthreads();
    }
};

// Returns the totals of a grid, in the workspace of the target.
inline grid_totals grid_totals_of(const cuda& target, std::size_t counters)
{
    constexpr std::size_t state_bytes = 256;
    auto* const first = static_cast<std::byte*>(
        target.workspace().memory(workspace_purpose::counters, state_bytes + counters * sizeof(std::uint64_t)));
    return {reinterpret_cast<std::uint32_t*>(first), reinterpret_cast<std::uint64_t*>(first + state_bytes / 2),
            reinterpret_cast<std::uint64_t*>(first + state_bytes)};
}

// Where one histogram goes: a counter for each bin, and the counters of the out-of-range bins, whose indices follow
// those of the bins.
template <class Counter>
struct histogram_result {
    Counter* counts;
    outside* out_of_range;
    bin_index bins;
    bool accumulates;

    // Puts the total of a bin. Only one thread has it.
    __device__ void put(bin_index k, std::uint64_t total) const
    {
        if (k < bins)
            counts[k] = static_cast<Counter>((accumulates ? counts[k] : 0) + total);
        else
            words_out_of_range()[k - bins] = (accumulates ? words_out_of_range()[k - bins] : 0) + total;
    }

    // Adds to the counter of a bin to which other threads add, too.
    __device__ void add(bin_index k, std::uint64_t total) const
    {
        using word = std::conditional_t<sizeof(Counter) == 8, unsigned long long, unsigned>;
        if (k < bins)
            atomicAdd(reinterpret_cast<word*>(counts + k), static_cast<word>(total));
        else
            atomicAdd(words_out_of_range() + (k - bins), static_cast<unsigned long long>(total));
    }

private:
    __device__ unsigned long long* words_out_of_range() const
    {
        return reinterpret_cast<unsigned long long*>(out_of_range);
    }
};

// Where the histograms of several parts with the same bins go, such as the rows of a matrix: one after the other.
template <class Counter>
struct results_of_parts {
    histogram_result<Counter> first;

    __device__ histogram_result<Counter> operator[](std::uint64_t part) const
    {
        return {first.counts + part * first.bins, first.out_of_range + part, first.bins, first.accumulates};
    }
};

// Puts the totals of the grid into the result and leaves zeros. All blocks call this, and each takes a share.
template <class Result>
__device__ void take_totals(const Result& result, const grid_totals& grid, bin_index counters)
{
    for (std::uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < counters; i += gridDim.x * blockDim.x) {
        const auto k = static_cast<bin_index>(i);
        const std::uint64_t total = grid.total(k);
        grid.totals[k] = 0;
        result.put(k, total);
    }
}

// Does so when all blocks have added what they have counted, for which they wait.
template <class Result>
__device__ void wait_and_take_totals(const Result& result, const grid_totals& grid, bin_index counters)
{
    grid.wait_for_all(gridDim.x);
    take_totals(result, grid, counters);
}

// Up to 2048 bins, every block adds its counters to the totals, even those that are zero, and the last block to add to
// a total puts it: no block waits for the others.
inline constexpr bin_index most_to_add_once = 2048 + detail::out_of_range_bins;

// Returns where the total of a bin lies to which each block adds once. The second-level cache carries out additions to
// the sectors of one line one after the other: only the first of a line's four sectors has totals, four of them.
UPSWEEP_HOST_DEVICE constexpr bin_index spread(bin_index k) { return k / 4 * 16 + k % 4; }

// Returns the totals that a grid needs to merge tables of so many bins.
inline grid_totals grid_totals_to_merge(const cuda& target, bin_index counters)
{
    return grid_totals_of(target, counters <= most_to_add_once ? spread(counters) : counters);
}

} // namespace upsweep::gpu
