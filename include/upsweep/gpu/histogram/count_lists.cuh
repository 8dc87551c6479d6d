// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <upsweep/gpu/histogram/merge.cuh>
#include <upsweep/gpu/histogram/partition_plan.cuh>
#include <upsweep/gpu/histogram/table.cuh>
#include <upsweep/gpu/primitive/warp.cuh>

// The second kernel of a partitioned histogram (partitioned.cuh) counts the lists that the first one (split.cuh) has
// written. The blocks take equal shares of the vectors of all lists, whatever the lengths of these, and a block counts
// its share one partition at a time, in a privatized table of that partition's bins:
//
//     share_out   once; then for each partition of the share:  find_lists -> count_vectors -> merge
namespace upsweep::gpu {

// Counts the eight entries of a vector. An entry is the lower 16 bits of a bin index. `mask` keeps the number of the
// bin within its partition and one bit above it, which tells odd partitions from even ones; `odd` is what that bit is
// in this partition. The exclusive or leaves the bit zero for the partition's entries. It leaves it set for the entries
// that only fill a list up: these are counted behind the counters. The places of two entries are swizzled at once.
__device__ inline void count_entries(const uint4& entries, std::uint32_t odd, std::uint32_t mask,
                                     std::uint32_t* counters)
{
    for (const std::uint32_t both : {entries.x, entries.y, entries.z, entries.w}) {
        const std::uint32_t pair = (both ^ odd) & mask;
        const std::uint32_t places = swizzled_table::places(pair);
        atomicAdd(counters + (places & 0xffffU), 1U);
        atomicAdd(counters + (places >> 16), 1U);
    }
}

// Returns the index of the last of some ascending numbers that is at or below the given one. The first of them must be.
__device__ inline unsigned last_at_or_below(const std::uint32_t* numbers, unsigned count, std::uint32_t number)
{
    return last_for_which(0U, count, [&](unsigned i) { return numbers[i] <= number; });
}

// What a block does with its share of the lists. The work for a partition is a *stretch*: first what a block does once
// for each partition, as if it were so many vectors, then the vectors of its lists, one list after the other. The
// stretches of all partitions follow one another. The blocks take equal parts of this line, and the warps of a block
// take equal parts of the vectors of a partition.
template <class Shape>
class list_counter {
    static constexpr unsigned reach = 2 * lanes; // no search looks farther behind the last list

public:
    struct shared_memory {
        std::uint64_t warp_sums[Shape::count_warps];
        // Where each partition's stretch begins, and where the last one ends.
        std::uint32_t starts[Shape::most_partitions + 1];
    };

    // The shared memory has the counters of a partition, and behind them `lanes` words where entries that stand for no
    // bin are counted. Then come two arrays with an element for each list of the partition that is not empty: begins_,
    // how many vectors the lists before it have, and places_, where the list is, less that number, so that vector v of
    // the partition, in list i, is at places_[i] + v.
    __device__ list_counter(const partition_plan& plan, unsigned tiles, std::uint32_t* counters, shared_memory& shared)
        : plan_(plan), tiles_(tiles), counters_(counters), begins_(counters + plan.bins() + lanes),
          places_(begins_ + tiles + reach), shared_(shared)
    {
    }

    // Lays the stretches out by a scan over the sizes of the partitions, and clears the counters, and the sizes for the
    // next pass.
    __device__ void share_out(std::uint64_t pass)
    {
        const std::uint32_t* const sizes = plan_.sizes_of(pass);
        std::uint64_t total = 0;
        const bin_index p = threadIdx.x;
        const std::uint32_t size = p < plan_.partitions ? sizes[p] : 0;
        const std::uint64_t start =
            exclusive_sum(std::uint64_t{size != 0 ? size + Shape::worth_of_partition : 0}, shared_.warp_sums, total);
        if (p <= Shape::most_partitions)
            shared_.starts[p] = static_cast<std::uint32_t>(start);
        if (blockIdx.x == 0 && p < plan_.partitions)
            plan_.sizes_of(pass + 1)[p] = 0;
#pragma unroll 4
        for (unsigned v = threadIdx.x; v < (plan_.bins() + lanes) / 4; v += Shape::count_threads)
            reinterpret_cast<uint4*>(counters_)[v] = uint4{};
        __syncthreads();
        const auto share = static_cast<std::uint32_t>(total) / gridDim.x + 1;
        from_ = share * blockIdx.x;
        to_ = from_ + share;
    }

    // Calls count(partition, begin, end) for each partition of which this block has vectors, which are [begin, end).
    template <class F>
    __device__ void for_each_partition(F count) const
    {
        const std::uint32_t* const starts = shared_.starts;
        for (bin_index p = last_at_or_below(starts, plan_.partitions, from_); p < plan_.partitions && starts[p] < to_;
             ++p) {
            const std::uint32_t first = starts[p] + Shape::worth_of_partition;
            const std::uint32_t last = starts[p + 1];
            const std::uint32_t begin = std::max(from_, first) - first;
            const std::uint32_t end = std::min(to_, last) - first;
            if (starts[p] == last || to_ <= first || begin >= end)
                continue;
            count(p, begin, end);
        }
    }

