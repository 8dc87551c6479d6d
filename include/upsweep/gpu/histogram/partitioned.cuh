// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include <upsweep/error.hpp>
#include <upsweep/gpu/histogram/count_lists.cuh>
#include <upsweep/gpu/histogram/merge.cuh>
#include <upsweep/gpu/histogram/partition_plan.cuh>
#include <upsweep/gpu/histogram/split.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>

// A histogram with more bins than shared memory has room for. The bins are cut into partitions that fit there. Samples
// are first split by partition, as in a pass of a radix sort, and then the partitions are counted one by one in
// privatized tables. The samples are taken in passes, so that the memory for the lists does not depend on how many
// samples there are. A pass takes two kernels:
//
//     split.cuh         each block sorts a tile of samples into a list for each partition
//     count_lists.cuh   the blocks share out the lists, and count them in shared memory, a partition at a time
namespace upsweep::gpu {

template <class Result>
__global__ void take_totals_kernel(Result result, bin_index all_bins, grid_totals grid)
{
    take_totals(result, grid, all_bins);
}

// Returns the shared memory of a block that counts partitions of 2^shift bins, in passes of so many tiles.
inline std::size_t partition_bytes(unsigned shift, unsigned tiles)
{
    return ((std::size_t{1} << shift) + 5 * lanes + 2 * std::size_t{tiles}) * sizeof(std::uint32_t);
}

// Returns how many tiles a pass has at most.
inline unsigned most_tiles(const cuda& target)
{
    using shape = partition_shape;
    return std::min(shape::tiles_of_multiprocessor * static_cast<unsigned>(target.workspace().multiprocessors()),
                    shape::tiles_of_thread * shape::count_threads);
}

// Returns the largest shift with which a block has room for the counters of a partition.
inline unsigned partition_shift(const cuda& target)
{
    constexpr std::size_t variables = 8192; // at least what the __shared__ variables of the kernel take
    unsigned shift = partition_shape::most_shift;
    while (partition_bytes(shift, most_tiles(target)) + variables > table_bytes(target))
        --shift;
    return shift;
}

// Returns how many bins a GPU counts at once, whatever the number of samples.
inline std::size_t most_bins(const cuda& target)
{
    const std::size_t all_bins = std::size_t{partition_shape::most_partitions} << partition_shift(target);
    return std::min(partition_shape::most_bins, all_bins) - detail::out_of_range_bins;
}

inline void check_most_bins(const cuda& target, std::size_t bins)
{
    check_most_bins("histogram", bins, most_bins(target));
}

template <class Source, class Finder, class Result>
void partitioned_histogram(const cuda& target, const Source& in, std::uint64_t count, const Finder& finder,
                           bin_index all_bins, const Result& result)
{
    using shape = partition_shape;
    constexpr auto count_lists = count_lists_kernel<shape>; // GCC does not compile a kernel that only launch<> names
    const auto multiprocessors = static_cast<unsigned>(target.workspace().multiprocessors());
    const std::uint64_t tiles = (count + shape::tile - 1) / shape::tile;
    partition_plan plan{};
    check_most_bins(target, all_bins - detail::out_of_range_bins);
    plan.tiles = static_cast<unsigned>(std::min<std::uint64_t>(most_tiles(target), tiles));
    plan.all_bins = all_bins;
    plan.shift = partition_shift(target);
    plan.partitions = (plan.all_bins - 1) / plan.bins() + 1;
    plan.copies = std::min<unsigned>(lanes, std::bit_floor(shape::most_cursors / (plan.partitions + 1)));
    plan.tile_vectors = shape::tile / entries_of_vector + plan.partitions;
    const std::size_t split_bytes = ((plan.partitions + 1) * plan.copies + 4 * lanes) * sizeof(std::uint32_t) +
                                    (plan.tile_vectors + 8) * sizeof(uint4);

    const std::size_t entry_bytes = std::size_t{plan.tiles} * plan.tile_vectors * sizeof(uint4);
    const std::size_t size_bytes = 2 * plan.partitions * sizeof(std::uint32_t);
    const std::size_t start_bytes = std::size_t{plan.tiles} * (plan.partitions + 1) * sizeof(std::uint16_t);
    auto* const lists = static_cast<std::byte*>(
        target.workspace().memory(workspace_purpose::lists, entry_bytes + size_bytes + start_bytes));
    plan.entries = reinterpret_cast<uint4*>(lists);
    plan.sizes = reinterpret_cast<std::uint32_t*>(lists + entry_bytes);
    plan.starts = reinterpret_cast<std::uint16_t*>(lists + entry_bytes + size_bytes);
    const grid_totals grid = grid_totals_of(target, plan.all_bins);

    check("histogram", cudaMemsetAsync(plan.sizes, 0, size_bytes, target.stream()));
    for (std::uint64_t pass = 0; pass * plan.tiles < tiles; ++pass) {
        const auto here = static_cast<unsigned>(std::min<std::uint64_t>(plan.tiles, tiles - pass * plan.tiles));
        launch<split_kernel<shape, Source, Finder>>(
            target, "histogram", grid_shape{.blocks = here, .threads = shape::threads, .shared_bytes = split_bytes}, in,
            count, pass, finder, plan);
        launch<count_lists>(target, "histogram",
                            grid_shape{.blocks = std::min(multiprocessors, here),
                                       .threads = shape::count_threads,
                                       .shared_bytes = partition_bytes(plan.shift, plan.tiles)},
                            here, pass, plan, grid);
    }
    launch(target, "histogram", take_totals_kernel<Result>,
           grid_shape{.blocks = multiprocessors, .threads = shape::count_threads, .shared_bytes = 0}, result,
           plan.all_bins, grid);
}

} // namespace upsweep::gpu
