// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

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

// Long lines, one or up to 32 side by side. Blocks take tiles of them by turns, aligned blocks of rows of some lines, through a ring of
// stages in shared memory. Of a tile, each warp has rows below those of the warp before; of these, each lane has a unit, some
// consecutive rows of one line:
//
//     32 lines        16 lines              3 lines               1 line
//     a b c ... z     unit 0: lanes 0-15    unit 0: lanes 0-2     unit u: lane u, for u < 32
//                     unit 1: lanes 16-31   ...
//                                           unit 7: lanes 28-30
//
// Where the lines' elements lie one behind the other, as those of one line do and those of all columns of an array, they are copied as
// they lie, and units begin in different banks; so it does not matter where lines begin. Roles and steps, at one barrier a step:
//
//                       before the barrier                      after the barrier
//   scanning warps      fold their parts of tile i + 1          scan tile i, begin to copy tile i + stages
//   look-back warp      fold the tiles before tile i            publish the total of tile i + 1
//
// Totals are published in the tree of piece_states.cuh, one after the other those of the lines of a tile. Scanning warps do not write
// the last result of a tile: the look-back warp has it.
namespace upsweep::gpu {

template <class T>
struct tile_shape {
    static constexpr int warps = sizeof(T) <= 16 ? 8 : 4; // that scan
    static constexpr int scanning_threads = warps * lanes;
    static constexpr int threads = scanning_threads + lanes;
    static constexpr int stages = 3;
    static constexpr int rows = sizeof(T) <= 4 ? 32 : static_cast<int>(std::bit_floor(sizeof(T) < 128 ? 128 / sizeof(T) : 1));
    // Of a warp in a stage: as many elements lie idle behind the rows of a unit as it has lines.
    static constexpr int places = lanes * (rows + 1);
};

// How the lines are dealt out to blocks and lanes.
struct tile_cuts {
    int width;       // lines of a block
    int lanes_a_row; // the same, rounded up to a power of two
    divider groups;  // of so many lines
    std::uint64_t tiles; // of a line
    bool in_piece;       // whether the lines of a block lie as one piece
    bool out_piece;
};

template <class T, class Out, std::size_t Rank>
struct tile_arguments {
    lines_on_device<T, Out, Rank> lines;
    tile_cuts cuts;
    tile_state_memory memory;
    piece_slots slots;
};

template <class Acc, class T, class Out, std::size_t Rank, class Op>
class tile_block {
    using shape = tile_shape<T>;
    static constexpr int rows = shape::rows;
    static constexpr int stages = shape::stages;
    static constexpr int folded = 3; // tiles whose totals are kept: others scan the one before while they are written

public:
    struct memory {
        raw_array<T, stages * shape::warps * shape::places> elements;
        raw_array<Acc, folded * shape::warps * lanes> of_warps; // the total of each line
        raw_array<Acc, 2 * lanes> before;                       // the fold of each line before the tile
        raw_array<Acc, lanes * lanes> of_tiles;                 // [32 i + line]: what the look-back warp reads
    };

    __device__ tile_block(const tile_arguments<T, Out, Rank>& of, memory& shared, const Op& op)
        : of_(of), shared_(shared), op_(op), width_(of.cuts.width), line_(lane_id() % of.cuts.lanes_a_row),
          unit_(lane_id() / of.cuts.lanes_a_row), unit_elements_(rows * of.cuts.width),
          tasks_(of.cuts.groups.divisor * of.cuts.tiles)
    {
        mine_ = static_cast<int>((tasks_ - blockIdx.x + gridDim.x - 1) / gridDim.x);
    }

    // The scanning warps: scan(i) makes results of tile i.
    template <class Scan>
    __device__ void take_tiles(Scan scan)
    {
        for (int i = 0; i + 1 < stages; ++i)
            copy(i);
        for (int i = -1; i < mine_; ++i) {
            __pipeline_wait_prior(stages - 2);
            __syncwarp(); // others have copied what this lane reads
            if (i + 1 < mine_)
                fold(i + 1);
            meet();
            if (i >= 0)
                scan(i);
            __syncwarp();
            copy(i + stages);
        }
    }

