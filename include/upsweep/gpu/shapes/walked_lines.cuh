// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <upsweep/gpu/fold/line_start.cuh>
#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/line_places.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>

// Lines side by side, so many or so short that each lane walks along its own from the first element to the last. A lane has a block
// of elements in registers while the next one is on its way; the warp reads what memory has side by side, in shared memory is
// nothing, and nobody waits for anybody. Short rows that lie apart are walked along, too: what lanes read by turns is in the first-level cache.
namespace upsweep::gpu {

// Blocks of Rows elements, of so many lines a lane.
template <int Rows, int Lines, int Threads = 256>
struct walk_shape {
    static constexpr int threads = Threads;
    static constexpr int rows = Rows;
    static constexpr int lines = Lines;
};
inline constexpr int walk_levels = 11;
inline constexpr int walk_rows = 16;
inline constexpr std::uint64_t longest_walk = std::uint64_t{walk_rows} << walk_levels; // one element less

// The fold of the blocks that a lane has walked past, where any order of them has the same bits.
template <class Acc, class Op>
class walked_in_any_order {
public:
    __device__ walked_in_any_order(const Op& op, const Acc& before) : op_(op), fold_(before) {}
    __device__ explicit walked_in_any_order(const Op& op) : walked_in_any_order(op, op.template identity<Acc>()) {}

    __device__ void push(const Acc& total, unsigned) { fold_ = op_(fold_, total); }
    __device__ Acc fold(unsigned) const { return fold_; }

private:
    Op op_;
    Acc fold_;
};

// Of other operators, the blocks that a lane has walked past are the totals of their aligned blocks: a binary counter whose digits are
// totals, in registers. All lanes have passed as many, fewer than 2^Levels.
template <bool Scans, class Acc, class Op, int Levels>
class walked_in_canonical_order {
public:
    // Behind elements with that fold, of which there is none or a multiple of what all levels have.
    __device__ walked_in_canonical_order(const Op& op, const Acc& before) : op_(op), fold_(before)
    {
        if constexpr (Scans) {
#pragma unroll
            for (int k = 0; k < Levels; ++k)
                above_[k] = fold_;
        }
    }
    __device__ explicit walked_in_canonical_order(const Op& op)
        : walked_in_canonical_order(op, op.template identity<Acc>())
    {
    }

    // Adds the total of block number `blocks`.
    template <int Level = 0>
    __device__ void push(const Acc& total, unsigned blocks)
    {
        if constexpr (Level < Levels) {
            if ((blocks >> Level & 1) != 0) {
                push<Level + 1>(op_(totals_[Level], total), blocks);
                return;
            }
            totals_[Level] = total;
            if constexpr (Scans) {
                fold_ = op_(above_[Level], total);
#pragma unroll
                for (int k = 0; k < Level; ++k) // the smaller digits are zero now
                    above_[k] = fold_;
            }
        }
    }

    // The fold of so many blocks, all that there have been.
    __device__ Acc fold(unsigned blocks) const
    {
        Acc result = fold_;
        if constexpr (!Scans) {
#pragma unroll
            for (int k = Levels - 1; k >= 0; --k)
                if ((blocks >> k & 1) != 0)
                    result = op_(result, totals_[k]);
        }
        return result;
    }

private:
    Op op_;
    Acc fold_; // of all blocks; of a reduction, the identity
    Acc totals_[Levels];
    Acc above_[Scans ? Levels : 1]; // [k]: the fold of the blocks larger than 2^k
};

template <bool Scans, class Acc, class Op, int Levels = walk_levels>
using walked_blocks = std::conditional_t<is_any_order<Op, Acc>, walked_in_any_order<Acc, Op>,
                                         walked_in_canonical_order<Scans, Acc, Op, Levels>>;

// What a lane has of its lines.
template <class Shape, class Acc, class T, class Out, std::size_t Rank>
class line_walk {
    static constexpr int rows = Shape::rows;
    static constexpr int lines = Shape::lines;

public:
    __device__ explicit line_walk(const lines_on_device<T, Out, Rank>& of) : of_(of)
    {
        const std::uint64_t first = blockIdx.x * std::uint64_t{Shape::threads * lines} +
                                    static_cast<unsigned>(warp_id() * lanes * lines + lane_id());
#pragma unroll
        for (int v = 0; v < lines; ++v) {
            line_[v] = first + static_cast<unsigned>(v * lanes);
            from_[v] = of.in.first_of(has_line(v) ? line_[v] : 0);
        }
    }

    __device__ bool has_line(int v) const { return line_[v] < of_.count; }
    __device__ Out* out(int v) const { return of_.out.first_of(line_[v]); }

    // Begins to load so many rows of each line, those behind the ones loaded last.
    __device__ void load(int count)
    {
#pragma unroll
        for (int v = 0; v < lines; ++v)
#pragma unroll
            for (int r = 0; r < rows; ++r)
                if (r < count && has_line(v)) {
                    loaded_[v][r] = *from_[v];
                    from_[v] += of_.in.stride;
                }
    }

