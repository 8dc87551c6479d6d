// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <upsweep/gpu/primitive/ptx.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/outside.hpp>

// Privatized tables: the counters that a block has for itself in shared memory, 32 bits each, so that its increments
// meet those of no other block (privatization, as in the textbooks and CUB). Nobody uses the result of an increment,
// which makes it an instruction that merges equal addresses of a warp: constant samples are the cheapest ones. What
// costs time are distinct counters in one bank of shared memory. The tables avoid them in two ways: by a swizzle, or by
// copies of each counter for different lanes.
namespace upsweep::gpu {

using detail::bin_index;

// A table with one copy of each counter, at a swizzled place, so that bins that are 32 or 1024 apart are in different
// banks.
struct swizzled_table {
    std::uint32_t* counters;
    shared_address address = shared_address_of(counters);

    static constexpr std::size_t words(std::size_t count) { return (count + lanes - 1) / lanes * lanes; }
    __device__ static bin_index place(bin_index k) { return k ^ (k >> 5 & 31U) ^ (k >> 10 & 31U); }

    __device__ void increment(bin_index k) const { increment_at(place(k)); }
    __device__ void increment_at(bin_index place) const { increment_shared(address, place); }
    __device__ std::uint32_t total(bin_index k) const { return counters[place(k)]; }

    // Returns the total and sets it to zero.
    __device__ std::uint32_t take(bin_index k) const
    {
        std::uint32_t& counter = counters[place(k)];
        const std::uint32_t counted = counter;
        counter = 0;
        return counted;
    }

    // The places and increments of a pair of counters, whose indices are the halves of a word.
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

// A table with several copies of each counter, side by side in the banks. Lanes whose numbers are equal modulo Copies
// share a copy.
template <unsigned Copies>
struct replicated_table {
    std::uint32_t* counters;
    shared_address address = shared_address_of(counters + lane_id() % Copies);

    static constexpr std::size_t words(std::size_t count) { return (count * Copies + lanes - 1) / lanes * lanes; }

    __device__ void increment(bin_index k) const { increment_shared(address, k * Copies); }
    __device__ std::uint32_t total(bin_index k) const
    {
        if constexpr (Copies == 8) { // two loads of 16 bytes: eight threads read from all banks at once
            const auto* const halves = reinterpret_cast<const uint4*>(counters) + k * 2;
            const uint4 a = halves[k / 4 % 2];
            const uint4 b = halves[k / 4 % 2 ^ 1];
            return a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
        } else {
            std::uint32_t sum = 0;
            for (unsigned copy = 0; copy < Copies; ++copy) // neighbouring threads read from neighbouring banks
                sum += counters[k * Copies + (copy + threadIdx.x) % Copies];
            return sum;
        }
    }
};

// A table with a copy for every lane: an increment never waits for another one of its warp. And one with a copy for every
// four lanes, which takes less time to clear and to add up.
using lane_table = replicated_table<lanes>;
using table_of_four = replicated_table<lanes / 4>;

// Sets words to zero. All threads of a block call this, and a barrier must follow.
__device__ inline void clear_words(std::uint32_t* words, std::size_t count)
{
    for (std::size_t i = threadIdx.x; i < count; i += blockDim.x)
        words[i] = 0;
}

// Calls f(k, total) for every counter of a block's table. The blocks begin at different counters, so that they do not
// all wait for the same totals of the grid. All threads of a block call this, after a barrier.
template <class Table, class F>
__device__ void for_each_total(const Table& table, bin_index counters, F f)
{
    const bin_index turned = blockIdx.x * blockDim.x % counters;
    for (bin_index i = threadIdx.x; i < counters; i += blockDim.x) {
        const bin_index k = i + turned < counters ? i + turned : i + turned - counters;
        f(k, table.total(k));
    }
}

} // namespace upsweep::gpu
