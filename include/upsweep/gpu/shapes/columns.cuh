// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include <cuda_pipeline.h>

#include <upsweep/fold_order.hpp>
#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/few.cuh>
#include <upsweep/gpu/shapes/line_places.cuh>
#include <upsweep/gpu/shapes/piece_states.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>
#include <upsweep/view.hpp>

// Folds lines that lie side by side, as columns do. A lane has a line, so that the lanes of a warp read what memory has side by
// side; a thread has some consecutive rows of its line in registers. Of a block of 8 warps
//
//     long lines       all warps have the same lines, one below the other, and the totals of such tiles go from block to block
//     short lines      warps share the rows of a line, or have lines of their own
//     fewer than 32    the lanes of a warp have several rows each, one below the other, too
//
// Tiles are aligned blocks of their lines. What lies before a tile is read from a tree of tile states, as piece_states.cuh has it, but
// by all warps of the block for all of its lines at once.
namespace upsweep::gpu {

// What a block has at once. Rows and Lines are those of a thread.
template <int Rows, int Lines, int Blocks>
struct column_shape {
    static constexpr int warps = 8;
    static constexpr int threads = warps * lanes;
    static constexpr int blocks = Blocks; // of a multiprocessor
    static constexpr int rows = Rows;
    static constexpr int lines = Lines;
};

// How the lines are dealt out to blocks, warps and lanes: all numbers but the first two are powers of two.
struct column_cuts {
    std::uint64_t length; // of a line
    std::uint64_t count;  // of lines
    int lanes_a_row;      // as many as there are lines, rounded up, or 32
    int warps_a_line;     // that share the rows of a line
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
    piece_slots slots;
};

// Deals tasks out to blocks: the first ones statically, the others dynamically, by tickets, in ascending order. The last ticket of all
// tells that every block has read the epoch.
class block_tickets {
public:
    struct memory {
        std::uint64_t ticket;
        std::uint64_t epoch;
    };

    __device__ block_tickets(const tile_state_memory& states, memory& shared, std::uint64_t tasks)
        : header_(states.header), shared_(shared), tasks_(tasks)
    {
        if (threadIdx.x == 0)
            shared_.epoch = load_relaxed(&header_->epoch) + 1;
        __syncthreads();
        epoch_ = shared_.epoch;
    }

    __device__ std::uint64_t epoch() const { return epoch_; }

    template <class F>
    __device__ void for_each(F f)
    {
        const std::uint64_t tickets = tasks_ < gridDim.x ? gridDim.x : tasks_;
        for (std::uint64_t task = blockIdx.x; task < tasks_;) {
            f(task);
            __syncthreads(); // all have read the last ticket
            if (threadIdx.x == 0) {
                const std::uint64_t ticket = take_ticket(header_, tickets);
                shared_.ticket = ticket;
                if (ticket == tickets - 1)
                    store_relaxed(&header_->epoch, epoch_);
            }
            __syncthreads();
            task = gridDim.x + shared_.ticket;
        }
    }

private:
    tile_state_header* header_;
    memory& shared_;
    std::uint64_t tasks_;
    std::uint64_t epoch_ = 0;
};

// The states of tiles of many lines: those of one tile lie side by side.
template <class Acc, class Op>
class column_states {
public:
    struct memory {
        raw_array<Acc, lanes * lanes> of_tiles; // [32 i + line of the block]
    };

    __device__ column_states(const tile_state_memory& states, std::uint64_t epoch, piece_slots slots,
                             const column_cuts& cuts, memory& shared, const Op& op)
        : states_(states, epoch), slots_(slots), lines_(cuts.count), lanes_a_row_(cuts.lanes_a_row), shared_(shared),
          op_(op)
    {
    }

    // Publishes the total of tile j of a line, and those of the groups that it completes. All threads of the block call this, whose
    // lane c has line first + c, if c < lines_of_block; each has its line's total.
    __device__ void publish(std::uint64_t first, int lines_of_block, std::uint64_t j, Acc total)
    {
        for (int level = 0;; ++level, j /= lanes) {
            if (warp_id() == 0 && lane_id() < lines_of_block)
                states_.publish(place(level, j) + first + static_cast<unsigned>(lane_id()), total);
            if (j % lanes != lanes - 1)
                return;
            read(first, lines_of_block, level, j - (lanes - 1), lanes - 1);
            total = op_(block_total<lanes / 2>(tiles(), 0, op_),
                        block_total<lanes / 2>(tiles_and(total, lanes - 1), lanes / 2, op_));
            __syncthreads();
        }
    }

