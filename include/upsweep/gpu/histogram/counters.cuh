// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <upsweep/gpu/primitive/ptx.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/outside.hpp>

// Counters: a block's own in shared memory, the grid's in device memory, and the caller's.
namespace upsweep::gpu {

using detail::bin_index;

// Counters of a block, 32 bits each. An increment by one whose result nobody uses becomes an instruction that merges equal
// addresses of a warp, so that constant samples are the cheapest ones. What would cost time are distinct counters in one bank:
// their numbers are swizzled over the banks, lest strides of 32 or 1024 bins meet there.
struct swizzled_table {
    std::uint32_t* counters;
    shared_address address = shared_address_of(counters);

    static constexpr std::size_t words(std::size_t count) { return (count + lanes - 1) / lanes * lanes; }
    __device__ static bin_index place(bin_index k) { return k ^ (k >> 5 & 31U) ^ (k >> 10 & 31U); }

    __device__ void increment(bin_index k) const { increment_at(place(k)); }
    __device__ void increment_at(bin_index place) const { increment_shared(address, place); }
    __device__ std::uint32_t total(bin_index k) const { return counters[place(k)]; }

    // The same for a pair of counters, numbers of 16 bits in a word.
    __device__ static std::uint32_t places(std::uint32_t pair)
    {
        constexpr std::uint32_t banks = 31U << 16 | 31U;
        return pair ^ (pair >> 5 & banks) ^ (pair >> 10 & banks);
    }
    __device__ void increment_both_at(std::uint32_t places) const
    {
        increment_shared_lower(address, places);
        increment_shared_upper(address, places);
    }
};

// The same with several copies of each counter, which are banks of their own for as many lanes.
template <unsigned Copies>
struct replicated_table {
    std::uint32_t* counters;
    shared_address address = shared_address_of(counters + lane_id() % Copies);

    static constexpr std::size_t words(std::size_t count) { return count * Copies; }

    __device__ void increment(bin_index k) const { increment_shared(address, k * Copies); }
    __device__ std::uint32_t total(bin_index k) const
    {
        std::uint32_t sum = 0;
        for (unsigned copy = 0; copy < Copies; ++copy) // neighbouring threads read from neighbouring banks
            sum += counters[k * Copies + (copy + threadIdx.x) % Copies];
        return sum;
    }
};

// A copy for every lane: an increment never waits for another of its warp.
using lane_table = replicated_table<lanes>;

// By all threads of a block; a barrier must follow.
__device__ inline void clear_words(std::uint32_t* words, std::size_t count)
{
    for (std::size_t i = threadIdx.x; i < count; i += blockDim.x)
        words[i] = 0;
}

// Adds a block's counters, for keys from `first` on, to the totals of the grid. Blocks begin at different ones, lest they all
// wait for the same ones. By all threads, after a barrier.
template <class Table, class F>
__device__ void for_each_total(const Table& table, bin_index keys, F f)
{
    const bin_index turned = blockIdx.x * blockDim.x % keys;
    for (bin_index i = threadIdx.x; i < keys; i += blockDim.x) {
        const bin_index k = i + turned < keys ? i + turned : i + turned - keys;
        f(k, table.total(k));
    }
}

// The counters of the grid, and how its blocks wait for one another. All zero between kernels.
struct counter_memory {
    std::uint32_t* arrived;    // blocks at the barrier
    std::uint64_t* generation; // barriers passed; never reset
    std::uint64_t* totals;

    __device__ void add(bin_index k, std::uint64_t count) const
    {
        atomicAdd(reinterpret_cast<unsigned long long*>(totals + k), static_cast<unsigned long long>(count));
    }
    __device__ std::uint64_t total(bin_index k) const { return load_relaxed(totals + k); }

    // The same where each of `blocks` adds once to each counter, so that the last one to come knows: it calls take(total), and the
    // counter is zero again. Its upper bits count the blocks.
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

    // Whether this block is the last of `blocks` to come here: what the others did before is then visible to it.
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

    // Waits for all of `blocks`, which are resident at once.
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

// The counters of the grid for so many bins.
inline counter_memory counters_of(const cuda& target, std::size_t all_bins)
{
    constexpr std::size_t state_bytes = 256;
    auto* const first = static_cast<std::byte*>(
        target.workspace().memory(workspace_purpose::counters, state_bytes + all_bins * sizeof(std::uint64_t)));
    return {reinterpret_cast<std::uint32_t*>(first), reinterpret_cast<std::uint64_t*>(first + state_bytes / 2),
            reinterpret_cast<std::uint64_t*>(first + state_bytes)};
}

// Where a histogram goes: one counter a bin, and the samples beside all bins.
template <class Counter>
struct histogram_result {
    Counter* counts;
    outside* out_of_range;
    bin_index bins;
    bool accumulates;

    // Takes the totals out of the memory, which is left as zeros. By `blocks` blocks, of which each takes some.
    __device__ void take(const counter_memory& memory, bin_index all_bins, unsigned block, unsigned blocks) const
    {
        for (std::uint64_t i = block * blockDim.x + threadIdx.x; i < all_bins; i += blocks * blockDim.x) {
            const auto k = static_cast<bin_index>(i);
            const std::uint64_t total = memory.total(k);
            memory.totals[k] = 0;
            put(k, total);
        }
    }

    __device__ void put(bin_index k, std::uint64_t total) const
    {
        if (k < bins)
            counts[k] = static_cast<Counter>((accumulates ? counts[k] : 0) + total);
        else
            put(k == bins ? out_of_range->below : k == bins + 1 ? out_of_range->above : out_of_range->nan, total);
    }

private:
    __device__ void put(std::uint64_t& to, std::uint64_t total) const { to = (accumulates ? to : 0) + total; }
};

} // namespace upsweep::gpu
