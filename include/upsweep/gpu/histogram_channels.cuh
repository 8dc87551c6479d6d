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
#include <vector>

#include <upsweep/gpu/cuda.cuh>
#include <upsweep/gpu/halved_histogram.cuh>
#include <upsweep/gpu/partitioned_histogram.cuh>
#include <upsweep/gpu/primitive/channel_rules.cuh>
#include <upsweep/gpu/primitive/matrix_samples.cuh>
#include <upsweep/histogram_checks.hpp>
#include <upsweep/matrix.hpp>

// A histogram of each channel of a matrix. The keys of all channels, one after the other, are one table, of which each block has its
// own in shared memory; where there is no room for it, elements with their channels are counted as other samples are. Bytes are
// counted by value. A small kernel makes the counters of the totals.
namespace upsweep::gpu {

struct channel_shape {
    static constexpr int threads = 1024;
    static constexpr int vectors = 4; // of a lane, on their way at once
};

// Counters of a block, with as many copies of each as lanes have banks of their own.
template <unsigned Copies>
struct channel_table {
    static constexpr unsigned copies = Copies;
    std::uint32_t* counters;
    shared_address address = shared_address_of(counters + lane_id() % Copies);

    static constexpr std::size_t words(std::size_t count) { return count * Copies; }

    __device__ void increment(slot k) const { increment_shared(address, k * Copies); }
    __device__ std::uint32_t total(slot k) const
    {
        std::uint32_t sum = 0;
        for (unsigned copy = 0; copy < Copies; ++copy) // neighbouring threads read from neighbouring banks
            sum += counters[k * Copies + (copy + threadIdx.x) % Copies];
        return sum;
    }
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

template <class Shape, class Table, int Channels, class T, class Rules>
__global__ void __launch_bounds__(Shape::threads, 1)
    count_channels_kernel(matrix<T> in, std::uint32_t channels, Rules rules, slot keys, unsigned long long* totals)
{
    extern __shared__ std::uint32_t shared_words[];
    const auto key_of = rules.of_block(shared_words);
    const Table table{shared_words + words_of(rules)};
    clear_words(table.counters, Table::words(keys));
    __syncthreads();

    const std::uint64_t thread = std::uint64_t{blockIdx.x} * Shape::threads + threadIdx.x;
    const std::uint64_t stride = std::uint64_t{gridDim.x} * Shape::threads;
    constexpr std::uint64_t none = ~std::uint64_t{0}; // of the vectors
    const auto channel_of = [&](std::uint32_t column) { return column % (Channels != 0 ? Channels : channels); };
    // A stride of whole pixels, where that leaves but a few threads idle.
    const std::uint64_t useful = stride - (Channels != 0 || channels >= lanes ? 0 : stride % channels);
    vector_cursor<T> cursor(in, thread < useful ? thread : none, useful);
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
    for_each_total(table, keys, [&](slot k, std::uint32_t counted) {
        if (counted != 0)
            atomicAdd(totals + k, static_cast<unsigned long long>(counted));
    });
}

// Makes the counters of a channel, a block's, of the totals of its keys. Bytes were counted as of `counted` channels, some times as
// many.
template <class T, class Rules, class Counter>
__global__ void take_channels_kernel(const std::uint64_t* totals, std::uint32_t counted, Rules rules, Counter* counts,
                                     outside* beside, bool accumulates)
{
    extern __shared__ std::uint32_t shared_words[];
    const auto key_of = rules.of_block(shared_words);
    const std::uint32_t channel = blockIdx.x;
    const slot bins = key_of.bins(channel);
    Counter* const to = counts + key_of.bins_before(channel);
    auto* const to_beside = reinterpret_cast<unsigned long long*>(beside + channel);
    if (!accumulates) {
        for (slot k = threadIdx.x; k < bins; k += blockDim.x)
            to[k] = 0;
        if (threadIdx.x < detail::outside_slots)
            to_beside[threadIdx.x] = 0;
    }
    __syncthreads();
    const auto add = [&](slot k, std::uint64_t counted) {
        using word = std::conditional_t<sizeof(Counter) == 8, unsigned long long, unsigned>;
        if (k < bins)
            atomicAdd(reinterpret_cast<word*>(to + k), static_cast<word>(counted));
        else
            atomicAdd(to_beside + (k - bins), static_cast<unsigned long long>(counted));
    };
    if constexpr (is_byte<T>) {
        for (slot value = threadIdx.x; value < by_value::values; value += blockDim.x) {
            std::uint64_t total = 0;
            for (std::uint32_t each = channel; each < counted; each += gridDim.x)
                total += totals[each * by_value::values + value];
            if (total != 0)
                add(key_of.slot_of(static_cast<T>(value), channel), total);
        }
    } else {
        for (slot k = threadIdx.x; k < bins + detail::outside_slots; k += blockDim.x)
            add(k, totals[key_of.first(channel) + k]);
    }
}

template <class Table, int Channels, class T, class Rules>
void count_channels(const cuda& target, const matrix<T>& in, std::size_t channels, const Rules& rules, slot keys,
                    unsigned long long* totals)
{
    using shape = channel_shape;
    constexpr auto kernel = count_channels_kernel<shape, Table, Channels, T, Rules>;
    const auto resident = static_cast<unsigned>(target.workspace().processors());
    allow_shared_bytes<kernel>(target);
    check("cudaMemsetAsync", cudaMemsetAsync(totals, 0, keys * sizeof(*totals), target.stream()));
    for_each_piece(in, channels, [&](const matrix<T>& piece) {
        const std::uint64_t useful = piece.size() / (row_vectors<T>::elements * shape::threads * shape::vectors) + 1;
        launch(target, "histogram_channels", kernel,
               grid_shape{.blocks = static_cast<unsigned>(std::min<std::uint64_t>(useful, resident)),
                          .threads = shape::threads,
                          .shared_bytes = (words_of(rules) + Table::words(keys)) * sizeof(std::uint32_t)},
               piece, static_cast<std::uint32_t>(channels), rules, keys, totals);
    });
}

// As many copies of the counters as there is room for, if they are worth it: two lanes that share a bank still wait less than all
// those that meet in scattered counters.
template <class T, class Rules>
void count_channels(const cuda& target, const matrix<T>& in, std::size_t channels, const Rules& rules, slot keys,
                    unsigned long long* totals)
{
    const std::size_t available = table_bytes(target) / sizeof(std::uint32_t) - words_of(rules);
    if (channel_table<lanes>::words(keys) <= available) {
        if (is_byte<T> && channels == 3)
            return count_channels < channel_table<lanes>,
                   is_byte<T> ? 3 : 0 > (target, in, channels, rules, keys, totals);
        if (is_byte<T> && channels == 4)
            return count_channels < channel_table<lanes>,
                   is_byte<T> ? 4 : 0 > (target, in, channels, rules, keys, totals);
        return count_channels<channel_table<lanes>, 0>(target, in, channels, rules, keys, totals);
    }
    if (is_byte<T> && channel_table<lanes / 2>::words(keys) <= available)
        return count_channels<channel_table<is_byte<T> ? lanes / 2 : lanes>, 0>(target, in, channels, rules, keys,
                                                                                totals);
    if (scattered_table::words(keys) <= available)
        return count_channels<scattered_table, 0>(target, in, channels, rules, keys, totals);
    const channel_elements<T> elements(in, channels);
    const channel_slots<Rules> slots{rules, keys};
    const histogram_result<std::uint64_t> result{reinterpret_cast<std::uint64_t*>(totals),
                                                 reinterpret_cast<outside*>(totals + keys), keys, false};
    const auto all = static_cast<slot>(keys + detail::outside_slots);
    if (can_be_halved<channel_elements<T>>(target, all, available * sizeof(std::uint32_t)))
        halved_histogram(target, elements, in.size(), slots, all, result);
    else
        partitioned_histogram(target, elements, in.size(), slots, result);
}

template <class T, class Rules, class Counter>
void histogram_channels(const cuda& target, const matrix<T>& pixels, std::size_t channels, const Rules& rules,
                        std::size_t bins, Counter* counts, outside* beside, bool accumulates)
{
    const matrix<T> in = pixels.has_gaps() ? pixels : matrix<T>(pixels.data, 1, pixels.size());
    const std::size_t counted = is_byte<T> && (channels == 1 || channels == 2) ? 4 : channels;
    const std::size_t keys = is_byte<T> ? counted * by_value::values : bins + channels * detail::outside_slots;
    auto* const totals = static_cast<unsigned long long*>(
        target.workspace().tables((keys + detail::outside_slots) * sizeof(std::uint64_t)));
    if constexpr (is_byte<T>) {
        const matrix<std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(in.data), in.rows, in.columns, in.pitch);
        count_channels(target, bytes, counted, by_value{}, static_cast<slot>(keys), totals);
    } else {
        count_channels(target, in, channels, rules, static_cast<slot>(keys), totals);
    }
    launch(target, "histogram_channels", take_channels_kernel<T, Rules, Counter>,
           grid_shape{.blocks = static_cast<unsigned>(channels),
                      .threads = static_cast<int>(by_value::values),
                      .shared_bytes = rules.shared_bytes()},
           reinterpret_cast<const std::uint64_t*>(totals), static_cast<std::uint32_t>(counted), rules, counts, beside,
           accumulates);
}

} // namespace upsweep::gpu

