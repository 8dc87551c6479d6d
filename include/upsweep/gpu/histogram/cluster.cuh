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
// share it out, and send one another what they read of the other's bins.
namespace upsweep::gpu {

struct cluster_histogram_shape {
    static constexpr int threads = 1024;
    static constexpr int rows = 4;            // that a warp reads at once; with more, registers run out
    static constexpr unsigned parts = 2;      // blocks of a cluster that share out a table
    static constexpr int samples_to_send = 8; // of a thread, from one to the other, at once
    static constexpr int batches = 4;         // of so many samples, that there is room for
};

// What warps of two blocks send one another: for each sample of a batch the place of its counter, in 16 bits, two in a
// word, and those of a thread in packets of 16 bytes. A warp sends a batch before it waits for the one before. When a batch
// has come, the other warp has therefore counted the batch two before it: of four places, the one that the next batch goes
// to is free.
template <class Shape, class It>
struct cluster_batch {
    static constexpr int elements = sample_shape<It, 1>::elements;
    static constexpr int rows = std::clamp(Shape::samples_to_send / elements, 1, Shape::rows);
    static constexpr int pairs = rows * elements / 2;
    static constexpr int packets = (pairs + 3) / 4;
    using words = std::uint32_t[4 * packets];

    // Words of shared memory: for the packets, and for the barriers of each warp.
    static constexpr std::size_t packet_words = std::size_t{Shape::batches} * packets * Shape::threads * 4;
    static constexpr std::size_t barrier_words = std::size_t{Shape::batches} * Shape::threads / lanes * 2;
};

// Which part has a bin: of an even one and the odd one after it each has one. Which one depends on higher bits, too,
// lest samples with a stride leave a block without work. In its part a bin has the number k / 2.
__device__ inline unsigned part_of(bin_index k)
{
    const bin_index number = k / 2;
    return (k ^ number >> 5 ^ number >> 10) & 1U;
}
// The same for even bins with two numbers of 16 bits: all bits of a half of the word.
__device__ inline std::uint32_t parts_of(std::uint32_t numbers)
{
    return ((numbers >> 5 ^ numbers >> 10) & 0x10001U) * 0xffffU;
}

// A block reads its own samples, counts those of its part, and sends the other block the places of the others'
// counters. Where a sample is not for a block, a counter behind the others counts it: that is cheaper than to leave it
// out.
template <class Shape, class It, class Finder, class Counter>
__global__ void __launch_bounds__(Shape::threads, 1)
    cluster_histogram_kernel(It in, std::uint64_t count, Finder finder, bin_index half, bin_index all_bins,
                             histogram_result<Counter> result, counter_memory memory)
{
    using sample = std::iter_value_t<It>;
    using batch = cluster_batch<Shape, It>;
    constexpr int elements = batch::elements;
    constexpr int packets = batch::packets;
    extern __shared__ __align__(16) std::uint32_t shared_words[];
    sample_reader<Shape::rows, It> samples(in, count, blockIdx.x, gridDim.x);

    const auto bin_of = finder.of_block(shared_words);
    const swizzled_table table{shared_words + words_of(finder)};
    const auto words = static_cast<bin_index>(swizzled_table::words(half));
    const std::uint32_t nobody = words << 16 | words;
    std::uint32_t* const inbox = table.counters + words + lanes;
    const shared_address barriers =
        shared_address_of(inbox + batch::packet_words + threadIdx.x / lanes * Shape::batches * 2);
    clear_words(table.counters, words + lanes);
    if (lane_id() < Shape::batches)
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
            const bin_index k = bin_of(vector[0]);
            if (part_of(k) == me)
                table.increment(k / 2);
        });

    unsigned batch_number = 0;
    const auto packet_of = [&](unsigned of_batch, int p) {
        return (of_batch % Shape::batches * packets + p) * Shape::threads + threadIdx.x;
    };
    const auto send = [&](const typename batch::words& pairs) {
#pragma unroll
        for (int p = 0; p < packets; ++p)
            transfer(outbox, packet_of(batch_number, p),
                     make_uint4(pairs[4 * p], pairs[4 * p + 1], pairs[4 * p + 2], pairs[4 * p + 3]), outbox_barriers,
                     batch_number % Shape::batches);
    };
    const auto receive = [&](unsigned earlier) {
        wait_for_transfers(barriers, earlier % Shape::batches, packets * lanes * sizeof(uint4),
                           earlier / Shape::batches);
#pragma unroll
        for (int p = 0; p < packets; ++p) {
            const uint4 packet = reinterpret_cast<const uint4*>(inbox)[packet_of(earlier, p)];
            const std::uint32_t pairs[] = {packet.x, packet.y, packet.z, packet.w};
#pragma unroll
            for (int q = 0; q < 4 && 4 * p + q < batch::pairs; ++q)
                table.increment_both_at(pairs[q]);
        }
    };
    samples.template for_each_batch_of_vectors<batch::rows>(
        [&](const lane_vector<sample, elements>* vectors) {
            bin_index found[batch::rows * elements];
#pragma unroll
            for (int r = 0; r < batch::rows; ++r) {
                bin_index of_row[elements];
                find_bins(bin_of, vectors[r], of_row);
#pragma unroll
                for (int j = 0; j < elements; ++j)
                    found[r * elements + j] = of_row[j];
            }
            typename batch::words theirs = {};
#pragma unroll
            for (int p = 0; p < batch::pairs; ++p) {
                // By rotation, the sign tells even bins from odd ones, and the lower half is the number.
                const std::uint32_t lower = __funnelshift_r(found[2 * p], found[2 * p], 1);
                const std::uint32_t upper = __funnelshift_r(found[2 * p + 1], found[2 * p + 1], 1);
                const std::uint32_t numbers = __byte_perm(lower, upper, 0x5410);
                const std::uint32_t places = swizzled_table::places(numbers);
                const std::uint32_t not_mine = signs(lower, upper) ^ parts_of(numbers) ^ my_parts;
                table.increment_both_at((places & ~not_mine) | (nobody & not_mine));
                theirs[p] = (places & not_mine) | (nobody & ~not_mine);
            }
            send(theirs);
        },
        [&](bool taken) {
            if (!taken) {
                typename batch::words nothing;
#pragma unroll
                for (std::uint32_t& pair : nothing)
                    pair = nobody;
                send(nothing);
            }
            if (batch_number != 0)
                receive(batch_number - 1);
            ++batch_number;
        });
    if (batch_number != 0)
        receive(batch_number - 1);
    __syncthreads();

    for_each_total(table, half, [&](bin_index k, std::uint32_t counted) {
        if (counted != 0)
            memory.add(2 * k + (part_of(2 * k) ^ me), counted);
    });
    memory.wait_for_all(gridDim.x);
    result.take(memory, all_bins, blockIdx.x, gridDim.x);
}

