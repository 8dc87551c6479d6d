// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <upsweep/gpu/fold/line_start.cuh>
#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/line_places.cuh>
#include <upsweep/gpu/shapes/walked_lines.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>

// Lines whose elements lie one behind the other, as those of rows do, and so many of them that each warp folds its own: it waits for no
// other warp. A lane has a vector of every *row of vectors*, which is a tree of the warp. The next ones are on their way while these
// are folded.
namespace upsweep::gpu {

// What a warp folds in a step: a block of each of some lines, of so many rows of vectors.
template <int Lines, int Rows>
struct warp_row_shape {
    static constexpr int threads = 256;
    static constexpr int blocks = 2; // of a multiprocessor, at least
    static constexpr int lines = Lines;
    static constexpr int rows = Rows;
    static constexpr int vectors = Lines * Rows; // of a lane
};
using long_warp_rows = warp_row_shape<1, 4>; // of which a line may have several blocks

template <class T, class Out>
inline constexpr int warp_row_elements = vector_elements<(sizeof(T) < sizeof(Out) ? sizeof(Out) : sizeof(T))>;

// The steps of a warp. Elements is how many a vector has; vector number v of a step belongs to line v / Shape::rows of it.
template <class Shape, int Elements, class Acc, class T, class Out, std::size_t Rank>
class warp_row_steps {
public:
    static constexpr int vectors = Shape::vectors;
    static constexpr int row = Elements * lanes;    // elements of a row of vectors
    static constexpr int block = row * Shape::rows; // elements that a step has of a line

    struct step {
        std::uint64_t line; // the first one
        unsigned block;     // number of the block in it
    };

    __device__ explicit warp_row_steps(const lines_on_device<T, Out, Rank>& of)
        : of_(of), last_(static_cast<unsigned>((of.length - 1) / block))
    {
    }

    __device__ bool is_last(const step& now) const { return now.block == last_; }
    // How many elements the step has of each line.
    __device__ int count(const step& now) const
    {
        return is_last(now) ? static_cast<int>(of_.length - std::uint64_t{last_} * block) : block;
    }
    __device__ std::uint64_t line(const step& now, int v) const
    {
        return now.line + static_cast<unsigned>(v / Shape::rows);
    }
    // Whether there is an element in the row of vectors.
    __device__ bool has_row(const step& now, int v) const
    {
        return line(now, v) < of_.count && v % Shape::rows * row < count(now);
    }
    // The number, in its line, of the first element of this lane's vector.
    __device__ std::uint64_t first(const step& now, int v) const
    {
        return std::uint64_t{now.block} * block + static_cast<unsigned>(v % Shape::rows * row + lane_id() * Elements);
    }

    // Calls take(values, step) for each step; behind the end of a line, values are the identity.
    template <class Op, class Take>
    __device__ void for_each(const Op& op, Take take)
    {
        const std::uint64_t stride = std::uint64_t{gridDim.x} * (Shape::threads / lanes) * Shape::lines;
        step now{(blockIdx.x + std::uint64_t{gridDim.x} * static_cast<unsigned>(warp_id())) * Shape::lines, 0};
        load(now);
        while (now.line < of_.count) {
            Acc values[vectors][Elements];
            convert_loaded(now, values, op);
            const step next = is_last(now) ? step{now.line + stride, 0} : step{now.line, now.block + 1};
            load(next);
            take(values, now);
            now = next;
        }
    }

private:
    __device__ void load(const step& next)
    {
#pragma unroll
        for (int v = 0; v < vectors; ++v) {
            if (!has_row(next, v))
                continue;
            const T* const from = of_.in.first_of(line(next, v)) + first(next, v);
            const int left = left_of_lane(next, v);
            if (left == Elements && is_aligned<Elements>(from))
                loaded_[v] = load_vector<Elements>(from);
            else
                loaded_[v] = gather_vector<Elements>(from, left);
        }
    }

