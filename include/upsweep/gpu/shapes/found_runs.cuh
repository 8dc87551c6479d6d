// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/heads.cuh>
#include <upsweep/gpu/shapes/segments.cuh>

// Runs of equal keys as segments, of which an earlier kernel has told where they begin, and how many of them begin before each tile of keys. A
// task is some tiles: the runs that begin there, and the pieces there of the one that began before.
namespace upsweep::gpu {

template <class Offset>
struct found_runs {
    static constexpr bool are_equal = false;
    static constexpr int own_work = 0;
    const Offset* offsets;
    const std::uint64_t* found;
    const std::uint64_t* tiles;
    std::uint64_t all_tiles;
    std::uint64_t count; // at most

    // A task is a tile, or some where no piece waits for the one before it. Pieces are as large as they can be: one that is not the
    // first of its task would wait for another one there.
    task_size fitted(const task_size& size, std::uint64_t largest_piece) const
    {
        const std::uint64_t few_tasks = size.work > size.piece ? all_tiles / 16384 + 1 : 1;
        return {(few_tasks < lanes ? few_tasks : lanes) * head_tile,
                largest_piece < head_tile ? largest_piece : head_tile};
    }
    __device__ found_runs in_kernel() const { return {offsets, found, tiles, all_tiles, *found}; }
    __device__ std::uint64_t begin(std::uint64_t run) const { return static_cast<std::uint64_t>(offsets[run]); }
    __device__ std::uint64_t work_before(std::uint64_t run) const { return begin(run); }
    __device__ static std::uint64_t work_at(std::uint64_t, std::uint64_t elements) { return elements; }
    __device__ std::uint64_t tasks(const task_size& size) const
    {
        const std::uint64_t of_task = size.work / head_tile;
        return (all_tiles + of_task - 1) / of_task;
    }
    __device__ segment_task task(std::uint64_t number, const task_size& size) const
    {
        const std::uint64_t first = number * size.work;
        const std::uint64_t before = tiles[first / head_tile]; // runs that began before
        segment_task found_task{before, first + size.work, 0, before - 1};
        if (before != 0 && before <= count) {
            const std::uint64_t next = (first - begin(before - 1) + size.piece - 1) / size.piece;
            if (begin(before - 1) + next * size.piece < begin(before))
                found_task.piece = next;
        }
        return found_task;
    }
};

} // namespace upsweep::gpu
