// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include <cuda_pipeline.h>

#include <upsweep/fold_order.hpp>
#include <upsweep/gpu/fold/line_start.cuh>
#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/column_states.cuh>
#include <upsweep/gpu/shapes/few.cuh>
#include <upsweep/gpu/shapes/line_places.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>
#include <upsweep/view.hpp>

// Folds lines that lie side by side, as columns do. A lane has a line, so that the lanes of a warp read what memory has side by
// side; a thread has some consecutive rows of its line in registers. Of a block of some warps
//
//     long lines       all warps have the same lines, one below the other, and the totals of such tiles go from block to block
//     short lines      warps share the rows of a line, or have lines of their own
//     fewer than 32    the lanes of a warp have several rows each, one below the other, too
//
// Tiles are aligned blocks of their lines. What lies before a tile is read from the states of the tiles before, as column_states.cuh has it.
namespace upsweep::gpu {

// What a block has at once. Rows are those of a thread. Small blocks wait less for each other's loads, and there are as many warps.
template <int Rows, int Blocks, int Warps>
struct column_shape {
    static constexpr int warps = Warps;
    static constexpr int threads = warps * lanes;
    static constexpr int blocks = Blocks; // of a multiprocessor
    static constexpr int rows = Rows;
    static constexpr int most_columns =
        warps / 2 * lanes; // of long lines: at least two threads have each, which share its states
};

// How the lines are dealt out to blocks, warps and lanes.
struct column_cuts {
    std::uint64_t length; // of a line
    std::uint64_t count;  // of lines
    int lanes_a_row;      // as many as there are lines, rounded up to a power of two, or 32
    int warps_a_line;     // that share the rows of a line, a power of two
    int warps_a_row;      // side by side: the others
    int lines_a_block;
    std::uint64_t line_groups;
    std::uint64_t tiles; // of a line

    __device__ int units_of_warp() const { return lanes / lanes_a_row; }
};

template <class Acc, class T, class Out, std::size_t Rank>
struct column_arguments {
    line_places<const T, Rank> in;
    line_places<Out, Rank> out;
    column_cuts cuts;
    tile_state_memory memory;
    column_slots slots;
};

// Deals tasks out to blocks: the first ones statically, the others dynamically, by tickets, in ascending order. The last ticket of all
// tells that every block has read the epoch. The first `others` blocks of a grid may take no tickets; they must have read the epoch before the last task ends,
// as they have where tasks wait for what they publish.
class block_tickets {
public:
    struct memory {
        std::uint64_t ticket;
        std::uint64_t epoch;
    };

    __device__ block_tickets(const tile_state_memory& states, memory& shared, std::uint64_t tasks, unsigned others = 0)
        : header_(states.header), shared_(shared), tasks_(tasks), others_(others)
    {
        if (threadIdx.x == 0)
            shared_.epoch = load_relaxed(&header_->epoch) + 1;
        __syncthreads();
    }

    __device__ std::uint64_t epoch() const { return shared_.epoch; }

    template <class F>
    __device__ void for_each(F f)
    {
        const unsigned blocks = gridDim.x - others_;
        const std::uint64_t tickets = tasks_ < blocks ? blocks : tasks_;
        for (std::uint64_t task = blockIdx.x - others_; task < tasks_;) {
            f(task);
            __syncthreads(); // all have read the last ticket
            if (threadIdx.x == 0) {
                const std::uint64_t ticket = take_ticket(header_, tickets);
                shared_.ticket = ticket;
                if (ticket == tickets - 1)
                    store_relaxed(&header_->epoch, shared_.epoch);
            }
            __syncthreads();
            task = blocks + shared_.ticket;
        }
    }

private:
    tile_state_header* header_;
    memory& shared_;
    std::uint64_t tasks_;
    unsigned others_;
};

// The folds before each of some elements of a thread, and behind them `after`, the one up to the end.
template <int Count, class Acc, class Op>
__device__ void folds_around(const Acc& before, const Acc (&elements)[Count], const Acc& after, Acc (&folds)[Count + 1],
                             const Op& op)
{
    lane_folds<Count>(before, elements, folds, op);
    folds[Count] = after;
}

// Folds the tiles of a block.
template <class Shape, class Acc, class T, class Out, std::size_t Rank, class Op>
class column_block {
    static constexpr int rows = Shape::rows;
    static constexpr int part = rows < 16 ? rows : 16; // rows whose folds are in registers at once
    static constexpr int parts = rows / part;
    using states = column_states<Acc, Op>;

public:
    struct memory {
        raw_array<T, Shape::threads * rows> elements; // each thread has its own, one row behind the other
        block_tickets::memory tickets;
        raw_array<Acc, column_slots::group * Shape::most_columns> of_tiles; // that have been looked at
        raw_array<Acc, Shape::threads> of_warps;                            // [line of the block] of each warp
    };

