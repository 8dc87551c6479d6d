// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <type_traits>

#include <cuda_pipeline.h>

#include <upsweep/fold_order.hpp>
#include <upsweep/gpu/fold/line_start.cuh>
#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/adjacent.cuh>
#include <upsweep/gpu/shapes/few.cuh>
#include <upsweep/gpu/shapes/line_places.cuh>
#include <upsweep/gpu/shapes/piece_states.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>

// Long lines whose elements lie one behind the other: rows, or the two to four columns of an array, all at once. Blocks take tiles by turns,
// aligned blocks of rows of these lines, through a ring of stages in shared memory. Of a tile, each warp has the rows below those of the warp
// before, and of these each lane some consecutive ones. What a lane has of a row is one value, of one element or, of several lines,
// adjacent ones (adjacent.cuh).
//
// All that is copied as it lies, with an idle element behind the elements of each lane: lanes begin in different banks, and it does not
// matter where lines begin. Roles and steps, at one barrier a step:
//
//                               before the barrier                 after the barrier
//   8 scanning warps            fold their parts of tile i + 1     scan tile i, begin to copy tile i + stages
//   a look-back warp a line     folds the tiles before tile i      publishes the total of tile i + 1
//
// piece_states.cuh says how tiles look back. A scan writes the fold before each row to the place of the row before, so that the folds
// behind warps and lanes need not be found; the last result of a tile the look-back warp has. Each line has a look-back warp of its own, since
// totals of more than 8 bytes are published by fences: by one warp, scans of three columns of floats took 1343 us in place of 845.
namespace upsweep::gpu {

inline constexpr int most_tiled_lines = 4;

// Whether there are registers for a lane's rows of a tile, and the folds before them.
template <class Acc, class T>
inline constexpr bool fits_tiles = true;

template <int Width, class Acc, class T>
struct tile_shape {
    static constexpr int warps = sizeof(T) <= 16 ? 8 : 4; // that scan
    static constexpr int stages = 3;
    // Of a lane: 32 of one line, or those of 128 bytes, if they are fewer; of several lines those whose folds have as many bytes.
    static constexpr std::size_t bytes = Width == 1 || sizeof(T) > sizeof(Acc) ? sizeof(T) : sizeof(Acc);
    static constexpr std::size_t of_one = 128 / (bytes < 4 ? 4 : bytes);
    static constexpr int rows = static_cast<int>(of_one < Width ? 1 : std::bit_floor(of_one / Width));
    static constexpr int rows_of_warp = rows * lanes;
    static constexpr int rows_of_tile = rows_of_warp * warps;
    static constexpr int elements = rows * Width;         // of a lane
    static constexpr int places = lanes * (elements + 1); // of a warp in a stage
    static constexpr int threads = (warps + Width) * lanes;
};

// How the lines are dealt out to blocks.
struct tile_cuts {
    divider groups;      // of as many lines as a tile has
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

// Of Width lines.
template <int Width, class Acc, class T, class Out, std::size_t Rank, class Op>
class tile_block {
    using shape = tile_shape<Width, Acc, T>;
    static constexpr int rows = shape::rows;
    static constexpr int stages = shape::stages;
    static constexpr int folded = 3; // tiles whose totals are kept: others scan the one before while they are written

public:
    using states = piece_states<Acc, Op>;
    using row = std::conditional_t<Width == 1, Acc,
                                   adjacent_lines::adjacent<Acc, Width>>; // the values of a row, or folds of rows
    struct memory {
        raw_array<T, stages * shape::warps * shape::places> elements;
        raw_array<row, folded * shape::warps> of_warps; // their totals
        raw_array<Acc, 2 * Width> before;               // the fold of each line before the tile
    };

    // Where this thread's part of a tile lies.
    struct place {
        std::uint64_t tile;      // number in its lines
        std::uint64_t group;     // of lines
        std::uint64_t first_row; // of this warp
        int rows_of_warp;        // that exist
        int rows_of_lane;
    };

