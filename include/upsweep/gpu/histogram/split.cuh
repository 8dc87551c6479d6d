// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <upsweep/gpu/histogram/bin_finder.cuh>
#include <upsweep/gpu/histogram/partition_plan.cuh>
#include <upsweep/gpu/primitive/ptx.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/source/array.cuh>

// The first kernel of a partitioned histogram (partitioned.cuh): each block splits a tile of samples by partition. It
// is a counting sort in shared memory, like a pass of radix partitioning, and its steps are the methods of split_block:
//
//     find          reads the samples, finds their bins, and counts the entries of each list at the list's cursors
//     place_lists   turns each cursor from a count into the place of its first entry, by a scan
//     sort          writes each entry where its cursor is, and moves the cursor on
//     store         copies the sorted entries, and where the lists begin, to global memory
//
//     samples -> find -> bins in registers -----------------------> sort -> entries in shared memory -> store -> lists
//                    \-> counts at cursors -> place_lists -> places /
//
// An *entry* is the lower 16 bits of a bin index, and a *list* has a tile's entries of one partition. A list begins at
// a vector, and its last vector is filled up with entries that stand for no bin of the partition: the lowest of the
// bits above the bin's number within the partition is not the partition's, but that of its neighbours.
namespace upsweep::gpu {

// Returns where the entry is kept that comes at some byte of the sorted entries. Where samples are alike, lanes write
// runs of entries that would begin in the same bank: vectors are therefore swizzled.
__device__ inline std::uint32_t place_of_entry(std::uint32_t byte) { return byte ^ (byte >> 6 & 0x70); }

template <class Shape, class Source, class Finder>
class split_block {
    using sample = std::iter_value_t<Source>;
    static constexpr int elements = elements_of<Source>;
    static constexpr int row = elements * Shape::threads;
    static constexpr int rows = Shape::samples / elements;
    static constexpr int rows_at_once = std::min(rows, 4);

public:
    struct shared_memory {
        std::uint32_t warp_vectors[Shape::cursor_rounds * Shape::warps]; // vectors of the lists of each warp's cursors
        std::uint16_t starts[Shape::most_partitions + 1];                // the vectors at which the lists begin
    };

    // Behind the lists of the partitions there is one more, for what a tile at the end of the samples lacks.
    __device__ split_block(const partition_plan& plan, uint4* shared_vectors, shared_memory& shared)
        : plan_(plan), cursors_(shared_vectors), shared_(shared), window_(shared_vectors), lists_(plan.partitions + 1),
          cursor_vectors_((lists_ * plan.copies + 4 * lanes - 1) / (4 * lanes) * lanes),
          sorted_(window_.first() + cursor_vectors_ * sizeof(uint4))
    {
    }

    // Finds the bins and counts the entries of each list. A list has several copies of its cursor, if possible one for
    // each lane: no two lanes of a warp then wait for one another. Of each sample a lane keeps the entry, in the upper
    // half of a word, and the address of its cursor, in the lower half.
    __device__ void find(const Source& in, std::uint64_t count, std::uint64_t pass, const Finder& finder)
    {
        const std::uint64_t first = (pass * plan_.tiles + blockIdx.x) * Shape::tile;
        const auto end = static_cast<unsigned>(count - first < Shape::tile ? count - first : Shape::tile);
        const bool whole = end == Shape::tile && is_aligned<elements>(in + first);
        lane_vector<sample, elements> vectors[rows_at_once];
        read(in + first, end, whole, 0, vectors);
#pragma unroll 1
        for (unsigned v = threadIdx.x; v < cursor_vectors_; v += Shape::threads)
            cursors_[v] = uint4{};
        if (threadIdx.x < Shape::cursor_rounds * Shape::warps)
            shared_.warp_vectors[threadIdx.x] = 0;
        const auto bin_of = finder.of_block(cursors_);
        __syncthreads();

        const unsigned copy = static_cast<unsigned>(lane_id()) & (plan_.copies - 1);
        const std::uint32_t first_cursor = window_.first() + copy * sizeof(std::uint32_t);
        const std::uint32_t list_cursors = plan_.copies * sizeof(std::uint32_t);
#pragma unroll
        for (int from = 0; from < rows; from += rows_at_once) {
            if (from != 0)
                read(in + first, end, whole, from, vectors);
#pragma unroll
            for (int r = 0; r < rows_at_once; ++r) {
                bin_index bins[elements];
                find_bins(bin_of, vectors[r], bins);
                if (!whole) {
#pragma unroll
                    for (int j = 0; j < elements; ++j)
                        if ((from + r) * row + threadIdx.x * elements + j >= end)
                            bins[j] = plan_.partitions << plan_.shift;
                }
#pragma unroll
                for (int j = 0; j < elements; ++j) {
                    const std::uint32_t cursor = (bins[j] >> plan_.shift) * list_cursors + first_cursor;
                    window_.increment(cursor);
                    kept_[(from + r) * elements + j] = __byte_perm(cursor, bins[j], 0x5410);
                }
            }
        }
    }