    // The rows that were loaded last, of which there are so many; behind them the identity.
    template <class Element, class Op>
    __device__ void values(int v, int count, Element (&values)[rows], const Op& op) const
    {
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            values[r] = op.template identity<Element>();
            if (r < count)
                values[r] = convert<Element>(loaded_[v][r]);
        }
    }

private:
    const lines_on_device<T, Out, Rank>& of_;
    std::uint64_t line_[lines];
    const T* from_[lines];
    T loaded_[lines][rows];
};

// --- lines of any length: one a lane ------------------------------------------------------------------------------------------

// Calls each(values, number of the block, rows in it) for the blocks of the line of a lane. The last one has fewer than Shape::rows
// rows, or none.
template <class Element, class Shape, class Acc, class T, class Out, std::size_t Rank, class Op, class Each>
__device__ void walk_line(line_walk<Shape, Acc, T, Out, Rank>& walk, std::uint64_t length, const Op& op, Each each)
{
    const auto whole = static_cast<unsigned>(length / Shape::rows);
    const auto left = static_cast<int>(length % Shape::rows);
    walk.load(whole != 0 ? Shape::rows : left);
#pragma unroll 1
    for (unsigned block = 0; block <= whole; ++block) {
        const int count = block < whole ? Shape::rows : left;
        Element values[Shape::rows];
        walk.values(0, count, values, op);
        if (block < whole)
            walk.load(block + 1 < whole ? Shape::rows : left);
        each(values, block, count);
    }
}

template <class Shape, class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
__global__ void __launch_bounds__(Shape::threads)
    reduce_walked_kernel(const __grid_constant__ lines_on_device<T, Out, Rank> of, Op op, Finish finish)
{
    line_walk<Shape, Acc, T, Out, Rank> walk(of);
    using element = element_of_few_t<Op, Acc, T>;
    walked_blocks<false, Acc, Op> walked(op);
    walk_line<element>(walk, of.length, op, [&](const element(&values)[Shape::rows], unsigned block, int count) {
        if (count == Shape::rows)
            return walked.push(convert<Acc>(lane_total<Shape::rows>(values, op)), block);
        if (!walk.has_line(0))
            return;
        if constexpr (is_any_order<Op, Acc>) { // rows that do not exist are the identity
            finish(op(walked.fold(block), convert<Acc>(lane_total<Shape::rows>(values, op))), *walk.out(0));
        } else {
            Acc folds[Shape::rows];
            lane_folds<Shape::rows>(walked.fold(block), values, folds, op);
            finish(fold_number(folds, count), *walk.out(0));
        }
    });
}

template <class Shape, class Acc, class T, class Out, std::size_t Rank, class Op>
__global__ void __launch_bounds__(Shape::threads)
    scan_walked_kernel(const __grid_constant__ lines_on_device<T, Out, Rank> of, Op op, line_start<Acc> start)
{
    line_walk<Shape, Acc, T, Out, Rank> walk(of);
    walked_blocks<true, Acc, Op> walked(op);
    Out* to = walk.has_line(0) ? walk.out(0) : nullptr;
    walk_line<Acc>(walk, of.length, op, [&](const Acc(&values)[Shape::rows], unsigned block, int count) {
        Acc folds[Shape::rows];
        lane_folds<Shape::rows>(walked.fold(block), values, folds, op);
        __syncthreads(); // the lines of a block are written at the same time
        if (count == Shape::rows)
            walked.push(lane_total<Shape::rows>(values, op), block);
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r) {
            const bool is_first = r == 0 && block == 0;
            if (r >= count + start.rows_ahead() || (!start.is_exclusive && is_first) || !walk.has_line(0))
                continue;
            *to = start.template result_of<Out>(folds[r], is_first, op);
            to += of.out.stride;
        }
    });
}

// --- lines of one block: several a lane, and no registers for what was before ---------------------------------------------------

template <class Shape, class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
__global__ void __launch_bounds__(Shape::threads)
    reduce_short_kernel(const __grid_constant__ lines_on_device<T, Out, Rank> of, Op op, Finish finish)
{
    line_walk<Shape, Acc, T, Out, Rank> walk(of);
    const auto count = static_cast<int>(of.length);
    walk.load(count);
#pragma unroll
    for (int v = 0; v < Shape::lines; ++v) {
        Acc values[Shape::rows];
        Acc folds[Shape::rows];
        walk.values(v, count, values, op);
        lane_folds<Shape::rows>(op.template identity<Acc>(), values, folds, op);
        const Acc total = lane_total<Shape::rows>(values, op);
        if (walk.has_line(v))
            finish(count == Shape::rows ? total : fold_number(folds, count), *walk.out(v));
    }
}