    // How many elements of its line this lane's vector has.
    __device__ int left_of_lane(const step& now, int v) const
    {
        const int left = count(now) - v % Shape::rows * row - lane_id() * Elements;
        return left < 0 ? 0 : left < Elements ? left : Elements;
    }

    template <class Op>
    __device__ void convert_loaded(const step& now, Acc (&values)[vectors][Elements], const Op& op) const
    {
#pragma unroll
        for (int v = 0; v < vectors; ++v) {
            const int left = has_row(now, v) ? left_of_lane(now, v) : 0;
#pragma unroll
            for (int j = 0; j < Elements; ++j) {
                values[v][j] = op.template identity<Acc>();
                if (j < left)
                    values[v][j] = convert<Acc>(loaded_[v][j]);
            }
        }
    }

    const lines_on_device<T, Out, Rank>& of_;
    unsigned last_; // number of the last block of a line
    lane_vector<T, Elements> loaded_[vectors];
};

// --- reduce -------------------------------------------------------------------------------------------------------------------

// before (+) the fold of the first `count` of these elements, fewer than all, where all lanes have the same count.
template <int Elements, class Acc, class Op>
__device__ Acc fold_first(const Acc& before, const Acc* values, int count, const Op& op)
{
    constexpr int half = Elements / 2;
    if constexpr (half == 0)
        return before;
    else if (count < half)
        return fold_first<half>(before, values, count, op);
    else
        return fold_first<half>(op(before, lane_total<half>(values, op)), values + half, count - half, op);
}

// The same of the elements of a warp in rows of vectors: each of the blocks that the binary digits of their number tell is folded alone. One
// lane has the result: that number count % row / Elements.
template <int Rows, int Elements, class Acc, class Op>
__device__ Acc fold_first_rows(const Acc& before, const Acc (*values)[Elements], int count, const Op& op)
{
    constexpr int row = Elements * lanes;
    if constexpr (Rows == 1) {
        const warp_tree<Acc> tree(lane_total<Elements>(values[0], op), op);
        return fold_first<Elements>(tree.fold_before(before, op), values[0], count % Elements, op);
    } else {
        constexpr int half = Rows / 2;
        if (count < half * row)
            return fold_first_rows<half>(before, values, count, op);
        Acc totals[half];
#pragma unroll
        for (int r = 0; r < half; ++r)
            totals[r] = lane_total<Elements>(values[r], op);
        const Acc of_half = warp_total<half>(totals, op);
        return fold_first_rows<half>(op(before, of_half), values + half, count - half * row, op);
    }
}

template <int Elements, class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
__global__ void __launch_bounds__(long_warp_rows::threads, long_warp_rows::blocks)
    reduce_warp_rows_kernel(const __grid_constant__ lines_on_device<T, Out, Rank> of, Op op, Finish finish)
{
    using row_steps = warp_row_steps<long_warp_rows, Elements, Acc, T, Out, Rank>;
    constexpr int rows = long_warp_rows::rows;
    row_steps steps(of);
    walked_blocks<false, Acc, Op> walked(op);
    steps.for_each(op, [&](const Acc(&values)[rows][Elements], const typename row_steps::step& now) {
        const int count = steps.count(now);
        Acc fold;
        int writer = 0;
        if (count == row_steps::block) {
            Acc totals[rows];
#pragma unroll
            for (int r = 0; r < rows; ++r)
                totals[r] = lane_total<Elements>(values[r], op);
            walked.push(warp_total<rows>(totals, op), now.block);
            if (!steps.is_last(now))
                return;
            fold = walked.fold(now.block + 1);
        } else {
            fold = fold_first_rows<rows>(walked.fold(now.block), values, count, op);
            writer = count % row_steps::row / Elements;
        }
        if (lane_id() == writer)
            finish(fold, *of.out.first_of(now.line));
        walked = walked_blocks<false, Acc, Op>(op); // for the next line of the warp
    });
}

// --- scan ---------------------------------------------------------------------------------------------------------------------

// What comes before and after each of so many rows of vectors, which are trees of the warp.
template <int Rows, int Elements, class Acc>
struct scanned_rows {
    warp_tree<Acc> trees[Rows];
    Acc before[Rows + 1]; // the fold before each row of vectors, and after the last the total of all of them

