// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <upsweep/gpu/histogram/block.cuh>
#include <upsweep/gpu/histogram/channel_bins.cuh>
#include <upsweep/gpu/histogram/large.cuh>
#include <upsweep/gpu/source/matrix.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/matrix.hpp>
#include <upsweep/verb/matrix_histogram.hpp>

// A histogram of each channel of a matrix. The keys of all channels, one after the other, are one table, of which each block has its
// own in shared memory; where there is no room for it, elements with their channels are counted as other samples are. Bytes are
// counted by value. A small kernel makes the counters of the totals.
namespace upsweep::gpu {

struct channel_shape {
    static constexpr int threads = 1024;
    static constexpr int vectors = 4; // of a lane, on their way at once
};

// Which channel each element of a vector is of. Few channels are compiled for (Channels, else 0): then it is found out for each
// vector. Of any other number it is remembered, since the vectors of a thread mostly begin with the same one.
template <int Channels, int Elements>
class vector_channels {
public:
    __device__ void begin_with(std::uint32_t channel, std::uint32_t channels)
    {
        if (Channels == 0 && channel == channel_of_[0])
            return;
#pragma unroll
        for (std::uint32_t& each : channel_of_) {
            each = channel;
            channel = channel + 1 == channels ? 0 : channel + 1;
        }
    }
    __device__ std::uint32_t of(int j) const { return channel_of_[j % count]; }

private:
    static constexpr int count = Channels != 0 ? Channels : Elements;
    std::uint32_t channel_of_[count] = {~std::uint32_t{0}};
};

template <class Shape, class Table, int Channels, class T, class Finders>
__global__ void __launch_bounds__(Shape::threads, 1)
    count_channels_kernel(matrix<T> in, std::uint32_t channels, Finders finders, bin_index keys, counter_memory memory)
{
    extern __shared__ __align__(16) std::uint32_t shared_words[];
    const auto key_of = finders.of_block(shared_words);
    const Table table{shared_words + words_of(finders)};
    clear_words(table.counters, Table::words(keys));
    __syncthreads();

    const std::uint64_t thread = std::uint64_t{blockIdx.x} * Shape::threads + threadIdx.x;
    const std::uint64_t stride = std::uint64_t{gridDim.x} * Shape::threads;
    constexpr std::uint64_t none = ~std::uint64_t{0}; // of the vectors
    const auto channel_of = [&](std::uint32_t column) { return column % (Channels != 0 ? Channels : channels); };
    // A stride of whole pixels, where that leaves but a few threads idle.
    const std::uint64_t whole = stride - (Channels != 0 || channels >= lanes ? 0 : stride % channels);
    vector_cursor<T> cursor(in, thread < whole ? thread : none, whole);
    constexpr int elements = row_vectors<T>::elements;
    vector_channels<Channels, elements> channels_of;
    while (cursor.is_within()) {
        typename row_vectors<T>::vector vectors[Shape::vectors];
        std::uint32_t columns[Shape::vectors];
        bool are_read[Shape::vectors];
#pragma unroll
        for (int r = 0; r < Shape::vectors; ++r)
            are_read[r] = cursor.read(vectors[r], columns[r]);
#pragma unroll
        for (int r = 0; r < Shape::vectors; ++r)
            if (are_read[r]) {
                channels_of.begin_with(channel_of(columns[r]), channels);
#pragma unroll
                for (int j = 0; j < elements; ++j)
                    table.increment(key_of(vectors[r][j], channels_of.of(j)));
            }
    }
    for_each_beside_vectors(in, thread, stride, [&](const lane_vector<T, 1>& element, std::uint32_t column) {
        table.increment(key_of(element[0], channel_of(column)));
    });
    __syncthreads();
    for_each_total(table, keys, [&](bin_index k, std::uint32_t counted) {
        if (counted != 0)
            memory.add(k, counted);
    });
}

// Where the histogram of a channel goes.
template <class Counter>
struct channel_result {
    Counter* counts;
    unsigned long long* out_of_range;
    bin_index bins;
    bool accumulates;

