// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/fold/small_reduce.cuh>
#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/shifted_rows.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/op.hpp>

// Reduce in one pass and one kernel. Blocks have two roles:
//
//                  step after step                                        at the end
//   worker blocks  fold a tile, a warp its warp tile; publish its total
//   block 0        each warp reads a group of 128 totals and folds it;    fold the elements after the last whole tile,
//                  one warp folds the groups                              which block 0 has read first of all; write the result
//
// Totals are read and folded in the order of the tiles, by the look-back of look_back.cuh, whichever block they come
// from.
namespace upsweep::gpu {

template <class Acc, class Source, class Op>
struct reduce_shape {
    static constexpr int warps = 8;
    static constexpr int threads = warps * lanes;
    // Four blocks of a multiprocessor have 128 KiB on their way. Large accumulators need the registers of two, unless the elements of
    // a tile are folded as something else: of moments, only block 0 then keeps some in memory.
    static constexpr bool is_large =
        sizeof(Acc) > 16 && std::is_same_v<vector_element_t<Op, Acc, std::iter_value_t<Source>>, Acc>;
    static constexpr int blocks = is_large ? 2 : 4;
    // A strided source keeps indices and strides in registers, of which eight rows would leave too few.
    static constexpr int rows = is_large || is_strided_source<Source> ? 4 : 8;
    static constexpr bool reads_strided_bytes = true;
    static constexpr int elements = vector_elements<sizeof(std::iter_value_t<Source>)>; // of a lane, in a row
    static constexpr int row = elements * lanes;
    static constexpr int warp_tile = row * rows;
    static constexpr int tile = warp_tile * warps;
    static constexpr int levels = std::countr_zero(static_cast<unsigned>(warps));
    static constexpr int round = warps * group_tiles; // the tiles whose totals block 0 reads in a step
};

// The tiles that worker blocks fold. What is left block 0 folds itself, as it does a single tile.
template <class Shape>
UPSWEEP_HOST_DEVICE std::uint64_t tiles_of(std::uint64_t count)
{
    return count <= Shape::tile ? 0 : count / Shape::tile;
}

// How a warp tile lies in memory.
struct tile_place {
    bool is_aligned;     // whether its vectors are words
    bool has_neighbours; // whether there are elements of a vector before it and behind it
    bool is_of_many;     // of so many elements that they are loaded by load_vector_of_many

    // The place of a tile that begins with element number `first` of `count`.
    template <int Elements>
    __device__ static tile_place of(bool is_aligned, std::uint64_t first, int tile, std::uint64_t count,
                                    bool is_of_many)
    {
        return {is_aligned, first >= Elements && first + static_cast<unsigned>(tile + Elements) <= count, is_of_many};
    }
};

// The total of a warp tile of which vector(r) is this lane's vector of row r, for every lane of the warp.
template <class Shape, class Acc, class Vector, class Op>
__device__ Acc total_of_vectors(Vector vector, const Op& op)
{
    if constexpr (is_any_order<Op, Acc>) {
        auto total = vector_total<Acc>(vector(0), op);
#pragma unroll
        for (int r = 1; r < Shape::rows; ++r)
            total = op(total, vector_total<Acc>(vector(r), op));
        Acc of_lane[1] = {convert<Acc>(total)};
        return warp_total(of_lane, op);
    } else {
        decltype(vector_total<Acc>(vector(0), op)) totals[Shape::rows];
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r)
            totals[r] = vector_total<Acc>(vector(r), op);
        return warp_total(totals, op);
    }
}

// The total of a warp tile of bytes at a stride, whose first vector of this lane begins at `first`, in any order. Row by row: vectors of all rows, and
// the words that they are cut out of, would take too many registers.
template <class Shape, int Stride, class Acc, class T, class Op>
__device__ Acc total_of_strided_bytes(const T* first, const Op& op)
{
    constexpr int count = Shape::elements;
    auto total = vector_total<Acc>(load_strided_bytes<Stride, count>(first), op);
#pragma unroll 1
    for (int r = 1; r < Shape::rows; ++r)
        total = op(total, vector_total<Acc>(load_strided_bytes<Stride, count>(first + r * Shape::row * Stride), op));
    Acc of_lane[1] = {convert<Acc>(total)};
    return warp_total(of_lane, op);
}

