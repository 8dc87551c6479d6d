// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include <cuda_pipeline.h>

#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/column_states.cuh>
#include <upsweep/gpu/shapes/columns.cuh>
#include <upsweep/gpu/shapes/few.cuh>
#include <upsweep/gpu/shapes/line_places.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/shifted.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/op.hpp>
#include <upsweep/view.hpp>

// Integral images, which are scans of rows of whose results the columns are scanned, in one pass over memory. A block has a band of 32 rows of an image
// and walks along it, its warps side by side, each of which has a square of 32 x 32 elements in shared memory, and the next one on its way:
//
//     step s     copies of square s + 1 begin
//                each lane asks for the totals of bands above its column of square s - 1
//                rows: a lane scans a row of square s, from the fold of what lies to the left on, and puts the results where the elements were
//                each lane writes its column of square s - 1, from the fold of what lies above the band on
//                columns: a lane takes a column of square s into registers, and publishes its total
//
// What lies to the left within the block are totals of rows, which the warps exchange: that is the only time that they wait for each other, and the totals of a
// step are not written over before all warps have read them, since those of the next one lie elsewhere. What lies above is
// read from the states of the bands above, each lane for its own column. All blocks walk at the same speed, so that what one asks for has mostly been
// published.
namespace upsweep::gpu {

// How elements are read: as they are, or squared.
struct unlifted {
    template <class Acc, class T>
    __device__ Acc lift(const T& element) const
    {
        return convert<Acc>(element);
    }
};
struct squared {
    template <class Acc, class T>
    __device__ Acc lift(const T& element) const
    {
        const Acc x = convert<Acc>(element);
        return multiplies{}(x, x);
    }
};

// The states of bands, of which a lane has those of one column. They are the tree of groups of 8 that column_states.cuh has.
template <class Acc>
class band_states {
    static constexpr int group = column_slots::group;
    using states = std::conditional_t<sizeof(Acc) <= 4, narrow_tile_states<Acc>, tile_states<Acc>>;
    using state = typename states::state;

public:
    __device__ band_states(const tile_state_memory& memory, std::uint64_t epoch, const column_slots& slots,
                           std::uint64_t columns)
        : states_(memory, epoch), slots_(slots), columns_(columns)
    {
    }
    static tile_state_memory memory(const cuda& target, std::uint64_t count)
    {
        constexpr std::uint64_t least = 1 << 17; // a megabyte, which is enough for most images
        if constexpr (sizeof(Acc) <= 4)
            return narrow_tile_states_of(target, std::max(count, least));
        else
            return tile_states_of(target, count, sizeof(Acc));
    }

    // The groups of a level before number j that belong to the same group of the next level, up to 7, and the fold before the first of them. All of them are
    // asked for at once.
    class some_before {
    public:
        int count;

        some_before() = default;
        __device__ some_before(const band_states& all, std::uint64_t column, int level, std::uint64_t j)
            : count(static_cast<int>(j % group))
        {
            const std::uint64_t number = j - static_cast<unsigned>(count);
            first_ = all.place(all.slots_.total(level, number), column);
            fold_at_ =
                all.place(all.slots_.fold_before_group((number << (column_slots::log_group * level)) / group), column);
            has_fold_ = number != 0;
#pragma unroll
            for (int k = 0; k < group - 1; ++k)
                states_[k] =
                    k < count ? all.states_.load_one(first_ + static_cast<unsigned>(k) * all.columns_) : state{};
            of_fold_ = has_fold_ ? all.states_.load_one(fold_at_) : state{};
        }
        __device__ void wait_for_totals(const band_states& all)
        {
#pragma unroll
            for (int k = 0; k < group - 1; ++k) {
                totals_[k] = plus::template identity<Acc>();
                if (k < count)
                    totals_[k] = all.wait_for(first_ + static_cast<unsigned>(k) * all.columns_, states_[k]);
            }
        }
        __device__ void wait_for_fold(const band_states& all)
        {
            fold_ = plus::template identity<Acc>();
            if (has_fold_)
                fold_ = all.wait_for(fold_at_, of_fold_);
        }