namespace upsweep {

namespace detail {

template <class T, class Bins, class Counter>
void histogram_channels_on_gpu(const cuda& target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                               std::span<Counter> counts, std::span<outside> beside, bool accumulates)
{
    static_assert(std::same_as<Counter, std::uint64_t> || std::same_as<Counter, std::uint32_t>,
                  "counters are std::uint64_t or std::uint32_t");
    constexpr std::string_view call = "histogram_channels";
    check_channels(in, channels, bins, counts.size(), beside.size());
    const gpu::current_device current(target.device());
    gpu::check_place(target, call, in.data, in.size());
    gpu::check_place(target, call, counts.data(), counts.size());
    gpu::check_place(target, call, beside.data(), beside.size());
    gpu::histogram_channels(target, in, channels, gpu::channel_rules_of<T>(target, bins), counts.size(), counts.data(),
                            beside.data(), accumulates);
}

} // namespace detail

// The same on a GPU, with everything in memory that it can reach, in order of the stream: the call does not wait.
template <class T, class Bins, class Counter>
void histogram_channels(const cuda& target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                        std::span<Counter> counts, std::span<outside> beside)
{
    detail::histogram_channels_on_gpu(target, in, channels, bins, counts, beside, false);
}

// The same, added to what the counters and `beside` hold.
template <class T, class Bins, class Counter>
void histogram_channels_accumulate(const cuda& target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                                   std::span<Counter> counts, std::span<outside> beside)
{
    detail::histogram_channels_on_gpu(target, in, channels, bins, counts, beside, true);
}

} // namespace upsweep