    // The look-back warp: look_back(i, states) provides for what the others need to scan tile i.
    template <class LookBack>
    __device__ void publish_tiles(LookBack look_back)
    {
        const std::uint64_t epoch = load_relaxed(&of_.memory.header->epoch) + 1;
        const tile_states<Acc> states(of_.memory, epoch);
        for (int i = -1; i < mine_; ++i) {
            if (i >= 0)
                look_back(i, states);
            meet();
            if (i + 1 < mine_)
                publish(i + 1, states);
        }
        // Whoever draws the last ticket knows that every block has read the epoch.
        if (lane_id() == 0 && take_ticket(of_.memory.header, gridDim.x) == gridDim.x - 1)
            store_relaxed(&of_.memory.header->epoch, epoch);
    }

    // Where this thread's part of a tile lies.
    struct place {
        std::uint64_t tile;       // number in its lines
        std::uint64_t first_line; // of the block
        std::uint64_t first_row;  // of this warp
        int lines;                // of the block, that exist
        int rows_of_warp;         // of this warp, that exist
        int rows_of_unit;         // of this lane
    };
    __device__ place place_of(int i) const
    {
        const std::uint64_t task = blockIdx.x + std::uint64_t{static_cast<unsigned>(i)} * gridDim.x;
        place at;
        at.tile = of_.cuts.groups.quotient(task);
        at.first_line = (task - at.tile * of_.cuts.groups.divisor) * static_cast<unsigned>(width_);
        const std::uint64_t lines_left = of_.lines.count - at.first_line;
        at.lines = lines_left < static_cast<unsigned>(width_) ? static_cast<int>(lines_left) : width_;
        at.first_row = at.tile * rows_of_tile() + static_cast<unsigned>(warp_id() * rows_of_warp());
        const std::uint64_t left = at.first_row < of_.lines.length ? of_.lines.length - at.first_row : 0;
        at.rows_of_warp = left < static_cast<unsigned>(rows_of_warp()) ? static_cast<int>(left) : rows_of_warp();
        const int behind = at.rows_of_warp - unit_ * rows;
        at.rows_of_unit = line_ >= at.lines || behind <= 0 ? 0 : behind < rows ? behind : rows;
        return at;
    }
    __device__ bool is_last(const place& at) const { return at.tile + 1 == of_.cuts.tiles; }
    __device__ bool is_whole(const place& at) const { return (at.tile + 1) * rows_of_tile() <= of_.lines.length; }

    // The values of this lane's rows, behind those that exist the identity: it changes no bit of what is used.
    __device__ void values_of(int i, const place& at, Acc (&values)[rows])
    {
        const int first = place_in_stage(i, unit_ * (unit_elements_ + width_) + line_);
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            values[r] = op_.template identity<Acc>();
            if (r < at.rows_of_unit)
                values[r] = convert<Acc>(shared_.elements[first + r * width_]);
        }
    }

    // The folds before each of these, and so of the line from its beginning on.
    __device__ void folds_of(int i, const Acc (&values)[rows], Acc (&folds)[rows])
    {
        const auto warp = [&](int w) { return shared_.of_warps[place_of_warp(i, w)]; };
        const Acc before = shared_.before[i % 2 * lanes + line_];
        Acc sibling[lane_levels];
        tree_of_units(lane_total<rows>(values, op_), sibling);
        Acc mine = fold_few<Acc, shape::warps / 2>(before, warp, 0, warp_id(), op_);
#pragma unroll
        for (int k = lane_levels - 1; k >= 0; --k)
            if (1 << k >= of_.cuts.lanes_a_row && (lane_id() >> k & 1) != 0)
                mine = op_(mine, sibling[k]);
        lane_folds<rows>(mine, values, folds, op_);
    }