        // The total of 8, of which the last is given.
        __device__ Acc total_with(const Acc& last) const
        {
            return plus{}(four(), plus{}(plus{}(totals_[4], totals_[5]), plus{}(totals_[6], last)));
        }
        // The fold of all that are there.
        __device__ Acc fold() const
        {
            Acc result = fold_of_fours();
            if ((count & 2) != 0)
                result = plus{}(result, two());
            if ((count & 1) != 0)
                result = plus{}(result, one());
            return result;
        }
        // The same with one more, of fewer than 8.
        __device__ Acc fold_with(const Acc& last) const
        {
            if (count == 3)
                return plus{}(fold_, plus{}(two(), plus{}(one(), last)));
            if ((count & 1) != 0)
                return plus{}(fold_of_fours(), plus{}(one(), last));
            return plus{}(fold(), last);
        }

    private:
        // The aligned blocks that the digits of their number tell.
        __device__ Acc four() const { return plus{}(plus{}(totals_[0], totals_[1]), plus{}(totals_[2], totals_[3])); }
        __device__ Acc fold_of_fours() const { return (count & 4) != 0 ? plus{}(fold_, four()) : fold_; }
        __device__ Acc two() const
        {
            Acc a = totals_[0];
            Acc b = totals_[1];
            replace_if((count & 4) != 0, a, totals_[4]);
            replace_if((count & 4) != 0, b, totals_[5]);
            return plus{}(a, b);
        }
        __device__ Acc one() const
        {
            Acc last = totals_[0];
            replace_if(count == 3, last, totals_[2]);
            replace_if(count == 5, last, totals_[4]);
            replace_if(count == 7, last, totals_[6]);
            return last;
        }

        std::uint64_t first_; // place of a state
        std::uint64_t fold_at_;
        bool has_fold_;
        state states_[group - 1];
        state of_fold_;
        Acc totals_[group - 1];
        Acc fold_;
    };

    // Publishes the total of band j of a column.
    __device__ void publish(std::uint64_t column, std::uint64_t j, const Acc& total) const
    {
        states_.publish(place(slots_.total(0, j), column), total);
    }
    // Asks for the bands before it that belong to its group of 8, and for the fold before those.
    __device__ some_before ask(std::uint64_t column, std::uint64_t j) const { return {*this, column, 0, j}; }
    // Waits for them, and publishes the total of the group and the fold up to there, if the band, which has this total, is whole and ends it. Returns the fold
    // of the bands before it, and in `after` that up to its end.
    __device__ Acc fold(some_before& bands, std::uint64_t column, std::uint64_t j, bool is_whole, const Acc& total,
                        Acc& after) const
    {
        bands.wait_for_totals(*this);
        if (is_whole && bands.count == group - 1)
            after = end_group(*this, column, j / group, bands.total_with(total)); // others wait for that above all
        bands.wait_for_fold(*this);
        const Acc before = bands.fold();
        if (bands.count < group - 1)
            after = bands.fold_with(total);
        return before;
    }

private:
    __device__ std::uint64_t place(std::uint64_t slot, std::uint64_t column) const { return slot * columns_ + column; }
    __device__ Acc wait_for(std::uint64_t at, state loaded) const
    {
        while (!states_.is_published(loaded))
            loaded = states_.load_one(at);
        states_.before_totals();
        return states_.total(at, loaded);
    }

    // Publishes the total of group j of 8 bands, and of the larger groups that it ends. Returns the fold up to its end, and publishes that, too.
    [[gnu::noinline]] __device__ static Acc end_group(const band_states of, std::uint64_t column, std::uint64_t j,
                                                      Acc total)
    {
        std::uint64_t groups = j;
        for (int level = 1;; ++level, groups /= group) {
            of.states_.publish(of.place(of.slots_.total(level, groups), column), total);
            if (groups % group != group - 1)
                break;
            some_before others(of, column, level, groups);
            others.wait_for_totals(of);
            total = others.total_with(total);
        }
        int level = 1;
        for (groups = j + 1; groups % group == 0; groups /= group)
            ++level;
        some_before all(of, column, level, groups);
        all.wait_for_totals(of);
        all.wait_for_fold(of);
        const Acc fold = all.fold();
        of.states_.publish(of.place(of.slots_.fold_before_group(j + 1), column), fold);
        return fold;
    }