    __device__ tile_block(const tile_arguments<T, Out, Rank>& of, memory& shared, const Op& op)
        : of_(of), shared_(shared), op_(op), op_on_rows_{op}
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
        const unsigned warps = gridDim.x * Width;
        if (lane_id() == 0 && take_ticket(of_.memory.header, warps) == warps - 1)
            store_relaxed(&of_.memory.header->epoch, epoch);
    }

    __device__ place place_of(int i) const
    {
        const std::uint64_t task = blockIdx.x + std::uint64_t{static_cast<unsigned>(i)} * gridDim.x;
        place at;
        at.tile = of_.cuts.groups.quotient(task);
        at.group = task - at.tile * of_.cuts.groups.divisor;
        at.first_row = at.tile * shape::rows_of_tile + static_cast<unsigned>(warp_id() * shape::rows_of_warp);
        const std::uint64_t left = at.first_row < of_.lines.length ? of_.lines.length - at.first_row : 0;
        at.rows_of_warp = left < shape::rows_of_warp ? static_cast<int>(left) : shape::rows_of_warp;
        const int behind = at.rows_of_warp - lane_id() * rows;
        at.rows_of_lane = behind <= 0 ? 0 : behind < rows ? behind : rows;
        return at;
    }
    __device__ bool is_last(const place& at) const { return at.tile + 1 == of_.cuts.tiles; }
    __device__ bool is_whole(const place& at) const { return (at.tile + 1) * shape::rows_of_tile <= of_.lines.length; }
    // The number of a row of the lines among this lane's rows of the tile.
    __device__ std::int64_t row_of_lane(const place& at, std::uint64_t row) const
    {
        return static_cast<std::int64_t>(row - at.first_row) - lane_id() * rows;
    }

    // The values of this lane's rows, behind those that exist the identity: it changes no bit of what is used.
    __device__ void values_of(int i, const place& at, row (&values)[rows])
    {
        const T* const mine = elements_of_lane(i);
        if (is_whole_part(at)) {
#pragma unroll
            for (int r = 0; r < rows; ++r)
                values[r] = value_of(mine + r * Width);
            return;
        }
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            values[r] = op_on_rows_.template identity<row>();
            if (r < at.rows_of_lane)
                values[r] = value_of(mine + r * Width);
        }
    }

    // The folds before each of these, and so of the lines from their beginning on.
    __device__ void folds_of(int i, const row (&values)[rows], row (&folds)[rows])
    {
        const auto warp = [&](int w) { return shared_.of_warps[place_of_warp(i, w)]; };
        const row before = row_of([&](int k) { return shared_.before[i % 2 * Width + k]; });
        const row before_warp = fold_few<row, shape::warps / 2>(before, warp, 0, warp_id(), op_on_rows_);
        const row total = lane_total<rows>(values, op_on_rows_);
        if constexpr (sizeof(row) <= sizeof(uint4)) {
            const warp_tree<row> tree(total, op_on_rows_);
            lane_folds<rows>(tree.fold_before(before_warp, op_on_rows_), values, folds, op_on_rows_);
        } else { // a tree of each line after the other takes fewer registers
            const row before_lane = row_of([&](int k) {
                const warp_tree<Acc> tree(of_line(total, k), op_);
                return tree.fold_before(of_line(before_warp, k), op_);
            });
            lane_folds<rows>(before_lane, values, folds, op_on_rows_);
        }
    }