// The total of the warp tile at `in`, for every lane of the warp.
template <class Shape, class Acc, class Source, class Op>
__device__ Acc warp_tile_total(Source in, const tile_place& place, const Op& op)
{
    using element = std::iter_value_t<Source>;
    constexpr int count = Shape::elements;
    const Source mine = in + lane_id() * count;
    if constexpr (may_be_shifted_rows<count, Source>) {
        if (!place.is_aligned && place.has_neighbours) {
            lane_vector<element, count> words[Shape::rows + 1];
            if (place.is_of_many)
                load_shifted_rows(mine, words, [](const element* from) { return load_vector_of_many<count>(from); });
            else
                load_shifted_rows(mine, words, [](const element* from) { return load_vector<count>(from); });
            const auto before = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(mine) % sizeof(uint4));
            return total_of_vectors<Shape, Acc>([&](int r) { return shifted_row(words, r, before); }, op);
        }
    }
    if constexpr (may_be_strided_bytes<count, Source> && Shape::reads_strided_bytes && is_any_order<Op, Acc>) {
        const int stride = in.short_stride();
        if (place.has_neighbours && stride != 0) {
            const element* const first = mine.data + static_cast<std::int64_t>(mine.first) * stride;
            return stride == 2 ? total_of_strided_bytes<Shape, 2, Acc>(first, op)
                               : total_of_strided_bytes<Shape, 4, Acc>(first, op);
        }
    }
    lane_vector<element, count> vectors[Shape::rows];
    const auto load = [&](auto load_from) {
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r)
            vectors[r] = load_from(mine + r * Shape::row);
    };
    if (place.is_aligned && place.is_of_many)
        load([](const Source& from) { return load_vector_of_many<count>(from); });
    else if (place.is_aligned)
        load([](const Source& from) { return load_vector<count>(from); });
    else
        load([](const Source& from) { return gather_vector<count>(from); });
    return total_of_vectors<Shape, Acc>([&](int r) { return vectors[r]; }, op);
}

// The elements that no worker block folds, a tile at most, as the totals of the aligned blocks that the binary digits
// of their number cut them into: whole warp tiles, of the last warp tile the whole rows, of the last row the whole
// vectors, of the last vector the elements.
template <class Shape, class Acc, class Source, class Op>
struct tail {
    static constexpr int lane_level = std::countr_zero(static_cast<unsigned>(Shape::elements));
    static constexpr int row_level = lane_level + lane_levels;
    static_assert(Shape::rows <= Shape::warps, "each row of the last warp tile has a warp");

    raw_array<Acc, Shape::warps> warp_tiles;
    raw_array<Acc, Shape::rows> rows;
    raw_array<Acc, row_level> digits; // [k]: of the block of 2^k elements, where digit k of the number is one

    // All threads of a block call this. A barrier must follow.
    __device__ void fold(Source in, int count, bool aligned, const Op& op)
    {
        const int warp = static_cast<int>(threadIdx.x) / lanes;
        const int whole = count / Shape::warp_tile;
        Acc of_warp_tile = op.template identity<Acc>();
        if (warp < whole)
            of_warp_tile =
                warp_tile_total<Shape, Acc>(in + warp * Shape::warp_tile, tile_place{aligned, false, false}, op);
        if (lane_id() == 0)
            warp_tiles[warp] = of_warp_tile;
        const int row = Shape::warps - 1 - warp; // by warps that have no warp tile, where there are enough
        if (row < Shape::rows && count % Shape::warp_tile != 0) {
            const int first = whole * Shape::warp_tile + row * Shape::row;
            fold_row(in + first, row, count - first, aligned, op);
        }
    }

    // before (+) the totals, largest block first. The lanes of one warp call this, after the barrier.
    __device__ Acc fold_after(const Acc& before, int count, const Op& op)
    {
        constexpr int levels_of_warp_tiles =
            std::countr_zero(static_cast<unsigned>(2 * Shape::warps)); // all may be whole
        constexpr int levels_of_rows = std::countr_zero(static_cast<unsigned>(Shape::rows));
        const warp_tree<Acc, levels_of_warp_tiles> tree_of_warp_tiles(warp_tiles[lane_id() % Shape::warps], op);
        Acc result = shuffle(tree_of_warp_tiles.fold_before(before, op), count / Shape::warp_tile);
        if (count % Shape::warp_tile == 0)
            return result;
        const warp_tree<Acc, levels_of_rows> tree_of_rows(rows[lane_id() % Shape::rows], op);
        if constexpr (is_any_order<Op, Acc>) {
            result = op(result, tree_of_rows.total);
        } else {
            result = shuffle(tree_of_rows.fold_before(result, op), count % Shape::warp_tile / Shape::row);
#pragma unroll
            for (int k = row_level - 1; k >= 0; --k)
                if ((count >> k & 1) != 0)
                    result = op(result, digits[k]);
        }
        return result;
    }

private:
    // Folds a row, of which `count` elements exist: all of them, some or none. The lanes of one warp call this.
    __device__ void fold_row(Source in, int row, int count, bool aligned, const Op& op)
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

