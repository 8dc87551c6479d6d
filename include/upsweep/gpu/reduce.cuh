// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>

#include <upsweep/gpu/cuda.cuh>
#include <upsweep/gpu/primitive/board.cuh>
#include <upsweep/gpu/primitive/packed.cuh>
#include <upsweep/gpu/primitive/tile.cuh>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>

// Reduce in one kernel. Each block folds tiles and puts their totals on the board; block 0 folds the totals as they come,
// and the elements after the last whole tile.
namespace upsweep::gpu {

template <class Acc, class It, class Op>
struct reduce_shape {
    static constexpr int warps = 16;
    static constexpr int threads = warps * lanes;
    static constexpr int rows = 8;
    static constexpr int elements = vector_elements<sizeof(std::iter_value_t<It>)>; // of a lane, in a row
    static constexpr int row = elements * lanes;
    static constexpr int chunk = row * rows; // of a warp
    static constexpr int tile = chunk * warps;
};

// The type in which a lane adds up its elements of a chunk: sums of narrow integers fit into 32 bits there.
template <class Op, class Acc, class T>
using lane_accumulator_t =
    std::conditional_t<std::is_same_v<Op, plus> && std::is_integral_v<T> && sizeof(T) <= 2,
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>, Acc>;

// The total of the chunk at `in`, for every lane of the warp.
template <class Shape, class Acc, class It, class Op>
__device__ Acc chunk_total(It in, bool aligned, const Op& op)
{
    using element = std::iter_value_t<It>;
    constexpr int count = Shape::elements;
    using partial = lane_accumulator_t<Op, Acc, element>;

    lane_vector<element, count> vectors[Shape::rows];
    const It mine = in + lane_id() * count;
    if (aligned) {
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r)
            vectors[r] = load_vector<count>(mine + r * Shape::row);
    } else {
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r)
            vectors[r] = gather_vector<count>(mine + r * Shape::row);
    }

    if constexpr (is_any_order<Op, Acc>) {
        partial total = op.template identity<partial>();
        if constexpr (!std::is_same_v<partial, Acc> && sizeof(element) == 1) {
#pragma unroll
            for (int r = 0; r < Shape::rows; ++r)
                total = add_bytes(vectors[r].memory, total);
        } else {
#pragma unroll
            for (int r = 0; r < Shape::rows; ++r)
#pragma unroll
                for (int j = 0; j < count; ++j)
                    total = op(total, convert<partial>(vectors[r][j]));
        }
        Acc of_lane[1] = {convert<Acc>(total)};
        return warp_total(of_lane, op);
    } else {
        Acc totals[Shape::rows];
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r) {
            Acc converted[count];
#pragma unroll
            for (int j = 0; j < count; ++j)
                converted[j] = convert<Acc>(vectors[r][j]);
            totals[r] = lane_total<count>(converted, op);
        }
        return warp_total(totals, op);
    }
}

// The elements after the last whole tile, as the totals of the blocks that the binary digits of their number cut them into.
template <class Shape, class Acc, class It, class Op>
struct tail {
    static constexpr int element_level = 0;
    static constexpr int lane_level = std::countr_zero(static_cast<unsigned>(Shape::elements));
    static constexpr int row_level = lane_level + lane_levels;
    static constexpr int chunk_level = row_level + std::countr_zero(static_cast<unsigned>(Shape::rows));

    raw_array<Acc, Shape::warps> chunks; // totals of the whole chunks
    raw_array<Acc, chunk_level> digits;  // [k]: the block of 2^k elements, where digit k of the number is one

    // By all threads of a block; a barrier must follow.
    __device__ void fold(It in, int count, bool aligned, const Op& op)
    {
        const int warp = static_cast<int>(threadIdx.x) / lanes;
        const int first = warp * Shape::chunk;
        if (first + Shape::chunk <= count) {
            const Acc total = chunk_total<Shape, Acc>(in + first, aligned, op);
            if (lane_id() == 0)
                chunks[warp] = total;
        } else {
            if (lane_id() == 0)
                chunks[warp] = op.template identity<Acc>();
            if (first < count)
                fold_part(in + first, count - first, op);
        }
    }