    // Writes the results that go with the folds, as far before them as the start says, but not before the tile.
    __device__ void write(int i, const place& at, row (&folds)[rows], const line_start<Acc>& start)
    {
        if (start.has_init) {
            const row init = row_of([&](int) { return start.first; });
#pragma unroll
            for (int r = 0; r < rows; ++r)
                folds[r] = op_on_rows_(init, folds[r]);
        }
        const int ahead = start.rows_ahead();
        const bool begins = at.first_row == 0 && lane_id() == 0;           // the lines
        const bool skips = ahead != 0 && warp_id() == 0 && lane_id() == 0; // a result before the tile
        const std::uint64_t end = of_.lines.length + static_cast<unsigned>(ahead);
        const std::uint64_t left = at.first_row < end ? end - at.first_row : 0;
        const int of_warp = left < shape::rows_of_warp ? static_cast<int>(left) : shape::rows_of_warp;
        const int count = of_warp - lane_id() * rows;
        const auto first_row = static_cast<std::int64_t>(at.first_row) - ahead;
        if (sizeof(T) == sizeof(Out) && of_.cuts.out_piece) {
            Out* const staged = reinterpret_cast<Out*>(shared_.elements.bytes) + place_in_stage(i);
            Out* const mine = staged + lane_id() * (shape::elements + 1);
#pragma unroll
            for (int r = 0; r < rows; ++r)
                if (is_whole_part(at) || r < count)
                    for_each_line(folds[r], [&](int k, const Acc& fold) {
                        mine[r * Width + k] = as_result<Out, Op>(start.first_or(fold, r == 0 && begins));
                    });
            __syncwarp();
            Out* const first = out_of_line(at, 0) + first_row * Width;
            const int x = aligned_lane(first);
            for_each_of_piece(x, warp_id() == 0 ? ahead * Width : 0, of_warp * Width,
                              [&](int k, int place) { first[x + k * lanes] = staged[place]; });
        } else if (count > 0) {
            Out* to[Width];
#pragma unroll
            for (int k = 0; k < Width; ++k)
                to[k] = out_of_line(at, k) + (first_row + lane_id() * rows) * of_.lines.out.stride;
#pragma unroll
            for (int r = 0; r < rows; ++r)
                if (r < count && !(r == 0 && skips))
                    for_each_line(folds[r], [&](int k, const Acc& fold) {
                        to[k][r * of_.lines.out.stride] = as_result<Out, Op>(start.first_or(fold, r == 0 && begins));
                    });
        }
    }
    __device__ Out* out_of_line(const place& at, int k) const
    {
        return of_.lines.out.first_of(at.group * Width + static_cast<unsigned>(k));
    }
    // Calls f(k, what row values or folds of rows have of line k).
    template <class F>
    __device__ static void for_each_line(const row& of_row, F f)
    {
#pragma unroll
        for (int k = 0; k < Width; ++k)
            f(k, of_line(of_row, k));
    }

    // For look-back warps, each of its line: the fold before this block's tile i, of which `after` is that up to its end, if it is whole.
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
            shared_.before[i % 2 * Width + line()] = before;
    }
    __device__ Out* out_of_line(const place& at) const { return out_of_line(at, line()); }
    // The place for the result of the last row of a whole tile.
    __device__ Out* last_of(const place& at) const
    {
        return out_of_line(at) +
               static_cast<std::int64_t>((at.tile + 1) * shape::rows_of_tile - 1) * of_.lines.out.stride;
    }

