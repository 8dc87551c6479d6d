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
#include <upsweep/view.hpp>

// Lines side by side, whose rows begin anywhere in the sectors of memory. Warps that read parts of them would ask for the sectors at the edges of each
// part twice; of few lines a warp has several rows, one far below the other. So a block copies panels, some hundred rows of some hundred lines, through
// a ring of stages in shared memory, in words of 16 bytes, and each thread reads its line there, whatever the size of an element is. A stage of a panel
// has some rows. It is copied in chunks:
//
//     whole rows that follow one another with small gaps, or without     the stage is one chunk
//     parts of long rows, and rows that lie apart                        each row is one
//
// Of few lines a block has several panels, each for a group of as many threads as there are lines.
namespace upsweep::gpu {

// The rows of a piece of a line, and so of a panel.
inline constexpr int log_piece_rows = 8;
inline constexpr int piece_rows = 1 << log_piece_rows;

struct panel_shape {
    static constexpr int stages = 3;
    static constexpr unsigned most_threads = 512;
    static constexpr unsigned threads_of_groups = 256;
    static constexpr unsigned least_blocks = 256;  // that keep all multiprocessors busy
    static constexpr unsigned words_of_thread = 6; // that it copies of a stage, at most: their places take registers
    // Memory is read in sectors. A sector is copied to one of shared memory: copies past the first-level cache would ask for it twice otherwise.
    static constexpr std::size_t sector = 32;
    static constexpr std::size_t line_bytes = 64; // of each line in a stage, at least: all threads wait for every stage
    static constexpr std::size_t whole_row_bytes = 32768; // of the longest row, in a stage, that is not cut into parts
    static constexpr std::size_t part_bytes = 16384;      // of a part of a longer one
    static constexpr std::size_t all_banks = 128;         // bytes of shared memory that are read at once
};

// The blocks of a multiprocessor for whose registers there is room.
template <class Acc, class T>
inline constexpr int panel_blocks = sizeof(Acc) <= 16 && sizeof(T) < 8 ? 2 : 1;

// A thread folds so many rows at once, a power of two: as many as are 32 bytes of a line, or 8, or 16 of bytes.
template <class T>
inline constexpr unsigned panel_block_rows = sizeof(T) > 4 ? 8
                                                           : std::bit_floor(32 / std::max<std::size_t>(sizeof(T), 2));

struct panel_cuts {
    memory_range memory;
    std::int64_t pitch;    // bytes from a row to the next
    std::uint64_t panels;  // of all matrices, which are those whose lines lie side by side
    divider panels_across; // of the same rows, of all matrices
    divider parts;         // of a row
    unsigned row_width;    // lines of a row
    unsigned width;        // of a panel, of which the last part may have fewer
    unsigned groups;       // of threads in a block, each as many as a panel has lines
    unsigned threads;      // of a block: those of all groups, and as many as it takes to copy
    unsigned stage_rows;   // of a panel, a power of two
    unsigned log_chunks;   // of a stage
    unsigned chunk_bytes;
    unsigned chunk_words; // of 16 bytes, in which a chunk may lie
    unsigned row_pitch;   // bytes from a row to the next in shared memory
    unsigned stage_words; // of a group

