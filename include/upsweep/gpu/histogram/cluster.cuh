// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <upsweep/gpu/histogram/bin_finders.cuh>
#include <upsweep/gpu/histogram/counters.cuh>
#include <upsweep/gpu/source/reader.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>

// Histogram whose table is too large for the shared memory of a block, but not for that of two: the blocks of a cluster
// share it out, and send one another what they read of the other's slots.
namespace upsweep::gpu {

struct halved_histogram_shape {
    static constexpr int threads = 1024;
    static constexpr int rows = 4;            // that a warp reads at once; with more, registers run out
    static constexpr unsigned parts = 2;      // blocks of a cluster that share out a table
    static constexpr int samples_to_send = 8; // of a thread, from one to the other, at once
    static constexpr int lots = 4;            // of so many samples, that there is room for
};

// What warps of two blocks send one another: for each sample of a lot the place of its counter, in 16 bits, two in a
// word, and those of a thread in parcels of 16 bytes. A warp sends a lot before it waits for the one before. When a lot
// has come, the other warp has therefore counted the lot two before it: of four places, the one that the next lot goes
// to is free.
template <class Shape, class It>
struct halved_histogram_lot {
    static constexpr int elements = sample_shape<It, 1>::elements;
    static constexpr int rows = std::clamp(Shape::samples_to_send / elements, 1, Shape::rows);
    static constexpr int pairs = rows * elements / 2;
    static constexpr int parcels = (pairs + 3) / 4;
    using words = std::uint32_t[4 * parcels];

