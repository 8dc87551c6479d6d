// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <upsweep/gpu/histogram/bin_finder.cuh>
#include <upsweep/gpu/histogram/merge.cuh>
#include <upsweep/gpu/histogram/table.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>

// A histogram whose table is too large for the shared memory of one block, but not for that of two: the two blocks of a
// cluster share one table, of which each keeps a half. A block reads samples of its own and finds their bins. It counts
// those whose counters are in its half, and sends the other block the places of the other counters. Warp w of one block
// exchanges batches with warp w of the other:
//
//     step                          0            1            2            3
//     find bins, count own half     batch 0      batch 1      batch 2      batch 3
//     send the other half           batch 0 ->   batch 1 ->   batch 2 ->   batch 3 ->
//     wait, count what has come                  <- batch 0   <- batch 1   <- batch 2
//
// A batch travels by st.async, and its bytes count at an mbarrier of the receiving warp, as the PTX ISA has it. The
// inbox of a warp has room for four batches, and nobody needs to say that a place in it is free: a warp sends batch b
// before it waits for batch b - 1 of the other warp. When that has come, the other warp has counted batch b - 3 of this
// one, whose place batch b + 1 takes.
namespace upsweep::gpu {

struct cluster_histogram_shape {
    static constexpr int threads = 1024;
    static constexpr int rows = 4;            // rows of vectors that a warp reads at once; with more, registers run out
    static constexpr unsigned parts = 2;      // blocks of a cluster, of which each keeps a part of the table
    static constexpr int samples_to_send = 8; // samples of a thread in a batch
    static constexpr int places = 4;          // batches for which an inbox has room
};

// Returns which block keeps the counter of bin k. Of an even bin and the odd bin after it each block has one, and in
// its half the counter has the number k / 2. Which block has the even bin depends on higher bits, too, lest samples
// with a stride leave a block without work.
__device__ inline unsigned half_of(bin_index k)
{
    const bin_index number = k / 2;
    return (k ^ number >> 5 ^ number >> 10) & 1U;
}
// Returns the same for two even bins at once. A half of the word has the number k / 2 of a bin; in the result all bits
// of that half are ones if block 1 keeps the counter.
__device__ inline std::uint32_t halves_of(std::uint32_t numbers)
{
    return ((numbers >> 5 ^ numbers >> 10) & 0x10001U) * 0xffffU;
}

// What a thread sends at once: the place of a counter for each sample of a batch. A place has 16 bits, a word has two
// places, and a packet, which is what one st.async carries, has four words.
template <class Shape, class Source>
struct cluster_batch {
    static constexpr int elements = elements_of<Source>;
    static constexpr int rows = std::clamp(Shape::samples_to_send / elements, 1, Shape::rows);
    static constexpr int pairs = rows * elements / 2;
    static constexpr int packets = (pairs + 3) / 4;

    std::uint32_t words[4 * packets];

    // The inbox of a block and the mbarriers of its warps take so many words of shared memory.
    static constexpr std::size_t packet_words = std::size_t{Shape::places} * packets * Shape::threads * 4;
    static constexpr std::size_t barrier_words = std::size_t{Shape::places} * Shape::threads / lanes * 2;
};

// Exchanges batches between a thread and the thread with the same number in the other block.
template <class Shape, class Batch>
class batch_exchange {
public:
    __device__ batch_exchange(std::uint32_t* inbox, unsigned other)
        : inbox_(inbox),
          barriers_(shared_address_of(inbox + Batch::packet_words + threadIdx.x / lanes * Shape::places * 2)),
          outbox_(cluster_address(shared_address_of(inbox), other)), outbox_barriers_(cluster_address(barriers_, other))
    {
        if (lane_id() < Shape::places)
            init_transfers(barriers_, lane_id());
    }

    __device__ void send(const Batch& batch) const
    {
#pragma unroll
        for (int p = 0; p < Batch::packets; ++p)
            transfer(
                outbox_, packet(number_, p),
                make_uint4(batch.words[4 * p], batch.words[4 * p + 1], batch.words[4 * p + 2], batch.words[4 * p + 3]),
                outbox_barriers_, number_ % Shape::places);
    }

    // Waits for the batch before the current one and counts it. A thread calls this when it has sent a batch, and once
    // more when there are no more batches, which counts the last one.
    __device__ void receive_previous(const swizzled_table& table) const
    {
        if (number_ == 0)
            return;
        const unsigned previous = number_ - 1;
        wait_for_transfers(barriers_, previous % Shape::places, Batch::packets * lanes * sizeof(uint4),
                           previous / Shape::places);
#pragma unroll
        for (int p = 0; p < Batch::packets; ++p) {
            const uint4 packet_of_four = reinterpret_cast<const uint4*>(inbox_)[packet(previous, p)];
            const std::uint32_t pairs[] = {packet_of_four.x, packet_of_four.y, packet_of_four.z, packet_of_four.w};
#pragma unroll
            for (int q = 0; q < 4 && 4 * p + q < Batch::pairs; ++q)
                table.increment_both_at(pairs[q]);
        }
    }
    __device__ void next() { ++number_; }

private:
    __device__ static unsigned packet(unsigned batch, int p)
    {
        return (batch % Shape::places * Batch::packets + p) * Shape::threads + threadIdx.x;
    }

