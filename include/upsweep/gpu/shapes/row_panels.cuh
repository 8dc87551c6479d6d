// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <cuda_pipeline.h>

#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/primitive/ptx.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/block_counter.cuh>
#include <upsweep/gpu/shapes/line_places.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/lines.hpp>

// Lines side by side whose rows follow one another with small gaps, or without. Rows begin anywhere in the lines of memory, and warps that read parts of
// them would ask for the sectors at the edges of each part twice; of few lines a warp has several rows, one far below the other. So a block
// has panels, all elements of so many rows, each of which is one piece of memory. It copies them as they lie through a ring of stages in
// shared memory, in words of 16 bytes, and its threads read their lines there, whatever the size of an element is:
//
//     many lines     the threads have those of one panel, each up to four of them
//     few            groups of as many threads as there are lines, rounded up, have a panel each
namespace upsweep::gpu {

// The rows of a piece of a line, and so of a panel.
inline constexpr int log_piece_rows = 8;
inline constexpr int piece_rows = 1 << log_piece_rows;

struct panel_shape {
    static constexpr int most_threads = 512;
    static constexpr int least_threads = 64;
    static constexpr int threads_of_groups = 256;
    static constexpr int stages = 3;
    // Bytes of memory that are fetched together: those that do not lie so in shared memory, too, copies past the first-level cache ask for twice.
    static constexpr std::size_t sector = 32;
};

// The lines of a thread, fewer where accumulators take many registers.
template <class Acc>
inline constexpr int panel_lines = sizeof(Acc) <= 16 ? 4 : 2;

// The blocks of a multiprocessor for whose registers there is room.
template <class Acc, class T>
inline constexpr int panel_blocks = panel_lines<Acc> == 4 && sizeof(T) < 8 ? 2 : 1;

// A thread folds so many rows at once: as many as are 32 bytes of a line, or 8.
template <class T>
inline constexpr int panel_block_rows = sizeof(T) <= 4 ? static_cast<int>(32 / sizeof(T)) : 8;

struct panel_cuts {
    divider matrices;     // whose lines lie side by side
    unsigned width;       // lines of each
    unsigned pitch;       // elements from a row to the next
    std::uint64_t panels; // of all matrices
    unsigned groups;      // of the threads of a block, a power of two
    unsigned threads;
    unsigned stage_rows;  // of a panel, a multiple of those that a thread folds at once
    unsigned stage_words; // of 16 bytes, in whole sectors that these may touch