    template <class Op>
    __device__ scanned_rows(const Acc (*values)[Elements], const Acc& fold_before, const Op& op)
    {
        Acc totals[Rows];
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            trees[r] = warp_tree<Acc>(lane_total<Elements>(values[r], op), op);
            totals[r] = trees[r].total;
        }
        lane_folds<Rows>(fold_before, totals, before, op);
        before[Rows] = lane_total<Rows>(totals, op);
    }

    // Takes a whole block to those that a warp has walked past, if it is one. Afterwards before[Rows] is the fold after the last row.
    template <class Walked>
    __device__ void push(Walked& walked, unsigned block, bool is_whole)
    {
        if (is_whole)
            walked.push(before[Rows], block);
        before[Rows] = walked.fold(block + 1);
    }

    // The folds before each element of this lane's vector of a row, and after the last.
    template <class Op>
    __device__ void folds_of_row(int r, const Acc (&values)[Elements], Acc (&folds)[Elements + 1], const Op& op) const
    {
        const Acc before_lane = trees[r].fold_before(before[r], op);
        lane_folds<Elements>(before_lane, values, folds, op);
        folds[Elements] = shuffle_down(before_lane);
        replace_if(lane_id() == lanes - 1, folds[Elements], before[r + 1]);
    }
};

// Writes the results of a vector whose first element has this number in its line; number 0 may be the first one of the scan.
template <int Elements, class Acc, class Out, class Number, class Start, class Op>
__device__ void store_results(Out* line, Number first, Number length, bool begins, const Acc (&folds)[Elements + 1],
                              const Start& start, const Op& op)
{
    typename lane_vector<Out, Elements>::elements results;
#pragma unroll
    for (int j = 0; j < Elements; ++j)
        results.element[j] =
            start.template result_at<Out>(folds[j], folds[j + 1], begins && first + static_cast<unsigned>(j) == 0, op);
    const auto vector = lane_vector<Out, Elements>::of(results);
    if constexpr (has_words<Elements, Out*>) {
        if (first + Elements <= length && is_aligned<Elements>(line + first)) {
            store_vector<Elements>(line + first, vector);
            return;
        }
    }
    scatter_within<Elements>(line, length, first, vector);
}

template <class Shape, int Elements, class Acc, class T, class Out, std::size_t Rank, class Op>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    scan_warp_rows_kernel(const __grid_constant__ lines_on_device<T, Out, Rank> of, Op op, line_start<Acc> start)
{
    using row_steps = warp_row_steps<Shape, Elements, Acc, T, Out, Rank>;
    constexpr int rows = Shape::rows;
    constexpr bool has_blocks = Shape::lines == 1; // more than one of a line
    row_steps steps(of);
    walked_blocks<true, Acc, Op> walked(op);
    steps.for_each(op, [&](const Acc(&values)[Shape::vectors][Elements], const typename row_steps::step& now) {
        if (has_blocks && now.block == 0)
            walked = walked_blocks<true, Acc, Op>(op);
#pragma unroll
        for (int line = 0; line < Shape::lines; ++line) {
            scanned_rows<rows, Elements, Acc> scanned(values + line * rows, walked.fold(now.block), op);
            if constexpr (has_blocks)
                scanned.push(walked, now.block, steps.count(now) == row_steps::block);
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                const int v = line * rows + r;
                if (!steps.has_row(now, v))
                    continue;
                Acc folds[Elements + 1];
                scanned.folds_of_row(r, values[v], folds, op);
                store_results<Elements>(of.out.first_of(steps.line(now, v)), steps.first(now, v), of.length, true,
                                        folds, start, op);
            }
        }
    });
}