    __device__ column_block(const column_arguments<Acc, T, Out, Rank>& of, memory& shared, std::uint64_t epoch,
                            const Op& op)
        : of_(of), shared_(shared), op_(op),
          states_(of.memory, epoch, of.slots, of.cuts.count, {&shared.of_tiles[0], Shape::most_columns}, op)
    {
    }

    // Writes finish(fold) of each line that ends in the tile.
    template <class Finish>
    __device__ void reduce(std::uint64_t task, const Finish& finish)
    {
        place(task);
        load();
        Acc totals[parts];
        const unit_tree units = fold_parts(totals);
        const std::uint64_t in_tile = rows_in_tile();
        const bool is_whole = in_tile == rows_of_tile();
        Acc before = op_.template identity<Acc>();
        const Acc total = total_of_tile();
        if (of_.cuts.tiles > 1) {
            if (is_whole)
                states_.publish(line(), tile_, total);
            if (tile_ + 1 < of_.cuts.tiles)
                return;
            before = states_.fold_by_tree(line(), is_whole ? tile_ + 1 : tile_);
        }
        // A line's fold is written by the thread that has its last rows, or none behind them.
        const int writer = is_whole ? 0 : static_cast<int>(in_tile / rows);
        if (unit() != writer || !has_line())
            return;
        Acc result = of_.cuts.tiles > 1 ? before : total;
        if (!is_whole)
            result = fold_few<Acc, rows / 2>(units.fold_before(*this, before), elements(), 0, rows_of_thread_, op_);
        finish(result, *of_.out.first_of(mine_));
    }

    __device__ void scan(std::uint64_t task, const line_start<Acc>& start)
    {
        place(task);
        load();
        Acc totals[parts];
        const unit_tree units = fold_parts(totals);
        Acc before = op_.template identity<Acc>();
        Acc after = before;
        if (of_.cuts.tiles > 1) {
            const bool is_whole = rows_in_tile() == rows_of_tile();
            before = states_.publish_and_fold(line(), tile_, is_whole, total_of_tile(), after);
        }
        const Acc first = units.fold_before(*this, before);
        const Acc end = units.fold_after(*this, before, first, after);
        if (has_line() && rows_of_thread_ > 0)
            write(totals, first, end, start);
    }

private:
    // The threads of a warp that have rows of the same line are a tree, and the warps above it.
    struct unit_tree {
        Acc sibling[lane_levels]; // as warp_tree has them, of the lanes that have a line in common

        __device__ unit_tree(column_block& block, const Acc (&totals)[parts])
        {
            Acc total = lane_total<parts>(totals, block.op_);
#pragma unroll
            for (int k = 0; k < lane_levels; ++k)
                if (1 << k >= block.of_.cuts.lanes_a_row) {
                    sibling[k] = shuffle_xor(total, 1 << k);
                    total = combine(block.op_, total, sibling[k], (lane_id() >> k & 1) != 0);
                }
            block.shared_.of_warps[static_cast<int>(threadIdx.x)] = total;
        }

        // before (+) the fold of the rows of the tile before those of this thread.
        __device__ Acc fold_before(column_block& block, Acc before) const
        {
            before = block.fold_warps(before, block.row_warp());
#pragma unroll
            for (int k = lane_levels - 1; k >= 0; --k)
                if (1 << k >= block.of_.cuts.lanes_a_row && (lane_id() >> k & 1) != 0)
                    before = block.op_(before, sibling[k]);
            return before;
        }

