// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <upsweep/gpu/cuda.cuh>
#include <upsweep/gpu/histogram.cuh>
#include <upsweep/gpu/primitive/matrix.cuh>
#include <upsweep/gpu/primitive/rules.cuh>
#include <upsweep/histogram_checks.hpp>
#include <upsweep/matrix.hpp>

// A histogram of each channel of a matrix, or one of all its elements. The slots of all channels, one after the other, are one table,
// of which each block has its own in shared memory, or a part where there is no room for all; the blocks of other parts read the
// same elements at the same time, mostly from the second-level cache. A small kernel makes the counters of the totals.
namespace upsweep::gpu {

struct channel_shape {
    static constexpr int threads = 1024;
    static constexpr int vectors = 4;            // of a lane, on their way at once
    static constexpr slot most_for_lanes = 1024; // counters of which each lane may have its own
};

struct channel_plan {
    std::uint32_t channels;
    slot slots; // of a channel
    slot part;  // slots that a block counts
    slot parts;
};

// Bytes are counted by value.
struct value_rule {
    static constexpr slot values = 256;

    struct function {
        template <class T>
        __device__ slot operator()(const T& sample) const
        {
            return static_cast<std::uint8_t>(sample);
        }
    };
    constexpr std::size_t shared_bytes() const { return 0; }
    __device__ function of_block(void*) const { return {}; }
};

// Calls take(element, the first slot of its channel) for the elements of a word. Where the channels recur within a word in a period
// that is compiled for, they are found once a word; 0 is for any number of channels.
template <int Period, class T, class F>
__device__ void for_each_channel(const channel_plan& plan, const row_vector<T>& vector, F take)
{
    const auto remainder = [&](std::uint64_t column) {
        if constexpr (Period == 3)
            return static_cast<std::uint32_t>(column % 3);
        else if constexpr (Period != 0) // the number of channels divides the period, a power of two
            return static_cast<std::uint32_t>(column) & (plan.channels - 1);
        else
            return static_cast<std::uint32_t>(word_cursor(column, plan.channels).word);
    };
    if constexpr (Period != 0) {
        const auto ahead = static_cast<std::int64_t>(plan.channels) * row_vector<T>::elements; // columns may be below 0
        const std::uint32_t channel = remainder(static_cast<std::uint64_t>(vector.column + ahead));
        slot firsts[Period];
#pragma unroll
        for (int i = 0; i < Period; ++i)
            firsts[i] = remainder(channel + i) * plan.slots;
        vector.for_each([&](int j, const T& x) { take(x, firsts[j % Period]); });
    } else {
        slot first = remainder(static_cast<std::uint64_t>(vector.column + vector.begin)) * plan.slots;
        const slot beyond = plan.channels * plan.slots;
        vector.for_each([&](int, const T& x) {
            take(x, first);
            first += plan.slots;
            first = first == beyond ? 0 : first;
        });
    }
}

template <class Shape, class Table, int Period, class T, class Rule>
__global__ void __launch_bounds__(Shape::threads, 1)
    count_channels_kernel(matrix_words<T> in, Rule rule, channel_plan plan, unsigned long long* totals)
{
    extern __shared__ std::uint32_t shared_words[];
    constexpr bool is_whole = std::same_as<Table, lane_table>;
    const Table table{shared_words};
    const std::size_t words = Table::words(plan.part);
    clear_words(shared_words, words);
    const auto slot_of = rule.of_block(shared_words + words);
    __syncthreads();

    const slot begin = blockIdx.x % plan.parts * plan.part;
    const std::uint64_t thread = std::uint64_t{blockIdx.x / plan.parts} * Shape::threads + threadIdx.x;
    const std::uint64_t stride = std::uint64_t{gridDim.x / plan.parts} * Shape::threads;
    const auto take = [&](const row_vector<T>& vector) {
        for_each_channel<Period>(plan, vector, [&](const T& x, slot first) {
            const slot k = first + slot_of(x) - begin;
            if (is_whole || k < plan.part)
                table.increment(k);
        });
    };
    if (in.in.rows == 1)
        in.template for_each_word_of_row<Shape::vectors>(0, 0, in.words, thread, stride, take);
    else
        in.template for_each_word<Shape::vectors>(0, 0, in.in.rows * in.words, thread, stride,
                                                  [&](std::uint64_t, const row_vector<T>& vector) { take(vector); });
    __syncthreads();
    const slot end = plan.channels * plan.slots;
    for (slot k = threadIdx.x; k < plan.part && begin + k < end; k += Shape::threads)
        if (const std::uint32_t counted = table.total(k); counted != 0)
            atomicAdd(totals + begin + k, static_cast<unsigned long long>(counted));
}

// Makes the counters of a channel, a block's, of its totals: of those of its slots, or where it was counted by value, of its values.
// By as many threads as a byte has values.
template <class T, class Rule, class Counter>
__global__ void take_channels_kernel(const std::uint64_t* totals, slot slots, Rule rule, Counter* counts,
                                     outside* beside, bool accumulates)
{
    extern __shared__ std::uint32_t shared_words[];
    const auto bins = static_cast<slot>(rule.bins);
    const std::uint64_t* const mine = totals + std::size_t{blockIdx.x} * slots;
    Counter* const to = counts + std::size_t{blockIdx.x} * bins;
    auto* const to_beside = reinterpret_cast<unsigned long long*>(beside + blockIdx.x);
    if (!accumulates) {
        for (slot k = threadIdx.x; k < bins; k += blockDim.x)
            to[k] = 0;
        if (threadIdx.x < detail::outside_slots)
            to_beside[threadIdx.x] = 0;
    }
    const auto slot_of = rule.of_block(shared_words);
    __syncthreads();
    const auto add = [&](slot k, std::uint64_t counted) {
        using word = std::conditional_t<sizeof(Counter) == 8, unsigned long long, unsigned>;
        if (k < bins)
            atomicAdd(reinterpret_cast<word*>(to + k), static_cast<word>(counted));
        else
            atomicAdd(to_beside + (k - bins), static_cast<unsigned long long>(counted));
    };
    for (slot k = threadIdx.x; k < slots; k += blockDim.x) {
        if constexpr (is_byte<T>)
            add(slot_of(static_cast<T>(k)), mine[k]);
        else
            add(k, mine[k]);
    }
}

template <class Table, int Period, class T, class Rule>
void count_channels(const cuda& target, const matrix_words<T>& in, const Rule& rule, const channel_plan& plan,
                    unsigned long long* totals)
{
    using shape = channel_shape;
    constexpr auto kernel = count_channels_kernel<shape, Table, Period, T, Rule>;
    const std::uint64_t useful = in.in.rows * in.words / (shape::threads * shape::vectors) + 1;
    const std::uint64_t resident = std::max(static_cast<unsigned>(target.workspace().processors()) / plan.parts, 1U);
    allow_shared_bytes<kernel>(target);
    launch(target, "histogram", kernel,
           grid_shape{.blocks = static_cast<unsigned>(std::min(useful, resident)) * plan.parts,
                      .threads = shape::threads,
                      .shared_bytes = Table::words(plan.part) * sizeof(std::uint32_t) + rule.shared_bytes()},
           in, rule, plan, totals);
}

// Period: of the channels in a word, if there are few of them.
template <int Period, class T, class Rule>
void count_channels(const cuda& target, const matrix_words<T>& in, const Rule& rule, channel_plan plan,
                    unsigned long long* totals)
{
    const slot slots = plan.channels * plan.slots;
    const std::size_t available = (table_bytes(target) - rule.shared_bytes()) / sizeof(std::uint32_t);
    plan.part = slots;
    plan.parts = 1;
    if (slots <= channel_shape::most_for_lanes && lane_table::words(slots) <= available)
        return count_channels<lane_table, Period>(target, in, rule, plan, totals);
    const auto most = static_cast<slot>(available / lanes * lanes);
    plan.parts = (slots - 1) / most + 1;
    plan.part = (slots - 1) / plan.parts + 1;
    count_channels<scattered_table, Period>(target, in, rule, plan, totals);
}

template <class T, class Rule, class Counter>
void histogram_channels(const cuda& target, const matrix<T>& pixels, std::size_t channels, const Rule& rule,
                        Counter* counts, outside* beside, bool accumulates)
{
    const matrix_words<T> in(pixels);
    const slot slots = is_byte<T> ? value_rule::values : static_cast<slot>(rule.bins + detail::outside_slots);
    const std::size_t bytes = channels * slots * sizeof(std::uint64_t);
    auto* const totals = static_cast<unsigned long long*>(target.workspace().tables(bytes));
    check("cudaMemsetAsync", cudaMemsetAsync(totals, 0, bytes, target.stream()));
    const channel_plan plan{static_cast<std::uint32_t>(channels), slots, 0, 0};
    if constexpr (!is_byte<T>)
        count_channels<0>(target, in, rule, plan, totals);
    else if (channels == 3)
        count_channels<3>(target, in, value_rule{}, plan, totals);
    else if (channels == 1 || channels == 2 || channels == 4)
        count_channels<4>(target, in, value_rule{}, plan, totals);
    else
        count_channels<0>(target, in, value_rule{}, plan, totals);
    launch(target, "histogram", take_channels_kernel<T, Rule, Counter>,
           grid_shape{.blocks = static_cast<unsigned>(channels),
                      .threads = value_rule::values,
                      .shared_bytes = rule.shared_bytes()},
           reinterpret_cast<const std::uint64_t*>(totals), slots, rule, counts, beside, accumulates);
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
    gpu::histogram_channels(target, joined, channels, gpu::rule_of<T>(target, bins), counts.data(), beside.data(),
                            false);
}

} // namespace upsweep