    std::size_t shared_bytes() const { return std::size_t{panel_shape::stages} * groups * stage_words * sizeof(uint4); }
    grid_shape grid() const
    {
        return {static_cast<unsigned>((panels + groups - 1) / groups), static_cast<int>(threads), shared_bytes()};
    }
};

template <class T, class Out, std::size_t Rank>
panel_cuts cut_into_panels(const detail::lines<const T, Out, Rank>& all)
{
    using shape = panel_shape;
    constexpr std::uint64_t least_stage_bytes = 384; // so that the words at both ends are few of all
    const std::uint64_t width = all.in.extent(Rank - 1);
    const std::uint64_t matrices = all.count() / width;
    const auto pitch = static_cast<std::uint64_t>(all.in.stride(0));
    const std::uint64_t threads_of_row = std::bit_ceil(width);
    panel_cuts cuts{divider(matrices),
                    static_cast<unsigned>(width),
                    static_cast<unsigned>(pitch),
                    all.length() / piece_rows * matrices,
                    1,
                    0,
                    0,
                    0};
    cuts.threads =
        static_cast<unsigned>(std::clamp<std::uint64_t>(threads_of_row, shape::least_threads, shape::most_threads));
    if (threads_of_row < shape::least_threads) {
        cuts.threads = shape::threads_of_groups;
        cuts.groups = static_cast<unsigned>(shape::threads_of_groups / threads_of_row);
    }
    cuts.stage_rows = panel_block_rows<T>;
    while (cuts.stage_rows < piece_rows && cuts.stage_rows * pitch * sizeof(T) < least_stage_bytes)
        cuts.stage_rows *= 2;
    const std::uint64_t sectors = (cuts.stage_rows * pitch * sizeof(T) + 2 * shape::sector - 1) / shape::sector;
    cuts.stage_words = static_cast<unsigned>(sectors * (shape::sector / sizeof(uint4)));
    return cuts;
}

// Whether rows lie such that panels are read faster than parts of them are: without gaps, or with gaps of which there is little to read and by which rows
// begin anywhere in a sector.
template <class T>
bool are_rows_of_panels(std::uint64_t width, std::ptrdiff_t pitch)
{
    const std::ptrdiff_t gap = pitch - static_cast<std::ptrdiff_t>(width);
    return gap == 0 || (gap > 0 && gap <= static_cast<std::ptrdiff_t>(width / 8) &&
                        static_cast<std::size_t>(pitch) * sizeof(T) % panel_shape::sector != 0);
}

// Whether lines are those of panels, whose rows are no longer than the threads and the shared memory of a block allow.
template <class Acc, class T, class Out, std::size_t Rank>
bool are_panels(const cuda& target, const detail::lines<const T, Out, Rank>& all)
{
    const std::uint64_t width = all.in.extent(Rank - 1);
    return all.in.stride(Rank - 1) == 1 && are_rows_of_panels<T>(width, all.in.stride(0)) &&
           width <= std::uint64_t{panel_shape::most_threads} * panel_lines<Acc> &&
           cut_into_panels(all).shared_bytes() <= target.workspace().shared_bytes();
}

// The rows that a group of threads copies through its ring.
template <class T>
class row_panel {
    static constexpr unsigned word = sizeof(uint4);
    static constexpr int stages = panel_shape::stages;

public:
    // `first` is that of the matrix, of so many elements from the first to the last, and the panel begins at element `begin`. There may be no panel for
    // the group.
    __device__ row_panel(const T* first, std::uint64_t elements, std::uint64_t begin, bool exists,
                         const panel_cuts& cuts, uint4* ring)
        : memory_begin_(bytes_of(first)), memory_end_(bytes_of(first + elements)), begin_(bytes_of(first + begin)),
          exists_(exists), cuts_(cuts), threads_(blockDim.x / cuts.groups),
          ring_(ring + threadIdx.x / threads_ * cuts.stage_words)
    {
    }

    // Calls fold(row, at) for each stage, where at(r, line) is an element r rows below. All threads of the block call this.
    template <class Fold>
    __device__ void for_each_stage(Fold fold) const
    {
        const unsigned count = piece_rows / cuts_.stage_rows;
        for (unsigned i = 0; i + 1 < stages; ++i)
            copy(i);
        for (unsigned i = 0; i < count; ++i) {
            __pipeline_wait_prior(stages - 2);
            __syncthreads(); // all have copied this stage, and have read the last one
            copy(i + stages - 1);
            const T* const elements = reinterpret_cast<const T*>(bytes_of(slot(i)) + place_in_sector(begin_of(i)));
            if (exists_)
                fold(i * cuts_.stage_rows, [&](unsigned r, unsigned line) { return elements[r * cuts_.pitch + line]; });
        }
    }

private:
    __device__ static const std::byte* bytes_of(const void* memory) { return static_cast<const std::byte*>(memory); }
    __device__ static std::uintptr_t place_in_sector(const std::byte* at)
    {
        return reinterpret_cast<std::uintptr_t>(at) % panel_shape::sector;
    }
    __device__ const std::byte* begin_of(unsigned i) const
    {
        return begin_ + i * (std::uintptr_t{cuts_.stage_rows} * cuts_.pitch * sizeof(T));
    }
    __device__ uint4* slot(unsigned i) const { return ring_ + i % stages * (cuts_.groups * cuts_.stage_words); }

