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

// Histogram whose table is too large for the shared memory of one block, but not for that of two: the two blocks of a cluster
// have one table, of which each keeps a half. A block reads samples of its own, counts those of its half, and sends the other
// block the places of the other ones' counters. Warp w of one block exchanges batches with warp w of the other:
//
//     step                   0            1            2            3
//     find bins, count own   batch 0      batch 1      batch 2      batch 3
//     send the others'       batch 0 ->   batch 1 ->   batch 2 ->   batch 3 ->
//     wait, count received                <- batch 0   <- batch 1   <- batch 2
//
// A warp sends a batch before it waits for the one before, so when a batch has come, the other warp has counted the batch two
// before it: with four places in an inbox, the one that the next batch goes to is free.
namespace upsweep::gpu {

struct cluster_histogram_shape {
    static constexpr int threads = 1024;
    static constexpr int rows = 4;            // that a warp reads at once; with more, registers run out
    static constexpr unsigned parts = 2;      // blocks of a cluster that share out a table
    static constexpr int samples_to_send = 8; // of a thread, in a batch
    static constexpr int places = 4;          // of batches in an inbox
};

// Which half has a bin: of an even bin and the odd one after it each half has one. Which one depends on higher bits, too, lest
// samples with a stride leave a block without work. In its half a bin has the number k / 2.
__device__ inline unsigned half_of(bin_index k)
{
    const bin_index number = k / 2;
    return (k ^ number >> 5 ^ number >> 10) & 1U;
}
// The same for even bins with two numbers of 16 bits: all bits of a half of the word.
__device__ inline std::uint32_t halves_of(std::uint32_t numbers)
{
    return ((numbers >> 5 ^ numbers >> 10) & 0x10001U) * 0xffffU;
}

// What a thread sends at once: for each sample of a batch the place of its counter, in 16 bits, two in a word, in packets of 16
// bytes.
template <class Shape, class Source>
struct cluster_batch {
    static constexpr int elements = reader_shape<Source, 1>::elements;
    static constexpr int rows = std::clamp(Shape::samples_to_send / elements, 1, Shape::rows);
    static constexpr int pairs = rows * elements / 2;
    static constexpr int packets = (pairs + 3) / 4;

    std::uint32_t words[4 * packets];

    // Words of shared memory: for the packets, and for the barriers of each warp.
    static constexpr std::size_t packet_words = std::size_t{Shape::places} * packets * Shape::threads * 4;
    static constexpr std::size_t barrier_words = std::size_t{Shape::places} * Shape::threads / lanes * 2;
};

// The exchange of batches between a thread and its counterpart in the other block.
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

    // After a batch has been sent: counts the one before it, which is also what is left when there are no more.
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
    unsigned number_ = 0; // of the batch that is sent next
};

// Counts those of a batch's samples that are of this block's half and returns the places of the others' counters. Where a sample
// is not for a block, a counter behind the others counts it (`nobody`, twice in a word): that is cheaper than to leave it out.
template <class Batch, class Function, class T, int Count>
__device__ Batch count_own(const swizzled_table& table, const Function& bin_of, const lane_vector<T, Count>* vectors,
                           std::uint32_t not_in_my_half, std::uint32_t nobody)
{
    bin_index found[Batch::rows * Count];
#pragma unroll
    for (int r = 0; r < Batch::rows; ++r) {
        bin_index of_row[Count];
        find_bins(bin_of, vectors[r], of_row);
#pragma unroll
        for (int j = 0; j < Count; ++j)
            found[r * Count + j] = of_row[j];
    }
    Batch others = {};
#pragma unroll
    for (int p = 0; p < Batch::pairs; ++p) {
        // By rotation, the sign tells even bins from odd ones, and the lower half is the number.
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
    cluster_arrive();
    cluster_wait();

    // Both blocks of the last cluster look at what is in no tile.
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
    grid.wait_for_all(gridDim.x);
    take_totals(result, grid, all_bins, blockIdx.x, gridDim.x);
}

// Words of shared memory for half a table, and for what comes from the other block. Places are below 2^16, then.
template <class Source>
std::size_t words_of_half(bin_index half)
{
    using batch = cluster_batch<cluster_histogram_shape, Source>;
    return swizzled_table::words(half) + lanes + batch::packet_words + batch::barrier_words;
}

// Whether two blocks of a cluster can share out a table, each with so many bytes of shared memory.
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
    constexpr auto kernel = cluster_histogram_kernel<shape, Source, Finder, Result>;
    allow_shared_bytes<kernel>(target);
    const unsigned useful = useful_blocks<Source, shape::rows>(target.workspace().multiprocessors(), count);
    const grid_shape grid{.blocks = std::max(useful / shape::parts * shape::parts, shape::parts),
                          .threads = shape::threads,
                          .shared_bytes = (words_of(finder) + words_of_half<Source>(half)) * sizeof(std::uint32_t),
                          .cluster = shape::parts,
                          .cooperative = true};
    launch(target, "histogram", kernel, grid, in, count, finder, half, all_bins, result,
           grid_totals_of(target, all_bins));
}

} // namespace upsweep::gpu
