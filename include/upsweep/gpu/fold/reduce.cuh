// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <upsweep/gpu/fold/small_reduce.cuh>
#include <upsweep/gpu/fold/tile_folds.cuh>
#include <upsweep/gpu/fold/tile_states.cuh>
#include <upsweep/gpu/fold/vector_total.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>

// Reduce in one kernel. Each block folds tiles and puts their totals on the board; block 0 folds the totals as they come,
// and the elements after the last whole tile.
namespace upsweep::gpu {

template <class Acc, class It, class Op>
struct reduce_shape {
    static constexpr int warps = 8;
    static constexpr int threads = warps * lanes;
    static constexpr int blocks = 4; // of a processor: together they have 128 KiB on their way
    static constexpr int rows = 8;
    static constexpr int elements = vector_elements<sizeof(std::iter_value_t<It>)>; // of a lane, in a row
    static constexpr int row = elements * lanes;
    static constexpr int chunk = row * rows; // of a warp
    static constexpr int tile = chunk * warps;
};

// The tiles that are put on the board. What is left needs no other block, nor does a single tile.
template <class Shape>
UPSWEEP_HOST_DEVICE std::uint64_t tiles_of(std::uint64_t count)
{
    return count <= Shape::tile ? 0 : count / Shape::tile;
}

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
        partial total = vector_total<Acc>(vectors[0], op);
#pragma unroll
        for (int r = 1; r < Shape::rows; ++r)
            total = op(total, vector_total<Acc>(vectors[r], op));
        Acc of_lane[1] = {convert<Acc>(total)};
        return warp_total(of_lane, op);
    } else {
        Acc totals[Shape::rows];
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r)
            totals[r] = vector_total<Acc>(vectors[r], op);
        return warp_total(totals, op);
    }
}

// The elements that no other block folds, a tile at most, as the totals of the blocks that the binary digits of their
// number cut them into: whole chunks, of the last chunk the whole rows, of the last row the whole vectors, of the last
// vector the elements.
template <class Shape, class Acc, class It, class Op>
struct tail {
    static constexpr int lane_level = std::countr_zero(static_cast<unsigned>(Shape::elements));
    static constexpr int row_level = lane_level + lane_levels;
    static_assert(Shape::rows <= Shape::warps, "each row of the last chunk has a warp");

    raw_array<Acc, Shape::warps> chunks;
    raw_array<Acc, Shape::rows> rows;
    raw_array<Acc, row_level> digits; // [k]: the block of 2^k elements, where digit k of the number is one

    // By all threads of a block; a barrier must follow.
    __device__ void fold(It in, int count, bool aligned, const Op& op)
    {
        const int warp = static_cast<int>(threadIdx.x) / lanes;
        const int whole = count / Shape::chunk;
        Acc of_chunk = op.template identity<Acc>();
        if (warp < whole)
            of_chunk = chunk_total<Shape, Acc>(in + warp * Shape::chunk, aligned, op);
        if (lane_id() == 0)
            chunks[warp] = of_chunk;
        const int row = Shape::warps - 1 - warp; // by warps that have no chunk, where there are enough
        if (row < Shape::rows && count % Shape::chunk != 0) {
            const int first = whole * Shape::chunk + row * Shape::row;
            fold_row(in + first, row, count - first, aligned, op);
        }
    }