    // Turns the cursors into the places of their first entries, by a scan over all of them. A thread has four copies of
    // a list's cursor, and its neighbours have the others; the last of these threads knows how many vectors the list
    // has.
    __device__ void place_lists()
    {
        const int threads_of_list = static_cast<int>(plan_.copies) / 4;
        const int place = lane_id() & (threads_of_list - 1);
        const bool is_last = place == threads_of_list - 1;
        std::uint32_t before[Shape::cursor_rounds];
        std::uint32_t vectors_before[Shape::cursor_rounds];
        std::uint32_t list_vectors[Shape::cursor_rounds];
#pragma unroll
        for (int r = 0; r < Shape::cursor_rounds; ++r)
            if (is_used(r)) {
                const uint4 counts = cursors_[r * Shape::threads + threadIdx.x];
                const std::uint32_t sum = counts.x + counts.y + counts.z + counts.w;
                std::uint32_t inclusive = sum;
#pragma unroll
                for (int distance = 1; distance < lanes / 4; distance *= 2) {
                    const std::uint32_t other = __shfl_up_sync(all_lanes, inclusive, distance);
                    inclusive += place >= distance ? other : 0;
                }
                before[r] = inclusive - sum;
                list_vectors[r] = is_last ? (inclusive + entries_of_vector - 1) / entries_of_vector : 0;
                const std::uint32_t to_here = inclusive_sum(list_vectors[r]);
                vectors_before[r] = to_here - list_vectors[r];
                if (lane_id() == lanes - 1)
                    shared_.warp_vectors[r * Shape::warps + warp_id()] = to_here;
            }
        __syncthreads();
        if (!is_used(0))
            return;
        const std::uint32_t of_warp = shared_.warp_vectors[lane_id()];
        const std::uint32_t before_warp = inclusive_sum(of_warp) - of_warp;
#pragma unroll
        for (int r = 0; r < Shape::cursor_rounds; ++r)
            if (is_used(r)) {
                const std::uint32_t start =
                    vectors_before[r] + __shfl_sync(all_lanes, before_warp, r * Shape::warps + warp_id());
                uint4& cursor = cursors_[r * Shape::threads + threadIdx.x];
                const uint4 counts = cursor;
                const std::uint32_t x = sorted_ + start * sizeof(uint4) + before[r] * sizeof(std::uint16_t);
                const std::uint32_t y = x + counts.x * sizeof(std::uint16_t);
                const std::uint32_t z = y + counts.y * sizeof(std::uint16_t);
                cursor = {x, y, z, z + counts.z * static_cast<std::uint32_t>(sizeof(std::uint16_t))};
                const bin_index list = (r * Shape::threads + threadIdx.x) / static_cast<unsigned>(threads_of_list);
                if (is_last && list <= plan_.partitions)
                    begin_list(list, start, list_vectors[r]);
            }
    }

