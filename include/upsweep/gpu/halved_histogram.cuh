// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include <upsweep/gpu/cuda.cuh>
#include <upsweep/gpu/primitive/counters.cuh>
#include <upsweep/gpu/primitive/samples.cuh>
#include <upsweep/gpu/primitive/slots.cuh>

// Histogram whose table is too large for the shared memory of a block, but not for that of two: the blocks of a cluster share it
// out, and send one another what they read of the other half.
namespace upsweep::gpu {

struct halved_histogram_shape {
    static constexpr int threads = 1024;
    template <class It> // that a warp reads at once; with more, registers run out where slots are computed in doubles
    static constexpr int rows = sizeof(std::iter_value_t<It>) < 8 ? 8 : 4;
    static constexpr unsigned parts = 2;      // blocks of a cluster that share out a table
    static constexpr int samples_to_send = 8; // of a thread, from one to the other, between barriers
    static constexpr int lots = 4;            // of so many samples, that there is room for
};

// A block reads its own samples, counts those of its half, and sends the other block the places of the others' counters, lot by lot: while one is on its way and one is counted, the
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

// Words of shared memory for half a table, and for what comes from the other block.
template <class It>
std::size_t words_of_half(slot half)
{
    using shape = halved_histogram_shape;
    constexpr std::size_t samples = std::max(shape::samples_to_send, sample_shape<It, 1>::elements);
    constexpr std::size_t bytes = shape::lots * shape::threads * samples * sizeof(std::uint16_t);
    return scattered_table::words(half) + lanes + bytes / sizeof(std::uint32_t);
}

// Whether two blocks of a cluster can share out a table, each with so many bytes of shared memory.
template <class It>
bool can_be_halved(const cuda& target, slot slots, std::size_t available)
{
    constexpr auto parts = halved_histogram_shape::parts;
    return words_of_half<It>((slots + parts - 1) / parts) * sizeof(std::uint32_t) <= available &&
           target.workspace().has_clusters() && target.workspace().processors() >= static_cast<int>(parts);
}

template <class It, class Slots, class Counter>
void halved_histogram(const cuda& target, It in, std::uint64_t count, const Slots& rule, slot slots,
                      const histogram_result<Counter>& result)
{
    using shape = halved_histogram_shape;
    const slot half = (slots + shape::parts - 1) / shape::parts;
    constexpr auto kernel = halved_histogram_kernel<shape, It, Slots, Counter>;
    allow_shared_bytes<kernel>(target);
    const unsigned blocks = std::max(useful_blocks<It, shape::rows<It>>(target.workspace().processors(), count) /
                                         shape::parts * shape::parts,
                                     shape::parts);
    const grid_shape grid{.blocks = blocks,
                          .threads = shape::threads,
                          .shared_bytes = (words_of(rule) + words_of_half<It>(half)) * sizeof(std::uint32_t),
                          .cluster = shape::parts,
                          .together = true};
    launch(target, "histogram", kernel, grid, in, count, rule, half, slots, result, target.workspace().counters(slots));
}

} // namespace upsweep::gpu
