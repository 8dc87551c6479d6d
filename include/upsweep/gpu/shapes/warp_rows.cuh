// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
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
#include <upsweep/gpu/source/shifted_rows.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>
#include <upsweep/view.hpp>

// Lines whose elements lie one behind the other, as those of rows do, and so many of them that each warp folds its own: it waits for no
// other warp. A lane has a vector of every *row of vectors*, which is a tree of the warp. The next ones are on their way while these
// are folded.
namespace upsweep::gpu {

// What a warp folds in a step: a block of each of some lines, of so many rows of vectors.
template <int Lines, int Rows, int Blocks = 2, bool Shifts = false>
struct warp_row_shape {
    static constexpr int threads = 256;
    static constexpr int blocks = Blocks; // of a multiprocessor, at least
    static constexpr int lines = Lines;
    static constexpr int rows = Rows;
    static constexpr int vectors = Lines * Rows; // of a lane
    static constexpr bool shifts = Shifts;       // whether vectors that are no words are read as shifted rows
};
using long_warp_rows = warp_row_shape<1, 4>; // of which a line may have several blocks

// What fits into fewer registers is reduced by more warps.
template <class Acc, int Lines, int Rows>
using reduced_row_shape = warp_row_shape<Lines, Rows, sizeof(Acc) <= 4 ? 3 : 2>;
// Half floats that are shifted, and converted, leave registers for two blocks only.
template <class T>
using shifted_row_shape = warp_row_shape<1, long_warp_rows::rows, std::integral<T> ? 3 : 2, true>;

template <class T, class Out>
inline constexpr int warp_row_elements = vector_elements<(sizeof(T) < sizeof(Out) ? sizeof(Out) : sizeof(T))>;

// The steps of a warp. Elements is how many a vector has; vector number v of a step belongs to line v / Shape::rows of it.
template <class Shape, int Elements, class Acc, class T, class Out, std::size_t Rank>
class warp_row_steps {
public:
    static constexpr int rows = Shape::rows;
    static constexpr int lines = Shape::lines;
    static constexpr int vectors = Shape::vectors;
    static constexpr int row = Elements * lanes; // elements of a row of vectors
    static constexpr int block = row * rows;     // elements that a step has of a line
    using vector = lane_vector<T, Elements>;

    struct step {
        std::uint64_t line; // the first one
        unsigned block;     // number of the block in it
    };

    __device__ explicit warp_row_steps(const lines_on_device<T, Out, Rank>& of, const memory_range& around = {})
        : of_(of), around_(around), last_(static_cast<unsigned>((of.length - 1) / block)),
          last_count_(static_cast<int>(of.length - std::uint64_t{last_} * block)),
          are_many_(of.length * of.count >= many_bytes / sizeof(T))
    {
    }

    __device__ bool is_last(const step& now) const { return now.block == last_; }
    // How many elements the step has of each line.
    __device__ int count(const step& now) const { return is_last(now) ? last_count_ : block; }
    __device__ bool is_whole(const step& now) const { return count(now) == block; }
    __device__ std::uint64_t line(const step& now, int v) const { return now.line + static_cast<unsigned>(v / rows); }
    // Whether there is an element in the row of vectors.
    __device__ bool has_row(const step& now, int v) const
    {
        return line(now, v) < of_.count && v % rows * row < count(now);
    }
    // The number, in its line, of the first element of this lane's first vector.
    __device__ std::uint64_t first(const step& now) const
    {
        return std::uint64_t{now.block} * block + static_cast<unsigned>(lane_id() * Elements);
    }

    // Calls take(loaded, step) for each step with the vectors of this lane, while those of the next step are on their way.
    template <class Take>
    __device__ void for_each(Take take)
    {
        const std::uint64_t stride = std::uint64_t{gridDim.x} * (Shape::threads / lanes) * lines;
        step now{(blockIdx.x + std::uint64_t{gridDim.x} * static_cast<unsigned>(warp_id())) * lines, 0};
        load(now);
        while (now.line < of_.count) {
            vector loaded[vectors];
#pragma unroll
            for (int v = 0; v < vectors; ++v)
                loaded[v] = loaded_[v];
            if constexpr (Shape::shifts) {
                if (shift_ != 0) {
#pragma unroll
                    for (int v = 0; v < vectors; ++v)
                        loaded[v] = shifted_row(loaded_, v, shift_);
                }
            }
            const step next = is_last(now) ? step{now.line + stride, 0} : step{now.line, now.block + 1};
            load(next);
            take(loaded, now);
            now = next;
        }
    }