// Words of shared memory for half a table, and for what comes from the other block. Places are below 2^16, then.
template <class It>
std::size_t words_of_half(bin_index half)
{
    using batch_number = cluster_batch<cluster_histogram_shape, It>;
    return swizzled_table::words(half) + lanes + batch_number::packet_words + batch_number::barrier_words;
}

// Whether two blocks of a cluster can share out a table, each with so many bytes of shared memory.
template <class It, class Finder, class Counter>
bool cluster_has_room(const cuda& target, bin_index all_bins, std::size_t available)
{
    using shape = cluster_histogram_shape;
    constexpr auto parts = shape::parts;
    return words_of_half<It>((all_bins - 1) / parts + 1) * sizeof(std::uint32_t) <= available &&
           target.workspace().has_clusters() && target.workspace().multiprocessors() >= static_cast<int>(parts) &&
           knows_clusters<cluster_histogram_kernel<shape, It, Finder, Counter>>(target);
}

template <class It, class Finder, class Counter>
void cluster_histogram(const cuda& target, It in, std::uint64_t count, const Finder& finder, bin_index all_bins,
                       const histogram_result<Counter>& result)
{
    using shape = cluster_histogram_shape;
    const bin_index half = (all_bins - 1) / shape::parts + 1;
    constexpr auto kernel = cluster_histogram_kernel<shape, It, Finder, Counter>;
    allow_shared_bytes<kernel>(target);
    const unsigned blocks = std::max(useful_blocks<It, shape::rows>(target.workspace().multiprocessors(), count) /
                                         shape::parts * shape::parts,
                                     shape::parts);
    const grid_shape grid{.blocks = blocks,
                          .threads = shape::threads,
                          .shared_bytes = (words_of(finder) + words_of_half<It>(half)) * sizeof(std::uint32_t),
                          .cluster = shape::parts,
                          .cooperative = true};
    launch(target, "histogram", kernel, grid, in, count, finder, half, all_bins, result, counters_of(target, all_bins));
}

} // namespace upsweep::gpu