    states states_;
    const column_slots& slots_;
    std::uint64_t columns_;
};

template <class T, class Out, std::size_t Rank>
struct band_arguments {
    line_places<const T, Rank> in; // the first row of each image
    line_places<Out, Rank> out;
    std::int64_t in_row; // how far apart rows are
    std::int64_t out_row;
    std::uint64_t rows;
    std::uint64_t columns;
    divider images;
    std::uint64_t bands; // of an image
    memory_range around; // of all elements
    tile_state_memory states;
    column_slots slots;
};

// Few wide blocks walk along a large image in less time, as each waits for those above it; of narrow ones less is idle.
template <int Warps, int Blocks>
struct band_shape {
    static constexpr int warps = Warps; // a power of two
    static constexpr int threads = Warps * lanes;
    static constexpr int blocks = Blocks;       // of a multiprocessor
    static constexpr int width = Warps * lanes; // of what a block has at once
};
template <class T, class Acc>
inline constexpr bool is_wide_square = std::max(sizeof(T), sizeof(Acc)) > 4;
template <class T, class Acc>
using wide_band_shape = std::conditional_t<is_wide_square<T, Acc>, band_shape<8, 1>, band_shape<16, 1>>;
template <class T, class Acc>
using narrow_band_shape = std::conditional_t<is_wide_square<T, Acc>, band_shape<8, 1>, band_shape<8, 2>>;
inline constexpr std::uint64_t rows_of_band = lanes;

template <class Shape, class Acc, class T, class Out, std::size_t Rank, class Lift>
class band_block {
    static constexpr int edge = lanes; // of a square
    static constexpr int word_bytes = sizeof(uint4);
    static constexpr int in_words = edge * static_cast<int>(sizeof(T)) / word_bytes; // of a row
    static constexpr int out_words = edge * static_cast<int>(sizeof(Out)) / word_bytes;
    // Of rows in shared memory. They may begin within a word, and with one word more lanes do not meet in a bank.
    static constexpr int pitch = std::max(in_words, out_words) + 1;
    static constexpr int levels = 26; // of what a row has walked past
    // Results lie where elements were, which lie behind them where they have fewer bytes.
    static constexpr int first_in_word = std::max(out_words - in_words, 0);
    // What is in registers at once of a row or a column. It is read twice: all of it, with the totals of the tree above it, does not fit there.
    static constexpr int part = 16;
    static constexpr int parts = edge / part;

    struct band {
        std::uint64_t number;
        std::uint64_t first_column; // of all images
        const T* from;              // the first element
        Out* to;                    // the first result
        int rows;
        bool are_words; // whether words of rows begin with their elements
    };

public:
    struct memory {
        uint4 squares[2][Shape::warps][edge * pitch]; // of a step and of the next one
        raw_array<Acc, Shape::width> totals[2];       // of rows of squares, [warp][row]
        raw_array<Acc, edge> before[2];               // the folds of rows before those of the block
        raw_array<Acc, edge*(levels + 1)>
            walked; // [level][row] totals of 2^level times the block's width, where that digit of the number is one
        raw_array<Acc, edge*(levels + 1)> above; // the fold of what is larger
        block_tickets::memory tickets;
    };

    __device__ band_block(const band_arguments<T, Out, Rank>& of, memory& shared, std::uint64_t epoch)
        : of_(of), shared_(shared), states_(of.states, epoch, of.slots, of.images.divisor * of.columns)
    {
        for (auto& squares : shared_.squares) // so that nothing is read that has never been written
            for (int i = lane_id(); i < edge * pitch; i += lanes)
                squares[warp_id()][i] = {};
        __syncwarp();
    }