    // The fold of the tiles before tile j of a line, and in `after` that up to its end, where `total` is its own, if it is whole: the
    // total of no other tile, nor of its group, is ever published. All threads of the block call this for the lines of their lanes.
    __device__ Acc fold(std::uint64_t first, int lines_of_block, std::uint64_t j, bool is_whole, const Acc& total,
                        Acc& after)
    {
        const int count = static_cast<int>(j % lanes);
        const Acc before_row = fold_whole(first, lines_of_block, j - static_cast<unsigned>(count));
        read(first, lines_of_block, 0, j - static_cast<unsigned>(count), count);
        const Acc before = fold_few(before_row, tiles(), 0, count, op_);
        if (count + 1 < lanes)
            after = fold_few(before_row, tiles_and(total, count), 0, count + 1, op_);
        __syncthreads();
        if (count + 1 == lanes && is_whole)
            after = fold_whole(first, lines_of_block, j + 1);
        return before;
    }

private:
    // The fold of tiles 0 to j - 1.
    __device__ Acc fold_whole(std::uint64_t first, int lines_of_block, std::uint64_t j)
    {
        Acc before = op_.template identity<Acc>();
        for (int level = piece_slots::highest_level(j); level >= 0; --level) {
            const std::uint64_t groups = j >> (lane_levels * level);
            const int count = static_cast<int>(groups % lanes);
            if (count == 0)
                continue;
            read(first, lines_of_block, level, groups - static_cast<unsigned>(count), count);
            before = fold_few(before, tiles(), 0, count, op_);
            __syncthreads();
        }
        return before;
    }

    // Reads fewer than 32 states of each line, each warp every eighth of them, and waits for those that are not there yet.
    __device__ void read(std::uint64_t first, int lines_of_block, int level, std::uint64_t group, int count)
    {
        constexpr int warps = column_shape<1, 1, 1>::warps;
        constexpr int each = lanes / warps;
        const std::uint64_t line = first + static_cast<unsigned>(lane_id());
        column_ = lane_id() % lanes_a_row_ < lines_of_block ? lane_id() % lanes_a_row_ : 0;
        if (lane_id() < lines_of_block) {
            word128 states[each];
            bool is_missing = true;
            while (is_missing) {
                is_missing = false;
#pragma unroll
                for (int k = 0; k < each; ++k) {
                    const int i = warp_id() + k * warps;
                    states[k] = states_.load_one(place(level, group + static_cast<unsigned>(i < count ? i : 0)) + line);
                }
#pragma unroll
                for (int k = 0; k < each; ++k)
                    is_missing |= warp_id() + k * warps < count && !states_.is_published(states[k]);
            }
            states_.before_totals();
#pragma unroll
            for (int k = 0; k < each; ++k) {
                const int i = warp_id() + k * warps;
                if (i < count)
                    shared_.of_tiles[i * lanes + lane_id()] =
                        states_.total(place(level, group + static_cast<unsigned>(i)) + line, states[k]);
            }
        }
        __syncthreads();
    }

    __device__ std::uint64_t place(int level, std::uint64_t group) const
    {
        return slots_.place(level, 0, group) * lines_;
    }
    __device__ auto tiles()
    {
        return [this](int i) { return shared_.of_tiles[i * lanes + column_]; };
    }
    // The same with the total of number `at`, which has not been read.
    __device__ auto tiles_and(const Acc& total, int at)
    {
        return [this, total, at](int i) { return i == at ? total : shared_.of_tiles[i * lanes + column_]; };
    }

    tile_states<Acc> states_;
    piece_slots slots_;
    std::uint64_t lines_;
    int lanes_a_row_;
    int column_ = 0; // which of the block's lines this thread has; any, if it has none
    memory& shared_;
    Op op_;
};

// Folds the tiles of a block.
template <class Shape, class Acc, class T, class Out, std::size_t Rank, class Op>
class column_block {
    static constexpr int rows = Shape::rows;
    static constexpr int lines = Shape::lines;
    static constexpr int part = rows < 16 ? rows : 16; // rows whose folds are in registers at once
    static constexpr int parts = rows / part;

public:
    struct memory {
        raw_array<T, Shape::threads * lines * rows> elements; // each thread has its own, one row behind the other
        block_tickets::memory tickets;
        typename column_states<Acc, Op>::memory states;
        raw_array<Acc, Shape::threads * lines> of_warps; // [line of the block] of each warp
    };

    __device__ column_block(const column_arguments<Acc, T, Out, Rank>& of, memory& shared, std::uint64_t epoch,
                            const Op& op)
        : of_(of), shared_(shared), op_(op), states_(of.memory, epoch, of.slots, of.cuts, shared.states, op)
    {
    }

