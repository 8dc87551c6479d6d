// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <upsweep/gpu/histogram/bin_finder.cuh>
#include <upsweep/gpu/primitive/warp.cuh>

// What the two kernels of a partitioned histogram (partitioned.cuh) share: their shapes, how the bins are cut into
// partitions, and where the lists lie.
namespace upsweep::gpu {

struct partition_shape {
    // The kernel that splits tiles into lists (split.cuh).
    static constexpr int threads = 512;
    static constexpr int warps = threads / lanes;
    static constexpr int registers = 40; // registers of a thread: with so few, three blocks share a multiprocessor
    static constexpr int samples = 16;   // samples of a thread in a tile
    static constexpr int tile = threads * samples;
    static constexpr bin_index most_cursors = 4096;                    // cursors of a block, with all copies
    static constexpr int cursor_rounds = most_cursors / (4 * threads); // a thread takes four at a time
    static constexpr bin_index most_partitions = most_cursors / 4 - 1;
    // One warp scans the sums that the warps leave in all rounds.
    static_assert(cursor_rounds * warps == lanes);

    // The kernel that counts the lists (count_lists.cuh).
    static constexpr int count_threads = 1024;
    static constexpr int count_warps = count_threads / lanes;
    static constexpr unsigned tiles_of_thread = 8; // tiles of which a thread finds the lists
    static constexpr int vectors_at_once = 2;      // vectors that a lane reads at once
    static_assert(most_partitions < count_threads);
    // What a block does once for each partition takes as long as counting so many vectors.
    static constexpr std::uint32_t worth_of_partition = 14000;

    static constexpr unsigned tiles_of_multiprocessor = 40; // tiles of a pass
    // A partition has at most 2^15 bins: an entry has 16 bits, one of which tells bins from what only fills a list up.
    static constexpr unsigned most_shift = 15;
    static constexpr std::size_t most_bins = std::size_t{1} << 24;
};

// Entries, the lower 16 bits of bin indices, are written and read by vectors.
inline constexpr unsigned entries_of_vector = sizeof(uint4) / sizeof(std::uint16_t);

// How the bins are cut into partitions, and where the lists of the tiles lie in device memory.
struct partition_plan {
    bin_index all_bins;
    bin_index partitions;
    unsigned shift;        // a bin's partition is bin >> shift
    unsigned copies;       // how many copies each cursor has, a power of two
    unsigned tiles;        // tiles of a pass
    unsigned tile_vectors; // vectors for which a tile has room

    uint4* entries;        // the entries of each tile, sorted by partition
    std::uint16_t* starts; // for each partition, and one beyond: the vector at which its list begins, in each tile
    std::uint32_t* sizes;  // how many vectors each partition has, in this pass and in the next

    __host__ __device__ bin_index bins() const { return bin_index{1} << shift; }
    __device__ std::uint32_t* sizes_of(std::uint64_t pass) const { return sizes + pass % 2 * partitions; }
};

// Returns the sum of the numbers of the lanes up to this one: a warp-synchronous scan after Hillis and Steele.
template <class T>
__device__ T inclusive_sum(T number)
{
#pragma unroll
    for (int distance = 1; distance < lanes; distance *= 2) {
        const T other = __shfl_up_sync(all_lanes, number, distance);
        number += lane_id() >= distance ? other : 0;
    }
    return number;
}

// Returns the sum of the numbers of the threads before this one, and sets `total` to the sum of all. All threads of a
// block call this; a barrier must follow before the next call.
__device__ inline std::uint64_t exclusive_sum(std::uint64_t number, std::uint64_t* warp_sums, std::uint64_t& total)
{
    const std::uint64_t inclusive = inclusive_sum(number);
    if (lane_id() == lanes - 1)
        warp_sums[warp_id()] = inclusive;
    __syncthreads();
    const std::uint64_t of_warp = lane_id() < static_cast<int>(blockDim.x) / lanes ? warp_sums[lane_id()] : 0;
    const std::uint64_t to_warp = inclusive_sum(of_warp);
    total = __shfl_sync(all_lanes, to_warp, lanes - 1);
    return inclusive - number + __shfl_sync(all_lanes, to_warp - of_warp, warp_id());
}

} // namespace upsweep::gpu
