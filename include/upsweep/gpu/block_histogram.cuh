// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include <upsweep/gpu/cuda.cuh>
#include <upsweep/gpu/primitive/counters.cuh>
#include <upsweep/gpu/primitive/samples.cuh>
#include <upsweep/gpu/primitive/slots.cuh>

// Histogram in one kernel. Each block counts in a table of its own in shared memory, as H6 of the lab does, and adds it to the
// totals of the grid.
namespace upsweep::gpu {

struct block_histogram_shape {
    static constexpr int threads = 1024;
    template <class It> // that a warp reads at once; with more, registers run out where slots are computed in doubles
    static constexpr int rows = sizeof(std::iter_value_t<It>) < 8 ? 8 : 4;
    static constexpr slot most_for_lanes = 1024;   // counters of which each lane may have its own
    static constexpr slot most_to_add_once = 2048; // totals to which each block adds, if only nothing
};

// What a block counts: keys, which are the slots, but for samples of one byte the values of the byte, of which there are too
// many to ask for the slot of each.
template <class T>
inline constexpr bool is_byte = std::integral<T> && sizeof(T) == 1;

template <class Shape, class Table, class It, class Slots, class Counter>
__global__ void __launch_bounds__(Shape::threads, 1)
    block_histogram_kernel(It in, std::uint64_t count, Slots rule, slot keys, slot slots,
                           histogram_result<Counter> result, counter_memory memory)
{
    using sample = std::iter_value_t<It>;
    extern __shared__ std::uint32_t shared_words[];
    sample_reader<Shape::template rows<It>, It> samples(in, count, blockIdx.x, gridDim.x);

    // What the rule keeps in shared memory comes first, so that the compiler knows where it is.
    const auto slot_of = rule.of_block(shared_words);
    const Table table{shared_words + words_of(rule)};
    clear_words(table.counters, Table::words(keys));
    __syncthreads();

    const auto take = [&]<int Count>(const lane_vector<sample, Count>& vector) {
        if constexpr (is_byte<sample>) {
#pragma unroll
            for (int j = 0; j < Count; ++j)
                table.increment(static_cast<std::uint8_t>(vector[j]));
        } else {
            for_each_slot(slot_of, vector, [&](slot k) { table.increment(k); });
        }
    };
    if (blockIdx.x == gridDim.x - 1)
        samples.for_each_of_rest(take);
    samples.template for_each_of_chunks<Shape::template rows<It>>(take, [](bool) {});
    __syncthreads();

    if (!is_byte<sample> && slots <= Shape::most_to_add_once) {
        for_each_total(table, keys, [&](slot k, std::uint32_t counted) {
            memory.add_once(k, counted, gridDim.x, [&](std::uint64_t total) { result.put(k, total); });
        });
    } else {
        for_each_total(table, keys, [&](slot k, std::uint32_t counted) {
            if (counted == 0)
                return;
            if constexpr (is_byte<sample>)
                k = slot_of(static_cast<sample>(k));
            memory.add(k, counted);
        });
        memory.wait_for_all(gridDim.x);
        result.take(memory, slots, blockIdx.x, gridDim.x);
    }
}

template <class Table, class It, class Slots, class Counter>
void block_histogram(const cuda& target, It in, std::uint64_t count, const Slots& rule, slot keys, slot slots,
                     const histogram_result<Counter>& result)
{
    using shape = block_histogram_shape;
    constexpr auto kernel = block_histogram_kernel<shape, Table, It, Slots, Counter>;
    allow_shared_bytes<kernel>(target);
    const grid_shape grid{.blocks = useful_blocks<It, shape::rows<It>>(target.workspace().processors(), count),
                          .threads = shape::threads,
                          .shared_bytes = (words_of(rule) + Table::words(keys)) * sizeof(std::uint32_t),
                          .cluster = 1,
                          .together = is_byte<std::iter_value_t<It>> || slots > shape::most_to_add_once};
    launch(target, "histogram", kernel, grid, in, count, rule, keys, slots, result, target.workspace().counters(slots));
}

} // namespace upsweep::gpu