    // Words of shared memory: for the parcels, and for the barriers of each warp.
    static constexpr std::size_t parcel_words = std::size_t{Shape::lots} * parcels * Shape::threads * 4;
    static constexpr std::size_t barrier_words = std::size_t{Shape::lots} * Shape::threads / lanes * 2;
};

// Which part has a slot: of an even one and the odd one after it each has one. Which one depends on higher bits, too,
// lest samples with a stride leave a block without work. In its part a slot has the number k / 2.
__device__ inline unsigned part_of(slot k)
{
    const slot number = k / 2;
    return (k ^ number >> 5 ^ number >> 10) & 1U;
}
// The same for even slots with two numbers of 16 bits: all bits of a half of the word.
__device__ inline std::uint32_t parts_of(std::uint32_t numbers)
{
    return ((numbers >> 5 ^ numbers >> 10) & 0x10001U) * 0xffffU;
}

// A block reads its own samples, counts those of its part, and sends the other block the places of the others'
// counters. Where a sample is not for a block, a counter behind the others counts it: that is cheaper than to leave it
// out.
template <class Shape, class It, class Slots, class Counter>
__global__ void __launch_bounds__(Shape::threads, 1)
    halved_histogram_kernel(It in, std::uint64_t count, Slots rule, slot half, slot slots,
                            histogram_result<Counter> result, counter_memory memory)
{
    using sample = std::iter_value_t<It>;
    using lot_shape = halved_histogram_lot<Shape, It>;
    constexpr int elements = lot_shape::elements;
    constexpr int parcels = lot_shape::parcels;
    extern __shared__ __align__(16) std::uint32_t shared_words[];
    sample_reader<Shape::rows, It> samples(in, count, blockIdx.x, gridDim.x);

    const auto slot_of = rule.of_block(shared_words);
    const scattered_table table{shared_words + words_of(rule)};
    const auto words = static_cast<slot>(scattered_table::words(half));
    const std::uint32_t nobody = words << 16 | words;
    std::uint32_t* const inbox = table.counters + words + lanes;
    const shared_address barriers =
        shared_address_of(inbox + lot_shape::parcel_words + threadIdx.x / lanes * Shape::lots * 2);
    clear_words(table.counters, words + lanes);
    if (lane_id() < Shape::lots)
        init_transfers(barriers, lane_id());

    const unsigned me = blockIdx.x % Shape::parts;
    const std::uint32_t my_parts = me == 0 ? 0 : ~0U;
    const shared_address outbox = cluster_address(shared_address_of(inbox), 1 - me);
    const shared_address outbox_barriers = cluster_address(barriers, 1 - me);
    __syncthreads();
    cluster_arrive();
    cluster_wait();

    // Both blocks look at what is in no chunk.
    if (blockIdx.x / Shape::parts == gridDim.x / Shape::parts - 1)
        samples.for_each_of_rest([&](const lane_vector<sample, 1>& vector) {
            const slot k = slot_of(vector[0]);
            if (part_of(k) == me)
                table.increment(k / 2);
        });

    unsigned lot = 0;
    const auto parcel_of = [&](unsigned of_lot, int p) {
        return (of_lot % Shape::lots * parcels + p) * Shape::threads + threadIdx.x;
    };
    const auto send = [&](const typename lot_shape::words& pairs) {
#pragma unroll
        for (int p = 0; p < parcels; ++p)
            transfer(outbox, parcel_of(lot, p),
                     make_uint4(pairs[4 * p], pairs[4 * p + 1], pairs[4 * p + 2], pairs[4 * p + 3]), outbox_barriers,
                     lot % Shape::lots);
    };
    const auto receive = [&](unsigned earlier) {
        __syncwarp(); // no lane waits while its neighbours still have to send
        wait_for_transfers(barriers, earlier % Shape::lots, parcels * lanes * sizeof(uint4), earlier / Shape::lots);
#pragma unroll
        for (int p = 0; p < parcels; ++p) {
            const uint4 parcel = reinterpret_cast<const uint4*>(inbox)[parcel_of(earlier, p)];
            const std::uint32_t pairs[] = {parcel.x, parcel.y, parcel.z, parcel.w};
#pragma unroll
            for (int q = 0; q < 4 && 4 * p + q < lot_shape::pairs; ++q)
                table.increment_both_at(pairs[q]);
        }
    };
    samples.template for_each_lot_of_chunks<lot_shape::rows>(
        [&](const lane_vector<sample, elements>* vectors) {
            slot found[lot_shape::rows * elements];
#pragma unroll
            for (int r = 0; r < lot_shape::rows; ++r) {
                slot of_row[elements];
                find_slots(slot_of, vectors[r], of_row);
#pragma unroll
                for (int j = 0; j < elements; ++j)
                    found[r * elements + j] = of_row[j];
            }
            typename lot_shape::words theirs = {};
#pragma unroll
            for (int p = 0; p < lot_shape::pairs; ++p) {
                // By rotation, the sign tells even slots from odd ones, and the lower half is the number.
                const std::uint32_t lower = __funnelshift_r(found[2 * p], found[2 * p], 1);
                const std::uint32_t upper = __funnelshift_r(found[2 * p + 1], found[2 * p + 1], 1);
                const std::uint32_t numbers = __byte_perm(lower, upper, 0x5410);
                const std::uint32_t places = scattered_table::places(numbers);
                const std::uint32_t not_mine = signs(lower, upper) ^ parts_of(numbers) ^ my_parts;
                table.increment_both_at((places & ~not_mine) | (nobody & not_mine));
                theirs[p] = (places & not_mine) | (nobody & ~not_mine);
            }
            send(theirs);
        },
        [&](bool taken) {
            if (!taken) {
                typename lot_shape::words nothing;
#pragma unroll
                for (std::uint32_t& pair : nothing)
                    pair = nobody;
                send(nothing);
            }
            if (lot != 0)
                receive(lot - 1);
            ++lot;
        });
    if (lot != 0)
        receive(lot - 1);
    __syncthreads();

    for_each_total(table, half, [&](slot k, std::uint32_t counted) {
        if (counted != 0)
            memory.add(2 * k + (part_of(2 * k) ^ me), counted);
    });
    memory.wait_for_all(gridDim.x);
    result.take(memory, slots, blockIdx.x, gridDim.x);
}

// Words of shared memory for half a table, and for what comes from the other block. Places are below 2^16, then.
template <class It>
std::size_t words_of_half(slot half)
{
    using lot = halved_histogram_lot<halved_histogram_shape, It>;
    return scattered_table::words(half) + lanes + lot::parcel_words + lot::barrier_words;
}

// Whether two blocks of a cluster can share out a table, each with so many bytes of shared memory.
template <class It, class Slots, class Counter>
bool can_be_halved(const cuda& target, slot slots, std::size_t available)
{
    using shape = halved_histogram_shape;
    constexpr auto parts = shape::parts;
    return words_of_half<It>((slots - 1) / parts + 1) * sizeof(std::uint32_t) <= available &&
           target.workspace().has_clusters() && target.workspace().multiprocessors() >= static_cast<int>(parts) &&
           knows_clusters<halved_histogram_kernel<shape, It, Slots, Counter>>(target);
}

template <class It, class Slots, class Counter>
void halved_histogram(const cuda& target, It in, std::uint64_t count, const Slots& rule, slot slots,
                      const histogram_result<Counter>& result)
{
    using shape = halved_histogram_shape;
    const slot half = (slots - 1) / shape::parts + 1;
    constexpr auto kernel = halved_histogram_kernel<shape, It, Slots, Counter>;
    allow_shared_bytes<kernel>(target);
    const unsigned blocks = std::max(useful_blocks<It, shape::rows>(target.workspace().multiprocessors(), count) /
                                         shape::parts * shape::parts,
                                     shape::parts);
    const grid_shape grid{.blocks = blocks,
                          .threads = shape::threads,
                          .shared_bytes = (words_of(rule) + words_of_half<It>(half)) * sizeof(std::uint32_t),
                          .cluster = shape::parts,
                          .cooperative = true};
    launch(target, "histogram", kernel, grid, in, count, rule, half, slots, result, counters_of(target, slots));
}

} // namespace upsweep::gpu