template <class Shape, class Acc, class T, class Out, std::size_t Rank, class Op>
__global__ void __launch_bounds__(Shape::threads)
    scan_short_kernel(const __grid_constant__ lines_on_device<T, Out, Rank> of, Op op, line_start<Acc> start)
{
    line_walk<Shape, Acc, T, Out, Rank> walk(of);
    const auto count = static_cast<int>(of.length);
    walk.load(count);
#pragma unroll
    for (int v = 0; v < Shape::lines; ++v) {
        Acc values[Shape::rows];
        Acc folds[Shape::rows + 1];
        walk.values(v, count, values, op);
        lane_folds<Shape::rows>(op.template identity<Acc>(), values, folds, op);
        folds[Shape::rows] = lane_total<Shape::rows>(values, op);
        if (!walk.has_line(v))
            continue;
        Out* to = walk.out(v);
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r, to += of.out.stride)
            if (r < count)
                *to = start.template result_at<Out>(folds[r], folds[r + 1], r == 0, op);
    }
}

template <class Shape, class T, class Out, std::size_t Rank, class... Parameters, class... Arguments>
void launch_walk(const cuda& target, std::string_view call, void (*kernel)(Parameters...),
                 const detail::lines<const T, Out, Rank>& all, const Arguments&... arguments)
{
    constexpr std::uint64_t lines = Shape::threads * Shape::lines;
    const lines_on_device<T, Out, Rank> of{line_places<const T, Rank>(all.in), line_places<Out, Rank>(all.out),
                                           all.length(), all.count()};
    const auto blocks = static_cast<unsigned>((all.count() + lines - 1) / lines);
    launch(target, call, kernel, grid_shape{blocks, Shape::threads, 0}, of, arguments...);
}

using long_walk = walk_shape<walk_rows, 1>;
// Many threads write longer parts of rows at the same time, but large accumulators leave no room for their registers. Memory is slower by up to a third where
// the parts of a sector are written at different times, as those at the edges of each warp are if rows begin anywhere.
template <class Acc>
using walk_shape_of_scan = walk_shape<walk_rows, 1, sizeof(Acc) <= 8 ? 512 : 256>;

// Calls f with the shape for short lines: of shorter ones a lane has several, so that as much is on its way.
template <class F>
void with_short_shape(std::uint64_t length, F f)
{
    constexpr int few_rows = 4;
    if (length <= few_rows)
        f(walk_shape<few_rows, 4>{});
    else
        f(long_walk{});
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_walked(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                   const Op& op, const Finish& finish)
{
    if (all.length() > long_walk::rows)
        return launch_walk<long_walk>(target, call, reduce_walked_kernel<long_walk, Acc, T, Out, Rank, Op, Finish>, all,
                                      op, finish);
    with_short_shape(all.length(), [&]<class Shape>(Shape) {
        launch_walk<Shape>(target, call, reduce_short_kernel<Shape, Acc, T, Out, Rank, Op, Finish>, all, op, finish);
    });
}
template <class Acc, class T, class Out, std::size_t Rank, class Op>
void scan_walked(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all, const Op& op,
                 const line_start<Acc>& start)
{
    using scan_walk = walk_shape_of_scan<Acc>;
    if (all.length() > long_walk::rows)
        return launch_walk<scan_walk>(target, call, scan_walked_kernel<scan_walk, Acc, T, Out, Rank, Op>, all, op,
                                      start);
    with_short_shape(all.length(), [&]<class Shape>(Shape) {
        launch_walk<Shape>(target, call, scan_short_kernel<Shape, Acc, T, Out, Rank, Op>, all, op, start);
    });
}

// Whether lines are short rows, one of which does not follow the other, that lanes walk along: neighbouring lanes share lines of the first-level cache, and
// all are still there at the next step. That are rows of few bytes, and somewhat longer ones that lie close together, but not where each begins at the same
// place of a line of the cache, which has room for few of those. As segments, each element would be found by itself.
template <class T, class Out, std::size_t Rank>
bool are_walked_rows(const detail::lines<const T, Out, Rank>& all)
{
    constexpr std::uint64_t cache_line = 128; // bytes
    constexpr std::uint64_t longest = 63;
    constexpr std::uint64_t longest_narrow = 24;
    constexpr std::uint64_t short_bytes = 40;
    const auto bytes = [](std::ptrdiff_t stride) {
        return static_cast<std::uint64_t>(stride < 0 ? -stride : stride) * sizeof(T);
    };
    const std::uint64_t distance = all.length() > 1 ? bytes(all.in.stride(0)) : sizeof(T); // of elements
    const std::uint64_t pitch = bytes(all.in.stride(Rank - 1));
    const std::uint64_t reach = all.length() * distance;
    const bool have_gaps = distance != sizeof(T); // between elements
    if (all.count() <= 1 || all.length() == 0 || all.length() > longest || (!have_gaps && lie_without_gaps(all.in)))
        return false;
    const bool begin_alike = pitch % cache_line == 0;
    if (sizeof(T) < sizeof(unsigned))
        return all.length() <= longest_narrow || (have_gaps && !begin_alike);
    const bool are_close = reach <= cache_line && pitch <= cache_line + 32;
    const bool are_words_apart = sizeof(T) == sizeof(unsigned) && have_gaps && pitch != reach;
    return reach <= short_bytes || (!begin_alike && (are_close || are_words_apart));
}

} // namespace upsweep::gpu