    // before (+) the blocks, largest first. By one warp, after the barrier.
    __device__ Acc fold_after(const Acc& before, int count, const Op& op)
    {
        constexpr int levels_of_chunks = std::countr_zero(static_cast<unsigned>(2 * Shape::warps)); // all may be whole
        constexpr int levels_of_rows = std::countr_zero(static_cast<unsigned>(Shape::rows));
        const warp_tree<Acc, levels_of_chunks> tree_of_chunks(chunks[lane_id() % Shape::warps], op);
        Acc result = shuffle(tree_of_chunks.fold_before(before, op), count / Shape::chunk);
        if (count % Shape::chunk == 0)
            return result;
        const warp_tree<Acc, levels_of_rows> tree_of_rows(rows[lane_id() % Shape::rows], op);
        if constexpr (is_any_order<Op, Acc>) {
            result = op(result, tree_of_rows.total);
        } else {
            result = shuffle(tree_of_rows.fold_before(result, op), count % Shape::chunk / Shape::row);
#pragma unroll
            for (int k = row_level - 1; k >= 0; --k)
                if ((count >> k & 1) != 0)
                    result = op(result, digits[k]);
        }
        return result;
    }

private:
    // A row, of which `count` elements exist: all of them, some or none. By one warp.
    __device__ void fold_row(It in, int row, int count, bool aligned, const Op& op)
    {
        constexpr int elements = Shape::elements;
        const int mine = count - lane_id() * elements; // of this lane
        const auto vector = aligned && mine >= elements ? load_vector<elements>(in + lane_id() * elements)
                                                        : gather_vector<elements>(in + lane_id() * elements, mine);
        if constexpr (is_any_order<Op, Acc>) {
            Acc of_lane[1] = {op.template identity<Acc>()};
#pragma unroll
            for (int j = 0; j < elements; ++j)
                replace_if(j < mine, of_lane[0], op(of_lane[0], convert<Acc>(vector[j])));
            const Acc total = warp_total(of_lane, op);
            if (lane_id() == 0)
                rows[row] = total;
        } else {
            Acc of_lane[elements];
#pragma unroll
            for (int j = 0; j < elements; ++j) {
                of_lane[j] = op.template identity<Acc>();
                replace_if(j < mine, of_lane[j], convert<Acc>(vector[j]));
            }
            const warp_tree<Acc> tree(lane_total<elements>(of_lane, op), op);
            if (lane_id() == 0)
                rows[row] = tree.total;
            if (mine > 0 && mine < elements)
                element_digits<0>(of_lane, mine, op);
            if (count >= 0 && count < Shape::row && lane_id() == count / elements) {
#pragma unroll
                for (int k = 0; k < lane_levels; ++k)
                    if ((lane_id() >> k & 1) != 0)
                        digits[lane_level + k] = tree.sibling[k];
            }
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
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    reduce_kernel(It in, std::uint64_t count, Op op, Result* result, Acc nothing, board_memory memory)
{
    constexpr int levels = std::countr_zero(static_cast<unsigned>(Shape::warps));
    __shared__ raw_array<Acc, 2 * Shape::warps> of_warps; // one half is read while the other is written
    __shared__ tail<Shape, Acc, It, Op> after;
    __shared__ typename chunk_stack<Acc, Op>::memory stack_memory;
    __shared__ raw_array<Acc, 1> folded;

    const std::uint64_t tiles = tiles_of<Shape>(count);
    const int warp = static_cast<int>(threadIdx.x) / lanes;
    const bool aligned = is_aligned<Shape::elements>(in);
    const bool speaks = (warp == 0 || blockIdx.x == 0) && tiles != 0;
    const board<Acc> totals(memory, speaks ? load_relaxed(&memory.state->epoch) + 1 : 0);
    int half = 0;

    if (blockIdx.x != 0) {
        // The tiles of the last rounds go to the block that comes first, which asks for one in advance. Those before are dealt
        // out: handing out all of them takes 2 % longer where there are hundreds of rounds.
        __shared__ std::uint64_t next[2];
        const std::uint64_t workers = gridDim.x - 1;
        const std::uint64_t rounds = tiles / workers;
        const std::uint64_t dealt = (rounds > 64 ? rounds - 64 : 1) * workers;
        int step = 0;
        for (std::uint64_t tile = blockIdx.x - 1; tile < tiles; tile = next[step], step ^= 1, half ^= Shape::warps) {
            std::uint64_t following = tile + workers;
            if (threadIdx.x == 0 && following >= dealt && tiles > workers)
                following = dealt + draw(memory.state, tiles - dealt + workers);
            const Acc total = chunk_total<Shape, Acc>(in + tile * Shape::tile + warp * Shape::chunk, aligned, op);
            if (lane_id() == 0)
                of_warps[half + warp] = total;
            if (threadIdx.x == 0)
                next[step] = following;
            __syncthreads();
            if (warp == 0) {
                const warp_tree<Acc, levels> tree(of_warps[half + lane_id() % Shape::warps], op);
                if (lane_id() == 0)
                    totals.publish(tile, tree.total);
            }
        }
        return;
    }

    // Each warp folds a chunk of totals at a time; the totals of whole rounds go on a stack.
    constexpr int round = Shape::warps * chunk_tiles;
    const int left = static_cast<int>(count - tiles * Shape::tile);
    word128 notices[chunk_rows];
    if (tiles != 0)
        totals.peek(static_cast<unsigned>(warp * chunk_tiles), tiles, notices);
    chunk_stack<Acc, Op> stack(stack_memory, op);
    if (tiles != 0 && warp == 0) {
        stack.start(op.template identity<Acc>());
        if (lane_id() == 0)
            folded[0] = stack.fold();
    }
    after.fold(in + tiles * Shape::tile, left, aligned, op);
    __syncthreads();

    Acc total = op.template identity<Acc>();
    int last_warp = 0; // which gets the fold of all tiles
    for (std::uint64_t done = 0; done < tiles; done += round, half ^= Shape::warps) {
        const std::uint64_t first = done + static_cast<unsigned>(warp * chunk_tiles);
        Acc of_tiles[chunk_rows];
        totals.read(first, tiles < first + chunk_tiles ? tiles : first + chunk_tiles, op.template identity<Acc>(),
                    notices, of_tiles);
        Acc copy[chunk_rows];
#pragma unroll
        for (int r = 0; r < chunk_rows; ++r)
            copy[r] = of_tiles[r];
        const Acc of_chunk = warp_total(copy, op);
        if (lane_id() == 0)
            of_warps[half + warp] = of_chunk;
        __syncthreads();
        if (tiles < done + round)
            last_warp = static_cast<int>(tiles % round / chunk_tiles);
        if (warp == last_warp) {
            const warp_tree<Acc, levels> chunks(of_warps[half + lane_id() % Shape::warps], op);
            if (tiles < done + round) {
                Acc beyond;
                total = shuffle(chunks.fold_before(folded[0], op), warp);
                if (tiles % chunk_tiles != 0)
                    total = fold_in_chunk(total, of_tiles, static_cast<int>(tiles % chunk_tiles), beyond, op);
            } else {
                stack.push(chunks.total);
                total = stack.fold();
                if (lane_id() == 0)
                    folded[0] = total;
            }
        }
        if (done + round < tiles)
            totals.peek(first + round, tiles, notices);
    }
    if (warp == last_warp) {
        if (left != 0)
            total = after.fold_after(total, left, op);
        if (lane_id() == 0) {
            *result = convert<Result>(count != 0 ? total : nothing);
            if (tiles != 0)
                store_relaxed(&memory.state->epoch, totals.epoch());
        }
    }
}

// Writes the fold of `count` elements to *result, in order of the stream. Elements are read once.
template <class Acc, class It, class Op, class Result>
void reduce(const cuda& target, It in, std::uint64_t count, const Op& op, Result* result)
{
    using few = small_reduce_shape<It>;
    constexpr auto kernel_of_few = small_reduce_kernel<few, Acc, It, Op, Result>;
    const unsigned resident = resident_blocks<kernel_of_few>(target, few::threads, 0);
    const std::uint64_t most = resident < few::most_tiles ? resident : few::most_tiles;
    if (count != 0 && count <= few::tile * most) {
        const auto tiles = static_cast<unsigned>((count + few::tile - 1) / few::tile);
        launch(target, "reduce", kernel_of_few, tiles, few::threads, 0, in, static_cast<unsigned>(count), op, result,
               board_of(target, tiles, sizeof(Acc)));
        return;
    }
    using shape = reduce_shape<Acc, It, Op>;
    constexpr auto kernel = reduce_kernel<shape, Acc, It, Op, Result>;
    const std::uint64_t tiles = tiles_of<shape>(count);
    const std::uint64_t workers = resident_blocks<kernel>(target, shape::threads, 0) - 1;
    launch(target, "reduce", kernel, 1 + static_cast<unsigned>(tiles < workers ? tiles : workers), shape::threads, 0,
           in, count, op, result, fold_of_nothing<Acc>(op), board_of(target, tiles, sizeof(Acc)));
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
    static_assert(
        monoid_over<Op, accumulator>,
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