    // Writes result(fold, whether it is of the first element) of a line's elements, `ahead` rows before the folds', but not before
    // the tile.
    template <int Ahead, class Result>
    __device__ void write(int i, const place& at, const Acc (&folds)[rows], Result result)
    {
        const bool begins = at.first_row == 0 && unit_ == 0;          // the line
        const bool skips = Ahead != 0 && warp_id() == 0 && unit_ == 0; // a result before the tile
        const std::uint64_t end = of_.lines.length + Ahead;
        const std::uint64_t left = at.first_row < end ? end - at.first_row : 0;
        const int of_warp = left < static_cast<unsigned>(rows_of_warp()) ? static_cast<int>(left) : rows_of_warp();
        const int count = line_ < at.lines ? of_warp - unit_ * rows : 0;
        if (sizeof(T) == sizeof(Out) && of_.cuts.out_piece) {
            const int first = place_in_stage(i, unit_ * (unit_elements_ + width_) + line_);
            auto* const staged = reinterpret_cast<Out*>(shared_.elements.bytes) + first;
#pragma unroll
            for (int r = 0; r < rows; ++r)
                if (r < count)
                    staged[r * width_] = result(folds[r], r == 0 && begins);
            __syncwarp();
            write_piece<Ahead>(i, at, of_warp);
        } else if (count > 0) {
            Out* to = of_.lines.out.first_of(at.first_line + static_cast<unsigned>(line_)) +
                      (static_cast<std::int64_t>(at.first_row) + unit_ * rows - Ahead) * of_.lines.out.stride;
#pragma unroll
            for (int r = 0; r < rows; ++r, to += of_.lines.out.stride)
                if (r < count && !(r == 0 && skips))
                    *to = result(folds[r], r == 0 && begins);
        }
    }

    // The fold of tiles 0 to j - 1 of this lane's line. The lanes of the look-back warp call this together.
    __device__ Acc fold_of_tiles(const place& at, std::uint64_t j, const tile_states<Acc>& states)
    {
        Acc before = op_.template identity<Acc>();
        for (int level = piece_slots::highest_level(j); level >= 0; --level) {
            const std::uint64_t groups = j >> (lane_levels * level);
            const int count = static_cast<int>(groups % lanes);
            if (count == 0)
                continue;
            read(at, level, groups - static_cast<unsigned>(count), count, states);
            before = fold_few(before, tiles(), 0, count, op_);
        }
        return before;
    }
    // The same for the tiles before this block's tile i, and in `after` up to its end, if it is whole.
    __device__ Acc fold_before(int i, const place& at, const tile_states<Acc>& states, Acc& after)
    {
        const int count = static_cast<int>(at.tile % lanes);
        const Acc before_row = fold_of_tiles(at, at.tile - static_cast<unsigned>(count), states);
        read(at, 0, at.tile - static_cast<unsigned>(count), count, states);
        const auto with_own = [&, own = total_of(i)](int k) { return k == count ? own : tiles()(k); };
        after = count + 1 < lanes ? fold_few(before_row, with_own, 0, count + 1, op_) : before_row;
        const Acc before = fold_few(before_row, tiles(), 0, count, op_);
        if (count + 1 == lanes && is_whole(at))
            after = fold_of_tiles(at, at.tile + 1, states);
        return before;
    }
    __device__ void put_before(int i, const Acc& before)
    {
        if (unit_ == 0)
            shared_.before[i % 2 * lanes + line_] = before;
    }
    __device__ bool has_rows_of_line(const place& at) const { return line_ < at.lines; }
    __device__ bool has_line(const place& at) const { return unit_ == 0 && line_ < at.lines; } // one lane of each line
    __device__ Out* line_out(const place& at) const
    {
        return of_.lines.out.first_of(at.first_line + static_cast<unsigned>(line_));
    }
    // The place for the result of the last row of a whole tile.
    __device__ Out* last_of(const place& at) const
    {
        return line_out(at) + static_cast<std::int64_t>((at.tile + 1) * rows_of_tile() - 1) * of_.lines.out.stride;
    }
    // The number of a row of the line among this lane's rows of the tile.
    __device__ std::int64_t row_of_unit(const place& at, std::uint64_t row) const
    {
        return static_cast<std::int64_t>(row - at.first_row) - unit_ * rows;
    }

private:
    __device__ static void meet() { named_barrier(0, shape::threads); }
    __device__ int rows_of_warp() const { return lanes / of_.cuts.lanes_a_row * rows; }
    __device__ std::uint64_t rows_of_tile() const { return static_cast<unsigned>(shape::warps * rows_of_warp()); }
    __device__ static int place_in_stage(int i, int place)
    {
        return (i % stages * shape::warps + warp_id()) * shape::places + place;
    }
    __device__ int place_of_warp(int i, int warp) const
    {
        return (i % folded * shape::warps + warp) * lanes + line_;
    }