    __device__ void scan(std::uint64_t task)
    {
        const band now = band_of(task);
        const auto steps = static_cast<unsigned>((of_.columns + Shape::width - 1) / Shape::width);
        const Acc nothing = op_.template identity<Acc>();
        if (warp_id() == Shape::warps - 1) {
            for (int level = 0; level <= levels; ++level)
                shared_.above[level * edge + lane_id()] = nothing;
            shared_.before[0][lane_id()] = nothing;
        }
        copy(now, 0);
        held_columns held;
#pragma unroll 1
        for (unsigned step = 0; step <= steps; ++step) {
            copy(now, step + 1);
            const bool has_states = of_.bands > 1 && step > 0 && lane_id() < columns_of(step - 1);
            typename band_states<Acc>::some_before above;
            if (has_states)
                above = states_.ask(column_of(now, step - 1), now.number);
            if (step < steps) {
                __pipeline_wait_prior(1);
                __syncwarp();
                with_square(now, step, [&](auto is_whole) { scan_rows<is_whole>(now, step); });
                __syncwarp();
            }
            if (step > 0) {
                Acc before = op_.template identity<Acc>();
                Acc after = lane_total<parts>(held.of_part, op_);
                if (has_states)
                    before = states_.fold(above, column_of(now, step - 1), now.number, now.rows == edge,
                                          lane_total<parts>(held.of_part, op_), after);
                with_square(now, step - 1,
                            [&](auto is_whole) { write_columns<is_whole>(now, step - 1, held, before, after); });
            }
            if (step < steps) {
                with_square(now, step, [&](auto is_whole) { read_columns<is_whole>(now, step, held); });
                if (of_.bands > 1 && now.rows == edge && lane_id() < columns_of(step))
                    states_.publish(column_of(now, step), now.number, lane_total<parts>(held.of_part, op_));
            }
            __syncwarp(); // before the square is that of another step
        }
    }

private:
    __device__ band band_of(std::uint64_t task) const
    {
        band now;
        now.number = of_.images.quotient(task);
        const std::uint64_t image = task - now.number * of_.images.divisor;
        const std::uint64_t row = now.number * edge;
        const std::uint64_t left = of_.rows - row;
        now.first_column = image * of_.columns;
        now.from = of_.in.first_of(image) + static_cast<std::int64_t>(row) * of_.in_row + warp_id() * edge;
        now.to = of_.out.first_of(image) + static_cast<std::int64_t>(row) * of_.out_row + warp_id() * edge;
        now.rows = static_cast<int>(left < edge ? left : edge);
        now.are_words = shift_of(now.from) == 0 && (now.rows == 1 || shift_of(now.from + of_.in_row) == 0);
        return now;
    }
    // Calls f with whether the square of a step has all rows and columns, and its words are its elements, as a constant.
    template <class F>
    __device__ void with_square(const band& now, unsigned step, F f) const
    {
        if (columns_of(step) == edge && now.rows == edge && now.are_words)
            f(std::true_type{});
        else
            f(std::false_type{});
    }
    // How many columns this warp's square has in a step.
    __device__ int columns_of(unsigned step) const
    {
        const std::uint64_t first = std::uint64_t{step} * Shape::width + static_cast<unsigned>(warp_id() * edge);
        const std::uint64_t left = first < of_.columns ? of_.columns - first : 0;
        return static_cast<int>(left < edge ? left : edge);
    }

    __device__ const T* row_of(const band& now, unsigned step, int row) const
    {
        return now.from + static_cast<std::int64_t>(step) * Shape::width + row * of_.in_row;
    }
    // How many bytes before an element its word begins.
    __device__ static unsigned shift_of(const T* element)
    {
        return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(element) % word_bytes);
    }

    // Begins to copy the square of a step, if there is one, in whole words.
    __device__ void copy(const band& now, unsigned step)
    {
        uint4* const to = shared_.squares[step % 2][warp_id()] + first_in_word;
        const int columns = columns_of(step);
        if (columns == edge && now.rows == edge && now.are_words) {
            constexpr int rows = lanes / in_words;
            const T* from = row_of(now, step, lane_id() / in_words) +
                            lane_id() % in_words * (word_bytes / static_cast<int>(sizeof(T)));
            uint4* const mine = to + lane_id() / in_words * pitch + lane_id() % in_words;
#pragma unroll
            for (int i = 0; i < edge / rows; ++i, from += rows * of_.in_row)
                copy_once_async(mine + i * rows * pitch, from);
        } else if (columns > 0) {
            const int bytes = columns * static_cast<int>(sizeof(T));
#pragma unroll 1
            for (int k = lane_id(); k < now.rows * (in_words + 1); k += lanes) {
                const int row = k / (in_words + 1);
                const int word = k % (in_words + 1);
                const T* const from = row_of(now, step, row);
                const auto shift = static_cast<int>(shift_of(from));
                if (word * word_bytes < shift + bytes)
                    of_.around.copy_word(to + row * pitch + word,
                                         reinterpret_cast<const std::byte*>(from) - shift + word * word_bytes);
            }
        }
        __pipeline_commit();
    }