    // Writes each entry where its cursor is, and moves the cursor on to the next place.
    __device__ void sort() const
    {
#pragma unroll
        for (int i = 0; i < Shape::samples; ++i)
            window_.store(place_of_entry(window_.fetch_add(kept_[i] & 0xffffU, sizeof(std::uint16_t))),
                          static_cast<std::uint16_t>(kept_[i] >> 16));
    }

    // Stores the sorted entries and where the lists begin, and adds the lengths of the lists to the sizes of their
    // partitions.
    __device__ void store(std::uint64_t pass) const
    {
        uint4* const to = plan_.entries + std::size_t{blockIdx.x} * plan_.tile_vectors;
        const unsigned used = shared_.starts[plan_.partitions];
#pragma unroll 1
        for (unsigned v = threadIdx.x; v < used; v += Shape::threads)
            to[v] = window_.load(place_of_entry(sorted_ + v * sizeof(uint4)));
#pragma unroll 1
        for (bin_index p = threadIdx.x; p < lists_; p += Shape::threads) {
            const std::uint32_t start = shared_.starts[p];
            plan_.starts[std::size_t{p} * plan_.tiles + blockIdx.x] = static_cast<std::uint16_t>(start);
            const std::uint32_t length = p < plan_.partitions ? shared_.starts[p + 1] - start : 0;
            if (length != 0)
                atomicAdd(plan_.sizes_of(pass) + p, length);
        }
    }

private:
    // Reads rows_at_once rows of vectors from number `from` on of the tile, which has `end` samples.
    __device__ static void read(const Source& tile, unsigned end, bool whole, int from,
                                lane_vector<sample, elements> (&vectors)[rows_at_once])
    {
        const unsigned mine = from * row + threadIdx.x * elements;
        const Source begin = tile + mine;
#pragma unroll
        for (int r = 0; r < rows_at_once; ++r)
            if (whole)
                vectors[r] = load_vector<elements>(begin + r * row);
            else
                vectors[r] = gather_within<elements>(tile, end, mine + r * row);
    }

    // Returns whether this warp has cursors in a round of them.
    __device__ bool is_used(int round) const
    {
        return static_cast<unsigned>((round * Shape::warps + warp_id()) * lanes) < cursor_vectors_;
    }

    // Notes where a list begins, and fills its last vector with entries that stand for no bin; sort() writes the list's
    // own over the first of these.
    __device__ void begin_list(bin_index list, std::uint32_t start, std::uint32_t vectors) const
    {
        shared_.starts[list] = static_cast<std::uint16_t>(start);
        const std::uint32_t none = ((list & 1) ^ 1) * (plan_.bins() * 0x10001U);
        if (vectors != 0 && list != plan_.partitions)
            window_.store(place_of_entry(sorted_ + (start + vectors - 1) * sizeof(uint4)),
                          uint4{none, none, none, none});
    }

    const partition_plan& plan_;
    uint4* cursors_;
    shared_memory& shared_;
    shared_window window_;
    unsigned lists_;
    unsigned cursor_vectors_;
    std::uint32_t sorted_; // where the sorted entries begin
    std::uint32_t kept_[Shape::samples];
};

template <class Shape, class Source, class Finder>
__global__ void __maxnreg__(Shape::registers)
    split_kernel(Source in, std::uint64_t count, std::uint64_t pass, Finder finder, partition_plan plan)
{
    using block = split_block<Shape, Source, Finder>;
    extern __shared__ __align__(128) uint4 shared_vectors[];
    __shared__ typename block::shared_memory shared;
    block self(plan, shared_vectors, shared);
    self.find(in, count, pass, finder);
    __syncthreads();
    self.place_lists();
    __syncthreads();
    self.sort();
    __syncthreads();
    self.store(pass);
}

} // namespace upsweep::gpu