    // Calls f(e, place of element e in the stage) for the elements of a warp from `first` to `end` that fall to this lane, where they lie
    // one behind the other.
    template <class F>
    __device__ void for_each_of_piece(int first, int end, F f) const
    {
        const int units = lanes / unit_elements_; // that 32 elements go through; few units have fewer elements
        const int rest = lanes % unit_elements_;
        int in_unit = lane_id() % unit_elements_;
        int place = lane_id() + lane_id() / unit_elements_ * width_;
#pragma unroll 8
        for (int e = lane_id(); e < end; e += lanes) {
            if (e >= first)
                f(e, place);
            in_unit += rest;
            place += lanes + units * width_;
            if (in_unit >= unit_elements_) {
                in_unit -= unit_elements_;
                place += width_;
            }
        }
    }

    // Begins to copy this warp's part of a tile.
    __device__ void copy(int i)
    {
        if (i < mine_) {
            const place at = place_of(i);
            const line_places<const T, Rank>& in = of_.lines.in;
            if (of_.cuts.in_piece) {
                const std::int64_t distance = width_ == 1 ? in.stride : 1;
                const T* const from = in.first_of(at.first_line) + static_cast<std::int64_t>(at.first_row) * in.stride;
                T* const to = &shared_.elements[place_in_stage(i, 0)];
                for_each_of_piece(0, at.rows_of_warp * width_,
                                  [&](int e, int place) { copy_element(to + place, from + e * distance); });
            } else if (at.rows_of_unit > 0) {
                const T* from = in.first_of(at.first_line + static_cast<unsigned>(line_)) +
                                (static_cast<std::int64_t>(at.first_row) + unit_ * rows) * in.stride;
                T* to = &shared_.elements[place_in_stage(i, unit_ * (unit_elements_ + width_) + line_)];
#pragma unroll 8
                for (int r = 0; r < at.rows_of_unit; ++r, from += in.stride, to += width_)
                    copy_element(to, from);
            }
        }
        __pipeline_commit();
    }
    __device__ static void copy_element(T* to, const T* from)
    {
        if constexpr (sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16)
            __pipeline_memcpy_async(to, from, sizeof(T));
        else
            *to = *from;
    }
    template <int Ahead>
    __device__ void write_piece(int i, const place& at, int count)
    {
        const line_places<Out, Rank>& out = of_.lines.out;
        const std::int64_t distance = width_ == 1 ? out.stride : 1;
        Out* const to = out.first_of(at.first_line) + (static_cast<std::int64_t>(at.first_row) - Ahead) * out.stride;
        const Out* const from = reinterpret_cast<const Out*>(shared_.elements.bytes) + place_in_stage(i, 0);
        for_each_of_piece(warp_id() == 0 ? Ahead * width_ : 0, count * width_,
                          [&](int e, int place) { to[e * distance] = from[place]; });
    }

    // Of the units of a line, as warp_tree has it of lanes.
    __device__ Acc tree_of_units(Acc total, Acc (&sibling)[lane_levels]) const
    {
#pragma unroll
        for (int k = 0; k < lane_levels; ++k)
            if (1 << k >= of_.cuts.lanes_a_row) {
                sibling[k] = shuffle_xor(total, 1 << k);
                total = combine(op_, total, sibling[k], (lane_id() >> k & 1) != 0);
            }
        return total;
    }
    __device__ void fold(int i)
    {
        Acc values[rows];
        values_of(i, place_of(i), values);
        Acc sibling[lane_levels];
        const Acc total = tree_of_units(lane_total<rows>(values, op_), sibling);
        if (unit_ == 0)
            shared_.of_warps[place_of_warp(i, warp_id())] = total;
    }

    __device__ Acc total_of(int i)
    {
        const auto warp = [&](int w) { return shared_.of_warps[place_of_warp(i, w)]; };
        return block_total<shape::warps, Acc>(warp, 0, op_);
    }