    // Part p of the row of a lane. Elements that do not exist are the identity.
    template <bool IsWhole>
    __device__ void read_row(const band& now, unsigned step, int p, Acc (&values)[part])
    {
        constexpr int words_of_part = in_words / parts;
        const uint4* const words =
            shared_.squares[step % 2][warp_id()] + lane_id() * pitch + first_in_word + p * words_of_part;
        unsigned numbers[4 * (words_of_part + 1)];
#pragma unroll
        for (int w = 0; w < words_of_part + (IsWhole ? 0 : 1); ++w)
            std::memcpy(numbers + 4 * w, words + w, word_bytes);
        if (!IsWhole)
            shift_out_of_lane<4, sizeof(T)>(numbers, shift_of(row_of(now, step, lane_id())));
        T loaded[part];
        std::memcpy(loaded, numbers, sizeof(loaded));
        const int count = (IsWhole ? edge : lane_id() < now.rows ? columns_of(step) : 0) - p * part;
#pragma unroll
        for (int j = 0; j < part; ++j) {
            values[j] = op_.template identity<Acc>();
            if (IsWhole || j < count)
                values[j] = Lift{}.template lift<Acc>(loaded[j]);
        }
    }

    // Scans the rows of the squares. The last warp walks past the totals of all of them.
    template <bool IsWhole>
    __device__ void scan_rows(const band& now, unsigned step)
    {
        Acc of_part[parts];
#pragma unroll
        for (int p = 0; p < parts; ++p) {
            Acc values[part];
            read_row<IsWhole>(now, step, p, values);
            of_part[p] = lane_total<part>(values, op_);
        }
        raw_array<Acc, Shape::width>& totals = shared_.totals[step % 2];
        totals[static_cast<int>(threadIdx.x)] = lane_total<parts>(of_part, op_);
        __syncthreads();
        const auto of_warp = [&](int w) { return totals[w * edge + lane_id()]; };
        const auto fold_warps = [&](int count) {
            return fold_few<Acc, Shape::warps>(shared_.before[step % 2][lane_id()], of_warp, 0, count, op_);
        };
        Acc before[parts + 1];
        lane_folds<parts>(fold_warps(warp_id()), of_part, before, op_);
        if (warp_id() == Shape::warps - 1) {
            before[parts] = walk_past(step, block_total<Shape::warps>(of_warp, 0, op_));
            shared_.before[(step + 1) % 2][lane_id()] = before[parts];
        } else {
            before[parts] = fold_warps(warp_id() + 1);
        }
#pragma unroll
        for (int p = 0; p < parts; ++p) {
            Acc values[part];
            read_row<IsWhole>(now, step, p, values);
            Acc folds[part + 1];
            lane_folds<part>(before[p], values, folds, op_);
            folds[part] = before[p + 1];
            constexpr int each = word_bytes / static_cast<int>(sizeof(Out));
            uint4* const to = shared_.squares[step % 2][warp_id()] + lane_id() * pitch + p * (out_words / parts);
#pragma unroll
            for (int w = 0; w < out_words / parts; ++w) {
                typename lane_vector<Out, each>::elements results;
#pragma unroll
                for (int j = 0; j < each; ++j)
                    results.element[j] = convert<Out>(folds[w * each + j + 1]);
                to[w] = lane_vector<Out, each>::of(results).memory;
            }
        }
    }
    // The steps that a row has walked past are a binary counter whose digits are totals, as fold_stack is.
    __device__ Acc walk_past(unsigned step, Acc total)
    {
        int level = 0;
        for (unsigned digits = step; (digits & 1) != 0; digits >>= 1, ++level)
            total = op_(shared_.walked[level * edge + lane_id()], total);
        const Acc fold = op_(shared_.above[level * edge + lane_id()], total);
        shared_.walked[level * edge + lane_id()] = total;
        for (int k = 0; k < level; ++k) // the smaller digits are zero now
            shared_.above[k * edge + lane_id()] = fold;
        return fold;
    }