    // The ring, and where the panel of each group begins.
    std::size_t shared_bytes() const
    {
        return groups * (panel_shape::stages * stage_words * sizeof(uint4) + sizeof(const std::byte*));
    }
    grid_shape grid() const
    {
        return {static_cast<unsigned>((panels + groups - 1) / groups), static_cast<int>(threads), shared_bytes()};
    }
};

// Into at least so many blocks, if there are as many panels.
template <class T, class Out, std::size_t Rank>
panel_cuts cut_into_panels(const detail::lines<const T, Out, Rank>& all,
                           unsigned least_blocks = panel_shape::least_blocks)
{
    using shape = panel_shape;
    constexpr std::uint64_t small_gap = 64;
    const auto ratio = [](std::uint64_t number, std::uint64_t divisor) { return (number + divisor - 1) / divisor; };
    const auto multiple = [&](std::uint64_t number, std::uint64_t of) { return ratio(number, of) * of; };
    const std::uint64_t row = all.in.extent(Rank - 1);
    const std::uint64_t matrices = all.count() / row;
    const std::uint64_t pitch = static_cast<std::uint64_t>(all.in.stride(0)) * sizeof(T);
    const std::uint64_t gap = pitch - row * sizeof(T);
    panel_cuts cuts{};
    cuts.memory = memory_range::of(all.in);
    cuts.pitch = static_cast<std::int64_t>(pitch);
    // All stages of a panel begin at the same place of a sector.
    cuts.stage_rows = panel_block_rows<T>;
    while (cuts.stage_rows * sizeof(T) < shape::line_bytes || cuts.stage_rows * pitch % shape::sector != 0)
        cuts.stage_rows *= 2;
    const std::uint64_t line_bytes = cuts.stage_rows * sizeof(T);
    std::uint64_t parts = 1;
    cuts.row_width = static_cast<unsigned>(row);
    cuts.width = static_cast<unsigned>(row);
    if (row * line_bytes > shape::whole_row_bytes) {
        parts = ratio(row * line_bytes, shape::part_bytes);
        cuts.width = static_cast<unsigned>(multiple(ratio(row, parts), lanes));
        parts = ratio(row, cuts.width);
    }
    cuts.parts = divider(parts);
    cuts.panels_across = divider(parts * matrices);
    cuts.panels = all.length() / piece_rows * matrices * parts;
    const std::uint64_t width_bytes = cuts.width * sizeof(T);
    std::uint64_t stage_bytes = cuts.stage_rows * pitch;
    std::uint64_t chunk_bytes = stage_bytes;
    std::uint64_t row_pitch = pitch;
    if (parts > 1 || (gap > small_gap && 8 * gap > pitch)) {
        // Each row begins where it does in a sector of memory, and the words of two are apart.
        chunk_bytes = width_bytes;
        const std::uint64_t place = pitch % shape::sector;
        row_pitch = multiple(width_bytes + shape::sector + sizeof(uint4) - place, shape::sector) + place;
        stage_bytes = cuts.stage_rows * row_pitch;
        cuts.log_chunks = static_cast<unsigned>(std::countr_zero(cuts.stage_rows));
    }
    cuts.chunk_bytes = static_cast<unsigned>(chunk_bytes);
    cuts.row_pitch = static_cast<unsigned>(row_pitch);
    cuts.chunk_words = static_cast<unsigned>(ratio(chunk_bytes + shape::sector - 1, sizeof(uint4)));
    const std::uint64_t words = std::uint64_t{cuts.chunk_words} << cuts.log_chunks; // of a group
    // Several groups only of whole rows, so that all panels of a block have as many lines.
    cuts.groups = 1;
    if (parts == 1)
        cuts.groups = static_cast<unsigned>(std::clamp<std::uint64_t>(
            std::min(cuts.panels / least_blocks, shape::threads_of_groups * shape::words_of_thread / words), 1,
            std::max(1U, shape::threads_of_groups / cuts.width)));
    cuts.threads = static_cast<unsigned>(multiple(
        std::max<std::uint64_t>(cuts.groups * cuts.width, ratio(cuts.groups * words, shape::words_of_thread)), lanes));
    // Sectors that a stage may touch; and groups whose threads are of one warp meet in few banks.
    stage_bytes = multiple(stage_bytes + shape::sector - 1, shape::sector);
    if (cuts.groups > 1)
        while (stage_bytes % shape::all_banks != multiple(width_bytes, shape::sector) % shape::all_banks)
            stage_bytes += shape::sector;
    cuts.stage_words = static_cast<unsigned>(stage_bytes / sizeof(uint4));
    return cuts;
}

// Whether lines are those of panels, for which the shared memory of a block has room.
template <class T, class Out, std::size_t Rank>
bool are_panels(const cuda& target, const detail::lines<const T, Out, Rank>& all)
{
    if (all.in.stride(Rank - 1) != 1 || all.in.stride(0) < static_cast<std::ptrdiff_t>(all.in.extent(Rank - 1)))
        return false;
    const panel_cuts cuts = cut_into_panels(all);
    return cuts.threads <= panel_shape::most_threads && cuts.shared_bytes() <= target.workspace().shared_bytes();
}

// The panels of a block on their way through its ring. All threads of the block copy those of all groups, so that warps copy what lies together. Which
// words of a stage a thread copies, and to where, it knows from the first stage on.
template <class T>
class panel_ring {
    static constexpr unsigned word = sizeof(uint4);
    static constexpr unsigned sector = panel_shape::sector;
    static constexpr unsigned stages = panel_shape::stages;
    static constexpr unsigned words = panel_shape::words_of_thread;

public:
    // The panel of this thread's group begins at `begin`, or is none, and has so many lines. All threads of the block call this.
    __device__ panel_ring(const panel_cuts& cuts, const T* begin, unsigned lines, uint4* memory)
        : cuts_(cuts), ring_(memory)
    {
        const auto* const first = reinterpret_cast<const std::byte*>(begin);
        const auto begins = reinterpret_cast<const std::byte**>(memory + stages * cuts.groups * cuts.stage_words);
        const unsigned group = threadIdx.x / cuts.width;
        if (group < cuts.groups && threadIdx.x % cuts.width == 0)
            begins[group] = first;
        const bool is_inside = first == nullptr || cuts.memory.has(first - place_in_sector(first),
                                                                   first + piece_rows * cuts.pitch + sector);
        are_inside_ = __syncthreads_and(is_inside) != 0;
        elements_ = (group < cuts.groups ? group : 0) * cuts.stage_words * word + place_in_sector(first);
        find_words(begins, cuts.log_chunks == 0 ? cuts.chunk_bytes : lines * static_cast<unsigned>(sizeof(T)));
    }