    // Begins to copy a stage, if there is one. Words at the edges of the matrix, which have something else beside it, are copied by elements.
    __device__ void copy(unsigned i) const
    {
        if (exists_ && i * cuts_.stage_rows < piece_rows) {
            const std::byte* const from = begin_of(i) - place_in_sector(begin_of(i));
            const unsigned words = static_cast<unsigned>(begin_of(i + 1) - from + word - 1) / word;
            for (unsigned k = threadIdx.x % threads_; k < words; k += threads_) {
                const std::byte* const at = from + k * word;
                if (at >= memory_begin_ && at + word <= memory_end_)
                    copy_once_async(slot(i) + k, at);
                else
                    copy_elements(slot(i) + k, at);
            }
        }
        __pipeline_commit();
    }
    __device__ void copy_elements(uint4* to, const std::byte* at) const
    {
        for (unsigned k = 0; k < word; k += sizeof(T))
            if (at + k >= memory_begin_ && at + k < memory_end_)
                *reinterpret_cast<T*>(reinterpret_cast<std::byte*>(to) + k) = *reinterpret_cast<const T*>(at + k);
    }

    const std::byte* memory_begin_;
    const std::byte* memory_end_;
    const std::byte* begin_;
    bool exists_;
    const panel_cuts& cuts_;
    unsigned threads_; // of a group, a power of two
    uint4* ring_;
};

// Folds the panels. The totals of one lie side by side, and those of the panels of the same number of all matrices one behind the other.
template <class Acc, class T, class Out, std::size_t Rank, class Op>
__global__ void __launch_bounds__(panel_shape::most_threads, panel_blocks<Acc, T>)
    fold_panels_kernel(const __grid_constant__ lines_on_device<T, Out, Rank> of,
                       const __grid_constant__ panel_cuts cuts, Acc* totals, Op op)
{
    constexpr unsigned rows = panel_block_rows<T>;
    constexpr unsigned blocks = piece_rows / rows;
    constexpr int lines = panel_lines<Acc>;
    using element = walked_element_t<Op, Acc, T>;
    using total = decltype(lane_total<rows>(static_cast<const element*>(nullptr), op));
    using counter = counter_of_blocks<Op, Acc, total, std::bit_width(blocks)>;
    extern __shared__ __align__(16) uint4 dynamic[]; // which begins with a sector: there is no other shared memory
    const unsigned threads = blockDim.x / cuts.groups;
    const std::uint64_t task = std::uint64_t{blockIdx.x} * cuts.groups + threadIdx.x / threads;
    const bool exists = task < cuts.panels;
    const std::uint64_t number = cuts.matrices.quotient(exists ? task : 0);
    const std::uint64_t matrix = exists ? task - number * cuts.matrices.divisor : 0;
    const row_panel<T> panel(of.in.first_of(matrix * cuts.width), (of.length - 1) * cuts.pitch + cuts.width,
                             number * piece_rows * cuts.pitch, exists, cuts, dynamic);
    const unsigned first = threadIdx.x % threads;
    counter walked[lines];
#pragma unroll
    for (int v = 0; v < lines; ++v)
        walked[v] = counter(op);
    panel.for_each_stage([&](unsigned row, const auto& at) {
#pragma unroll
        for (int v = 0; v < lines; ++v) {
            const unsigned line = first + static_cast<unsigned>(v) * threads;
            if (line >= cuts.width)
                break;
#pragma unroll 1
            for (unsigned r = 0; r < cuts.stage_rows; r += rows) {
                element values[rows];
#pragma unroll
                for (unsigned j = 0; j < rows; ++j)
                    values[j] = convert<element>(at(r + j, line));
                walked[v].push(lane_total<rows>(values, op), (row + r) / rows, op);
            }
        }
    });
#pragma unroll
    for (int v = 0; v < lines; ++v) {
        const unsigned line = first + static_cast<unsigned>(v) * threads;
        if (exists && line < cuts.width)
            totals[task * cuts.width + line] = walked[v].fold_after(op.template identity<Acc>(), blocks, op);
    }
}

} // namespace upsweep::gpu