    // Publishes the totals of a whole tile, and those of the groups that it completes.
    __device__ void publish(int i, const tile_states<Acc>& states)
    {
        const place at = place_of(i);
        if (!is_whole(at))
            return;
        Acc total = total_of(i);
        std::uint64_t j = at.tile;
        for (int level = 0;; ++level, j /= lanes) {
            if (has_line(at))
                states.publish(state(level, j) + at.first_line + static_cast<unsigned>(line_), total);
            if (j % lanes != lanes - 1)
                return;
            __syncwarp();
            read(at, level, j - (lanes - 1), lanes, states);
            total = block_total<lanes, Acc>(tiles(), 0, op_);
        }
    }

    // Reads some states of each line, up to 32, and waits for those that are not there yet. Lanes share them.
    __device__ void read(const place& at, int level, std::uint64_t group, int count, const tile_states<Acc>& states)
    {
        constexpr int at_once = 4;
        const int units = lanes / of_.cuts.lanes_a_row;
        const std::uint64_t line = at.first_line + static_cast<unsigned>(line_ < at.lines ? line_ : 0);
        __syncwarp(); // others have read what is replaced
        for (int first = unit_; first < count; first += at_once * units) {
            word128 loaded[at_once];
            bool is_missing = true;
            while (is_missing) {
                is_missing = false;
#pragma unroll
                for (int k = 0; k < at_once; ++k)
                    if (const int s = first + k * units; s < count)
                        loaded[k] = states.load_one(state(level, group + static_cast<unsigned>(s)) + line);
#pragma unroll
                for (int k = 0; k < at_once; ++k)
                    is_missing |= first + k * units < count && !states.is_published(loaded[k]);
            }
            states.before_totals();
#pragma unroll
            for (int k = 0; k < at_once; ++k) {
                const int s = first + k * units;
                if (s < count)
                    shared_.of_tiles[s * lanes + line_] =
                        states.total(state(level, group + static_cast<unsigned>(s)) + line, loaded[k]);
            }
        }
        __syncwarp();
    }
    __device__ std::uint64_t state(int level, std::uint64_t group) const
    {
        return of_.slots.place(level, 0, group) * of_.lines.count;
    }
    __device__ auto tiles()
    {
        return [this](int i) { return shared_.of_tiles[i * lanes + line_]; };
    }

    const tile_arguments<T, Out, Rank>& of_;
    memory& shared_;
    Op op_;
    int width_;
    int line_; // which line of the block this lane has
    int unit_; // which of its rows
    int unit_elements_;
    std::uint64_t tasks_;
    int mine_ = 0; // tiles of this block
};

// The tile that ends its lines is folded with what lies before it: by the look-back warp, if it is whole.
template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
__global__ void __launch_bounds__(tile_shape<T>::threads, 2)
    reduce_tiled_kernel(const __grid_constant__ tile_arguments<T, Out, Rank> of, Op op, Finish finish)
{
    using block = tile_block<Acc, T, Out, Rank, Op>;
    extern __shared__ __align__(16) uint4 dynamic[];
    block self(of, *reinterpret_cast<typename block::memory*>(dynamic), op);
    constexpr int rows = tile_shape<T>::rows;
    if (warp_id() == tile_shape<T>::warps) {
        self.publish_tiles([&](int i, const tile_states<Acc>& states) {
            const auto at = self.place_of(i);
            if (!self.is_last(at))
                return;
            const bool is_whole = self.is_whole(at);
            const Acc fold = self.fold_of_tiles(at, at.tile + (is_whole ? 1 : 0), states);
            self.put_before(i, fold);
            if (is_whole && self.has_line(at))
                finish(fold, *self.line_out(at));
        });
        return;
    }
    self.take_tiles([&](int i) {
        const auto at = self.place_of(i);
        if (!self.is_last(at) || self.is_whole(at))
            return;
        Acc values[rows];
        Acc folds[rows];
        self.values_of(i, at, values);
        self.folds_of(i, values, folds);
        const std::int64_t behind = self.row_of_unit(at, of.lines.length);
        Acc result = folds[0];
#pragma unroll
        for (int r = 1; r < rows; ++r)
            replace_if(r == behind, result, folds[r]);
        if (behind >= 0 && behind < rows && self.has_rows_of_line(at))
            finish(result, *self.line_out(at));
    });
}