        // The same with those of this thread, where `mine` is what fold_before has returned and `after` the fold up to the end of the
        // tile, if there are several.
        __device__ Acc fold_after(column_block& block, const Acc& before, const Acc& mine, const Acc& after) const
        {
            const int of_row = block.of_.cuts.lanes_a_row;
            const Acc next = shuffle(mine, (lane_id() + of_row) % lanes);
            if (lane_id() + of_row < lanes)
                return next;
            if (block.row_warp() + 1 == block.of_.cuts.warps_a_line && block.of_.cuts.tiles > 1)
                return after;
            return block.fold_warps(before, block.row_warp() + 1);
        }
    };

    // before (+) the fold of the first `count` warps of the line, of all of the block at most.
    __device__ Acc fold_warps(const Acc& before, int count)
    {
        const auto warp = [&](int w) {
            return shared_.of_warps[(w * of_.cuts.warps_a_row + line_warp()) * lanes + lane_id()];
        };
        return fold_few<Acc, Shape::warps>(before, warp, 0, count, op_);
    }
    __device__ Acc total_of_tile() { return fold_warps(op_.template identity<Acc>(), of_.cuts.warps_a_line); }

    // Which lines of the block a warp has, and which rows of them.
    __device__ int line_warp() const { return warp_id() & (of_.cuts.warps_a_row - 1); }
    __device__ int row_warp() const { return warp_id() / of_.cuts.warps_a_row; }
    // Which rows of the tile this thread has.
    __device__ int unit() const { return row_warp() * of_.cuts.units_of_warp() + lane_id() / of_.cuts.lanes_a_row; }

    // Finds out which rows and lines this thread has.
    __device__ void place(std::uint64_t task)
    {
        tile_ = task / of_.cuts.line_groups;
        const std::uint64_t group = task - tile_ * of_.cuts.line_groups;
        first_line_ = group * static_cast<unsigned>(of_.cuts.lines_a_block);
        mine_ = first_line_ + static_cast<unsigned>(line_warp() * lanes + lane_id() % of_.cuts.lanes_a_row);
        first_row_ = tile_ * rows_of_tile() + static_cast<unsigned>(unit() * rows);
        const std::uint64_t left = first_row_ < of_.cuts.length ? of_.cuts.length - first_row_ : 0;
        rows_of_thread_ = static_cast<int>(left < rows ? left : rows);
    }
    __device__ std::uint64_t rows_of_tile() const
    {
        return static_cast<unsigned>(of_.cuts.warps_a_line * of_.cuts.units_of_warp() * rows);
    }
    __device__ std::uint64_t rows_in_tile() const
    {
        const std::uint64_t left = of_.cuts.length - tile_ * rows_of_tile();
        return left < rows_of_tile() ? left : rows_of_tile();
    }
    __device__ line_of_thread line() const
    {
        return {first_line_, has_line() ? static_cast<int>(mine_ - first_line_) : 0, has_line(), unit(),
                of_.cuts.warps_a_line * of_.cuts.units_of_warp()};
    }
    __device__ bool has_line() const
    {
        return mine_ < of_.cuts.count && mine_ - first_line_ < static_cast<unsigned>(of_.cuts.lines_a_block);
    }

    __device__ T& element(int r) { return shared_.elements[r * Shape::threads + static_cast<int>(threadIdx.x)]; }
    // Element r of this thread. Those that do not exist are the identity: they change no bit of what is used.
    template <class Element = Acc>
    __device__ auto elements()
    {
        return [this, count = has_line() ? rows_of_thread_ : 0](int r) {
            Element value = op_.template identity<Element>();
            if (r < count)
                value = convert<Element>(element(r));
            return value;
        };
    }

    // Each thread copies its own elements, so that nobody waits for others.
    __device__ void load()
    {
        const int count = has_line() ? rows_of_thread_ : 0;
        if (count != 0) {
            const T* from = of_.in.first_of(mine_) + static_cast<std::int64_t>(first_row_) * of_.in.stride;
            if constexpr (sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16) {
#pragma unroll 8
                for (int r = 0; r < count; ++r, from += of_.in.stride)
                    __pipeline_memcpy_async(&element(r), from, sizeof(T));
            } else {
                constexpr int at_once = part < 8 ? part : 8;
                for (int r = 0; r < count; r += at_once) {
                    T loaded[at_once];
#pragma unroll
                    for (int j = 0; j < at_once; ++j, from += r + j < count ? of_.in.stride : 0)
                        if (r + j < count)
                            loaded[j] = *from;
#pragma unroll
                    for (int j = 0; j < at_once; ++j)
                        if (r + j < count)
                            element(r + j) = loaded[j];
                }
            }
        }
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads(); // the totals of the last tile have been read
    }

