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

// Long lines whose elements lie one behind the other: rows, or the columns of an array that has few of them, all at once. Blocks take
// tiles by turns, aligned blocks of rows of these lines, through a ring of stages in shared memory. Of a tile, each warp has the rows
// below those of the warp before; of these, each lane has a unit, some consecutive rows of one line:
//
//     1 line                        2 lines                        3 lines
//     unit u: lane u, for u < 32    unit u: lanes 2 u, 2 u + 1     unit u: lanes 4 u to 4 u + 2, for u < 8
//
// All that lies between is copied as it lies, with an idle element behind every so many: units begin in different banks, and it does
// not matter where lines begin. Roles and steps, at one barrier a step:
//
//                               before the barrier                 after the barrier
//   8 scanning warps            fold their parts of tile i + 1     scan tile i, begin to copy tile i + stages
//   a look-back warp a line     fold the tiles before tile i       publish the total of tile i + 1
//
// piece_states.cuh says how tiles look back. A scan writes the fold before each element to the place before it, so that the folds
// behind warps and units need not be found; the last result of a tile the look-back warp has.
namespace upsweep::gpu {

inline constexpr int most_tiled_lines = 4;

// Whether there are registers for a lane's rows of a tile, and the folds before them.
template <class Acc, class T>
inline constexpr bool fits_tiles = true;

template <class T>
struct tile_shape {
    static constexpr int warps = sizeof(T) <= 16 ? 8 : 4; // that scan
    static constexpr int stages = 3;
    static constexpr int rows =
        sizeof(T) <= 4 ? 32 : static_cast<int>(std::bit_floor(sizeof(T) < 128 ? 128 / sizeof(T) : 1));
    static constexpr int log_rows = std::countr_zero(static_cast<unsigned>(rows));
    static constexpr int places = lanes * (rows + 1); // of a warp in a stage
    static constexpr int most_threads = (warps + most_tiled_lines) * lanes;
};

// How the lines are dealt out to blocks and lanes.
struct tile_cuts {
    int width;           // lines of a block
    int lanes_a_row;     // the same, rounded up to a power of two
    divider groups;      // of so many lines
    std::uint64_t tiles; // of a line
    bool out_piece;      // whether results lie as elements do
};

template <class T, class Out, std::size_t Rank>
struct tile_arguments {
    lines_on_device<T, Out, Rank> lines;
    tile_cuts cuts;
    tile_state_memory memory;
    piece_slots slots;
};

// IsRow says that a block has one line at a time: then all distances in shared memory are constants.
template <bool IsRow, class Acc, class T, class Out, std::size_t Rank, class Op>
class tile_block {
    using shape = tile_shape<T>;
    static constexpr int rows = shape::rows;
    static constexpr int stages = shape::stages;
    static constexpr int folded = 3; // tiles whose totals are kept: others scan the one before while they are written

public:
    using states = piece_states<Acc, Op>;
    struct memory {
        raw_array<T, stages * shape::warps * shape::places> elements;
        raw_array<Acc, folded * shape::warps * most_tiled_lines> of_warps; // the total of each line
        raw_array<Acc, 2 * most_tiled_lines> before;                       // the fold of each line before the tile
    };

    // Where this thread's part of a tile lies.
    struct place {
        std::uint64_t tile;       // number in its lines
        std::uint64_t first_line; // of the block
        std::uint64_t first_row;  // of this warp
        int rows_of_warp;         // that exist
        int rows_of_unit;         // of this lane
    };

    // The line of a look-back warp is that of all of its lanes.
    __device__ tile_block(const tile_arguments<T, Out, Rank>& of, memory& shared, const Op& op)
        : of_(of), shared_(shared), op_(op),
          line_(looks_back() ? warp_id() - shape::warps : lane_id() % (IsRow ? 1 : of.cuts.lanes_a_row)),
          unit_(lane_id() / (IsRow ? 1 : of.cuts.lanes_a_row))
    {
        const std::uint64_t tasks = of.cuts.groups.divisor * of.cuts.tiles;
        mine_ = static_cast<int>((tasks - blockIdx.x + gridDim.x - 1) / gridDim.x);
    }

    __device__ static bool looks_back() { return warp_id() >= shape::warps; }

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