// --- which lines --------------------------------------------------------------------------------------------------------------

// Of shorter lines, other kernels are faster.
inline constexpr std::uint64_t least_warp_row_bytes = 384;

// Whether warps can fold these lines, and fold them well: where there are so many that all warps are busy, or none is busy for long; and
// where lines are not so short that most lanes of a row of vectors have nothing.
template <class T, class Out, std::size_t Rank>
bool are_warp_rows(const detail::lines<const T, Out, Rank>& all)
{
    constexpr std::uint64_t many = 8192;
    constexpr std::uint64_t some = 512;
    constexpr std::uint64_t few_bytes = 8192;
    constexpr std::uint64_t block = std::uint64_t{lanes} * warp_row_elements<T, Out> * long_warp_rows::rows;
    const std::uint64_t bytes = all.length() * sizeof(T);
    const bool are_many = all.count() >= many || (all.count() >= some && bytes <= few_bytes);
    return are_many && bytes >= least_warp_row_bytes && all.length() < block << walk_levels && all.in.stride(0) == 1 &&
           (all.out.extent(0) == 1 || all.out.stride(0) == 1);
}

// Whether they reduce them faster than others do. Of large arrays, lines must nearly fill a block, since a step takes the same time whatever it
// has of a line; tiles are faster for longer lines.
template <class T, class Out, std::size_t Rank>
bool are_warp_rows_to_reduce(const detail::lines<const T, Out, Rank>& all)
{
    constexpr std::uint64_t small_bytes = std::uint64_t{16} << 20;
    constexpr std::uint64_t most_bytes = 32 << 10;
    constexpr std::uint64_t block = std::uint64_t{lanes} * vector_elements<sizeof(T)> * long_warp_rows::rows;
    const std::uint64_t bytes = all.length() * sizeof(T);
    return are_warp_rows(all) && bytes < most_bytes &&
           (bytes * all.count() <= small_bytes || all.length() * 8 >= block * 7);
}

template <class Shape, auto Kernel, class T, class Out, std::size_t Rank, class... Arguments>
void launch_warp_rows(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                      const Arguments&... arguments)
{
    constexpr std::uint64_t lines = Shape::threads / lanes * Shape::lines;
    const lines_on_device<T, Out, Rank> of{line_places<const T, Rank>(all.in), line_places<Out, Rank>(all.out),
                                           all.length(), all.count()};
    const std::uint64_t blocks =
        std::min<std::uint64_t>((all.count() + lines - 1) / lines, resident_blocks<Kernel>(target, Shape::threads, 0));
    launch(target, call, Kernel, grid_shape{static_cast<unsigned>(blocks), Shape::threads, 0}, of, arguments...);
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_warp_rows(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                      const Op& op, const Finish& finish)
{
    constexpr auto kernel = reduce_warp_rows_kernel<vector_elements<sizeof(T)>, Acc, T, Out, Rank, Op, Finish>;
    launch_warp_rows<long_warp_rows, kernel>(target, call, all, op, finish);
}

template <class Acc, class T, class Out, std::size_t Rank, class Op>
void scan_warp_rows(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                    const Op& op, const line_start<Acc>& start)
{
    constexpr int elements = warp_row_elements<T, Out>;
    constexpr std::uint64_t row = std::uint64_t{lanes} * elements;
    const auto with = [&]<class Shape>(Shape) {
        constexpr auto kernel = scan_warp_rows_kernel<Shape, elements, Acc, T, Out, Rank, Op>;
        launch_warp_rows<Shape, kernel>(target, call, all, op, start);
    };
    if (all.length() <= row)
        with(warp_row_shape<4, 1>{});
    else if (all.length() <= 2 * row)
        with(warp_row_shape<2, 2>{});
    else
        with(long_warp_rows{});
}

} // namespace upsweep::gpu