    // The elements of those vectors; behind the end of a line, they are the identity.
    template <class Op>
    __device__ void convert_loaded(const vector (&loaded)[vectors], const step& now, Acc (&values)[vectors][Elements],
                                   const Op& op) const
    {
        if (is_whole(now)) {
#pragma unroll
            for (int v = 0; v < vectors; ++v)
#pragma unroll
                for (int j = 0; j < Elements; ++j)
                    values[v][j] = convert<Acc>(loaded[v][j]);
            return;
        }
#pragma unroll
        for (int v = 0; v < vectors; ++v) {
            const int left = left_of_lane(now, v);
#pragma unroll
            for (int j = 0; j < Elements; ++j) {
                values[v][j] = op.template identity<Acc>();
                if (j < left)
                    values[v][j] = convert<Acc>(loaded[v][j]);
            }
        }
    }

    // How many elements there are from this lane's vector on, or not more than zero. They are not clamped to those of a vector: nvcc 13.0
    // takes zero, clamped to [0, n], for equal to n.
    __device__ int left_of_lane(const step& now, int v) const
    {
        return count(now) - v % rows * row - lane_id() * Elements;
    }

    // The total of the elements of one line that this lane has, by an operator for which any order will do.
    template <class Op>
    __device__ auto total_of_lane(const vector (&loaded)[vectors], const step& now, const Op& op) const
    {
        using partial = decltype(vector_total<Acc>(loaded[0], op));
        partial total;
        if (is_whole(now)) {
            total = vector_total<Acc>(loaded[0], op);
#pragma unroll
            for (int v = 1; v < vectors; ++v)
                total = op(total, vector_total<Acc>(loaded[v], op));
            return total;
        }
        total = op.template identity<partial>();
#pragma unroll
        for (int v = 0; v < vectors; ++v) {
            const int left = left_of_lane(now, v);
            if (left >= Elements) {
                total = op(total, vector_total<Acc>(loaded[v], op));
            } else if (left > 0) {
#pragma unroll
                for (int j = 0; j < Elements; ++j)
                    if (j < left)
                        total = op(total, convert<partial>(loaded[v][j]));
            }
        }
        return total;
    }

private:
    // A block that is whole, and aligned, is loaded without a question for each vector. In place of lines that the last step does not have it has the last
    // line once more: an operator gets no elements but those of lines.
    __device__ void load(const step& next)
    {
        if (next.line >= of_.count)
            return;
#pragma unroll
        for (int k = 0; k < lines; ++k) {
            if (next.block == 0)
                from_[k] =
                    of_.in.first_of(min(next.line + static_cast<unsigned>(k), of_.count - 1)) + lane_id() * Elements;
            else
                from_[k] += block;
            const bool are_words = is_aligned<Elements>(from_[k]);
            if constexpr (Shape::shifts) {
                shift_ = are_words ? 0 : shift_of(from_[k] - lane_id() * Elements, count(next));
                if (shift_ != 0) {
                    load_shifted_rows(from_[k], count(next) - lane_id() * Elements, loaded_,
                                      [](const T* from) { return load_vector<Elements>(from); });
                    continue;
                }
            }
            if (is_whole(next)) {
                if (are_words && are_many_)
                    load_block(k, [](const T* from) { return load_vector_of_many<Elements>(from); });
                else if (are_words)
                    load_block(k, [](const T* from) { return load_vector<Elements>(from); });
                else
                    load_block(k, [](const T* from) { return gather_vector<Elements>(from); });
                continue;
            }
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                const int left = left_of_lane(next, k * rows + r);
                if (are_words && left >= Elements)
                    loaded_[k * rows + r] = load_vector<Elements>(from_[k] + r * row);
                else if (left > 0)
                    loaded_[k * rows + r] = gather_vector<Elements>(from_[k] + r * row, left);
            }
        }
    }
    // The bytes of the first word before these elements, if all words that have any of them may be read, or else 0.
    __device__ unsigned shift_of(const T* first, int count) const
    {
        const auto* const begin = reinterpret_cast<const std::byte*>(first);
        const auto* const end = reinterpret_cast<const std::byte*>(first + count);
        const auto place = [](const std::byte* at) {
            return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at) % sizeof(vector));
        };
        const unsigned behind = (sizeof(vector) - place(end)) % sizeof(vector);
        return around_.has(begin - place(begin), end + behind) ? place(begin) : 0;
    }
    template <class Load>
    __device__ void load_block(int k, Load load_from)
    {
#pragma unroll
        for (int r = 0; r < rows; ++r)
            loaded_[k * rows + r] = load_from(from_[k] + r * row);
    }

    const lines_on_device<T, Out, Rank>& of_;
    memory_range around_;
    unsigned last_;  // number of the last block of a line
    int last_count_; // how many elements it has
    bool are_many_;
    const T* from_[lines]; // where this lane's first vector of a line lies
    vector loaded_[vectors + (Shape::shifts ? 1 : 0)];
    unsigned shift_ = 0; // bytes before the vectors in the words that are loaded, or 0 where vectors are
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