    // The look-back warps: look_back(i, states) provides for what the others need to scan tile i.
    template <class LookBack>
    __device__ void publish_tiles(LookBack look_back)
    {
        const std::uint64_t epoch = load_relaxed(&of_.memory.header->epoch) + 1;
        const states published(of_.memory, epoch, of_.slots, op_);
        for (int i = -1; i < mine_; ++i) {
            if (i >= 0)
                look_back(i, published);
            meet();
            if (i + 1 < mine_)
                publish(i + 1, published);
        }
        // Whoever draws the last ticket knows that every look-back warp has read the epoch.
        const auto warps = gridDim.x * static_cast<unsigned>(width());
        if (lane_id() == 0 && take_ticket(of_.memory.header, warps) == warps - 1)
            store_relaxed(&of_.memory.header->epoch, epoch);
    }

    __device__ place place_of(int i) const
    {
        const std::uint64_t task = blockIdx.x + std::uint64_t{static_cast<unsigned>(i)} * gridDim.x;
        place at;
        at.tile = of_.cuts.groups.quotient(task);
        at.first_line = (task - at.tile * of_.cuts.groups.divisor) * static_cast<unsigned>(width());
        at.first_row = at.tile * rows_of_tile() + static_cast<unsigned>(warp_id() * rows_of_warp());
        const std::uint64_t left = at.first_row < of_.lines.length ? of_.lines.length - at.first_row : 0;
        at.rows_of_warp = left < static_cast<unsigned>(rows_of_warp()) ? static_cast<int>(left) : rows_of_warp();
        const int behind = at.rows_of_warp - unit_ * rows;
        at.rows_of_unit = !has_line() || behind <= 0 ? 0 : behind < rows ? behind : rows;
        return at;
    }
    __device__ bool is_last(const place& at) const { return at.tile + 1 == of_.cuts.tiles; }
    __device__ bool is_whole(const place& at) const { return (at.tile + 1) * rows_of_tile() <= of_.lines.length; }
    __device__ bool has_line() const { return line_ < width(); }
    __device__ Out* out_of_line(const place& at) const
    {
        return of_.lines.out.first_of(at.first_line + static_cast<unsigned>(line_));
    }
    // The number of a row of the line among this lane's rows of the tile.
    __device__ std::int64_t row_of_unit(const place& at, std::uint64_t row) const
    {
        return static_cast<std::int64_t>(row - at.first_row) - unit_ * rows;
    }

    // The values of this lane's rows, behind those that exist the identity: it changes no bit of what is used.
    __device__ void values_of(int i, const place& at, Acc (&values)[rows])
    {
        const int first = unit_ * unit_elements() + line_to_read();
        const int stage = place_in_stage(i);
        if (is_whole_part(at)) {
#pragma unroll
            for (int r = 0; r < rows; ++r)
                values[r] = convert<Acc>(shared_.elements[stage + place_of_element(first, r)]);
            return;
        }
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            values[r] = op_.template identity<Acc>();
            if (r < at.rows_of_unit)
                values[r] = convert<Acc>(shared_.elements[stage + place_of_element(first, r)]);
        }
    }

    // The folds before each of these, and so of the line from its beginning on.
    __device__ void folds_of(int i, const Acc (&values)[rows], Acc (&folds)[rows])
    {
        const auto warp = [&](int w) { return shared_.of_warps[place_of_warp(i, w)]; };
        const Acc before = shared_.before[i % 2 * most_tiled_lines + line_to_read()];
        Acc sibling[lane_levels];
        tree_of_units(lane_total<rows>(values, op_), sibling);
        Acc mine = fold_few<Acc, shape::warps / 2>(before, warp, 0, warp_id(), op_);
#pragma unroll
        for (int k = lane_levels - 1; k >= 0; --k)
            if (1 << k >= lanes_a_row() && (lane_id() >> k & 1) != 0)
                mine = op_(mine, sibling[k]);
        lane_folds<rows>(mine, values, folds, op_);
    }

