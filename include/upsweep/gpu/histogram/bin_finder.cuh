// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <upsweep/bins.hpp>
#include <upsweep/gpu/histogram/counters.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/target/cuda.cuh>

// Which bin a sample goes to, on a GPU: the bin finders of bins.hpp as objects that a kernel takes. Each tells how many bins there are,
// how much shared memory a block lends it, and hands out the function of a block, for which all threads call of_block once before
// a barrier.
namespace upsweep::gpu {

using detail::bin_index;

// For how many bins a bin finder is: kernels are compiled for these alone. Few are those whose counters fit the shared memory of a
// block, with the table of the bin finder beside them.
enum class bin_range { few, many, any };

// The shared memory that a block has for counters and tables.
inline std::size_t table_bytes(const cuda& target)
{
    constexpr std::size_t variables = 1024; // more than the kernels have beside the tables
    return target.workspace().shared_bytes() - variables;
}

// The words that a bin finder has in the shared memory of a block, before the counters, which are aligned to the banks.
template <class Finder>
constexpr std::size_t words_of(const Finder& finder)
{
    return (finder.shared_bytes() / sizeof(std::uint32_t) + lanes - 1) / lanes * lanes;
}

template <class Few>
bool are_few(const cuda& target, const Few& finder)
{
    const std::size_t counters = swizzled_table::words(finder.bins + detail::out_of_range_bins) * sizeof(std::uint32_t);
    return counters + words_of(finder) * sizeof(std::uint32_t) <= table_bytes(target);
}

// Calls f(bin) for each of a lane's samples: after looking for all of them where the function can do so at once, else one by one,
// so that bins take few registers.
template <class Function, class T, int Count, class F>
__device__ void for_each_bin(const Function& bin_of, const lane_vector<T, Count>& samples, F f)
{
    if constexpr (requires(bin_index(&found)[Count]) { bin_of.find(samples, found); }) {
        bin_index found[Count];
        bin_of.find(samples, found);
#pragma unroll
        for (int j = 0; j < Count; ++j)
            f(found[j]);
    } else {
#pragma unroll
        for (int j = 0; j < Count; ++j)
            f(bin_of(samples[j]));
    }
}

template <class Function, class T, int Count>
__device__ void find_bins(const Function& bin_of, const lane_vector<T, Count>& samples, bin_index (&found)[Count])
{
    int j = 0;
    for_each_bin(bin_of, samples, [&](bin_index k) { found[j++] = k; });
}

// A bin finder that needs no memory.
template <class Function, bin_range Range = bin_range::any>
struct plain_bin_finder {
    static constexpr bin_range range = Range;
    Function function;
    std::size_t bins;

    constexpr std::size_t shared_bytes() const { return 0; }
    __device__ const Function& of_block(void*) const { return function; }
};

// Where a sample is that is in no bin.
template <class E>
__device__ bin_index out_of_range_bin(E x, E lo, E hi, bin_index bins)
{
    return x < lo ? bins : x > hi ? bins + 1 : bins + 2;
}

} // namespace upsweep::gpu