    // Calls fold(row, at) for each stage, where at(r, line) is an element of this thread's panel, r rows below. All threads of the block call this.
    template <class Fold>
    __device__ void for_each_stage(Fold fold)
    {
        const unsigned count = piece_rows / cuts_.stage_rows;
        for (unsigned i = 0; i + 1 < stages; ++i)
            copy(i);
#pragma unroll 1
        for (unsigned i = 0; i < count; ++i) {
            __pipeline_wait_prior(stages - 2);
            __syncthreads(); // all have copied this stage, and have read the last one
            copy(i + stages - 1);
            const std::byte* const elements = reinterpret_cast<const std::byte*>(slot(i)) + elements_;
            fold(i * cuts_.stage_rows, [&](unsigned r, unsigned line) {
                return *reinterpret_cast<const T*>(elements + r * cuts_.row_pitch + line * sizeof(T));
            });
        }
    }

private:
    __device__ static unsigned place_in_sector(const std::byte* at)
    {
        return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at)) % sector;
    }
    __device__ uint4* slot(unsigned i) const { return ring_ + i % stages * (cuts_.groups * cuts_.stage_words); }

    __device__ bool has_word(unsigned j) const { return (has_words_ >> j & 1) != 0; }
    // Chunks have so many bytes.
    __device__ void find_words(const std::byte* const* begins, unsigned chunk_bytes)
    {
        const unsigned chunks = cuts_.groups << cuts_.log_chunks;
        const unsigned step_chunks = blockDim.x / cuts_.chunk_words;
        const unsigned step_words = blockDim.x - step_chunks * cuts_.chunk_words;
        unsigned chunk = threadIdx.x / cuts_.chunk_words; // of all groups
        unsigned k = threadIdx.x - chunk * cuts_.chunk_words;
#pragma unroll
        for (unsigned j = 0; j < words; ++j) {
            from_[j] = cuts_.memory.begin;
            to_[j] = 0;
            if (chunk < chunks && begins[chunk >> cuts_.log_chunks] != nullptr) {
                const unsigned group = chunk >> cuts_.log_chunks;
                const unsigned row = chunk - (group << cuts_.log_chunks);
                const std::byte* const panel = begins[group];
                const std::byte* const begin = panel + row * cuts_.pitch;
                const unsigned place = place_in_sector(begin);
                from_[j] = begin - place + k * word;
                has_words_ |= static_cast<unsigned>(k * word < place + chunk_bytes) << j;
                to_[j] = group * cuts_.stage_words +
                         (place_in_sector(panel) + row * cuts_.row_pitch) / sector * (sector / word) + k;
            }
            chunk += step_chunks;
            k += step_words;
            if (k >= cuts_.chunk_words) {
                k -= cuts_.chunk_words;
                ++chunk;
            }
        }
    }

    // Begins to copy the next stage, which is number i, if there is one. Words at the edges of all lines, which have something else beside them, are
    // copied by bytes. Places in shared memory are counted in words: of sums of bytes nvcc 13.0 makes an instruction for asynchronous copies that GPUs do
    // not know.
    __device__ void copy(unsigned i)
    {
        if (i * cuts_.stage_rows < piece_rows) {
            uint4* const to = slot(i);
            if (are_inside_) {
#pragma unroll
                for (unsigned j = 0; j < words; ++j)
                    if (has_word(j))
                        copy_once_async(to + to_[j], from_[j]);
            } else {
#pragma unroll
                for (unsigned j = 0; j < words; ++j)
                    if (has_word(j))
                        cuts_.memory.copy_word(to + to_[j], from_[j]);
            }
            const std::int64_t step = cuts_.stage_rows * cuts_.pitch;
#pragma unroll
            for (const std::byte*& from : from_)
                from += step;
        }
        __pipeline_commit();
    }

    const panel_cuts& cuts_;
    uint4* ring_;
    unsigned has_words_ = 0;       // a bit for each
    const std::byte* from_[words]; // in the next stage
    unsigned to_[words];           // in a slot of the ring
    unsigned elements_;            // where those of this thread's panel begin in a slot, in bytes
    bool are_inside_;
};