    // Writes finish(fold) of each line that ends in the tile.
    template <class Finish>
    __device__ void reduce(std::uint64_t task, const Finish& finish)
    {
        place(task);
        load();
        unit_tree units[lines];
        fold_threads([&](int v, const Acc(&totals)[parts]) { units[v] = unit_tree(*this, v, totals); });
        __syncthreads();
        const std::uint64_t in_tile = rows_in_tile();
        const bool is_whole = in_tile == rows_of_tile();
        Acc before = op_.template identity<Acc>();
        Acc after = before;
        if (of_.cuts.tiles > 1) {
            const Acc total = total_of_tile(0);
            if (is_whole)
                states_.publish(first_line_, lines_of_block(), tile_, total);
            if (tile_ + 1 < of_.cuts.tiles)
                return;
            before = states_.fold(first_line_, lines_of_block(), tile_, is_whole, total, after);
        }
        // A line's fold is written by the thread that has its last rows, or none behind them.
        const int writer = is_whole ? 0 : static_cast<int>(in_tile / rows);
        if (unit_ != writer)
            return;
#pragma unroll
        for (int v = 0; v < lines; ++v) {
            if (!has_line(v))
                continue;
            Acc result = after;
            if (!is_whole)
                result =
                    fold_few<Acc, rows / 2>(units[v].fold_before(*this, v, before), at(v), 0, rows_of_thread_, op_);
            else if (of_.cuts.tiles == 1)
                result = total_of_tile(v);
            finish(result, *of_.out.first_of(line(v)));
        }
    }

    template <scan_kind Kind>
    __device__ void scan(std::uint64_t task, const scan_start<Acc>& start)
    {
        place(task);
        load();
        Acc totals[lines][parts];
        unit_tree units[lines];
        fold_threads([&](int v, const Acc(&of_parts)[parts]) {
            units[v] = unit_tree(*this, v, of_parts);
#pragma unroll
            for (int p = 0; p < parts; ++p)
                totals[v][p] = of_parts[p];
        });
        __syncthreads();
        Acc before = op_.template identity<Acc>();
        Acc after = before;
        if (of_.cuts.tiles > 1) {
            const Acc total = total_of_tile(0);
            const bool is_whole = rows_in_tile() == rows_of_tile();
            if (is_whole)
                states_.publish(first_line_, lines_of_block(), tile_, total);
            before = states_.fold(first_line_, lines_of_block(), tile_, is_whole, total, after);
        }
#pragma unroll
        for (int v = 0; v < lines; ++v) {
            const Acc first = units[v].fold_before(*this, v, before);
            const Acc end = units[v].fold_after(*this, v, before, first, after);
            if (has_line(v) && rows_of_thread_ > 0)
                write<Kind>(v, totals[v], first, end, start);
        }
    }

private:
    // The threads of a warp that have rows of the same line are a tree, and the warps above it.
    struct unit_tree {
        Acc sibling[lane_levels]; // as warp_tree has them, of the lanes that have a line in common

        unit_tree() = default;
        __device__ unit_tree(column_block& block, int v, const Acc (&totals)[parts])
        {
            Acc total = lane_total<parts>(totals, block.op_);
#pragma unroll
            for (int k = 0; k < lane_levels; ++k)
                if (1 << k >= block.of_.cuts.lanes_a_row) {
                    sibling[k] = shuffle_xor(total, 1 << k);
                    total = combine(block.op_, total, sibling[k], (lane_id() >> k & 1) != 0);
                }
            block.shared_.of_warps[v * Shape::threads + static_cast<int>(threadIdx.x)] = total;
        }

        // before (+) the fold of the rows of the tile before those of this thread.
        __device__ Acc fold_before(column_block& block, int v, Acc before) const
        {
            before = block.fold_warps(before, v, warp_id() % block.of_.cuts.warps_a_line);
#pragma unroll
            for (int k = lane_levels - 1; k >= 0; --k)
                if (1 << k >= block.of_.cuts.lanes_a_row && (lane_id() >> k & 1) != 0)
                    before = block.op_(before, sibling[k]);
            return before;
        }

        // The same with those of this thread, where `mine` is what fold_before has returned and `after` the fold up to the end of the
        // tile, if there are several.
        __device__ Acc fold_after(column_block& block, int v, const Acc& before, const Acc& mine,
                                  const Acc& after) const
        {
            const int of_row = block.of_.cuts.lanes_a_row;
            const int warp = warp_id() % block.of_.cuts.warps_a_line;
            const Acc next = shuffle(mine, (lane_id() + of_row) % lanes);
            if (lane_id() + of_row < lanes)
                return next;
            if (warp + 1 == block.of_.cuts.warps_a_line && block.of_.cuts.tiles > 1)
                return after;
            return block.fold_warps(before, v, warp + 1);
        }
    };