    // before (+) the blocks, largest first. By one warp, after the barrier.
    __device__ Acc fold_after(const Acc& before, int count, const Op& op)
    {
        constexpr int levels = std::countr_zero(static_cast<unsigned>(Shape::warps));
        const warp_tree<Acc, levels> tree(chunks[lane_id() % Shape::warps], op);
        Acc result = shuffle(tree.fold_before(before, op), count / Shape::chunk);
        for (int k = chunk_level - 1; k >= 0; --k)
            if ((count >> k & 1) != 0)
                result = op(result, digits[k]);
        return result;
    }

private:
    // The digits of count < Shape::chunk elements. By one warp.
    __device__ void fold_part(It in, int count, const Op& op)
    {
        constexpr int elements = Shape::elements;
        const Acc identity = op.template identity<Acc>();
        const int last_row = count / Shape::row;
        const int last_lane = count % Shape::row / elements;
        const It from = in + lane_id() * elements;
        lane_vector<std::iter_value_t<It>, elements> vectors[Shape::rows]; // all on their way before one is used
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r)
            vectors[r] = gather_vector<elements>(from + r * Shape::row, count - lane_id() * elements - r * Shape::row);

        Acc mine = identity;         // lane r: the total of row r
        Acc last_elements[elements]; // of the last row
        warp_tree<Acc> last_tree;
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r) {
            Acc of_row[elements];
#pragma unroll
            for (int j = 0; j < elements; ++j) {
                of_row[j] = identity;
                replace_if(r * Shape::row + lane_id() * elements + j < count, of_row[j], convert<Acc>(vectors[r][j]));
                replace_if(r == last_row, last_elements[j], of_row[j]);
            }
            const warp_tree<Acc> row(lane_total<elements>(of_row, op), op);
            replace_if(lane_id() == r, mine, row.total);
#pragma unroll
            for (int k = 0; k < lane_levels; ++k)
                replace_if(r == last_row, last_tree.sibling[k], row.sibling[k]);
        }
        const warp_tree<Acc> rows(mine, op);

        if (lane_id() == last_row) {
#pragma unroll
            for (int k = 0; row_level + k < chunk_level; ++k)
                if ((last_row >> k & 1) != 0)
                    digits[row_level + k] = rows.sibling[k];
        }
        if (lane_id() == last_lane) {
#pragma unroll
            for (int k = 0; k < lane_levels; ++k)
                if ((last_lane >> k & 1) != 0)
                    digits[lane_level + k] = last_tree.sibling[k];
            element_digits<0>(last_elements, count % Shape::elements, op);
        }
    }

    // The digits from Level up of count < Shape::elements elements of one thread; blocks[i] is block i of 2^Level elements.
    template <int Level, int Blocks>
    __device__ void element_digits(const Acc (&blocks)[Blocks], int count, const Op& op)
    {
        if constexpr (Blocks > 1) {
            Acc joined[Blocks / 2];
#pragma unroll
            for (int i = 0; i < Blocks / 2; ++i) {
                if ((count >> Level & 1) != 0 && count >> (Level + 1) == i)
                    digits[Level] = blocks[2 * i];
                joined[i] = op(blocks[2 * i], blocks[2 * i + 1]);
            }
            element_digits<Level + 1>(joined, count, op);
        }
    }
};