    // The totals of parts of the rows of this thread, and the tree above them, whose warps' totals all threads have afterwards.
    __device__ unit_tree fold_parts(Acc (&totals)[parts])
    {
#pragma unroll
        for (int p = 0; p < parts; ++p)
            totals[p] = convert<Acc>(block_total<part>(elements<element_of_few_t<Op, Acc, T>>(), p * part, op_));
        const unit_tree units(*this, totals);
        __syncthreads();
        return units;
    }

    __device__ void write(const Acc (&totals)[parts], const Acc& before, const Acc& after, const line_start<Acc>& start)
    {
        Out* to = of_.out.first_of(mine_) + static_cast<std::int64_t>(first_row_) * of_.out.stride;
        Acc before_parts[parts + 1];
        folds_around(before, totals, after, before_parts, op_);
#pragma unroll
        for (int p = 0; p < parts; ++p) {
            Acc values[part];
            Acc folds[part + 1];
#pragma unroll
            for (int j = 0; j < part; ++j)
                values[j] = elements()(p * part + j);
            folds_around(before_parts[p], values, before_parts[p + 1], folds, op_);
#pragma unroll
            for (int j = 0; j < part; ++j, to += of_.out.stride) {
                const int r = p * part + j;
                if (r >= rows_of_thread_)
                    return;
                *to = start.template result_at<Out>(folds[j], folds[j + 1], r == 0 && first_row_ == 0, op_);
            }
        }
    }