    // before (+) the fold of the first `count` warps of the line, of all 8 at most.
    __device__ Acc fold_warps(const Acc& before, int v, int count)
    {
        const auto warp = [&](int w) {
            const int first = warp_id() / of_.cuts.warps_a_line * of_.cuts.warps_a_line;
            return shared_.of_warps[v * Shape::threads + (first + w) * lanes + lane_id()];
        };
        return fold_few<Acc, Shape::warps>(before, warp, 0, count, op_);
    }
    __device__ Acc total_of_tile(int v) { return fold_warps(op_.template identity<Acc>(), v, of_.cuts.warps_a_line); }

    // Finds out which rows and lines this thread has.
    __device__ void place(std::uint64_t task)
    {
        tile_ = task / of_.cuts.line_groups;
        const std::uint64_t group = task - tile_ * of_.cuts.line_groups;
        const int of_row = of_.cuts.lanes_a_row;
        const int line_warp = warp_id() / of_.cuts.warps_a_line;
        unit_ = warp_id() % of_.cuts.warps_a_line * of_.cuts.units_of_warp() + lane_id() / of_row;
        const int line_warps = Shape::warps / of_.cuts.warps_a_line;
        first_line_ = group * static_cast<unsigned>(line_warps * lines * lanes);
        mine_ = first_line_ + static_cast<unsigned>(line_warp * lines * lanes + lane_id() % of_row);
        first_row_ = tile_ * rows_of_tile() + static_cast<unsigned>(unit_ * rows);
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
    __device__ int lines_of_block() const
    {
        const std::uint64_t left = of_.cuts.count - first_line_;
        return static_cast<int>(
            left < static_cast<unsigned>(of_.cuts.lanes_a_row) ? left : static_cast<unsigned>(of_.cuts.lanes_a_row));
    }
    __device__ std::uint64_t line(int v) const { return mine_ + static_cast<unsigned>(v * lanes); }
    __device__ bool has_line(int v) const { return line(v) < of_.cuts.count; }

    __device__ T& element(int v, int r)
    {
        return shared_.elements[(v * rows + r) * Shape::threads + static_cast<int>(threadIdx.x)];
    }
    // Element r of line v of this thread. Those that do not exist are the identity: they change no bit of what is used.
    template <class Element = Acc>
    __device__ auto at(int v)
    {
        return [this, v, count = has_line(v) ? rows_of_thread_ : 0](int r) {
            Element value = op_.template identity<Element>();
            if (r < count)
                value = convert<Element>(element(v, r));
            return value;
        };
    }

    // Each thread copies its own elements, so that nobody waits for others.
    __device__ void load()
    {
#pragma unroll
        for (int v = 0; v < lines; ++v) {
            const int count = has_line(v) ? rows_of_thread_ : 0;
            if (count == 0)
                continue;
            const T* from = of_.in.first_of(line(v)) + static_cast<std::int64_t>(first_row_) * of_.in.stride;
            if constexpr (sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16) {
#pragma unroll 8
                for (int r = 0; r < count; ++r, from += of_.in.stride)
                    __pipeline_memcpy_async(&element(v, r), from, sizeof(T));
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
                            element(v, r + j) = loaded[j];
                }
            }
        }
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads(); // the totals of the last tile have been read
    }

    // Calls f(v, totals of parts of the rows) for each line of the thread.
    template <class F>
    __device__ void fold_threads(F f)
    {
#pragma unroll
        for (int v = 0; v < lines; ++v) {
            Acc totals[parts];
#pragma unroll
            for (int p = 0; p < parts; ++p)
                totals[p] = convert<Acc>(block_total<part>(at<element_of_few_t<Op, Acc, T>>(v), p * part, op_));
            f(v, totals);
        }
    }