    // Writes result(fold, whether it is of the first element) of a line's elements, `Ahead` rows before the folds', but not before
    // the tile.
    template <int Ahead, class Result>
    __device__ void write(int i, const place& at, const Acc (&folds)[rows], Result result)
    {
        const bool begins = at.first_row == 0 && unit_ == 0;           // the line
        const bool skips = Ahead != 0 && warp_id() == 0 && unit_ == 0; // a result before the tile
        const std::uint64_t end = of_.lines.length + Ahead;
        const std::uint64_t left = at.first_row < end ? end - at.first_row : 0;
        const int of_warp = left < static_cast<unsigned>(rows_of_warp()) ? static_cast<int>(left) : rows_of_warp();
        const int count = has_line() ? of_warp - unit_ * rows : 0;
        if (sizeof(T) == sizeof(Out) && of_.cuts.out_piece) {
            Out* const staged = reinterpret_cast<Out*>(shared_.elements.bytes) + place_in_stage(i);
            __syncwarp(); // lanes without a line have read some other's
            if (has_line()) {
#pragma unroll
                for (int r = 0; r < rows; ++r)
                    if (is_whole_part(at) || r < count)
                        staged[place_of_element(unit_ * unit_elements() + line_, r)] =
                            result(folds[r], r == 0 && begins);
            }
            __syncwarp();
            Out* const first =
                of_.lines.out.first_of(at.first_line) + (static_cast<std::int64_t>(at.first_row) - Ahead) * width();
            const int x = aligned_lane(first);
            for_each_of_piece(x, warp_id() == 0 ? Ahead * width() : 0, of_warp * width(),
                              [&](int k, int place) { first[x + k * lanes] = staged[place]; });
        } else if (count > 0) {
            Out* to = out_of_line(at) +
                      (static_cast<std::int64_t>(at.first_row) + unit_ * rows - Ahead) * of_.lines.out.stride;
#pragma unroll
            for (int r = 0; r < rows; ++r, to += of_.lines.out.stride)
                if (r < count && !(r == 0 && skips))
                    *to = result(folds[r], r == 0 && begins);
        }
    }

    // For look-back warps: the fold before this block's tile i, of which `after` is that up to its end, if it is whole.
    __device__ Acc fold_before(int i, const place& at, const states& published, Acc& after)
    {
        const Acc nothing = op_.template identity<Acc>();
        if (is_whole(at))
            return published.fold(first_slot(at), at.tile, nothing, total_of(i), after);
        return published.fold(first_slot(at), at.tile, nothing);
    }
    // The fold of the whole tiles of the line that ends with this one.
    __device__ Acc fold_of_tiles(const place& at, const states& published) const
    {
        return published.fold(first_slot(at), at.tile + (is_whole(at) ? 1 : 0), op_.template identity<Acc>());
    }
    __device__ void put_before(int i, const Acc& before)
    {
        if (lane_id() == 0)
            shared_.before[i % 2 * most_tiled_lines + line_] = before;
    }
    // The place for the result of the last row of a whole tile.
    __device__ Out* last_of(const place& at) const
    {
        return out_of_line(at) + static_cast<std::int64_t>((at.tile + 1) * rows_of_tile() - 1) * of_.lines.out.stride;
    }

private:
    __device__ int width() const { return IsRow ? 1 : of_.cuts.width; }
    __device__ int lanes_a_row() const { return IsRow ? 1 : of_.cuts.lanes_a_row; }
    __device__ int line_to_read() const
    {
        return has_line() ? line_ : 0;
    } // what lanes without a line fold, nobody uses
    __device__ int unit_elements() const { return rows * width(); }
    __device__ void meet() const { named_barrier(0, (shape::warps + width()) * lanes); }
    __device__ int rows_of_warp() const { return lanes / lanes_a_row() * rows; }
    __device__ std::uint64_t rows_of_tile() const { return static_cast<unsigned>(shape::warps * rows_of_warp()); }
    __device__ static int place_in_stage(int i) { return (i % stages * shape::warps + warp_id()) * shape::places; }
    __device__ int place_of_warp(int i, int warp) const
    {
        return (i % folded * shape::warps + warp) * most_tiled_lines + line_to_read();
    }
    __device__ std::uint64_t first_slot(const place& at) const
    {
        return (at.first_line + static_cast<unsigned>(line_)) * of_.cuts.tiles;
    }

    // Whether all rows of this warp exist: then no row asks whether it does.
    __device__ bool is_whole_part(const place& at) const { return at.rows_of_warp == rows_of_warp(); }

    // Where an element of this warp lies in its stage: an element lies idle behind every `rows`, so that units begin in different banks,
    // and 32 elements further on is the same distance everywhere.
    __device__ static int place_of_element(int e) { return e + (e >> shape::log_rows); }
    // The same for r rows on from the first element of a unit.
    __device__ int place_of_element(int first, int r) const
    {
        return IsRow ? place_of_element(first) + r : place_of_element(first + r * width());
    }

