// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include <upsweep/gpu/histogram/bin_finders.cuh>
#include <upsweep/gpu/histogram/counters.cuh>
#include <upsweep/gpu/source/reader.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>

// Histogram in one kernel. Each block counts in a table of its own in shared memory, as H6 of the lab does, and adds it to the
// totals of the grid.
namespace upsweep::gpu {

struct block_histogram_shape {
    static constexpr int threads = 1024;
    template <class It> // that a warp reads at once; with more, registers run out where bins are computed in doubles
    static constexpr int rows = sizeof(std::iter_value_t<It>) < 8 ? 8 : 4;
    static constexpr bin_index most_for_lanes = 1024;   // counters of which each lane may have its own
    static constexpr bin_index most_to_add_once = 2048; // totals to which each block adds, if only nothing
};

// What a block counts: keys, which are the bins, but for samples of one byte the values of the byte, of which there are too
// many to ask for the bin of each.
template <class T>
inline constexpr bool is_byte = std::integral<T> && sizeof(T) == 1;

template <class T>
constexpr bin_index keys_of(bin_index all_bins)
{
    return is_byte<T> ? 256 : all_bins;
}

// The words of a table of keys and, for bytes whose totals are added once, of one of bins.
template <class Table, class T>
constexpr std::size_t words_of_tables(bin_index all_bins, bool adds_once)
{
    return Table::words(keys_of<T>(all_bins)) + (is_byte<T> && adds_once ? swizzled_table::words(all_bins) : 0);
}

template <class Table, class Function, class T, int Count>
__device__ void count_samples(const Table& table, const Function& bin_of, const lane_vector<T, Count>& samples)
{
    if constexpr (is_byte<T>) {
#pragma unroll
        for (int j = 0; j < Count; ++j)
            table.increment(static_cast<std::uint8_t>(samples[j]));
    } else {
        for_each_bin(bin_of, samples, [&](bin_index k) { table.increment(k); });
    }
}

// Where the total of a bin is, to which each block adds once. Additions to a line of the second-level cache wait for one another,
// sector by sector: only the first of its four sectors is used.
UPSWEEP_HOST_DEVICE constexpr bin_index spread(bin_index k) { return k / 4 * 16 + k % 4; }

// Adds what a block has counted to the totals, of which the last block to come takes each. Counts of values go by way of the zeros
// in `of_slots`. By all threads, after a barrier.
template <class T, class Table, class Function, class Counter>
__device__ void add_totals_once(const Table& table, const Function& bin_of, const swizzled_table& of_bins,
                                bin_index all_bins, const histogram_result<Counter>& result,
                                const counter_memory& memory)
{
    const auto add = [&](bin_index k, std::uint32_t counted) {
        memory.add_once(spread(k), counted, gridDim.x, [&](std::uint64_t total) { result.put(k, total); });
    };
    if constexpr (is_byte<T>) {
        for (bin_index value = threadIdx.x; value < keys_of<T>(all_bins); value += blockDim.x)
            if (const std::uint32_t counted = table.total(value))
                atomicAdd(of_bins.counters + swizzled_table::place(bin_of(static_cast<T>(value))), counted);
        __syncthreads();
        for_each_total(of_bins, all_bins, add);
    } else {
        for_each_total(table, all_bins, add);
    }
}

template <class Shape, class Table, class It, class Finder, class Counter>
__global__ void __launch_bounds__(Shape::threads, 1)
    block_histogram_kernel(It in, std::uint64_t count, Finder finder, bin_index all_bins,
                           histogram_result<Counter> result, counter_memory memory)
{
    using sample = std::iter_value_t<It>;
    extern __shared__ __align__(16) std::uint32_t shared_words[];
    sample_reader<Shape::template rows<It>, It> samples(in, count, blockIdx.x, gridDim.x);

    // What the bin finder keeps in shared memory comes first, so that the compiler knows where it is.
    const auto bin_of = finder.of_block(shared_words);
    const bin_index keys = keys_of<sample>(all_bins);
    const Table table{shared_words + words_of(finder)};
    const swizzled_table of_bins{table.counters + Table::words(keys)};
    const bool adds_once = all_bins <= Shape::most_to_add_once;
    clear_words(table.counters, words_of_tables<Table, sample>(all_bins, adds_once));
    __syncthreads();

    const auto take = [&](const auto& vector) { count_samples(table, bin_of, vector); };
    if (blockIdx.x == gridDim.x - 1)
        samples.for_each_of_rest(take);
    samples.template for_each_of_chunks<Shape::template rows<It>>(take, [](bool) {});
    __syncthreads();

    if (adds_once)
        return add_totals_once<sample>(table, bin_of, of_bins, all_bins, result, memory);
    for_each_total(table, keys, [&](bin_index k, std::uint32_t counted) {
        if (counted == 0)
            return;
        if constexpr (is_byte<sample>)
            k = bin_of(static_cast<sample>(k));
        memory.add(k, counted);
    });
    memory.wait_for_all(gridDim.x);
    result.take(memory, all_bins, blockIdx.x, gridDim.x);
}

template <class Table, class It, class Finder, class Counter>
void block_histogram(const cuda& target, It in, std::uint64_t count, const Finder& finder, bin_index all_bins,
                     const histogram_result<Counter>& result)
{
    using shape = block_histogram_shape;
    constexpr auto kernel = block_histogram_kernel<shape, Table, It, Finder, Counter>;
    allow_shared_bytes<kernel>(target);
    const bool adds_once = all_bins <= shape::most_to_add_once;
    const std::size_t words = words_of(finder) + words_of_tables<Table, std::iter_value_t<It>>(all_bins, adds_once);
    const grid_shape grid{.blocks = useful_blocks<It, shape::rows<It>>(target.workspace().multiprocessors(), count),
                          .threads = shape::threads,
                          .shared_bytes = words * sizeof(std::uint32_t),
                          .cluster = 1,
                          .cooperative = !adds_once};
    launch(target, "histogram", kernel, grid, in, count, finder, all_bins, result,
           counters_of(target, adds_once ? spread(all_bins) : all_bins));
}

// Samples of one byte, by value: in a copy of the counters for each lane, where the bin finder leaves room for them.
template <class It, class Finder, class Counter>
void byte_histogram(const cuda& target, It in, std::uint64_t count, const Finder& finder, bin_index all_bins,
                    const histogram_result<Counter>& result)
{
    using sample = std::iter_value_t<It>;
    if constexpr (Finder::range == bin_range::few) {
        const std::size_t words = words_of(finder) + words_of_tables<lane_table, sample>(all_bins, true);
        if (words * sizeof(std::uint32_t) > table_bytes(target))
            return block_histogram<swizzled_table>(target, in, count, finder, all_bins, result);
    }
    block_histogram<lane_table>(target, in, count, finder, all_bins, result);
}

} // namespace upsweep::gpu
