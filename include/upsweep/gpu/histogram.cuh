// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>

#include <upsweep/bins.hpp>
#include <upsweep/gpu/cuda.cuh>
#include <upsweep/gpu/partitioned_histogram.cuh>
#include <upsweep/gpu/primitive/counters.cuh>
#include <upsweep/gpu/primitive/samples.cuh>
#include <upsweep/gpu/primitive/slots.cuh>
#include <upsweep/range.hpp>

// Histogram in one kernel. Each block counts in a table of its own in shared memory, as H6 of the lab does, and adds it to the
// totals of the grid. A table too large for one block is shared out among the blocks of a cluster, each of which reads all their
// samples; a yet larger one is counted part by part (partitioned_histogram.cuh).
namespace upsweep::gpu {

struct histogram_shape {
    static constexpr int threads = 1024;
    static constexpr int rows = 8;
    static constexpr slot most_for_lanes = 1024;   // counters of which each lane may have its own
    static constexpr slot most_to_add_once = 2048; // totals to which each block adds, if only nothing
    static constexpr unsigned most_parts = 2;      // blocks of a cluster that share out a table
    static constexpr unsigned rounds_apart = 4;    // by twice as many, such blocks are apart at most
};

// What a block counts: keys, which are the slots, but for samples of one byte the values of the byte, of which there are too
// many to ask for the slot of each.
template <class T>
inline constexpr bool is_byte = std::integral<T> && sizeof(T) == 1;

struct key_parts {
    slot part;  // keys that a block counts
    slot slots; // of all blocks
};

template <class Shape, class Table, bool Whole, class It, class Slots, class Counter>
__global__ void __launch_bounds__(Shape::threads, 1)
    histogram_kernel(It in, std::uint64_t count, Slots rule, key_parts keys, histogram_result<Counter> result,
                     counter_memory memory)
{
    using sample = std::iter_value_t<It>;
    extern __shared__ std::uint32_t shared_words[];

    constexpr unsigned parts = Whole ? 1 : Shape::most_parts;
    const slot first = blockIdx.x % parts * keys.part;
    sample_reader<Shape::rows, It> samples(in, count, blockIdx.x / parts, gridDim.x / parts);

    // What the rule keeps in shared memory comes first, so that the compiler knows where it is.
    const auto slot_of = rule.of_block(shared_words);
    const Table table{shared_words + words_of(rule)};
    clear_words(table.counters, Table::words(keys.part));
    __syncthreads();

    const std::uint64_t rounds = samples.for_each(
        [&]<int Count>(const lane_vector<sample, Count>& x) {
            slot found[Count];
            if constexpr (is_byte<sample>) {
#pragma unroll
                for (int j = 0; j < Count; ++j)
                    found[j] = static_cast<std::uint8_t>(x[j]);
            } else {
                find_slots(slot_of, x, found);
            }
#pragma unroll
            for (int j = 0; j < Count; ++j)
                if (Whole || found[j] - first < keys.part)
                    table.increment(found[j] - first);
        },
        [&](std::uint64_t round) {
            // Lest a block that finds little to count runs away, and samples are read from memory twice.
            if constexpr (!Whole) {
                if (round % Shape::rounds_apart != 0)
                    return;
                if (round != 0)
                    cluster_wait();
                cluster_arrive();
            }
        });
    if constexpr (!Whole)
        if (rounds != 0)
            cluster_wait();
    __syncthreads();

    // Blocks begin at different counters, lest they all wait for the same ones.
    const slot turned = blockIdx.x / parts * Shape::threads % keys.part;
    const auto for_each_total = [&](auto f) {
        for (slot i = threadIdx.x; i < keys.part; i += Shape::threads) {
            const slot k = i + turned < keys.part ? i + turned : i + turned - keys.part;
            f(k, table.total(k));
        }
    };
    if (Whole && !is_byte<sample> && keys.slots <= Shape::most_to_add_once) {
        for_each_total([&](slot k, std::uint32_t counted) {
            memory.add_once(k, counted, gridDim.x, [&](std::uint64_t total) { result.put(k, total); });
        });
    } else {
        for_each_total([&](slot k, std::uint32_t counted) {
            if (counted != 0) {
                if constexpr (is_byte<sample>)
                    memory.add(slot_of(static_cast<sample>(k)), counted);
                else
                    memory.add(first + k, counted);
            }
        });
        memory.wait_for_all(gridDim.x);
        result.take(memory, keys.slots, blockIdx.x, gridDim.x);
    }
}

template <class Table, bool Whole, class It, class Slots, class Counter>
void launch_histogram(const cuda& target, It in, std::uint64_t count, const Slots& rule, const key_parts& keys,
                      const histogram_result<Counter>& result)
{
    using shape = histogram_shape;
    constexpr auto kernel = histogram_kernel<shape, Table, Whole, It, Slots, Counter>;
    constexpr unsigned parts = Whole ? 1 : shape::most_parts;
    allow_shared_bytes<kernel>(target);
    constexpr auto chunk = static_cast<std::uint64_t>(sample_shape<It, shape::rows>::chunk);
    const std::uint64_t useful = std::max<std::uint64_t>(count / chunk, 1);
    const std::uint64_t resident = static_cast<unsigned>(target.workspace().processors()) / parts;
    const grid_shape grid{.blocks = static_cast<unsigned>(std::min(useful, resident)) * parts,
                          .threads = shape::threads,
                          .shared_bytes = (words_of(rule) + Table::words(keys.part)) * sizeof(std::uint32_t),
                          .cluster = parts,
                          .together = !Whole || is_byte<std::iter_value_t<It>> || keys.slots > shape::most_to_add_once};
    launch(target, "histogram", kernel, grid, in, count, rule, keys, result, target.workspace().counters(keys.slots));
}

template <class It, class Slots, class Counter>
void histogram(const cuda& target, It in, std::uint64_t count, const Slots& rule,
               const histogram_result<Counter>& result)
{
    using shape = histogram_shape;
    const auto slots = static_cast<slot>(rule.bins + detail::outside_slots);
    if constexpr (is_byte<std::iter_value_t<It>>) {
        launch_histogram<lane_table, true>(target, in, count, rule, {256, slots}, result);
    } else {
        const std::size_t available = table_bytes(target) - words_of(rule) * sizeof(std::uint32_t);
        const auto fits = [&](std::size_t words) { return words * sizeof(std::uint32_t) <= available; };
        if constexpr (Slots::range != bin_range::many)
            if (slots <= shape::most_for_lanes && fits(lane_table::words(slots)))
                return launch_histogram<lane_table, true>(target, in, count, rule, {slots, slots}, result);
        if (fits(scattered_table::words(slots)))
            return launch_histogram<scattered_table, true>(target, in, count, rule, {slots, slots}, result);
        if constexpr (Slots::range != bin_range::few) {
            const slot part = (slots + shape::most_parts - 1) / shape::most_parts;
            if (fits(scattered_table::words(part)) && target.workspace().has_clusters() &&
                target.workspace().processors() >= static_cast<int>(shape::most_parts))
                launch_histogram<scattered_table, false>(target, in, count, rule, {part, slots}, result);
            else
                partitioned_histogram(target, in, count, rule, result);
        }
    }
}

} // namespace upsweep::gpu