    // What a lane has of a column, in registers until it is known what lies above.
    struct held_columns {
        Acc values[edge];
        Acc of_part[parts];
    };
    __device__ std::uint64_t column_of(const band& now, unsigned step) const
    {
        return now.first_column + std::uint64_t{step} * Shape::width + threadIdx.x;
    }
    template <bool IsWhole>
    __device__ void read_columns(const band& now, unsigned step, held_columns& held) const
    {
        constexpr int row = pitch * word_bytes / static_cast<int>(sizeof(Out));
        const Out* const from = reinterpret_cast<const Out*>(shared_.squares[step % 2][warp_id()]) + lane_id();
        const int count = lane_id() < columns_of(step) ? now.rows : 0;
#pragma unroll
        for (int j = 0; j < edge; ++j) {
            held.values[j] = op_.template identity<Acc>();
            if (IsWhole || j < count)
                held.values[j] = convert<Acc>(from[j * row]);
        }
#pragma unroll
        for (int p = 0; p < parts; ++p)
            held.of_part[p] = lane_total<part>(held.values + p * part, op_);
    }
    template <bool IsWhole>
    __device__ void write_columns(const band& now, unsigned step, const held_columns& held, const Acc& fold_before,
                                  const Acc& after) const
    {
        const int count = lane_id() < columns_of(step) ? now.rows : 0;
        Acc before[parts + 1];
        lane_folds<parts>(fold_before, held.of_part, before, op_);
        before[parts] = after;
        Out* to = now.to + static_cast<std::int64_t>(step) * Shape::width + lane_id();
#pragma unroll
        for (int p = 0; p < parts; ++p) {
            Acc folds[part + 1];
            lane_folds<part>(before[p], held.values + p * part, folds, op_);
            folds[part] = before[p + 1];
#pragma unroll
            for (int j = 0; j < part; ++j, to += of_.out_row)
                if (IsWhole || p * part + j < count)
                    *to = as_result<Out, plus>(folds[j + 1]);
        }
    }

    const band_arguments<T, Out, Rank>& of_;
    memory& shared_;
    plus op_;
    band_states<Acc> states_;
};

template <class Shape, class Acc, class T, class Out, std::size_t Rank, class Lift>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    scan_bands_kernel(const __grid_constant__ band_arguments<T, Out, Rank> of)
{
    using block = band_block<Shape, Acc, T, Out, Rank, Lift>;
    extern __shared__ __align__(16) uint4 dynamic[];
    auto& shared = *reinterpret_cast<typename block::memory*>(dynamic);
    block_tickets tickets(of.states, shared.tickets, of.images.divisor * of.bands);
    block self(of, shared, tickets.epoch());
    tickets.for_each([&](std::uint64_t task) { self.scan(task); });
}

// The images of a view as lines, each of which is a first row.
template <class T, std::size_t Rank>
line_places<T, Rank> first_rows(const view<T, Rank>& images)
{
    std::array<std::size_t, Rank> extents{images.extent(Rank - 1), 1};
    std::array<std::ptrdiff_t, Rank> strides{1, 0};
    for (std::size_t k = 0; k + 2 < Rank; ++k) {
        extents[k + 2] = images.extent(k);
        strides[k + 2] = images.stride(k);
    }
    return line_places<T, Rank>(view<T, Rank>(images.data(), extents, strides));
}