// Folds the panels. The totals of one lie side by side, and those of the panels of the same number of all matrices one behind the other.
template <class Acc, class T, class Out, std::size_t Rank, class Op>
__global__ void __launch_bounds__(panel_shape::most_threads, panel_blocks<Acc, T>)
    fold_panels_kernel(const __grid_constant__ lines_on_device<T, Out, Rank> of,
                       const __grid_constant__ panel_cuts cuts, Acc* totals, Op op)
{
    constexpr unsigned rows = panel_block_rows<T>;
    constexpr unsigned blocks = piece_rows / rows;
    using element = walked_element_t<Op, Acc, T>;
    using total = decltype(lane_total<rows>(static_cast<const element*>(nullptr), op));
    using counter = counter_of_blocks<Op, Acc, total, std::bit_width(blocks)>;
    extern __shared__ __align__(16) uint4 dynamic[]; // which begins with a sector: there is no other shared memory
    const unsigned group = threadIdx.x / cuts.width;
    const unsigned line = threadIdx.x - group * cuts.width;
    const std::uint64_t task = std::uint64_t{blockIdx.x} * cuts.groups + group;
    const bool exists = group < cuts.groups && task < cuts.panels;
    const std::uint64_t number = cuts.panels_across.quotient(exists ? task : 0);
    const std::uint64_t across = exists ? task - number * cuts.panels_across.divisor : 0;
    const std::uint64_t matrix = cuts.parts.quotient(across);
    const auto first = static_cast<unsigned>(across - matrix * cuts.parts.divisor) * cuts.width;
    const unsigned width = min(cuts.width, cuts.row_width - first);
    const T* const begin =
        of.in.first_of(matrix * cuts.row_width + first) + static_cast<std::int64_t>(number * piece_rows) * of.in.stride;
    panel_ring<T> ring(cuts, exists ? begin : nullptr, width, dynamic);
    const bool has_line = exists && line < width;
    counter walked(op);
    ring.for_each_stage([&](unsigned row, const auto& at) {
        if (!has_line)
            return;
#pragma unroll 1
        for (unsigned r = 0; r < cuts.stage_rows; r += rows) {
            element values[rows];
#pragma unroll
            for (unsigned j = 0; j < rows; ++j)
                values[j] = convert<element>(at(r + j, line));
            walked.push(lane_total<rows>(values, op), (row + r) / rows, op);
        }
    });
    if (has_line)
        totals[number * of.count + matrix * cuts.row_width + first + line] =
            walked.fold_after(op.template identity<Acc>(), blocks, op);
}

} // namespace upsweep::gpu