    template <scan_kind Kind>
    __device__ void write(int v, const Acc (&totals)[parts], const Acc& before, const Acc& after,
                          const scan_start<Acc>& start)
    {
        Out* to = of_.out.first_of(line(v)) + static_cast<std::int64_t>(first_row_) * of_.out.stride;
        Acc before_parts[parts + 1];
        lane_folds<parts>(before, totals, before_parts, op_);
        before_parts[parts] = after;
#pragma unroll
        for (int p = 0; p < parts; ++p) {
            Acc values[part];
            Acc folds[part + 1];
#pragma unroll
            for (int j = 0; j < part; ++j)
                values[j] = at(v)(p * part + j);
            lane_folds<part>(before_parts[p], values, folds, op_);
            folds[part] = before_parts[p + 1];
#pragma unroll
            for (int j = 0; j < part; ++j, to += of_.out.stride) {
                const int r = p * part + j;
                if (r >= rows_of_thread_)
                    return;
                Acc result = folds[Kind == scan_kind::inclusive ? j + 1 : j];
                if constexpr (Kind == scan_kind::exclusive) {
                    if (start.has_init)
                        result = op_(start.first, result);
                    if (r == 0 && first_row_ == 0)
                        result = start.first;
                }
                *to = as_result<Out, Op>(result);
            }
        }
    }

    const column_arguments<Acc, T, Out, Rank>& of_;
    memory& shared_;
    Op op_;
    column_states<Acc, Op> states_;
    std::uint64_t tile_ = 0;
    std::uint64_t first_line_ = 0; // of the block
    std::uint64_t mine_ = 0;       // the first line of this thread
    std::uint64_t first_row_ = 0;
    int unit_ = 0; // which rows of the tile this thread has
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

template <class Shape, scan_kind Kind, class Acc, class T, class Out, std::size_t Rank, class Op>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    scan_columns_kernel(const __grid_constant__ column_arguments<Acc, T, Out, Rank> of, Op op, scan_start<Acc> start)
{
    using block = column_block<Shape, Acc, T, Out, Rank, Op>;
    extern __shared__ __align__(16) uint4 dynamic[];
    auto& shared = *reinterpret_cast<typename block::memory*>(dynamic);
    block_tickets tickets(of.memory, shared.tickets, of.cuts.line_groups * of.cuts.tiles);
    block self(of, shared, tickets.epoch(), op);
    tickets.for_each([&](std::uint64_t task) { self.template scan<Kind>(task, start); });
}

// Fewer blocks where an accumulator is those of several narrow elements, which takes registers.
template <class Acc, class T>
using shape_of_columns = column_shape<(sizeof(T) <= 4    ? 64
                                       : sizeof(T) <= 8  ? 32
                                       : sizeof(T) <= 16 ? 16
                                                         : 4),
                                      1, (sizeof(T) <= 4 && sizeof(Acc) > 8 ? 2 : 3)>;

template <class Shape>
column_cuts cut_columns(std::uint64_t length, std::uint64_t count)
{
    column_cuts cuts{length, count, lanes, 1, 0, 0};
    if (count < lanes)
        cuts.lanes_a_row = static_cast<int>(std::bit_ceil(count));
    const auto rows_of_warp = static_cast<std::uint64_t>(Shape::rows * (lanes / cuts.lanes_a_row));
    while (cuts.warps_a_line < Shape::warps && rows_of_warp * static_cast<unsigned>(cuts.warps_a_line) < length)
        cuts.warps_a_line *= 2;
    const auto lines = static_cast<std::uint64_t>(Shape::warps / cuts.warps_a_line * Shape::lines * lanes);
    cuts.line_groups = (count + lines - 1) / lines;
    const std::uint64_t rows = rows_of_warp * static_cast<unsigned>(cuts.warps_a_line);
    cuts.tiles = (length + rows - 1) / rows;
    return cuts;
}

template <auto Kernel, class Shape, class Acc, class Op, class T, class Out, std::size_t Rank, class... Arguments>
void launch_columns(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                    const Arguments&... arguments)
{
    using block = column_block<Shape, Acc, T, Out, Rank, Op>;
    constexpr std::size_t shared_bytes = sizeof(typename block::memory);
    const column_cuts cuts = cut_columns<Shape>(all.length(), all.count());
    const piece_slots slots{cuts.tiles};
    const std::uint64_t states = cuts.tiles > 1 ? slots.states() * all.count() : 1;
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
    launch_columns<reduce_columns_kernel<shape, Acc, T, Out, Rank, Op, Finish>, shape, Acc, Op>(target, call, all, op,
                                                                                                finish);
}
template <scan_kind Kind, class Acc, class T, class Out, std::size_t Rank, class Op>
void scan_columns(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all, const Op& op,
                  const scan_start<Acc>& start)
{
    using shape = shape_of_columns<Acc, T>;
    launch_columns<scan_columns_kernel<shape, Kind, Acc, T, Out, Rank, Op>, shape, Acc, Op>(target, call, all, op,
                                                                                            start);
}

} // namespace upsweep::gpu