private:
    __device__ static void meet() { named_barrier(0, shape::threads); }
    __device__ static int place_in_stage(int i) { return (i % stages * shape::warps + warp_id()) * shape::places; }
    __device__ const T* elements_of_lane(int i)
    {
        return &shared_.elements[place_in_stage(i) + lane_id() * (shape::elements + 1)];
    }
    __device__ static int place_of_warp(int i, int warp) { return i % folded * shape::warps + warp; }
    __device__ static int line() { return warp_id() - shape::warps; } // of a look-back warp
    __device__ std::uint64_t first_slot(const place& at) const
    {
        return (at.group * Width + static_cast<unsigned>(line())) * of_.cuts.tiles;
    }

    // Whether all rows of this warp exist: then no row asks whether it does.
    __device__ static bool is_whole_part(const place& at) { return at.rows_of_warp == shape::rows_of_warp; }

    __device__ static Acc of_line(const row& of_row, int k)
    {
        if constexpr (Width == 1)
            return of_row;
        else
            return of_row[k];
    }
    // The values make(k) of each line.
    template <class Make>
    __device__ static row row_of(Make make)
    {
        if constexpr (Width == 1)
            return make(0);
        else
            return row::of(make);
    }
    __device__ static row value_of(const T* elements)
    {
        return row_of([&](int k) { return convert<Acc>(elements[k]); });
    }

    // Where element e of this warp lies in its stage; e may lie up to 31 elements before the first one.
    __device__ static int place_of_element(int e)
    {
        return e + (e + lanes * shape::elements) / shape::elements - lanes;
    }

    // Calls f(k, place) for the elements x + 32 k of a warp from `first` to `end`, which lie one behind the other in memory, from
    // `from` on. x is such that the lanes read whole sectors.
    template <class F>
    __device__ static void for_each_of_piece(int x, int first, int end, F f)
    {
        // So many rows of 32 further on, places are the same distance apart everywhere.
        constexpr int period = shape::elements / std::gcd(shape::elements, lanes);
        constexpr int distance = period * lanes + period * lanes / shape::elements;
        int near[period];
#pragma unroll
        for (int k = 0; k < period; ++k)
            near[k] = place_of_element(x + k * lanes);
        const auto place = [&](int k) { return near[k % period] + k / period * distance; };
        const int whole = end / lanes - 1; // x + 32 k is an element for k <= whole, since x is 31 at most
        if (x >= first && x < end)
            f(0, near[0]);
        if (x + lanes >= first && x + lanes < end)
            f(1, place(1));
        if (whole == shape::elements - 1) {
#pragma unroll
            for (int k = 2; k < shape::elements; ++k)
                f(k, place(k));
        } else {
            for (int k = 2; k <= whole; ++k)
                f(k, place_of_element(x + k * lanes));
        }
        for (int k = whole < 1 ? 2 : whole + 1; x + k * lanes < end; ++k)
            f(k, place_of_element(x + k * lanes));
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
            const T* const first = of_.lines.in.first_of(at.group * Width) + at.first_row * Width;
            T* const to = &shared_.elements[place_in_stage(i)];
            const int x = aligned_lane(first);
            for_each_of_piece(x, 0, at.rows_of_warp * Width,
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

    __device__ void fold(int i)
    {
        row values[rows];
        values_of(i, place_of(i), values);
        const row of_lane[1] = {lane_total<rows>(values, op_on_rows_)};
        const row total = warp_total(of_lane, op_on_rows_);
        if (lane_id() == 0)
            shared_.of_warps[place_of_warp(i, warp_id())] = total;
    }
    // Of the line of this look-back warp.
    __device__ Acc total_of(int i)
    {
        const auto warp = [&](int w) {
            Acc total;
            for_each_line(shared_.of_warps[place_of_warp(i, w)],
                          [&](int k, const Acc& of_line) { replace_if(k == line(), total, of_line); });
            return total;
        };
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
    std::conditional_t<Width == 1, Op, adjacent_lines::op_on_adjacent<Op>> op_on_rows_;
    int mine_; // tiles of this block
};

// The tile that ends its lines is folded with what lies before it: by the look-back warps, if it is whole.
template <int Width, class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
__global__ void __launch_bounds__(tile_shape<Width, Acc, T>::threads, 2)
    reduce_tiled_kernel(const __grid_constant__ tile_arguments<T, Out, Rank> of, Op op, Finish finish)
{
    using block = tile_block<Width, Acc, T, Out, Rank, Op>;
    constexpr int rows = tile_shape<Width, Acc, T>::rows;
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
        typename block::row values[rows];
        typename block::row folds[rows];
        self.values_of(i, at, values);
        self.folds_of(i, values, folds);
        const std::int64_t behind = self.row_of_lane(at, of.lines.length);
        if (behind >= 0 && behind < rows)
            block::for_each_line(fold_number(folds, static_cast<int>(behind)),
                                 [&](int k, const Acc& fold) { finish(fold, *self.out_of_line(at, k)); });
    });
}