// Of operators for which any order will do, lanes fold what they have of a line, and the warp folds the lanes when it ends.
template <class Shape, int Elements, class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    reduce_warp_rows_kernel(const __grid_constant__ lines_on_device<T, Out, Rank> of,
                            const __grid_constant__ memory_range memory, Op op, Finish finish)
{
    using row_steps = warp_row_steps<Shape, Elements, Acc, T, Out, Rank>;
    constexpr int rows = Shape::rows;
    row_steps steps(of, memory);
    walked_blocks<false, Acc, Op> walked(op);
    steps.for_each([&](const typename row_steps::vector(&loaded)[rows], const typename row_steps::step& now) {
        Acc fold;
        int writer = 0;
        if constexpr (is_any_order<Op, Acc>) {
            walked.push(convert<Acc>(steps.total_of_lane(loaded, now, op)), now.block);
            if (!steps.is_last(now))
                return;
            fold = total_of_lanes<0, lane_levels>(walked.fold(now.block + 1), op);
        } else {
            const int count = steps.count(now);
            Acc values[rows][Elements];
            if (steps.is_whole(now)) {
                Acc totals[rows];
#pragma unroll
                for (int r = 0; r < rows; ++r)
                    totals[r] = convert<Acc>(vector_total<Acc>(loaded[r], op));
                walked.push(warp_total<rows>(totals, op), now.block);
                if (!steps.is_last(now))
                    return;
                fold = walked.fold(now.block + 1);
            } else {
                steps.convert_loaded(loaded, now, values, op);
                fold = fold_first_rows<rows>(walked.fold(now.block), values, count, op);
                writer = count % row_steps::row / Elements;
            }
        }
        if (lane_id() == writer)
            finish(fold, *of.out.first_of(now.line));
        walked = walked_blocks<false, Acc, Op>(op); // for the next line of the warp
    });
}