    // The digits from Level up of count < Shape::elements elements of one thread; blocks[i] is block i of 2^Level
    // elements.
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

template <class Shape, class Acc, class Source, class Op>
class reduce_block {
public:
    struct shared_memory {
        raw_array<Acc, 2 * Shape::warps> of_warps; // one half is read while the other is written
        tail<Shape, Acc, Source, Op> after;
        typename group_stack<Acc, Op>::memory stack;
        raw_array<Acc, 1> folded; // of the groups on the stack
        std::uint64_t next[2];    // the tile that a worker block folds next
    };

    __device__ reduce_block(Source in, std::uint64_t count, const Op& op, const tile_state_memory& memory,
                            shared_memory& shared)
        : in_(in), count_(count), op_(op), header_(memory.header), shared_(shared), tiles_(tiles_of<Shape>(count)),
          aligned_(is_aligned<Shape::elements>(in)),
          states_(memory, uses_states() ? load_relaxed(&header_->epoch) + 1 : 0)
    {
    }

    // The role of a worker block. Tiles are dynamically scheduled in the last rounds, where a block takes a ticket one
    // tile in advance, and statically before: with tickets for all of them a reduce takes 2 % longer where there are
    // hundreds of rounds.
    __device__ void fold_tiles()
    {
        const bool of_many = count_ > many_bytes / sizeof(std::iter_value_t<Source>);
        const std::uint64_t workers = gridDim.x - 1;
        const std::uint64_t rounds = tiles_ / workers;
        const std::uint64_t scheduled = (rounds > 64 ? rounds - 64 : 1) * workers;
        int step = 0;
        int half = 0;
        for (std::uint64_t tile = blockIdx.x - 1; tile < tiles_;
             tile = shared_.next[step], step ^= 1, half ^= Shape::warps) {
            std::uint64_t following = tile + workers;
            if (threadIdx.x == 0 && following >= scheduled && tiles_ > workers)
                following = scheduled + take_ticket(header_, tiles_ - scheduled + workers);
            const std::uint64_t first = tile * Shape::tile + static_cast<unsigned>(warp() * Shape::warp_tile);
            const auto place = tile_place::of<Shape::elements>(aligned_, first, Shape::warp_tile, count_, of_many);
            const Acc total = warp_tile_total<Shape, Acc>(in_ + first, place, op_);
            if (lane_id() == 0)
                shared_.of_warps[half + warp()] = total;
            if (threadIdx.x == 0)
                shared_.next[step] = following;
            __syncthreads();
            if (warp() == 0) {
                const auto tree = tree_of_warps(half);
                if (lane_id() == 0)
                    states_.publish(tile, tree.total);
            }
        }
    }

    // The role of block 0.
    template <class Result>
    __device__ void fold_totals(Result* result, const Acc& nothing)
    {
        const int left = static_cast<int>(count_ - tiles_ * Shape::tile);
        word128 states[group_rows];
        if (tiles_ != 0)
            states_.load(static_cast<unsigned>(warp() * group_tiles), tiles_, states);
        group_stack<Acc, Op> stack(shared_.stack, op_);
        if (tiles_ != 0 && warp() == 0) {
            stack.start(op_.template identity<Acc>());
            if (lane_id() == 0)
                shared_.folded[0] = stack.fold();
        }
        shared_.after.fold(in_ + tiles_ * Shape::tile, left, aligned_, op_);
        __syncthreads();

        Acc total = op_.template identity<Acc>();
        const int last_warp = fold_groups(stack, states, total);
        if (warp() == last_warp) {
            if (left != 0)
                total = shared_.after.fold_after(total, left, op_);
            if (lane_id() == 0) {
                *result = detail::result_by<Result>(op_, count_ != 0 ? total : nothing);
                if (tiles_ != 0)
                    store_relaxed(&header_->epoch, states_.epoch());
            }
        }
    }

private:
    __device__ static int warp() { return static_cast<int>(threadIdx.x) / lanes; }
    __device__ bool uses_states() const { return (warp() == 0 || blockIdx.x == 0) && tiles_ != 0; }

    __device__ auto tree_of_warps(int half)
    {
        return warp_tree<Acc, Shape::levels>(shared_.of_warps[half + lane_id() % Shape::warps], op_);
    }