// Returns false, and does nothing, where a block has not as much shared memory.
template <class Shape, class Lift, class T, class Out, std::size_t Rank>
bool scan_bands_by(const cuda& target, std::string_view call, const view<const T, Rank>& in, const view<Out, Rank>& out)
{
    using accumulator = scan_accumulator_t<plus, Out>;
    constexpr auto kernel = scan_bands_kernel<Shape, accumulator, T, Out, Rank, Lift>;
    constexpr std::size_t shared_bytes = sizeof(typename band_block<Shape, accumulator, T, Out, Rank, Lift>::memory);
    if (shared_bytes > target.workspace().shared_bytes())
        return false;
    const std::uint64_t rows = in.extent(Rank - 2);
    const std::uint64_t columns = in.extent(Rank - 1);
    const std::uint64_t images = in.size() / (rows * columns);
    const std::uint64_t bands = (rows + rows_of_band - 1) / rows_of_band;
    const column_slots slots(bands);
    const std::uint64_t states = bands > 1 ? slots.count * images * columns : 1;
    const band_arguments<T, Out, Rank> of{first_rows(in),
                                          first_rows(out),
                                          in.stride(Rank - 2),
                                          out.stride(Rank - 2),
                                          rows,
                                          columns,
                                          divider(images),
                                          bands,
                                          memory_range::of(in),
                                          band_states<accumulator>::memory(target, states),
                                          slots};
    const std::uint64_t blocks = resident_blocks<kernel>(target, Shape::threads, shared_bytes);
    launch(target, call, kernel, static_cast<unsigned>(std::min(images * bands, blocks)), Shape::threads, shared_bytes,
           of);
    return true;
}

// Writes integral images, of elements that are lifted. Returns false, and does nothing, where a block has not as much shared memory as that takes.
template <class Lift, class T, class Out, std::size_t Rank>
bool scan_bands(const cuda& target, std::string_view call, const view<const T, Rank>& in, const view<Out, Rank>& out)
{
    using accumulator = scan_accumulator_t<plus, Out>;
    constexpr std::size_t wide = 2048;
    if (in.extent(Rank - 1) >= wide && scan_bands_by<wide_band_shape<T, accumulator>, Lift>(target, call, in, out))
        return true;
    return scan_bands_by<narrow_band_shape<T, accumulator>, Lift>(target, call, in, out);
}

// Whether there are kernels for such types.
template <class T>
inline constexpr bool is_of_image = (std::is_arithmetic_v<T> && sizeof(T) <= 8) || sub_word_float<T>;
template <class T, class Out>
inline constexpr bool may_be_bands = is_of_image<T>&& is_of_image<Out>;

// Whether bands take such images, and take less time than a scan of the rows and one of the columns: where columns lie side by side, there are many bands,
// and full of rows, and they are not narrow. Of small images one kernel takes less than two. Where results replace elements, a word has no elements of others.
template <class T, class Out, std::size_t Rank>
bool are_bands(const view<const T, Rank>& in, const view<Out, Rank>& out)
{
    constexpr std::uint64_t many_bands = 96;
    constexpr std::uint64_t small_image = 1 << 16;
    constexpr std::uint64_t some_bands = 128;
    constexpr std::uint64_t few_columns = 192;
    constexpr std::uint64_t some_columns = 4096;
    const std::uint64_t rows = in.extent(Rank - 2);
    const std::uint64_t columns = in.extent(Rank - 1);
    if (columns > 1 && (in.stride(Rank - 1) != 1 || out.stride(Rank - 1) != 1))
        return false;
    if (static_cast<const void*>(in.data()) == static_cast<const void*>(out.data())) {
        constexpr auto word = static_cast<std::ptrdiff_t>(sizeof(uint4) / std::min(sizeof(T), sizeof(uint4)));
        bool are_words = is_aligned<word>(in.data());
        for (std::size_t k = 0; k + 1 < Rank; ++k)
            are_words = are_words && (in.extent(k) == 1 || in.stride(k) % word == 0);
        if (!are_words)
            return false;
    }
    const std::uint64_t images = in.size() / (rows * columns);
    const std::uint64_t bands = images * ((rows + rows_of_band - 1) / rows_of_band);
    const bool is_small = in.size() <= small_image && bands <= some_bands && columns <= some_columns;
    const bool are_full = 4 * images * rows >= 3 * bands * rows_of_band;
    return is_small || (columns >= few_columns && bands >= many_bands && are_full);
}

} // namespace upsweep::gpu