    // By the only one who has a total for this bin.
    __device__ void put(bin_index k, std::uint64_t total) const
    {
        if (k < bins)
            counts[k] = static_cast<Counter>((accumulates ? counts[k] : 0) + total);
        else
            out_of_range[k - bins] = (accumulates ? out_of_range[k - bins] : 0) + total;
    }
    __device__ void add(bin_index k, std::uint64_t total) const
    {
        using word = std::conditional_t<sizeof(Counter) == 8, unsigned long long, unsigned>;
        if (k < bins)
            atomicAdd(reinterpret_cast<word*>(counts + k), static_cast<word>(total));
        else
            atomicAdd(out_of_range + (k - bins), static_cast<unsigned long long>(total));
    }
};

// Makes the counters of the channels of the totals of their keys, which become zero again. Some blocks for each channel; where bytes
// were counted by value, one, and as of `counted` channels, some times as many.
template <class T, class Finders, class Counter>
__global__ void take_channels_kernel(std::uint64_t* totals, std::uint32_t channels, std::uint32_t counted,
                                     Finders finders, Counter* counts, outside* out_of_range, bool accumulates)
{
    extern __shared__ __align__(16) std::uint32_t shared_words[];
    const auto key_of = finders.of_block(shared_words);
    const std::uint32_t channel = blockIdx.x % channels;
    const channel_result<Counter> result{counts + key_of.bins_before(channel),
                                         reinterpret_cast<unsigned long long*>(out_of_range + channel),
                                         key_of.bins(channel), accumulates};
    const bin_index all_bins = result.bins + detail::out_of_range_bins;
    if constexpr (is_byte<T>) {
        for (bin_index k = threadIdx.x; !accumulates && k < all_bins; k += blockDim.x)
            result.put(k, 0);
        __syncthreads();
        for (bin_index value = threadIdx.x; value < by_value::values; value += blockDim.x) {
            std::uint64_t total = 0;
            for (std::uint32_t each = channel; each < counted; each += channels)
                total += std::exchange(totals[each * by_value::values + value], 0);
            if (total != 0)
                result.add(key_of.bin_of(static_cast<T>(value), channel), total);
        }
    } else {
        for (bin_index k = blockIdx.x / channels * blockDim.x + threadIdx.x; k < all_bins;
             k += gridDim.x / channels * blockDim.x)
            result.put(k, std::exchange(totals[key_of.first(channel) + k], 0));
    }
}

template <class Table, int Channels, class T, class Finders>
std::uint64_t* count_channels(const cuda& target, const matrix<T>& in, std::size_t channels, const Finders& finders,
                              bin_index keys)
{
    using shape = channel_shape;
    const counter_memory memory = counters_of(target, keys);
    constexpr auto kernel = count_channels_kernel<shape, Table, Channels, T, Finders>;
    const auto resident = static_cast<std::uint64_t>(target.workspace().multiprocessors());
    allow_shared_bytes<kernel>(target);
    for_each_piece(in, channels, [&](const matrix<T>& piece) {
        const std::uint64_t useful = piece.size() / (row_vectors<T>::elements * shape::threads * shape::vectors) + 1;
        launch(target, "histogram_channels", kernel,
               grid_shape{.blocks = static_cast<unsigned>(std::min(useful, resident)),
                          .threads = shape::threads,
                          .shared_bytes = (words_of(finders) + Table::words(keys)) * sizeof(std::uint32_t)},
               piece, static_cast<std::uint32_t>(channels), finders, keys, memory);
    });
    return memory.totals;
}

// As many copies of the counters as there is room for, if they are worth it: two lanes that share a bank still wait less than all
// those that meet in swizzled counters. Returns the totals.
template <class T, class Finders>
std::uint64_t* count_channels(const cuda& target, const matrix<T>& in, std::size_t channels, const Finders& finders,
                              bin_index keys)
{
    const std::size_t available = table_bytes(target) / sizeof(std::uint32_t) - words_of(finders);
    using table = lane_table;
    using half_table = std::conditional_t<is_byte<T>, replicated_table<lanes / 2>, table>;
    constexpr int three = is_byte<T> ? 3 : 0;
    constexpr int four = is_byte<T> ? 4 : 0;
    if (table::words(keys) <= available) {
        if (channels == three)
            return count_channels<table, three>(target, in, channels, finders, keys);
        if (channels == four)
            return count_channels<table, four>(target, in, channels, finders, keys);
        return count_channels<table, 0>(target, in, channels, finders, keys);
    }
    if (half_table::words(keys) <= available)
        return count_channels<half_table, 0>(target, in, channels, finders, keys);
    if (swizzled_table::words(keys) <= available)
        return count_channels<swizzled_table, 0>(target, in, channels, finders, keys);
    const channel_elements<T> elements(in, channels);
    const channel_bin_finder<Finders> all_bins{finders, keys};
    const auto all = static_cast<bin_index>(keys + detail::out_of_range_bins);
    auto* const totals =
        static_cast<std::uint64_t*>(target.workspace().memory(workspace_purpose::tables, all * sizeof(std::uint64_t)));
    const histogram_result<std::uint64_t> result{totals, reinterpret_cast<outside*>(totals + keys), keys, false};
    large_histogram(target, elements, in.size(), all_bins, all, available * sizeof(std::uint32_t), result);
    return totals;
}

template <class T, class Finders, class Counter>
void histogram_channels(const cuda& target, const matrix<T>& pixels, std::size_t channels, const Finders& finders,
                        std::size_t bins, Counter* counts, outside* out_of_range, bool accumulates)
{
    const matrix<T> in = pixels.has_gaps() ? pixels : matrix<T>(pixels.data, 1, pixels.size());
    const std::size_t counted = is_byte<T> && (channels == 1 || channels == 2) ? 4 : channels;
    const std::size_t keys = is_byte<T> ? counted * by_value::values : bins + channels * detail::out_of_range_bins;
    detail::check_bin_count(keys);
    std::uint64_t* totals = nullptr;
    if constexpr (is_byte<T>) {
        const matrix<std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(in.data), in.rows, in.columns, in.pitch);
        totals = count_channels(target, bytes, counted, by_value{}, static_cast<bin_index>(keys));
    } else {
        totals = count_channels(target, in, channels, finders, static_cast<bin_index>(keys));
    }
    const std::size_t threads = by_value::values;
    const std::size_t blocks_of_channel = is_byte<T> ? 1 : std::min<std::size_t>(bins / channels / threads + 1, 64);
    constexpr auto take = take_channels_kernel<T, Finders, Counter>;
    allow_shared_bytes<take>(target);
    launch(target, "histogram_channels", take,
           grid_shape{.blocks = static_cast<unsigned>(channels * blocks_of_channel),
                      .threads = static_cast<int>(threads),
                      .shared_bytes = finders.shared_bytes()},
           totals, static_cast<std::uint32_t>(channels), static_cast<std::uint32_t>(counted), finders, counts,
           out_of_range, accumulates);
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::histogram_channels> {
    template <class T, class Bins, class Counter>
    static void count(const cuda& target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                      std::span<Counter> counts, std::span<outside> out_of_range, bool accumulates)
    {
        constexpr std::string_view call = "histogram_channels";
        const gpu::current_device current(target.device());
        gpu::check_place(target, call, in.data, in.size());
        gpu::check_place(target, call, counts.data(), counts.size());
        gpu::check_place(target, call, out_of_range.data(), out_of_range.size());
        const auto finders = gpu::channel_finders_of<T>(target, bins, counts.size() + channels * out_of_range_bins);
        gpu::histogram_channels(target, in, channels, finders, counts.size(), counts.data(), out_of_range.data(),
                                accumulates);
    }
};

} // namespace upsweep::detail