template <scan_kind Kind, class Acc, class T, class Out, std::size_t Rank, class Op>
__global__ void __launch_bounds__(tile_shape<T>::threads, 2)
    scan_tiled_kernel(const __grid_constant__ tile_arguments<T, Out, Rank> of, Op op, scan_start<Acc> start)
{
    using block = tile_block<Acc, T, Out, Rank, Op>;
    constexpr int ahead = rows_ahead<Kind>;
    extern __shared__ __align__(16) uint4 dynamic[];
    block self(of, *reinterpret_cast<typename block::memory*>(dynamic), op);
    constexpr int rows = tile_shape<T>::rows;
    if (warp_id() == tile_shape<T>::warps) {
        self.publish_tiles([&](int i, const tile_states<Acc>& states) {
            const auto at = self.place_of(i);
            Acc after;
            self.put_before(i, self.fold_before(i, at, states, after));
            if (ahead != 0 && self.is_whole(at) && self.has_line(at))
                *self.last_of(at) = as_result<Out, Op>(after);
        });
        return;
    }
    self.take_tiles([&](int i) {
        const auto at = self.place_of(i);
        Acc values[rows];
        Acc folds[rows];
        self.values_of(i, at, values);
        self.folds_of(i, values, folds);
        self.template write<ahead>(i, at, folds, [&](const Acc& fold, bool is_first) {
            return result_of_fold<Kind, Out>(fold, is_first, start, op);
        });
    });
}

// Whether the lines of a block can lie side by side in one piece, and how many do.
template <class T, std::size_t Rank>
bool are_one_piece(const view<T, Rank>& lines)
{
    return lines.stride(Rank - 1) == 1 && lines.stride(0) == static_cast<std::ptrdiff_t>(lines.extent(Rank - 1));
}

template <class T, class Out, std::size_t Rank>
tile_cuts cut_into_tiles(const detail::lines<const T, Out, Rank>& all, bool side_by_side)
{
    using shape = tile_shape<T>;
    tile_cuts cuts{1, 1, divider(1), 0, true, true};
    if (side_by_side) {
        const std::size_t inner = all.in.extent(Rank - 1);
        cuts.in_piece = inner < lanes && are_one_piece(all.in);
        cuts.out_piece = cuts.in_piece && are_one_piece(all.out);
        const std::size_t most = cuts.in_piece ? inner : all.count();
        cuts.width = static_cast<int>(most < lanes ? most : lanes);
        cuts.lanes_a_row = static_cast<int>(std::bit_ceil(static_cast<unsigned>(cuts.width)));
    }
    const auto width = static_cast<unsigned>(cuts.width);
    const std::uint64_t rows = static_cast<unsigned>(shape::warps * shape::rows * (lanes / cuts.lanes_a_row));
    cuts.groups = divider((all.count() + width - 1) / width);
    cuts.tiles = (all.length() + rows - 1) / rows;
    return cuts;
}

template <auto Kernel, class Acc, class Op, class T, class Out, std::size_t Rank, class... Arguments>
void launch_over_tiles(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                       bool side_by_side, const Arguments&... arguments)
{
    constexpr std::size_t shared_bytes = sizeof(typename tile_block<Acc, T, Out, Rank, Op>::memory);
    const tile_cuts cuts = cut_into_tiles(all, side_by_side);
    const piece_slots slots{cuts.tiles};
    const tile_arguments<T, Out, Rank> of{
        {line_places<const T, Rank>(all.in), line_places<Out, Rank>(all.out), all.length(), all.count()},
        cuts,
        tile_states_of(target, slots.states() * all.count(), sizeof(Acc)),
        slots};
    const std::uint64_t blocks = resident_blocks<Kernel>(target, tile_shape<T>::threads, shared_bytes);
    const std::uint64_t tasks = cuts.groups.divisor * cuts.tiles;
    launch(target, call, Kernel, static_cast<unsigned>(tasks < blocks ? tasks : blocks), tile_shape<T>::threads,
           shared_bytes, of, arguments...);
}

} // namespace upsweep::gpu