namespace upsweep {

namespace detail {

template <class R, class Bins, class Counter>
void histogram_on_gpu(const cuda& target, R&& in, const Bins& bins, std::span<Counter> counts, outside* beside,
                      bool accumulates)
{
    static_assert(std::same_as<Counter, std::uint64_t> || std::same_as<Counter, std::uint32_t>,
                  "counters are std::uint64_t or std::uint32_t");
    using sample = std::ranges::range_value_t<R>;
    check_counters(bins, counts.size());
    const std::size_t count = size_of(in);
    const gpu::current_device current(target.device());
    gpu::check_place(target, "histogram", first_of(in), count);
    gpu::check_place(target, "histogram", counts.data(), counts.size());
    gpu::check_place(target, "histogram", beside, 1);
    const gpu::histogram_result<Counter> result{counts.data(), beside, static_cast<slot>(counts.size()), accumulates};
    gpu::with_slots<sample>(target, bins,
                            [&](const auto& rule) { gpu::histogram(target, first_of(in), count, rule, result); });
}

} // namespace detail

// The same on a GPU, with the samples, the counters and *beside in memory that the GPU can reach, in order of the stream: the
// call does not wait. One pass over the input, in one kernel, or in one for each chunk where the table is large. Counters of 32 bits are filled modulo 2^32.
template <input_range R, class Bins, class Counter>
void histogram(const cuda& target, R&& in, const Bins& bins, std::span<Counter> counts, outside* beside)
{
    detail::histogram_on_gpu(target, in, bins, counts, beside, false);
}

// The same with the samples beside all bins returned: waits for the stream.
template <input_range R, class Bins, class Counter>
outside histogram(const cuda& target, R&& in, const Bins& bins, std::span<Counter> counts)
{
    auto* const beside = static_cast<outside*>(target.workspace().result(sizeof(outside)));
    histogram(target, in, bins, counts, beside);
    gpu::check("histogram", cudaStreamSynchronize(target.stream()));
    return *beside;
}

// The same, added to what the counters and *beside hold: for samples that come in pieces. Does not wait.
template <input_range R, class Bins, class Counter>
void histogram_accumulate(const cuda& target, R&& in, const Bins& bins, std::span<Counter> counts, outside* beside)
{
    detail::histogram_on_gpu(target, in, bins, counts, beside, true);
}

} // namespace upsweep
