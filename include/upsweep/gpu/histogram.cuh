// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
// totals of the grid. A table too large for one block is shared out among two blocks of a cluster, which send one another what
// they read of the other half; a yet larger one is counted part by part (partitioned_histogram.cuh).
namespace upsweep::gpu {

struct histogram_shape {
    static constexpr int threads = 1024;
    template <class It> // that a warp reads at once; with more, registers run out where slots are computed in doubles
    static constexpr int rows = sizeof(std::iter_value_t<It>) < 8 ? 8 : 4;
    static constexpr slot most_for_lanes = 1024;   // counters of which each lane may have its own
    static constexpr slot most_to_add_once = 2048; // totals to which each block adds, if only nothing
    static constexpr unsigned parts = 2;           // blocks of a cluster that share out a table
    static constexpr int samples_to_send = 8;      // of a thread, from one to the other, between barriers
    static constexpr int lots = 4;                 // of so many samples, that there is room for
};

// What a block counts: keys, which are the slots, but for samples of one byte the values of the byte, of which there are too
// many to ask for the slot of each.
template <class T>
inline constexpr bool is_byte = std::integral<T> && sizeof(T) == 1;

// Adds a block's counters, for keys from `first` on, to the totals of the grid. Blocks begin at different ones, lest they all
// wait for the same ones. By all threads, after a barrier.
template <class Table, class F>
__device__ void for_each_total(const Table& table, slot keys, F f)
{
    const slot turned = blockIdx.x * blockDim.x % keys;
    for (slot i = threadIdx.x; i < keys; i += blockDim.x) {
        const slot k = i + turned < keys ? i + turned : i + turned - keys;
        f(k, table.total(k));
    }
}

template <class Shape, class Table, class It, class Slots, class Counter>
__global__ void __launch_bounds__(Shape::threads, 1)
    histogram_kernel(It in, std::uint64_t count, Slots rule, slot keys, slot slots, histogram_result<Counter> result,
                     counter_memory memory)
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

// The same for a table of which each of two blocks of a cluster has a half. A block reads its own samples, counts those of its
// half, and sends the other block the places of the others' counters, lot by lot: while one is on its way and one is counted, the
// other block may still be counting the one before, and this one writes the next. Where a sample is not for a block, a counter
// behind the others counts it: that is cheaper than to leave it out.
template <class Shape, class It, class Slots, class Counter>
__global__ void __launch_bounds__(Shape::threads, 1)
    halved_histogram_kernel(It in, std::uint64_t count, Slots rule, slot half, slot slots,
                            histogram_result<Counter> result, counter_memory memory)
{
    using sample = std::iter_value_t<It>;
    constexpr int elements = sample_shape<It, 1>::elements;
    constexpr int rows = std::clamp(Shape::samples_to_send / elements, 1, Shape::template rows<It>);
    constexpr unsigned lot = rows * Shape::threads;
    using parcel = lane_vector<std::uint16_t, elements>;
    extern __shared__ std::uint32_t shared_words[];
    sample_reader<Shape::template rows<It>, It> samples(in, count, blockIdx.x, gridDim.x);

    const auto slot_of = rule.of_block(shared_words);
    const scattered_table table{shared_words + words_of(rule)};
    const auto words = static_cast<slot>(scattered_table::words(half));
    const slot nobody = words;
    clear_words(table.counters, words + lanes);
    auto* const inbox = reinterpret_cast<parcel*>(table.counters + words + lanes) + threadIdx.x;
    const unsigned me = blockIdx.x % Shape::parts;
    parcel* const outbox = cluster_map(inbox, 1 - me);
    __syncthreads();
    cluster_arrive();
    cluster_wait();

    // Both blocks look at what is in no chunk.
    if (blockIdx.x / Shape::parts == gridDim.x / Shape::parts - 1)
        samples.for_each_of_rest([&](const lane_vector<sample, 1>& vector) {
            const slot k = slot_of(vector[0]) - me * half;
            if (k < half)
                table.increment(k);
        });

    unsigned at = 0; // the next parcel of this thread
    const auto receive_before = [&](unsigned lots) {
        const parcel* const received = inbox + (at + (Shape::lots - lots) * lot) % (Shape::lots * lot);
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const parcel packed = received[r * Shape::threads];
#pragma unroll
            for (int j = 0; j < elements; ++j)
                table.increment_at(packed[j]);
        }
    };
    bool is_first = true;
    samples.template for_each_of_chunks<rows>(
        [&](const lane_vector<sample, elements>& vector) {
            slot found[elements];
            find_slots(slot_of, vector, found);
            std::uint16_t theirs[elements];
#pragma unroll
            for (int j = 0; j < elements; ++j) {
                const bool is_upper = found[j] >= half;
                const slot place = scattered_table::place(is_upper ? found[j] - half : found[j]);
                const bool is_mine = is_upper == (me != 0);
                theirs[j] = static_cast<std::uint16_t>(is_mine ? nobody : place);
                table.increment_at(is_mine ? place : nobody);
            }
            parcel packed;
            std::memcpy(static_cast<void*>(&packed.memory), theirs, sizeof(theirs));
            outbox[at] = packed;
            at += Shape::threads;
        },
        [&](bool taken) {
            if (!taken) {
                parcel nothing;
                std::uint16_t theirs[elements];
#pragma unroll
                for (std::uint16_t& place : theirs)
                    place = static_cast<std::uint16_t>(nobody);
                std::memcpy(static_cast<void*>(&nothing.memory), theirs, sizeof(theirs));
#pragma unroll
                for (int r = 0; r < rows; ++r, at += Shape::threads)
                    outbox[at] = nothing;
            }
            at %= Shape::lots * lot;
            if (!is_first)
                cluster_wait();
            cluster_arrive();
            if (!is_first)
                receive_before(2);
            is_first = false;
        });
    if (!is_first) {
        cluster_wait();
        receive_before(1);
    }
    __syncthreads();