template <int Width, class Acc, class T, class Out, std::size_t Rank, class Op>
__global__ void __launch_bounds__(tile_shape<Width, Acc, T>::threads, 2)
    scan_tiled_kernel(const __grid_constant__ tile_arguments<T, Out, Rank> of, Op op, line_start<Acc> start)
{
    using block = tile_block<Width, Acc, T, Out, Rank, Op>;
    constexpr int rows = tile_shape<Width, Acc, T>::rows;
    extern __shared__ __align__(16) uint4 dynamic[];
    block self(of, *reinterpret_cast<typename block::memory*>(dynamic), op);
    if (block::looks_back()) {
        self.publish_tiles([&](int i, const auto& states) {
            const auto at = self.place_of(i);
            Acc after;
            self.put_before(i, self.fold_before(i, at, states, after));
            if (!start.is_exclusive && self.is_whole(at) && lane_id() == 0)
                *self.last_of(at) = start.template result_of<Out>(after, false, op);
        });
        return;
    }
    self.take_tiles([&](int i) {
        const auto at = self.place_of(i);
        typename block::row values[rows];
        typename block::row folds[rows];
        self.values_of(i, at, values);
        self.folds_of(i, values, folds);
        self.write(i, at, folds, start);
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

template <int Width, auto Kernel, class Memory, class Acc, class T, class Out, std::size_t Rank, class... Arguments>
void launch_over_tiles(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                       const Arguments&... arguments)
{
    using shape = tile_shape<Width, Acc, T>;
    const tile_cuts cuts{divider(all.count() / Width), (all.length() + shape::rows_of_tile - 1) / shape::rows_of_tile,
                         all.out.stride(0) == Width && (Width == 1 || all.out.stride(Rank - 1) == 1)};
    const piece_slots slots{cuts.tiles * all.count()};
    const tile_arguments<T, Out, Rank> of{
        {line_places<const T, Rank>(all.in), line_places<Out, Rank>(all.out), all.length(), all.count()},
        cuts,
        tile_states_of(target, slots.states(), sizeof(Acc)),
        slots};
    const std::uint64_t blocks = resident_blocks<Kernel>(target, shape::threads, sizeof(Memory));
    const std::uint64_t tasks = cuts.groups.divisor * cuts.tiles;
    launch(target, call, Kernel, static_cast<unsigned>(tasks < blocks ? tasks : blocks), shape::threads, sizeof(Memory),
           of, arguments...);
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_tiled(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all, int width,
                  const Op& op, const Finish& finish)
{
    with_constant<1, most_tiled_lines>(
        static_cast<std::size_t>(width), [&]<int Width>(std::integral_constant<int, Width>) {
            launch_over_tiles<Width, reduce_tiled_kernel<Width, Acc, T, Out, Rank, Op, Finish>,
                              typename tile_block<Width, Acc, T, Out, Rank, Op>::memory, Acc>(target, call, all, op,
                                                                                              finish);
        });
}
template <class Acc, class T, class Out, std::size_t Rank, class Op>
void scan_tiled(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all, int width,
                const Op& op, const line_start<Acc>& start)
{
    with_constant<1, most_tiled_lines>(static_cast<std::size_t>(width), [&]<int Width>(
                                                                            std::integral_constant<int, Width>) {
        launch_over_tiles<Width, scan_tiled_kernel<Width, Acc, T, Out, Rank, Op>,
                          typename tile_block<Width, Acc, T, Out, Rank, Op>::memory, Acc>(target, call, all, op, start);
    });
}

} // namespace upsweep::gpu