    const column_arguments<Acc, T, Out, Rank>& of_;
    memory& shared_;
    Op op_;
    states states_;
    std::uint64_t tile_ = 0;
    std::uint64_t first_line_ = 0; // of the block
    std::uint64_t mine_ = 0;       // the line of this thread
    std::uint64_t first_row_ = 0;
    int rows_of_thread_ = 0;
};

template <class Shape, class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    reduce_columns_kernel(const __grid_constant__ column_arguments<Acc, T, Out, Rank> of, Op op, Finish finish)
{
    using block = column_block<Shape, Acc, T, Out, Rank, Op>;
    extern __shared__ __align__(16) uint4 dynamic[];
    auto& shared = *reinterpret_cast<typename block::memory*>(dynamic);
    block_tickets tickets(of.memory, shared.tickets, of.cuts.line_groups * of.cuts.tiles);
    block self(of, shared, tickets.epoch(), op);
    tickets.for_each([&](std::uint64_t task) { self.reduce(task, finish); });
}

template <class Shape, class Acc, class T, class Out, std::size_t Rank, class Op>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    scan_columns_kernel(const __grid_constant__ column_arguments<Acc, T, Out, Rank> of, Op op, line_start<Acc> start)
{
    using block = column_block<Shape, Acc, T, Out, Rank, Op>;
    extern __shared__ __align__(16) uint4 dynamic[];
    auto& shared = *reinterpret_cast<typename block::memory*>(dynamic);
    block_tickets tickets(of.memory, shared.tickets, of.cuts.line_groups * of.cuts.tiles);
    block self(of, shared, tickets.epoch(), op);
    tickets.for_each([&](std::uint64_t task) { self.scan(task, start); });
}

// Fewer warps where an accumulator is those of several narrow elements, which takes registers. Narrow elements alone take little shared memory, and
// have more warps.
template <class Acc, class T>
using shape_of_columns = column_shape<(sizeof(T) <= 4    ? 64
                                       : sizeof(T) <= 8  ? 32
                                       : sizeof(T) <= 16 ? 16
                                                         : 4),
                                      (sizeof(T) <= 4 && sizeof(Acc) > 8 ? 2
                                       : sizeof(T) < 4                   ? 8
                                                                         : 5),
                                      (sizeof(T) <= 4 && sizeof(Acc) > 8 ? 8 : 4)>;

// Long lines are at most `side_by_side` warps side by side, a power of two.
template <class Shape>
column_cuts cut_columns(std::uint64_t length, std::uint64_t count, int side_by_side)
{
    constexpr std::uint64_t of_sector = 8; // lines
    column_cuts cuts{length, count, lanes, 1, 0, 0, 0, 0};
    if (count < lanes)
        cuts.lanes_a_row = static_cast<int>(std::bit_ceil(count));
    const auto rows_of_warp = static_cast<std::uint64_t>(Shape::rows * (lanes / cuts.lanes_a_row));
    while (cuts.warps_a_line < Shape::warps && rows_of_warp * static_cast<unsigned>(cuts.warps_a_line) < length)
        cuts.warps_a_line *= 2;
    if (rows_of_warp * Shape::warps < length)
        cuts.warps_a_line = Shape::warps / side_by_side; // at least 2
    cuts.warps_a_row = Shape::warps / cuts.warps_a_line;
    // As many lines in all blocks.
    const auto most_lines = static_cast<unsigned>(cuts.warps_a_row * lanes);
    const std::uint64_t blocks = (count + most_lines - 1) / most_lines;
    const std::uint64_t lines = ((count + blocks - 1) / blocks + of_sector - 1) / of_sector * of_sector;
    cuts.lines_a_block = static_cast<int>(lines);
    cuts.line_groups = (count + lines - 1) / lines;
    const std::uint64_t rows = rows_of_warp * static_cast<unsigned>(cuts.warps_a_line);
    cuts.tiles = (length + rows - 1) / rows;
    return cuts;
}

// How many warps of a block that scans long lines are side by side. Memory is slower by up to a third where the parts of a sector are written
// at different times, and a block writes a row at once: a wide one, where rows begin anywhere. Otherwise tall blocks have fewer states.
template <class Shape, class T, class Out, std::size_t Rank>
int warps_side_by_side(const detail::lines<const T, Out, Rank>& all)
{
    constexpr std::size_t sector = 32;
    constexpr std::size_t few_lines = 96;
    constexpr std::size_t many_lines = 8192;
    const std::size_t count = all.count();
    if (count <= few_lines)
        return 1;
    if (static_cast<std::size_t>(all.out.stride(0)) * sizeof(Out) % sector != 0)
        return sizeof(T) < 8 ? Shape::warps / 2 : 2;
    return count < many_lines ? 1 : 2;
}

template <auto Kernel, class Shape, class Acc, class Op, class T, class Out, std::size_t Rank, class... Arguments>
void launch_columns(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                    int side_by_side, const Arguments&... arguments)
{
    using block = column_block<Shape, Acc, T, Out, Rank, Op>;
    constexpr std::size_t shared_bytes = sizeof(typename block::memory);
    const column_cuts cuts = cut_columns<Shape>(all.length(), all.count(), side_by_side);
    const column_slots slots(cuts.tiles);
    const std::uint64_t states = cuts.tiles > 1 ? slots.count * all.count() : 1;
    const column_arguments<Acc, T, Out, Rank> of{line_places<const T, Rank>(all.in), line_places<Out, Rank>(all.out),
                                                 cuts, tile_states_of(target, states, sizeof(Acc)), slots};
    const std::uint64_t blocks = resident_blocks<Kernel>(target, Shape::threads, shared_bytes);
    const std::uint64_t tasks = cuts.line_groups * cuts.tiles;
    launch(target, call, Kernel, static_cast<unsigned>(tasks < blocks ? tasks : blocks), Shape::threads, shared_bytes,
           of, arguments...);
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_columns(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                    const Op& op, const Finish& finish)
{
    using shape = shape_of_columns<Acc, T>;
    launch_columns<reduce_columns_kernel<shape, Acc, T, Out, Rank, Op, Finish>, shape, Acc, Op>(target, call, all, 1,
                                                                                                op, finish);
}
template <class Acc, class T, class Out, std::size_t Rank, class Op>
void scan_columns(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all, const Op& op,
                  const line_start<Acc>& start)
{
    using shape = shape_of_columns<Acc, T>;
    launch_columns<scan_columns_kernel<shape, Acc, T, Out, Rank, Op>, shape, Acc, Op>(
        target, call, all, warps_side_by_side<shape>(all), op, start);
}

} // namespace upsweep::gpu
