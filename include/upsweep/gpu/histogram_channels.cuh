// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <upsweep/gpu/cuda.cuh>
#include <upsweep/gpu/histogram.cuh>
#include <upsweep/gpu/primitive/matrix.cuh>
#include <upsweep/gpu/primitive/rules.cuh>
#include <upsweep/matrix_histogram.hpp>

// Histograms of interleaved channels: the slots of all channels, one after the other, are one table (histogram.cuh), of which a small
// kernel then makes the counters.
namespace upsweep::gpu {

// An element and where the slots of its channel begin.
template <class T>
struct channel_sample {
    T element;
    slot first;
};

// Period: the channels of a word's elements recur after so many, so that they are known to the compiler but for the first; 0 if it
// is not to be compiled for that.
template <class T, int Period>
struct channel_iterator {
    using value_type = channel_sample<T>;

    matrix_words<T> words;
    std::uint32_t channels;
    slot slots; // of a channel
    std::uint64_t first = 0;

    __device__ channel_iterator operator+(std::uint64_t n) const { return {words, channels, slots, first + n}; }
    __device__ value_type operator[](std::uint64_t n) const
    {
        const word_cursor at(first + n, words.in.columns);
        return {words.in.row(at.row)[at.word], first_slot(channel_of(at.word))};
    }

    __device__ std::uint32_t channel_of(std::uint64_t column) const
    {
        if constexpr (Period == 3)
            return static_cast<std::uint32_t>(column % 3);
        else if constexpr (Period != 0) // the number of channels divides the period, a power of two
            return static_cast<std::uint32_t>(column) & (channels - 1);
        else
            return static_cast<std::uint32_t>(word_cursor(column, channels).word);
    }
    __device__ slot first_slot(std::uint32_t channel) const { return channel * slots; }
};

template <int Rows, class T, int Period, class F, class Pace>
__device__ std::uint64_t for_each_sample(const channel_iterator<T, Period>& in, std::uint64_t, unsigned block,
                                         unsigned blocks, F take, Pace pace)
{
    return in.words.template for_each_word<Rows / 2>(
        0, 0, in.words.in.rows * in.words.words, std::uint64_t{block} * blockDim.x + threadIdx.x,
        std::uint64_t{blocks} * blockDim.x,
        [&](std::uint64_t, const row_vector<T>& vector) {
            if constexpr (Period != 0) {
                const auto ahead = static_cast<std::int64_t>(in.channels) * row_vector<T>::elements;
                const std::uint32_t channel = in.channel_of(static_cast<std::uint64_t>(vector.column + ahead));
                slot firsts[Period];
#pragma unroll
                for (int i = 0; i < Period; ++i)
                    firsts[i] = in.first_slot(in.channel_of(channel + i));
                vector.for_each([&](int j, const T& x) { take(channel_sample<T>{x, firsts[j % Period]}); });
            } else {
                slot first = in.first_slot(in.channel_of(static_cast<std::uint64_t>(vector.column + vector.begin)));
                const slot beyond = in.first_slot(in.channels);
                vector.for_each([&](int, const T& x) {
                    take(channel_sample<T>{x, first});
                    first += in.slots;
                    first = first == beyond ? 0 : first;
                });
            }
        },
        pace);
}

// The slots of all channels, where Rule tells those of one. The last three count as what is beside all bins.
template <class Rule>
struct channel_rule {
    static constexpr bin_range range = Rule::range;

    Rule rule;
    std::size_t bins;

    std::size_t shared_bytes() const { return rule.shared_bytes(); }

    using function_of_one = std::remove_cvref_t<decltype(std::declval<const Rule&>().of_block(nullptr))>;
    struct function {
        function_of_one slot_of;

        template <class T>
        __device__ slot operator()(const channel_sample<T>& sample) const
        {
            return sample.first + slot_of(sample.element);
        }
    };
    __device__ function of_block(void* shared) const { return {rule.of_block(shared)}; }
};

// Bytes are counted by value.
template <bin_range Range>
struct value_rule {
    static constexpr bin_range range = Range;
    static constexpr slot values = 256;

