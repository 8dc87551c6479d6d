// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <upsweep/gpu/histogram/bin_finder.cuh>
#include <upsweep/gpu/histogram/merge.cuh>
#include <upsweep/gpu/histogram/table.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/source/channels.cuh>

// The steps that all kernels with a privatized table for each block have in common: what the counters of the table
// stand for, how samples are counted in it, and how it is merged into the totals of the grid.
namespace upsweep::gpu {

// A table counts samples by their *keys*. The key of most samples is their bin index. Bytes are counted by their
// values, of which there are few, so that the bin finder is asked once for each value and not for each sample: the key
// of a byte is its value, and the 256 keys of one channel are followed by those of the next.
template <class T>
inline constexpr bool is_byte = std::integral<T> && sizeof(T) == 1;
inline constexpr bin_index byte_values = 256;

template <class Sample>
struct sample_keys {
    static constexpr bool by_value = is_byte<Sample>;
    // Up to this many keys, a table has a copy of each counter for every lane of a warp. With more counters, adding the
    // copies up takes longer than lanes wait for one another at a single copy.
    static constexpr bin_index most_for_lanes = 1024;
    // Whether a block may lack room for copies of the counters of all values.
    static constexpr bool has_many_values = false;

    // Returns how many keys the values of a source's samples have.
    template <class Source>
    static bin_index values_of(const Source&)
    {
        return byte_values;
    }
    __device__ static Sample sample_of(bin_index key) { return static_cast<Sample>(key); }
};
template <class T>
struct sample_keys<channel_sample<T>> {
    static constexpr bool by_value = is_byte<T>;
    // Elements of channels meet at one counter more often than other samples: their counters have copies for all lanes
    // wherever these fit.
    static constexpr bin_index most_for_lanes = ~bin_index{0};
    static constexpr bool has_many_values = by_value;

    static bin_index values_of(const channel_source<T>& in)
    {
        return static_cast<bin_index>(in.channels.divisor) * byte_values;
    }
    __device__ static channel_sample<T> sample_of(bin_index key)
    {
        return {static_cast<T>(key % byte_values), key / byte_values};
    }
};

// The sizes of a block's tables: one has a counter for each key; where bytes are merged by merge_once, a second one
// behind it has a counter for each bin.
template <class Sample>
struct table_size {
    bin_index keys;
    bin_index all_bins; // the bins and the out-of-range bins

    UPSWEEP_HOST_DEVICE constexpr bool adds_once() const { return all_bins <= most_to_add_once; }
    // Whether a block has counters of bins in its table, so that it has the totals if it is alone.
    UPSWEEP_HOST_DEVICE constexpr bool has_bins() const { return !sample_keys<Sample>::by_value || adds_once(); }
    template <class Table>
    UPSWEEP_HOST_DEVICE constexpr std::size_t words() const
    {
        const bool has_both = sample_keys<Sample>::by_value && adds_once();
        return Table::words(keys) + (has_both ? swizzled_table::words(all_bins) : 0);
    }
};

// Counts the samples of a lane's vector.
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

// Counts the elements of a lane's vector, each in its channel.
template <class Table, class Function, class T, int Count, class Channels>
__device__ void count_samples(const Table& table, const Function& bin_of,
                              const channel_vector<T, Count, Channels>& samples)
{
    samples.for_each([&](const T& element, std::uint32_t channel) {
        if constexpr (is_byte<T>)
            table.increment(channel * byte_values + static_cast<std::uint8_t>(element));
        else
            table.increment(bin_of(channel_sample<T>{element, channel}));
    });
}

// Adds the counters of a block's table to the totals, each of them once, even if it is zero: so the last block knows that it
// is the last, and puts the total. A block that is alone has the totals.
template <class Table, class Result>
__device__ void add_table_once(const Table& table, bin_index counters, const Result& result, const grid_totals& grid)
{
    if (gridDim.x == 1) [[unlikely]]
        return for_each_total(table, counters, [&](bin_index k, std::uint32_t counted) { result.put(k, counted); });
    for_each_total(table, counters, [&](bin_index k, std::uint32_t counted) {
        grid.add_once(spread(k), counted, gridDim.x, [&](std::uint64_t total) { result.put(k, total); });
    });
}

// Makes the tables of all blocks the result, without one block waiting for another. Counts of values are first added up in the
// block's table of bins, which has been cleared. All threads of a block call this, after a barrier.
template <class Sample, class Table, class Function, class Result>
__device__ void merge_once(const Table& table, const Function& bin_of, const table_size<Sample>& size,
                           const Result& result, const grid_totals& grid)
{
    if constexpr (sample_keys<Sample>::by_value) {
        const swizzled_table of_bins{table.counters + Table::words(size.keys)};
        for (bin_index key = threadIdx.x; key < size.keys; key += blockDim.x)
            if (const std::uint32_t counted = table.total(key))
                atomicAdd(of_bins.counters + swizzled_table::place(bin_of(sample_keys<Sample>::sample_of(key))),
                          counted);
        __syncthreads();
        add_table_once(of_bins, size.all_bins, result, grid);
    } else {
        add_table_once(table, size.all_bins, result, grid);
    }
}

// Does the same for many bins: a block adds only the counters that are not zero. When all blocks have done so, each of
// them puts a share of the totals. The blocks wait for one another, which needs a cooperative launch.
template <class Sample, class Table, class Function, class Result>
__device__ void merge_and_wait(const Table& table, const Function& bin_of, const table_size<Sample>& size,
                               const Result& result, const grid_totals& grid)
{
    if (!sample_keys<Sample>::by_value && gridDim.x == 1) [[unlikely]]
        return for_each_total(table, size.all_bins,
                              [&](bin_index k, std::uint32_t counted) { result.put(k, counted); });
    for_each_total(table, size.keys, [&](bin_index k, std::uint32_t counted) {
        if (counted == 0)
            return;
        if constexpr (sample_keys<Sample>::by_value)
            k = bin_of(sample_keys<Sample>::sample_of(k));
        grid.add(k, counted);
    });
    wait_and_take_totals(result, grid, size.all_bins);
}

} // namespace upsweep::gpu