    // Calls f(k, place) for the elements x + 32 k of a warp from `first` to `end`, which lie one behind the other in memory, from
    // `from` on. x is such that the lanes read whole sectors.
    template <class F>
    __device__ static void for_each_of_piece(int x, int first, int end, F f)
    {
        constexpr int step = lanes + lanes / rows;
        const int place = place_of_element(x);
        const int whole = (end - lanes + 1) / lanes; // 32 k + 31 is an element for k < whole
        if (x >= first && x < end)
            f(0, place);
        if (x + lanes >= first && x + lanes < end)
            f(1, place + step);
        if (IsRow && whole == rows - 1) {
#pragma unroll
            for (int k = 2; k < rows; ++k)
                f(k, place + k * step);
        } else {
#pragma unroll 8
            for (int k = 2; k <= whole; ++k)
                f(k, place + k * step);
        }
        for (int k = whole < 1 ? 2 : whole + 1; x + k * lanes < end; ++k)
            f(k, place + k * step);
    }
    template <class Element>
    __device__ static int aligned_lane(const Element* first)
    {
        return lane_id() - static_cast<int>(reinterpret_cast<std::uintptr_t>(first) / sizeof(Element) % lanes);
    }

    // Begins to copy this warp's part of a tile.
    __device__ void copy(int i)
    {
        if (i < mine_) {
            const place at = place_of(i);
            const T* const first = of_.lines.in.first_of(at.first_line) + at.first_row * static_cast<unsigned>(width());
            T* const to = &shared_.elements[place_in_stage(i)];
            const int x = aligned_lane(first);
            for_each_of_piece(x, 0, at.rows_of_warp * width(),
                              [&](int k, int place) { copy_element(to + place, first + x + k * lanes); });
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

    // Of the units of a line, as warp_tree has it of lanes.
    __device__ Acc tree_of_units(Acc total, Acc (&sibling)[lane_levels]) const
    {
#pragma unroll
        for (int k = 0; k < lane_levels; ++k)
            if (1 << k >= lanes_a_row()) {
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
        if (unit_ == 0 && has_line())
            shared_.of_warps[place_of_warp(i, warp_id())] = total;
    }
    __device__ Acc total_of(int i)
    {
        const auto warp = [&](int w) { return shared_.of_warps[place_of_warp(i, w)]; };
        return block_total<shape::warps>(warp, 0, op_);
    }
    __device__ void publish(int i, const states& published)
    {
        const place at = place_of(i);
        if (!is_whole(at))
            return;
        published.publish(first_slot(at), at.tile, total_of(i));
        published.join(first_slot(at), at.tile);
    }

    const tile_arguments<T, Out, Rank>& of_;
    memory& shared_;
    Op op_;
    int line_; // which line of the block this thread has; there may be none
    int unit_; // which of its rows
    int mine_; // tiles of this block
};

// The tile that ends its lines is folded with what lies before it: by the look-back warp, if it is whole.
template <bool IsRow, class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
__global__ void __launch_bounds__(tile_shape<T>::most_threads, 2)
    reduce_tiled_kernel(const __grid_constant__ tile_arguments<T, Out, Rank> of, Op op, Finish finish)
{
    using block = tile_block<IsRow, Acc, T, Out, Rank, Op>;
    constexpr int rows = tile_shape<T>::rows;
    extern __shared__ __align__(16) uint4 dynamic[];
    block self(of, *reinterpret_cast<typename block::memory*>(dynamic), op);
    if (block::looks_back()) {
        self.publish_tiles([&](int i, const auto& states) {
            const auto at = self.place_of(i);
            if (!self.is_last(at))
                return;
            const Acc fold = self.fold_of_tiles(at, states);
            self.put_before(i, fold);
            if (self.is_whole(at) && lane_id() == 0)
                finish(fold, *self.out_of_line(at));
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
        if (behind >= 0 && behind < rows && self.has_line())
            finish(result, *self.out_of_line(at));
    });
}

template <bool IsRow, scan_kind Kind, class Acc, class T, class Out, std::size_t Rank, class Op>
__global__ void __launch_bounds__(tile_shape<T>::most_threads, 2)
    scan_tiled_kernel(const __grid_constant__ tile_arguments<T, Out, Rank> of, Op op, scan_start<Acc> start)
{
    using block = tile_block<IsRow, Acc, T, Out, Rank, Op>;
    constexpr int rows = tile_shape<T>::rows;
    constexpr int ahead = rows_ahead<Kind>;
    extern __shared__ __align__(16) uint4 dynamic[];
    block self(of, *reinterpret_cast<typename block::memory*>(dynamic), op);
    if (block::looks_back()) {
        self.publish_tiles([&](int i, const auto& states) {
            const auto at = self.place_of(i);
            Acc after;
            self.put_before(i, self.fold_before(i, at, states, after));
            if (ahead != 0 && self.is_whole(at) && lane_id() == 0)
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

// How many lines tiles are made of: as lie in one piece, of which there is one behind the other. None if that is not so.
template <class T, class Out, std::size_t Rank>
int lines_in_one_piece(const detail::lines<const T, Out, Rank>& all, bool side_by_side)
{
    if (!side_by_side)
        return all.in.stride(0) == 1 ? 1 : 0;
    const std::size_t inner = all.in.extent(Rank - 1);
    const bool is_piece = inner <= most_tiled_lines && all.in.stride(Rank - 1) == 1 &&
                          all.in.stride(0) == static_cast<std::ptrdiff_t>(inner);
    return is_piece ? static_cast<int>(inner) : 0;
}

template <class T, class Out, std::size_t Rank>
tile_cuts cut_into_tiles(const detail::lines<const T, Out, Rank>& all, int width)
{
    using shape = tile_shape<T>;
    const auto lines = static_cast<unsigned>(width);
    tile_cuts cuts{width, static_cast<int>(std::bit_ceil(lines)), divider(all.count() / lines), 0,
                   all.out.stride(0) == width && (width == 1 || all.out.stride(Rank - 1) == 1)};
    const std::uint64_t rows = static_cast<unsigned>(shape::warps * shape::rows * (lanes / cuts.lanes_a_row));
    cuts.tiles = (all.length() + rows - 1) / rows;
    return cuts;
}

template <auto Kernel, class Memory, class Acc, class T, class Out, std::size_t Rank, class... Arguments>
void launch_over_tiles(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                       int width, const Arguments&... arguments)
{
    using shape = tile_shape<T>;
    const tile_cuts cuts = cut_into_tiles(all, width);
    const piece_slots slots{cuts.tiles * all.count()};
    const tile_arguments<T, Out, Rank> of{
        {line_places<const T, Rank>(all.in), line_places<Out, Rank>(all.out), all.length(), all.count()},
        cuts,
        tile_states_of(target, slots.states(), sizeof(Acc)),
        slots};
    const std::uint64_t blocks = resident_blocks<Kernel>(target, shape::most_threads, sizeof(Memory));
    const std::uint64_t tasks = cuts.groups.divisor * cuts.tiles;
    launch(target, call, Kernel, static_cast<unsigned>(tasks < blocks ? tasks : blocks), (shape::warps + width) * lanes,
           sizeof(Memory), of, arguments...);
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_tiled(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all, int width,
                  const Op& op, const Finish& finish)
{
    using memory = typename tile_block<true, Acc, T, Out, Rank, Op>::memory; // of the others, too
    if (width == 1)
        launch_over_tiles<reduce_tiled_kernel<true, Acc, T, Out, Rank, Op, Finish>, memory, Acc>(target, call, all,
                                                                                                 width, op, finish);
    else
        launch_over_tiles<reduce_tiled_kernel<false, Acc, T, Out, Rank, Op, Finish>, memory, Acc>(target, call, all,
                                                                                                  width, op, finish);
}
template <scan_kind Kind, class Acc, class T, class Out, std::size_t Rank, class Op>
void scan_tiled(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all, int width,
                const Op& op, const scan_start<Acc>& start)
{
    using memory = typename tile_block<true, Acc, T, Out, Rank, Op>::memory; // of the others, too
    if (width == 1)
        launch_over_tiles<scan_tiled_kernel<true, Kind, Acc, T, Out, Rank, Op>, memory, Acc>(target, call, all, width,
                                                                                             op, start);
    else
        launch_over_tiles<scan_tiled_kernel<false, Kind, Acc, T, Out, Rank, Op>, memory, Acc>(target, call, all, width,
                                                                                              op, start);
}

} // namespace upsweep::gpu