    struct function {
        template <class T>
        __device__ slot operator()(const T& sample) const
        {
            return static_cast<std::uint8_t>(sample);
        }
    };
    std::size_t shared_bytes() const { return 0; }
    __device__ function of_block(void*) const { return {}; }
};

// Makes the counters of a channel, a block's, of its slots; of bytes, of its values. By 256 threads.
template <class T, class Rule, class Counter>
__global__ void take_channels_kernel(const std::uint64_t* totals, slot slots, Rule rule, Counter* counts,
                                     outside* beside)
{
    const auto bins = static_cast<slot>(rule.bins);
    const std::uint64_t* const mine = totals + std::size_t{blockIdx.x} * slots;
    Counter* const to = counts + std::size_t{blockIdx.x} * bins;
    auto* const to_beside = reinterpret_cast<unsigned long long*>(beside + blockIdx.x);
    if constexpr (is_byte<T>) {
        extern __shared__ std::uint32_t shared_words[];
        const auto slot_of = rule.of_block(shared_words);
        for (slot k = threadIdx.x; k < bins; k += blockDim.x)
            to[k] = 0;
        if (threadIdx.x < detail::outside_slots)
            to_beside[threadIdx.x] = 0;
        __syncthreads();
        const slot k = slot_of(static_cast<T>(threadIdx.x));
        const std::uint64_t counted = mine[threadIdx.x];
        using word = std::conditional_t<sizeof(Counter) == 8, unsigned long long, unsigned>;
        if (k < bins)
            atomicAdd(reinterpret_cast<word*>(to + k), static_cast<word>(counted));
        else
            atomicAdd(to_beside + (k - bins), static_cast<unsigned long long>(counted));
    } else {
        for (slot k = threadIdx.x; k < slots; k += blockDim.x)
            if (k < bins)
                to[k] = static_cast<Counter>(mine[k]);
            else
                to_beside[k - bins] = mine[k];
    }
}

template <int Period, class T, class Rule>
void count_channels(const cuda& target, const matrix<T>& in, std::size_t channels, slot slots, const Rule& rule,
                    std::uint64_t* totals)
{
    static_assert(sizeof(outside) == detail::outside_slots * sizeof(std::uint64_t));
    const std::size_t bins = channels * slots - detail::outside_slots;
    const histogram_result<std::uint64_t> result{totals, reinterpret_cast<outside*>(totals + bins),
                                                 static_cast<slot>(bins), false};
    const channel_iterator<T, Period> first{matrix_words<T>(in), static_cast<std::uint32_t>(channels), slots};
    histogram(target, first, in.size(), channel_rule<Rule>{rule, bins}, result);
}

template <class T, class Rule, class Counter>
void histogram_channels(const cuda& target, const matrix<T>& in, std::size_t channels, const Rule& rule,
                        Counter* counts, outside* beside)
{
    constexpr int take_threads = 256;
    const slot slots =
        is_byte<T> ? value_rule<bin_range::any>::values : static_cast<slot>(rule.bins + detail::outside_slots);
    auto* const totals =
        static_cast<std::uint64_t*>(target.workspace().tables(channels * slots * sizeof(std::uint64_t)));
    if constexpr (!is_byte<T>)
        count_channels<0>(target, in, channels, slots, rule, totals);
    else if (channels == 3)
        count_channels<3>(target, in, channels, slots, value_rule<bin_range::few>{}, totals);
    else if (channels <= 4)
        count_channels<4>(target, in, channels, slots, value_rule<bin_range::few>{}, totals);
    else
        count_channels<0>(target, in, channels, slots, value_rule<bin_range::any>{}, totals);
    launch(target, "histogram_channels", take_channels_kernel<T, Rule, Counter>,
           grid_shape{.blocks = static_cast<unsigned>(channels),
                      .threads = take_threads,
                      .shared_bytes = is_byte<T> ? rule.shared_bytes() : 0},
           totals, slots, rule, counts, beside);
}

} // namespace upsweep::gpu

namespace upsweep {

// The same on a GPU, with everything in memory that it can reach, in order of the stream: the call does not wait.
template <class T, class Bins, class Counter>
void histogram_channels(const cuda& target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                        std::span<Counter> counts, std::span<outside> beside)
{
    static_assert(std::same_as<Counter, std::uint64_t> || std::same_as<Counter, std::uint32_t>,
                  "counters are std::uint64_t or std::uint32_t");
    constexpr std::string_view call = "histogram_channels";
    detail::check_channels(in, channels, bins, counts.size(), beside.size());
    const gpu::current_device current(target.device());
    gpu::check_place(target, call, in.data, in.size());
    gpu::check_place(target, call, counts.data(), counts.size());
    gpu::check_place(target, call, beside.data(), beside.size());
    const matrix<T> joined = in.has_gaps() ? in : matrix<T>(in.data, 1, in.size());
    gpu::histogram_channels(target, joined, channels, gpu::rule_of<T>(target, bins), counts.data(), beside.data());
}

} // namespace upsweep
