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
    template <class It> // that a warp reads at once; with more, registers run out where slots are computed in doubles
    static constexpr int rows = sizeof(std::iter_value_t<It>) < 8 ? 8 : 4;
    static constexpr slot most_for_lanes = 1024;   // counters of which each lane may have its own
    static constexpr slot most_to_add_once = 2048; // totals to which each block adds, if only nothing
};

// What a block counts: keys, which are the slots, but for samples of one byte the values of the byte, of which there are too
// many to ask for the slot of each.
template <class T>
inline constexpr bool is_byte = std::integral<T> && sizeof(T) == 1;

template <class T>
constexpr slot keys_of(slot slots)
{
    return is_byte<T> ? 256 : slots;
}

// The words of a table of keys and, for bytes whose totals are added once, of one of slots.
template <class Table, class T>
constexpr std::size_t words_of_tables(slot slots, bool adds_once)
{
    return Table::words(keys_of<T>(slots)) + (is_byte<T> && adds_once ? scattered_table::words(slots) : 0);
}

template <class Table, class Function, class T, int Count>
__device__ void count_samples(const Table& table, const Function& slot_of, const lane_vector<T, Count>& samples)
{
    if constexpr (is_byte<T>) {
#pragma unroll
        for (int j = 0; j < Count; ++j)
            table.increment(static_cast<std::uint8_t>(samples[j]));
    } else {
        for_each_slot(slot_of, samples, [&](slot k) { table.increment(k); });
    }
}

// Where the total of a slot is, to which each block adds once. Additions to a line of the second-level cache wait for one another,
// sector by sector: only the first of its four sectors is used.
UPSWEEP_HOST_DEVICE constexpr slot spread(slot k) { return k / 4 * 16 + k % 4; }

// Adds what a block has counted to the totals, of which the last block to come takes each. Counts of values go by way of the zeros
// in `of_slots`. By all threads, after a barrier.
template <class T, class Table, class Function, class Counter>
__device__ void add_totals_once(const Table& table, const Function& slot_of, const scattered_table& of_slots,
                                slot slots, const histogram_result<Counter>& result, const counter_memory& memory)
{
    const auto add = [&](slot k, std::uint32_t counted) {
        memory.add_once(spread(k), counted, gridDim.x, [&](std::uint64_t total) { result.put(k, total); });
    };
    if constexpr (is_byte<T>) {
        for (slot value = threadIdx.x; value < keys_of<T>(slots); value += blockDim.x)
            if (const std::uint32_t counted = table.total(value))
                atomicAdd(of_slots.counters + scattered_table::place(slot_of(static_cast<T>(value))), counted);
        __syncthreads();
        for_each_total(of_slots, slots, add);
    } else {
        for_each_total(table, slots, add);
    }
}

template <class Shape, class Table, class It, class Slots, class Counter>
__global__ void __launch_bounds__(Shape::threads, 1)
    block_histogram_kernel(It in, std::uint64_t count, Slots rule, slot slots, histogram_result<Counter> result,
                           counter_memory memory)
{
    using sample = std::iter_value_t<It>;
    extern __shared__ __align__(16) std::uint32_t shared_words[];
    sample_reader<Shape::template rows<It>, It> samples(in, count, blockIdx.x, gridDim.x);

    // What the rule keeps in shared memory comes first, so that the compiler knows where it is.
    const auto slot_of = rule.of_block(shared_words);
    const slot keys = keys_of<sample>(slots);
    const Table table{shared_words + words_of(rule)};
    const scattered_table of_slots{table.counters + Table::words(keys)};
    const bool adds_once = slots <= Shape::most_to_add_once;
    clear_words(table.counters, words_of_tables<Table, sample>(slots, adds_once));
    __syncthreads();

    const auto take = [&](const auto& vector) { count_samples(table, slot_of, vector); };
    if (blockIdx.x == gridDim.x - 1)
        samples.for_each_of_rest(take);
    samples.template for_each_of_chunks<Shape::template rows<It>>(take, [](bool) {});
    __syncthreads();

    if (adds_once)
        return add_totals_once<sample>(table, slot_of, of_slots, slots, result, memory);
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

template <class Table, class It, class Slots, class Counter>
void block_histogram(const cuda& target, It in, std::uint64_t count, const Slots& rule, slot slots,
                     const histogram_result<Counter>& result)
{
    using shape = block_histogram_shape;
    constexpr auto kernel = block_histogram_kernel<shape, Table, It, Slots, Counter>;
    allow_shared_bytes<kernel>(target);
    const bool adds_once = slots <= shape::most_to_add_once;
    const std::size_t words = words_of(rule) + words_of_tables<Table, std::iter_value_t<It>>(slots, adds_once);
    const grid_shape grid{.blocks = useful_blocks<It, shape::rows<It>>(target.workspace().multiprocessors(), count),
                          .threads = shape::threads,
                          .shared_bytes = words * sizeof(std::uint32_t),
                          .cluster = 1,
                          .cooperative = !adds_once};
    launch(target, "histogram", kernel, grid, in, count, rule, slots, result,
           counters_of(target, adds_once ? spread(slots) : slots));
}

// Samples of one byte, by value: in a copy of the counters for each lane, where the rule leaves room for them.
template <class It, class Slots, class Counter>
void byte_histogram(const cuda& target, It in, std::uint64_t count, const Slots& rule, slot slots,
                    const histogram_result<Counter>& result)
{
    using sample = std::iter_value_t<It>;
    if constexpr (Slots::range == bin_range::few) {
        const std::size_t words = words_of(rule) + words_of_tables<lane_table, sample>(slots, true);
        if (words * sizeof(std::uint32_t) > table_bytes(target))
            return block_histogram<scattered_table>(target, in, count, rule, slots, result);
    }
    block_histogram<lane_table>(target, in, count, rule, slots, result);
}

} // namespace upsweep::gpu