    std::uint32_t* inbox_;
    shared_address barriers_;
    shared_address outbox_;
    shared_address outbox_barriers_;
    unsigned number_ = 0; // the number of the batch that is sent next
};

// Counts those samples of a batch whose counters are in this block's half, and returns the places of the other samples'
// counters. Both the table and the batch have an entry for every sample: where a sample is not theirs, it is the place
// of a counter behind the others, which nobody reads (`nobody` has it twice). That is cheaper than a branch for each
// sample.
template <class Batch, class Function, class T, int Count>
__device__ Batch count_own(const swizzled_table& table, const Function& bin_of, const lane_vector<T, Count>* vectors,
                           std::uint32_t not_in_my_half, std::uint32_t nobody)
{
    bin_index found[Batch::rows * Count];
    int i = 0;
#pragma unroll
    for (int r = 0; r < Batch::rows; ++r)
        for_each_bin(bin_of, vectors[r], [&](bin_index k) { found[i++] = k; });
    Batch others = {};
#pragma unroll
    for (int p = 0; p < Batch::pairs; ++p) {
        // A bin index is rotated to the right by one bit: its sign then tells odd bins from even ones, and its lower
        // half is the number.
        const std::uint32_t lower = __funnelshift_r(found[2 * p], found[2 * p], 1);
        const std::uint32_t upper = __funnelshift_r(found[2 * p + 1], found[2 * p + 1], 1);
        const std::uint32_t numbers = __byte_perm(lower, upper, 0x5410);
        const std::uint32_t places = swizzled_table::places(numbers);
        const std::uint32_t not_mine = signs(lower, upper) ^ halves_of(numbers) ^ not_in_my_half;
        table.increment_both_at((places & ~not_mine) | (nobody & not_mine));
        others.words[p] = (places & not_mine) | (nobody & ~not_mine);
    }
    return others;
}

template <class Shape, class Source, class Finder, class Result>
__global__ void __launch_bounds__(Shape::threads, 1)
    cluster_histogram_kernel(Source in, std::uint64_t count, Finder finder, bin_index half, bin_index all_bins,
                             Result result, grid_totals grid)
{
    using sample = std::iter_value_t<Source>;
    using batch = cluster_batch<Shape, Source>;
    extern __shared__ __align__(16) std::uint32_t shared_words[];
    source_reader<Shape::rows, Source> samples(in, count, blockIdx.x, gridDim.x);

    const unsigned me = blockIdx.x % Shape::parts;
    const auto bin_of = finder.of_block(shared_words);
    const swizzled_table table{shared_words + words_of(finder)};
    const auto words = static_cast<bin_index>(swizzled_table::words(half));
    const std::uint32_t nobody = words << 16 | words;
    clear_words(table.counters, words + lanes);
    batch_exchange<Shape, batch> exchange(table.counters + words + lanes, 1 - me);
    __syncthreads();
    // A block may send when the other one has initialised its mbarriers.
    cluster_arrive();
    cluster_wait();

    // Both blocks of the last cluster read the elements that are in no warp tile, and each counts those of its half.
    if (blockIdx.x / Shape::parts == gridDim.x / Shape::parts - 1)
        samples.for_each_of_rest([&](const lane_vector<sample, 1>& vector) {
            const bin_index k = bin_of(vector[0]);
            if (half_of(k) == me)
                table.increment(k / 2);
        });
    samples.template for_each_batch<batch::rows>(
        [&](const auto* vectors) {
            exchange.send(count_own<batch>(table, bin_of, vectors, me == 0 ? 0 : ~0U, nobody));
        },
        [&](bool taken) {
            // A warp without a tile in the last round sends an empty batch, since the other warp waits for one.
            if (!taken) {
                batch nothing;
#pragma unroll
                for (std::uint32_t& pair : nothing.words)
                    pair = nobody;
                exchange.send(nothing);
            }
            exchange.receive_previous(table);
            exchange.next();
        });
    exchange.receive_previous(table);
    __syncthreads();

    for_each_total(table, half, [&](bin_index k, std::uint32_t counted) {
        if (counted != 0)
            grid.add(2 * k + (half_of(2 * k) ^ me), counted);
    });
    wait_and_take_totals(result, grid, all_bins);
}

// Returns how many words of shared memory half a table and the inbox take. Shared memory has fewer than 2^16 words, so
// that a place has 16 bits.
template <class Source>
std::size_t words_of_half(bin_index half)
{
    using batch = cluster_batch<cluster_histogram_shape, Source>;
    return swizzled_table::words(half) + lanes + batch::packet_words + batch::barrier_words;
}

// Whether the two blocks of a cluster have room for a table, with so many bytes of shared memory each, and the GPU can
// run the kernel.
template <class Source, class Finder, class Result>
bool cluster_has_room(const cuda& target, bin_index all_bins, std::size_t available)
{
    using shape = cluster_histogram_shape;
    constexpr auto parts = shape::parts;
    return words_of_half<Source>((all_bins - 1) / parts + 1) * sizeof(std::uint32_t) <= available &&
           target.workspace().has_clusters() && target.workspace().multiprocessors() >= static_cast<int>(parts) &&
           knows_clusters<cluster_histogram_kernel<shape, Source, Finder, Result>>(target);
}

template <class Source, class Finder, class Result>
void cluster_histogram(const cuda& target, const Source& in, std::uint64_t count, const Finder& finder,
                       bin_index all_bins, const Result& result)
{
    using shape = cluster_histogram_shape;
    const bin_index half = (all_bins - 1) / shape::parts + 1;
    const unsigned useful = useful_blocks<shape::rows>(in, target.workspace().multiprocessors(), count);
    const grid_shape grid{.blocks = std::max(useful / shape::parts * shape::parts, shape::parts),
                          .threads = shape::threads,
                          .shared_bytes = (words_of(finder) + words_of_half<Source>(half)) * sizeof(std::uint32_t),
                          .cluster = shape::parts,
                          .cooperative = true};
    launch<cluster_histogram_kernel<shape, Source, Finder, Result>>(target, "histogram", grid, in, count, finder, half,
                                                                    all_bins, result, grid_totals_of(target, all_bins));
}

} // namespace upsweep::gpu