    for_each_total(table, half, [&](slot k, std::uint32_t counted) {
        if (counted != 0)
            memory.add(me * half + k, counted);
    });
    memory.wait_for_all(gridDim.x);
    result.take(memory, slots, blockIdx.x, gridDim.x);
}

template <class Shape, class It>
unsigned blocks_for(const cuda& target, std::uint64_t count)
{
    constexpr auto chunk = static_cast<std::uint64_t>(sample_shape<It, Shape::template rows<It>>::chunk);
    const std::uint64_t useful = std::max<std::uint64_t>(count / chunk, 1);
    return static_cast<unsigned>(std::min(useful, static_cast<std::uint64_t>(target.workspace().processors())));
}

template <class Table, class It, class Slots, class Counter>
void whole_histogram(const cuda& target, It in, std::uint64_t count, const Slots& rule, slot keys, slot slots,
                     const histogram_result<Counter>& result)
{
    using shape = histogram_shape;
    constexpr auto kernel = histogram_kernel<shape, Table, It, Slots, Counter>;
    allow_shared_bytes<kernel>(target);
    const grid_shape grid{.blocks = blocks_for<shape, It>(target, count),
                          .threads = shape::threads,
                          .shared_bytes = (words_of(rule) + Table::words(keys)) * sizeof(std::uint32_t),
                          .cluster = 1,
                          .together = is_byte<std::iter_value_t<It>> || slots > shape::most_to_add_once};
    launch(target, "histogram", kernel, grid, in, count, rule, keys, slots, result, target.workspace().counters(slots));
}

// Words of shared memory for half a table, and for what comes from the other block.
template <class It>
std::size_t words_of_half(slot half)
{
    using shape = histogram_shape;
    constexpr std::size_t samples = std::max(shape::samples_to_send, sample_shape<It, 1>::elements);
    constexpr std::size_t bytes = shape::lots * shape::threads * samples * sizeof(std::uint16_t);
    return scattered_table::words(half) + lanes + bytes / sizeof(std::uint32_t);
}

template <class It, class Slots, class Counter>
void halved_histogram(const cuda& target, It in, std::uint64_t count, const Slots& rule, slot half, slot slots,
                      const histogram_result<Counter>& result)
{
    using shape = histogram_shape;
    constexpr auto kernel = halved_histogram_kernel<shape, It, Slots, Counter>;
    allow_shared_bytes<kernel>(target);
    const unsigned blocks = std::max(blocks_for<shape, It>(target, count) / shape::parts * shape::parts, shape::parts);
    const grid_shape grid{.blocks = blocks,
                          .threads = shape::threads,
                          .shared_bytes = (words_of(rule) + words_of_half<It>(half)) * sizeof(std::uint32_t),
                          .cluster = shape::parts,
                          .together = true};
    launch(target, "histogram", kernel, grid, in, count, rule, half, slots, result, target.workspace().counters(slots));
}

template <class It, class Slots, class Counter>
void histogram(const cuda& target, It in, std::uint64_t count, const Slots& rule,
               const histogram_result<Counter>& result)
{
    using shape = histogram_shape;
    const auto slots = static_cast<slot>(rule.bins + detail::outside_slots);
    if constexpr (is_byte<std::iter_value_t<It>>) {
        whole_histogram<lane_table>(target, in, count, rule, 256, slots, result);
    } else {
        const std::size_t available = table_bytes(target) - words_of(rule) * sizeof(std::uint32_t);
        const auto fits = [&](std::size_t words) { return words * sizeof(std::uint32_t) <= available; };
        if constexpr (Slots::range != bin_range::many)
            if (slots <= shape::most_for_lanes && fits(lane_table::words(slots)))
                return whole_histogram<lane_table>(target, in, count, rule, slots, slots, result);
        if (fits(scattered_table::words(slots)))
            return whole_histogram<scattered_table>(target, in, count, rule, slots, slots, result);
        if constexpr (Slots::range != bin_range::few) {
            const slot half = (slots + shape::parts - 1) / shape::parts;
            if (fits(words_of_half<It>(half)) && target.workspace().has_clusters() &&
                target.workspace().processors() >= static_cast<int>(shape::parts))
                halved_histogram(target, in, count, rule, half, slots, result);
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
// call does not wait. One pass over the input, in one kernel, or in two for each chunk where the table is large. Counters of
// 32 bits are filled modulo 2^32.
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