template <class Shape, class Acc, class It, class Op, class Result>
__global__ void __launch_bounds__(Shape::threads, 2)
    reduce_kernel(It in, std::uint64_t count, Op op, Result* result, Acc nothing, board_memory memory)
{
    __shared__ raw_array<Acc, 2 * Shape::warps> tile_totals;
    __shared__ tail<Shape, Acc, It, Op> after;
    __shared__ typename chunk_stack<Acc, Op>::memory stack_memory;
    __shared__ raw_array<Acc, 1> folded;

    const std::uint64_t tiles = count / Shape::tile;
    const int warp = static_cast<int>(threadIdx.x) / lanes;
    const bool aligned = is_aligned<Shape::elements>(in);
    const bool speaks = (warp == 0 || blockIdx.x == 0) && tiles != 0;
    const board<Acc> totals(memory, speaks ? load_relaxed(&memory.state->epoch) + 1 : 0);

    if (blockIdx.x != 0) {
        int half = 0; // the totals of one tile are read while those of the next are written
        for (std::uint64_t tile = blockIdx.x - 1; tile < tiles; tile += gridDim.x - 1, half ^= Shape::warps) {
            const Acc total = chunk_total<Shape, Acc>(in + tile * Shape::tile + warp * Shape::chunk, aligned, op);
            if (lane_id() == 0)
                tile_totals[half + warp] = total;
            __syncthreads();
            if (warp == 0) {
                constexpr int levels = std::countr_zero(static_cast<unsigned>(Shape::warps));
                const warp_tree<Acc, levels> tree(tile_totals[half + lane_id() % Shape::warps], op);
                if (lane_id() == 0)
                    totals.publish(tile, tree.total);
            }
        }
        return;
    }

    const int left = static_cast<int>(count % Shape::tile);
    after.fold(in + tiles * Shape::tile, left, aligned, op);

    // Each warp folds a chunk of totals at a time; what the first warp pushes on the stack is in order.
    chunk_stack<Acc, Op> stack(stack_memory, op);
    if (warp == 0)
        stack.start(op.template identity<Acc>());
    for (std::uint64_t done = 0;; done += Shape::warps * chunk_tiles) {
        const std::uint64_t first = done + warp * chunk_tiles;
        const std::uint64_t end = tiles < first + chunk_tiles ? tiles : first + chunk_tiles;
        word128 notices[chunk_rows] = {};
        Acc of_tiles[chunk_rows];
        totals.peek(first, end, notices);
        totals.read(first, end, op.template identity<Acc>(), notices, of_tiles);
        if (first + chunk_tiles <= tiles) {
            const Acc of_chunk = warp_total(of_tiles, op);
            if (lane_id() == 0)
                tile_totals[warp] = of_chunk;
        }
        __syncthreads();
        if (warp == 0) {
            for (int w = 0; w < Shape::warps && done + (w + 1) * chunk_tiles <= tiles; ++w)
                stack.push(tile_totals[w]);
            if (lane_id() == 0)
                folded[0] = stack.fold();
        }
        __syncthreads();
        if (tiles < first + chunk_tiles && tiles >= first) { // the warp of the last chunk, which is not whole
            Acc beyond;
            const chunk_tree<Acc> last(of_tiles, op);
            const Acc of_tiles_before = last.fold(folded[0], static_cast<int>(tiles - first), beyond, op);
            const Acc total = after.fold_after(of_tiles_before, left, op);
            if (lane_id() == 0) {
                *result = convert<Result>(count != 0 ? total : nothing);
                if (tiles != 0)
                    store_relaxed(&memory.state->epoch, load_relaxed(&memory.state->epoch) + 1);
            }
        }
        if (tiles < done + Shape::warps * chunk_tiles)
            return;
    }
}

// Writes the fold of `count` elements to *result, in order of the stream. Elements are read once.
template <class Acc, class It, class Op, class Result>
void reduce(const cuda& target, It in, std::uint64_t count, const Op& op, Result* result)
{
    using shape = reduce_shape<Acc, It, Op>;
    constexpr auto kernel = reduce_kernel<shape, Acc, It, Op, Result>;
    const std::uint64_t tiles = count / shape::tile;
    const std::uint64_t workers = resident_blocks<kernel>(target, shape::threads, 0) - 1;
    launch(target, "reduce", kernel, 1 + static_cast<unsigned>(std::min(tiles, workers)), shape::threads, 0, in, count, op,
           result, fold_of_nothing<Acc>(op), target.workspace().board(tiles, sizeof(Acc)));
}

} // namespace upsweep::gpu

namespace upsweep {

// The same on a GPU, with the result in memory that the GPU can write, in order of the stream: the call does not wait.
// One kernel, one pass over the input.
template <input_range R, class Result, class Op>
void reduce(const cuda& target, R&& in, Result* result, Op op)
{
    using element = std::ranges::range_value_t<R>;
    using accumulator = accumulator_t<Op, element>;
    static_assert(monoid_over<Op, accumulator>,
                  "the operator is not a monoid over the element type: it needs op(a, b) and an identity (see up::monoid)");
    const std::size_t count = detail::size_of(in);
    if constexpr (detail::is_extremum<Op>)
        if (count == 0)
            throw error(error_kind::invalid_argument, "reduce", "minimum and maximum of no elements do not exist",
                        "check that the input is not empty");
    const gpu::current_device current(target.device());
    gpu::check_place(target, "reduce", detail::first_of(in), count);
    gpu::check_place(target, "reduce", result, 1);
    gpu::reduce<accumulator>(target, detail::first_of(in), count, op, result);
}

// The same with the result returned: waits for the stream.
template <input_range R, class Op = plus>
[[nodiscard]] auto reduce(const cuda& target, R&& in, Op op = {})
{
    using result = result_t<Op, std::ranges::range_value_t<R>>;
    auto* const to = static_cast<result*>(target.workspace().result(sizeof(result)));
    reduce(target, in, to, op);
    gpu::check("reduce", cudaStreamSynchronize(target.stream()));
    return *to;
}

} // namespace upsweep