    // Reads the totals of all tiles and folds them, in each step a group a warp; the totals of whole rounds go on the
    // stack. Returns the warp that gets the fold.
    __device__ int fold_groups(group_stack<Acc, Op>& stack, word128 (&states)[group_rows], Acc& total)
    {
        int last_warp = 0;
        int half = 0;
        for (std::uint64_t done = 0; done < tiles_; done += Shape::round, half ^= Shape::warps) {
            const std::uint64_t first = done + static_cast<unsigned>(warp() * group_tiles);
            Acc of_tiles[group_rows];
            states_.wait_and_read(first, tiles_ < first + group_tiles ? tiles_ : first + group_tiles,
                                  op_.template identity<Acc>(), states, of_tiles);
            Acc copy[group_rows];
#pragma unroll
            for (int r = 0; r < group_rows; ++r)
                copy[r] = of_tiles[r];
            const Acc of_group = warp_total(copy, op_);
            if (lane_id() == 0)
                shared_.of_warps[half + warp()] = of_group;
            __syncthreads();
            if (tiles_ < done + Shape::round)
                last_warp = static_cast<int>(tiles_ % Shape::round / group_tiles);
            if (warp() == last_warp) {
                const auto groups = tree_of_warps(half);
                if (tiles_ < done + Shape::round) {
                    Acc beyond;
                    total = shuffle(groups.fold_before(shared_.folded[0], op_), warp());
                    if (tiles_ % group_tiles != 0)
                        total = fold_in_group(total, of_tiles, static_cast<int>(tiles_ % group_tiles), beyond, op_);
                } else {
                    stack.push(groups.total);
                    total = stack.fold();
                    if (lane_id() == 0)
                        shared_.folded[0] = total;
                }
            }
            if (done + Shape::round < tiles_)
                states_.load(first + Shape::round, tiles_, states);
        }
        return last_warp;
    }

    Source in_;
    std::uint64_t count_;
    const Op& op_;
    tile_state_header* header_;
    shared_memory& shared_;
    std::uint64_t tiles_;
    bool aligned_;
    tile_states<Acc> states_;
};

template <class Shape, class Acc, class Source, class Op, class Result>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    reduce_kernel(Source in, std::uint64_t count, Op op, Result* result, Acc nothing, tile_state_memory memory)
{
    using block = reduce_block<Shape, Acc, Source, Op>;
    __shared__ typename block::shared_memory shared;
    block self(in, count, op, memory, shared);
    if (blockIdx.x != 0)
        self.fold_tiles();
    else
        self.fold_totals(result, nothing);
}

// The kernel for few elements, and how many tiles it takes at most.
template <class Acc, class Source, class Op, class Result>
inline constexpr auto kernel_of_few = small_reduce_kernel<small_reduce_shape<Source>, Acc, Source, Op, Result>;
template <class Acc, class Source, class Op, class Result>
std::uint64_t most_tiles_of_few(const cuda& target)
{
    using few = small_reduce_shape<Source>;
    const unsigned resident = resident_blocks<kernel_of_few<Acc, Source, Op, Result>>(target, few::threads, 0);
    return resident < few::most_tiles ? resident : few::most_tiles;
}

// Writes the fold of `count` elements to *result, in order of the stream. Elements are read once.
template <class Acc, class Source, class Op, class Result>
void reduce(const cuda& target, Source in, std::uint64_t count, const Op& op, Result* result)
{
    using few = small_reduce_shape<Source>;
    const std::uint64_t most = most_tiles_of_few<Acc, Source, Op, Result>(target);
    if (count != 0 && count <= few::tile * most) {
        const auto tiles = static_cast<unsigned>((count + few::tile - 1) / few::tile);
        launch(target, "reduce", kernel_of_few<Acc, Source, Op, Result>, tiles, few::threads, 0, in,
               static_cast<unsigned>(count), op, result, tile_states_of(target, tiles, sizeof(Acc)));
        return;
    }
    using shape = reduce_shape<Acc, Source, Op>;
    constexpr auto kernel = reduce_kernel<shape, Acc, Source, Op, Result>;
    const std::uint64_t tiles = tiles_of<shape>(count);
    const std::uint64_t workers = resident_blocks<kernel>(target, shape::threads, 0) - 1;
    launch(target, "reduce", kernel, 1 + static_cast<unsigned>(tiles < workers ? tiles : workers), shape::threads, 0,
           in, count, op, result, fold_of_nothing<Acc>(op), tile_states_of(target, tiles, sizeof(Acc)));
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::reduce> {
    template <class Acc, class In, class Op, class Result>
    static void fold(const cuda& target, In in, std::size_t count, const Op& op, Result* result)
    {
        const gpu::current_device current(target.device());
        gpu::check_place(target, "reduce", result, 1);
        gpu::with_source(in, [&](const auto& source) {
            gpu::check_place(target, "reduce", source, count);
            gpu::reduce<Acc>(target, source, count, op, result);
        });
    }
};

} // namespace upsweep::detail