    // Finds the lists of a partition that are not empty and returns how many there are. A tile has one list of the
    // partition, and a thread looks at several tiles. One scan does two things: the lower half of its numbers adds
    // vectors up, and the upper half counts lists that are not empty.
    __device__ unsigned find_lists(bin_index p) const
    {
        const std::uint16_t* const list_starts = plan_.starts + std::size_t{p} * plan_.tiles;
        std::uint32_t lists[Shape::tiles_of_thread]; // lower half: where the list begins; upper half: its vectors
#pragma unroll
        for (unsigned k = 0; k < Shape::tiles_of_thread; ++k) {
            const unsigned tile = k * Shape::count_threads + threadIdx.x;
            lists[k] = 0;
            if (tile < tiles_) {
                const std::uint32_t start = __ldcg(list_starts + tile);
                lists[k] = (__ldcg(list_starts + plan_.tiles + tile) - start) << 16 | start;
            }
        }
        std::uint64_t sum = 0;
#pragma unroll
        for (const std::uint32_t list : lists)
            sum += list >> 16 != 0 ? (std::uint64_t{1} << 32) + (list >> 16) : 0;
        std::uint64_t of_all = 0;
        const std::uint64_t before = exclusive_sum(sum, shared_.warp_sums, of_all);
        auto index = static_cast<unsigned>(before >> 32);
        auto place = static_cast<std::uint32_t>(before);
#pragma unroll
        for (unsigned k = 0; k < Shape::tiles_of_thread; ++k)
            if (lists[k] >> 16 != 0) {
                begins_[index] = place;
                places_[index] =
                    (k * Shape::count_threads + threadIdx.x) * plan_.tile_vectors + (lists[k] & 0xffffU) - place;
                place += lists[k] >> 16;
                ++index;
            }
        const auto list_count = static_cast<unsigned>(of_all >> 32);
        if (threadIdx.x < reach)
            begins_[list_count + threadIdx.x] = ~0U;
        return list_count;
    }

    // Counts the vectors [begin, end) of a partition. Each warp takes a part of them, and a lane every 32nd vector of
    // that. Since no list is empty, the next vector of a lane is in one of the 32 lists from its current one on, mostly
    // in one of the first three: few comparisons find it. The vectors of the next step are on their way while those of
    // this one are counted.
    __device__ void count_vectors(bin_index p, std::uint32_t begin, std::uint32_t end, unsigned list_count) const
    {
        const auto warp = static_cast<unsigned>(warp_id());
        std::uint32_t at = begin + (end - begin) * warp / Shape::count_warps;
        const std::uint32_t warp_end = begin + (end - begin) * (warp + 1) / Shape::count_warps;
        unsigned list = last_at_or_below(begins_, list_count, at);
        const auto read = [&](std::uint32_t v, uint4(&entries)[Shape::vectors_at_once]) {
#pragma unroll
            for (int q = 0; q < Shape::vectors_at_once; ++q, v += lanes) {
                if (v >= warp_end)
                    break;
                if (begins_[list + 4] <= v)
#pragma unroll
                    for (unsigned step = lanes; step != 2; step /= 2)
                        list += begins_[list + step] <= v ? step : 0;
                list += begins_[list + 2] <= v ? 2 : 0;
                list += begins_[list + 1] <= v ? 1 : 0;
                entries[q] = __ldcg(plan_.entries + (places_[list] + v));
            }
        };
        const std::uint32_t odd = (p & 1) * (plan_.bins() * 0x10001U);
        const std::uint32_t mask = (2 * plan_.bins() - 1) * 0x10001U;
        constexpr unsigned step = Shape::vectors_at_once * lanes;
        at += static_cast<unsigned>(lane_id());
        uint4 entries[Shape::vectors_at_once];
        read(at, entries);
        for (; at < warp_end; at += step) {
            uint4 next[Shape::vectors_at_once];
            read(at + step, next);
#pragma unroll
            for (int q = 0; q < Shape::vectors_at_once; ++q) {
                if (at + q * lanes < warp_end)
                    count_entries(entries[q], odd, mask, counters_);
                entries[q] = next[q];
            }
        }
    }

    // Adds the counters of a partition to the totals of the grid and clears them. A row is as many counters as the
    // block has threads; swizzling permutes counters within a row. The blocks begin at different rows, lest they all
    // add to the same totals at once.
    __device__ void merge(bin_index p, const grid_totals& grid) const
    {
        const unsigned rows = plan_.bins() / Shape::count_threads;
        const bin_index swizzled = threadIdx.x ^ static_cast<unsigned>(warp_id());
#pragma unroll 8
        for (unsigned r = 0; r < rows; ++r) {
            const unsigned turned = (r + blockIdx.x) & (rows - 1);
            std::uint32_t& counter = counters_[turned * Shape::count_threads + (swizzled ^ (turned & (lanes - 1)))];
            const std::uint32_t counted = counter;
            counter = 0;
            if (counted != 0)
                grid.add((p << plan_.shift) + turned * Shape::count_threads + threadIdx.x, counted);
        }
    }

private:
    const partition_plan& plan_;
    unsigned tiles_;
    std::uint32_t* counters_;
    std::uint32_t* begins_;
    std::uint32_t* places_;
    shared_memory& shared_;
    std::uint32_t from_ = 0; // this block's part of the line of stretches is [from_, to_)
    std::uint32_t to_ = 0;
};

template <class Shape>
__global__ void __launch_bounds__(Shape::count_threads, 1)
    count_lists_kernel(unsigned tiles, std::uint64_t pass, partition_plan plan, grid_totals grid)
{
    extern __shared__ __align__(128) uint4 shared_vectors[];
    __shared__ typename list_counter<Shape>::shared_memory shared;
    list_counter<Shape> self(plan, tiles, reinterpret_cast<std::uint32_t*>(shared_vectors), shared);
    self.share_out(pass);
    self.for_each_partition([&](bin_index p, std::uint32_t begin, std::uint32_t end) {
        const unsigned lists = self.find_lists(p);
        __syncthreads();
        self.count_vectors(p, begin, end, lists);
        __syncthreads();
        self.merge(p, grid);
        __syncthreads();
    });
}

} // namespace upsweep::gpu