// Of rows of one or two rows of vectors a step has several lines, whose totals are found together.
template <class Shape, int Elements, class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    reduce_whole_rows_kernel(const __grid_constant__ lines_on_device<T, Out, Rank> of, Op op, Finish finish)
{
    using row_steps = warp_row_steps<Shape, Elements, Acc, T, Out, Rank>;
    constexpr int vectors = Shape::vectors;
    row_steps steps(of);
    steps.for_each([&](const typename row_steps::vector(&loaded)[vectors], const typename row_steps::step& now) {
        using partial = decltype(vector_total<Acc>(loaded[0], op));
        partial totals[vectors];
#pragma unroll
        for (int v = 0; v < vectors; ++v)
            totals[v] = vector_total<Acc>(loaded[v], op);
        const Acc fold = convert<Acc>(warp_totals<Shape::rows>(totals, op));
        const std::uint64_t line = now.line + static_cast<unsigned>(lane_id() / Shape::rows);
        if (lane_id() < vectors && lane_id() % Shape::rows == 0 && line < of.count)
            finish(fold, *of.out.first_of(line));
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

// Writes the results of a vector to where they belong, of a vector at the end of a line the first `left` of them. `are_words` tells whether whole vectors are
// one word there, and `is_first` whether the first element is that of the scan.
template <int Elements, class Acc, class Out, class Start, class Op>
__device__ void store_results(Out* to, int left, bool are_words, bool is_first, const Acc (&folds)[Elements + 1],
                              const Start& start, const Op& op)
{
    typename lane_vector<Out, Elements>::elements results;
#pragma unroll
    for (int j = 0; j < Elements; ++j)
        results.element[j] = start.template result_at<Out>(folds[j], folds[j + 1], is_first && j == 0, op);
    const auto vector = lane_vector<Out, Elements>::of(results);
    if constexpr (has_words<Elements, Out*>) {
        if (are_words && left >= Elements) {
            store_vector<Elements>(to, vector);
            return;
        }
    }
    scatter_within<Elements>(to, left, 0, vector);
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
    steps.for_each([&](const typename row_steps::vector(&loaded)[Shape::vectors], const typename row_steps::step& now) {
        Acc values[Shape::vectors][Elements];
        steps.convert_loaded(loaded, now, values, op);
        if (has_blocks && now.block == 0)
            walked = walked_blocks<true, Acc, Op>(op);
#pragma unroll
        for (int line = 0; line < Shape::lines; ++line) {
            scanned_rows<rows, Elements, Acc> scanned(values + line * rows, walked.fold(now.block), op);
            if constexpr (has_blocks)
                scanned.push(walked, now.block, steps.is_whole(now));
            if (!steps.has_row(now, line * rows))
                continue;
            Out* const to = of.out.first_of(steps.line(now, line * rows)) + steps.first(now);
            const bool are_words = is_aligned<Elements>(to);
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                const int v = line * rows + r;
                if (!steps.has_row(now, v))
                    continue;
                Acc folds[Elements + 1];
                scanned.folds_of_row(r, values[v], folds, op);
                store_results<Elements>(to + r * row_steps::row, steps.left_of_lane(now, v), are_words,
                                        r == 0 && steps.first(now) == 0, folds, start, op);
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

// Whether each vector of these lines is one word in memory.
template <class T, class Out, std::size_t Rank>
bool are_lines_of_words(const detail::lines<const T, Out, Rank>& all)
{
    constexpr int elements = vector_elements<sizeof(T)>;
    bool are_words = is_aligned<elements>(all.in.data());
    for (std::size_t k = 1; k < Rank; ++k)
        are_words = are_words && (all.in.extent(k) == 1 || all.in.stride(k) % elements == 0);
    return are_words;
}

// Whether warps can reduce these lines, and are busy until the end: where lines are long, and not many, some warps have one more than others, and the rest
// waits for them.
template <class T, class Out, std::size_t Rank>
bool are_warp_rows_to_reduce(const detail::lines<const T, Out, Rank>& all)
{
    constexpr std::uint64_t most_bytes = 32 << 10;
    constexpr std::uint64_t many = 32768;
    return are_warp_rows(all) && (all.count() >= many || all.length() * sizeof(T) < most_bytes);
}

// Whether each of them is one row of vectors that are words, or two.
template <class T, class Out, std::size_t Rank>
bool are_whole_warp_rows(const detail::lines<const T, Out, Rank>& all)
{
    constexpr std::uint64_t row = std::uint64_t{lanes} * vector_elements<sizeof(T)>;
    return (all.length() == row || all.length() == 2 * row) && are_lines_of_words(all);
}

// Whether a step of a warp has much of a line, and so takes no longer than its elements need. Shorter lines of narrow elements go through shared
// memory, if there is such a kernel for them (IsStaged).
template <bool IsStaged, class T, class Out, std::size_t Rank>
bool fill_warp_rows(const detail::lines<const T, Out, Rank>& all)
{
    constexpr std::uint64_t least_narrow = 512;
    constexpr std::uint64_t least_shifted = 2000;
    constexpr std::uint64_t block = std::uint64_t{lanes} * vector_elements<sizeof(T)> * long_warp_rows::rows;
    if (are_whole_warp_rows(all))
        return true;
    const bool are_words = are_lines_of_words(all);
    if (IsStaged)
        return all.length() >= (are_words ? least_narrow : least_shifted);
    return all.length() * 8 >= block * (are_words ? 6 : 7);
}

// Of large arrays whose shorter lines follow one another, the windows of segments are faster.
template <class T, class Out, std::size_t Rank>
bool are_few_or_lie_apart(const detail::lines<const T, Out, Rank>& all)
{
    constexpr std::uint64_t small_bytes = std::uint64_t{16} << 20;
    return all.length() * sizeof(T) * all.count() <= small_bytes || !lie_without_gaps(all.in);
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
    constexpr int elements = vector_elements<sizeof(T)>;
    constexpr std::uint64_t row = std::uint64_t{lanes} * elements;
    const auto with_whole = [&]<class Shape>(Shape) {
        constexpr auto kernel = reduce_whole_rows_kernel<Shape, elements, Acc, T, Out, Rank, Op, Finish>;
        launch_warp_rows<Shape, kernel>(target, call, all, op, finish);
    };
    if (all.length() == row)
        return with_whole(reduced_row_shape<Acc, 4, 1>{});
    if (all.length() == 2 * row)
        return with_whole(reduced_row_shape<Acc, 2, 2>{});
    const auto with_blocks = [&]<class Shape>(Shape) {
        constexpr auto kernel = reduce_warp_rows_kernel<Shape, elements, Acc, T, Out, Rank, Op, Finish>;
        launch_warp_rows<Shape, kernel>(target, call, all, memory_range::of(all.in), op, finish);
    };
    if constexpr (may_be_shifted_rows<elements, const T*>)
        if (!are_lines_of_words(all))
            return with_blocks(shifted_row_shape<T>{});
    with_blocks(reduced_row_shape<Acc, 1, long_warp_rows::rows>{});
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
