// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <upsweep/gpu/histogram/bin_finder.cuh>
#include <upsweep/gpu/primitive/warp.cuh>

// What the two kernels of a partitioned histogram (partitioned.cuh) share: how the bins are cut up and where the lists are.
namespace upsweep::gpu {

struct partition_shape {
    // The kernel that splits.
    static constexpr int threads = 512;
    static constexpr int warps = threads / lanes;
    static constexpr int registers = 40; // of a thread, so that three blocks share a multiprocessor
    static constexpr int samples = 16;   // of a thread in a tile
    static constexpr int tile = threads * samples;
    static constexpr bin_index most_cursors = 4096;                    // of a block
    static constexpr int cursor_rounds = most_cursors / (4 * threads); // a thread has four at a time
    static constexpr bin_index most_partitions = most_cursors / 4 - 1;
    static_assert(cursor_rounds * warps == lanes);

    // The kernel that counts.
    static constexpr int count_threads = 1024;
    static constexpr int count_warps = count_threads / lanes;
    static constexpr unsigned tiles_of_thread = 8;
    static constexpr int vectors_at_once = 2; // of a lane
    static_assert(most_partitions < count_threads);
    // As many vectors take as long to count as what a block does once for each partition.
    static constexpr std::uint32_t worth_of_partition = 14000;

    static constexpr unsigned tiles_of_multiprocessor = 24; // in a chunk
    static constexpr unsigned most_shift = 15; // a partition has at most 2^15 counters: entries are 16 bits
    static constexpr std::size_t most_bins = std::size_t{1} << 24;
};

// Entries are written and read by vectors.
inline constexpr unsigned entries_of_vector = sizeof(uint4) / sizeof(std::uint16_t);

// How the bins are cut up, and where the lists are.
struct partition_plan {
    bin_index all_bins;
    bin_index partitions;
    unsigned shift;        // a bin's partition is bin >> shift
    unsigned copies;       // of each cursor, a power of two
    unsigned tiles;        // of a chunk
    unsigned tile_vectors; // that there is room for

    uint4* entries;        // of each tile: the lower 16 bits of its bins, by partition
    std::uint16_t* starts; // of each partition, and of one beyond: where its lists begin in the tiles, in vectors
    std::uint32_t* sizes;  // vectors of each partition, in this chunk and in the next

    __host__ __device__ bin_index bins() const { return bin_index{1} << shift; }
    __device__ std::uint32_t* sizes_of(std::uint64_t chunk) const { return sizes + chunk % 2 * partitions; }
};

// The sum of the numbers of the lanes up to this one.
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

// The sum of the numbers of the threads before this one, and of all. By all threads of a block; a barrier must follow
// before the next.
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
