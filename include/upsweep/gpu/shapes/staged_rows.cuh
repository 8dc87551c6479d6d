// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include <cuda_pipeline.h>

#include <upsweep/gpu/fold/line_start.cuh>
#include <upsweep/gpu/fold/packed.cuh>
#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/line_places.cuh>
#include <upsweep/gpu/shapes/staged_elements.cuh>
#include <upsweep/gpu/shapes/walked_lines.cuh>
#include <upsweep/gpu/shapes/warp_rows.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>

// Rows of narrow elements, and short rows. A vector of a row must begin at a multiple of 16 bytes to be one load, which those of rows of 100
// bytes do not; and of short rows most lanes of a warp would have nothing. So a warp copies a *panel* into shared memory as it lies, word by
// word: as many whole rows as its lanes have room for, or a part of a long one. There a lane reads the words that hold its elements, wherever
// they begin, and shifts them into place. The results of a scan go back the same way.
//
//     row 0   | lane 0 | lane 1 | lane 2 | la|                      a lane has 32 bytes of a row,
//     row 1                                  | lane 4 | lane 5 |... and a row has as many lanes as it needs
//
// A warp waits for no other, and while it folds a panel, the next ones are on their way.
namespace upsweep::gpu {

template <class T, class Out>
struct staged_row_shape {
    static constexpr int threads = 128;
    static constexpr int blocks = 8; // of a multiprocessor, at least
    static constexpr int warps = threads / lanes;
    static constexpr int stages = 3;
    static constexpr int larger = static_cast<int>(sizeof(T) < sizeof(Out) ? sizeof(Out) : sizeof(T));
    static constexpr int elements = 32 / larger;   // of a lane
    static constexpr int panel = elements * lanes; // elements, at most
};

template <class T, class Out, std::size_t Rank>
struct staged_rows {
    lines_on_device<T, Out, Rank> lines;
    std::int64_t pitch; // elements from a row to the next, where a panel has several
    std::int64_t out_pitch;
    int lanes_of_row;
    int rows; // of a panel
};

// The panels of a warp. HasBlocks tells whether rows may have several.
template <class Shape, bool HasBlocks, class T, class Out, std::size_t Rank>
class staged_row_steps {
public:
    static constexpr int elements = Shape::elements;
    static constexpr int words = elements * static_cast<int>(sizeof(T)) / 4; // of a lane
    using memory = staged_elements<T, Shape::panel, Shape::elements>;

    struct step {
        std::uint64_t line; // the first one
        unsigned block;     // number of the panel in it
    };

    __device__ staged_row_steps(const staged_rows<T, Out, Rank>& of, memory* ring)
        : of_(of), ring_(ring), row_(HasBlocks ? 0 : lane_id() / of.lanes_of_row),
          lane_of_row_(HasBlocks ? lane_id() : lane_id() % of.lanes_of_row),
          before_(lane_of_row_ * elements + (row_ < of.rows ? row_ * static_cast<int>(of.pitch) : 0)),
          last_(HasBlocks ? static_cast<unsigned>((of.lines.length - 1) / Shape::panel) : 0)
    {
        for (int i = 0; i < Shape::stages; ++i)
            ring_[i].clear();
        __syncwarp();
    }

    __device__ int row_of_lane() const { return row_; }
    __device__ int lane_of_row() const { return lane_of_row_; }
    __device__ int lanes_of_row() const { return HasBlocks ? lanes : of_.lanes_of_row; }
    __device__ bool is_last(const step& now) const { return !HasBlocks || now.block == last_; }
    __device__ std::uint64_t first(const step& now) const
    {
        return HasBlocks ? std::uint64_t{now.block} * Shape::panel : 0;
    }
    // How many rows there are, and how many elements of each.
    __device__ int rows(const step& now) const
    {
        if constexpr (HasBlocks)
            return 1;
        const std::uint64_t left = of_.lines.count - now.line;
        return left < static_cast<unsigned>(of_.rows) ? static_cast<int>(left) : of_.rows;
    }
    __device__ int count(const step& now) const
    {
        return is_last(now) ? static_cast<int>(of_.lines.length - first(now)) : Shape::panel;
    }
    // How many of them this lane has.
    __device__ int left(const step& now) const
    {
        const int left = row_ < rows(now) ? count(now) - lane_of_row_ * elements : 0;
        return left < 0 ? 0 : left < elements ? left : elements;
    }

    // Calls take(words, step) with the words of this lane's elements for each step. The lanes of a warp call this together.
    template <class Take>
    __device__ void for_each(Take take)
    {
        step now{warp_in_grid() * static_cast<unsigned>(of_.rows), 0};
        step ahead = now;
        memory* ring[Shape::stages]; // that of this step, those ahead, and the one before
        typename memory::edge edges[Shape::stages];
#pragma unroll
        for (int k = 0; k < Shape::stages; ++k)
            ring[k] = ring_ + k;
#pragma unroll
        for (int k = 0; k + 1 < Shape::stages; ++k)
            edges[k] = copy(*ring[k], ahead);
        for (; now.line < of_.lines.count; advance(now)) {
            __pipeline_wait_prior(Shape::stages - 2);
            ring[0]->put(edges[0]);
            __syncwarp(); // all lanes have copied this stage, and have read the one before
            edges[Shape::stages - 1] = copy(*ring[Shape::stages - 1], ahead);
            unsigned mine[words];
            const unsigned begin = memory::byte_of(of_.lines.in.first_of(now.line) + first(now));
            ring[0]->read(begin + static_cast<unsigned>(before_) * unsigned{sizeof(T)}, mine);
            take(mine, now);
            memory* const free = ring[0];
#pragma unroll
            for (int k = 1; k < Shape::stages; ++k) {
                ring[k - 1] = ring[k];
                edges[k - 1] = edges[k];
            }
            ring[Shape::stages - 1] = free;
        }
    }

private:
    __device__ void advance(step& at) const
    {
        if (is_last(at))
            at = {at.line + std::uint64_t{gridDim.x} * Shape::warps * static_cast<unsigned>(of_.rows), 0};
        else
            ++at.block;
    }
    // Begins to copy the panel of a step, and goes to the next one.
    __device__ typename memory::edge copy(memory& to, step& ahead)
    {
        typename memory::edge mine;
        if (ahead.line < of_.lines.count) {
            const unsigned between = static_cast<unsigned>(rows(ahead) - 1) * static_cast<unsigned>(of_.pitch);
            mine = to.copy_from(of_.lines.in.first_of(ahead.line) + first(ahead),
                                between + static_cast<unsigned>(count(ahead)));
            advance(ahead);
        }
        __pipeline_commit();
        return mine;
    }

    const staged_rows<T, Out, Rank>& of_;
    memory* ring_;
    int row_;         // of this lane
    int lane_of_row_; // number of this lane
    int before_;      // elements of a panel before this lane's; of rows that there are
    unsigned last_;   // number of the last panel of a line
};

// The elements of a lane, of which there are `left`. Behind them is the identity, or what an operator of the library may have in its place,
// since nobody uses what becomes of it.
template <class Acc, class T, int Elements, bool NeedsIdentity, int Words, class Op>
__device__ void staged_values(const unsigned (&words)[Words], int left, Acc (&values)[Elements], const Op& op)
{
    T elements[Elements];
    std::memcpy(static_cast<void*>(elements), words, sizeof(elements));
#pragma unroll
    for (int j = 0; j < Elements; ++j) {
        values[j] = op.template identity<Acc>();
        if (j < left || (!NeedsIdentity && detail::is_builtin<Op>))
            values[j] = convert<Acc>(elements[j]);
    }
}

// The tree over the lanes of a row, which are neighbours. What is not a whole block in it nobody needs.
template <class Acc>
struct row_tree {
    Acc sibling[lane_levels];
    Acc total; // of all lanes, if they are a power of two

    template <class Op>
    __device__ row_tree(const Acc& mine, int lane_of_row, int lanes_of_row, const Op& op) : total(mine)
    {
        const int first = lane_id() - lane_of_row;
#pragma unroll
        for (int k = 0; k < lane_levels; ++k)
            if (1 << k < lanes_of_row) {
                sibling[k] = shuffle(total, first + (lane_of_row ^ 1 << k));
                total = combine(op, total, sibling[k], (lane_of_row >> k & 1) != 0);
            }
    }

    template <class Op>
    __device__ Acc fold_before(Acc before, int lane_of_row, const Op& op) const
    {
#pragma unroll
        for (int k = lane_levels - 1; k >= 0; --k)
            if ((lane_of_row >> k & 1) != 0)
                before = op(before, sibling[k]);
        return before;
    }
};

// --- reduce -------------------------------------------------------------------------------------------------------------------

// The total of a lane's elements where any order has the same bits. Words of integers are folded as they are.
template <class Acc, class T, int Elements, int Words, class Op>
__device__ auto staged_total(const unsigned (&words)[Words], int left, bool are_whole, const Op& op)
{
    constexpr int bytes = Words * 4;
    if constexpr (is_packed<Op, T> && bytes % 16 == 0) {
        constexpr int in_word = static_cast<int>(4 / sizeof(T));
        constexpr int width = 8 * static_cast<int>(sizeof(T));
        constexpr auto identity = static_cast<word_t<sizeof(T)>>(Op::template identity<T>());
        constexpr unsigned neutral = identity * (sizeof(T) == 1 ? 0x01010101U : 0x00010001U);
        unsigned exist[Words];
#pragma unroll
        for (int j = 0; j < Words; ++j)
            exist[j] = words[j];
        if (!are_whole)
#pragma unroll
            for (int j = 0; j < Words; ++j) {
                const int count = left - j * in_word;
                const int kept = count < 0 ? 0 : count < in_word ? count : in_word;
                const unsigned behind = __funnelshift_lc(0, ~0U, static_cast<unsigned>(width * kept));
                exist[j] = (words[j] & ~behind) | (neutral & behind);
            }
        constexpr int vectors = bytes / 16;
        lane_vector<T, static_cast<int>(16 / sizeof(T))> loaded[vectors];
        std::memcpy(static_cast<void*>(loaded), exist, sizeof(exist));
        auto total = vector_total<Acc>(loaded[0], op);
#pragma unroll
        for (int v = 1; v < vectors; ++v)
            total = op(total, vector_total<Acc>(loaded[v], op));
        replace_if(left == 0, total, op.template identity<decltype(total)>());
        return total;
    } else {
        Acc values[Elements];
        staged_values<Acc, T, Elements, true>(words, left, values, op);
        return lane_total<Elements>(values, op);
    }
}

// HasBlocks tells whether rows may have several panels.
template <class Shape, bool HasBlocks, class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    reduce_staged_rows_kernel(const __grid_constant__ staged_rows<T, Out, Rank> of, Op op, Finish finish)
{
    using row_steps = staged_row_steps<Shape, HasBlocks, T, Out, Rank>;
    constexpr int elements = Shape::elements;
    __shared__ raw_array<typename row_steps::memory, Shape::warps * Shape::stages> shared;
    row_steps steps(of, &shared[warp_id() * Shape::stages]);
    walked_blocks<false, Acc, Op> walked(op);
    steps.for_each([&](const auto& words, const typename row_steps::step& now) {
        const int count = steps.count(now);
        const bool is_whole = count == steps.lanes_of_row() * elements; // a tree
        Acc fold;
        int writer = 0;
        if constexpr (is_any_order<Op, Acc>) {
            const auto mine = staged_total<Acc, T, elements>(words, steps.left(now), count % elements == 0, op);
            using partial = std::remove_const_t<decltype(mine)>;
            const row_tree<partial> tree(mine, steps.lane_of_row(), steps.lanes_of_row(), op);
            if constexpr (HasBlocks) {
                walked.push(convert<Acc>(tree.total), now.block);
                fold = walked.fold(now.block + 1);
            } else {
                writer = steps.lanes_of_row() - 1;
                fold =
                    convert<Acc>(op(tree.fold_before(op.template identity<partial>(), steps.lane_of_row(), op), mine));
            }
        } else {
            Acc values[elements];
            staged_values<Acc, T, elements, false>(words, steps.left(now), values, op);
            const row_tree<Acc> tree(lane_total<elements>(values, op), steps.lane_of_row(), steps.lanes_of_row(), op);
            if (is_whole) {
                fold = tree.total;
                if constexpr (HasBlocks) {
                    walked.push(fold, now.block);
                    fold = walked.fold(now.block + 1);
                }
            } else {
                const Acc before = HasBlocks ? walked.fold(now.block) : op.template identity<Acc>();
                fold = fold_first<elements>(tree.fold_before(before, steps.lane_of_row(), op), values, count % elements,
                                            op);
                writer = count / elements;
            }
        }
        if (!steps.is_last(now))
            return;
        if (steps.lane_of_row() == writer && steps.row_of_lane() < steps.rows(now))
            finish(fold, *of.lines.out.first_of(now.line + static_cast<unsigned>(steps.row_of_lane())));
        if constexpr (HasBlocks)
            walked = walked_blocks<false, Acc, Op>(op);
    });
}

// --- scan ---------------------------------------------------------------------------------------------------------------------

// Whether integers are scanned word by word. What lies behind the elements of a row is scanned, too, and written nowhere.
template <class Op, class Acc, class T, class Out, int Elements>
inline constexpr bool folds_staged_words =
    packed_form<Op, T>::exists&& std::is_same_v<T, Out>&& std::is_same_v<T, Acc>&& Elements * sizeof(T) % 16 == 0;

// Returns the total of the row, where `before` is the fold before it.
template <class T, class Acc, int Words, class Op>
__device__ Acc scan_staged_words(const unsigned (&words)[Words], const Acc& before, int lane_of_row, int lanes_of_row,
                                 const line_start<Acc>& start, unsigned (&results)[Words], const Op& op)
{
    using form = packed_form<Op, T>;
    using accumulator = typename form::accumulator;
    constexpr int vectors = Words / 4;
    uint4 loaded[vectors];
    std::memcpy(loaded, words, sizeof(loaded));
    accumulator totals[vectors];
#pragma unroll
    for (int v = 0; v < vectors; ++v)
        totals[v] = form::total(loaded[v]);
    const row_tree<accumulator> tree(lane_total<vectors>(totals, op), lane_of_row, lanes_of_row, op);
    auto fold = static_cast<accumulator>(before);
    if (start.has_init)
        fold = op(static_cast<accumulator>(start.first), fold);
    fold = tree.fold_before(fold, lane_of_row, op);
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
        loaded[v] = start.is_exclusive ? form::template scan<scan_kind::exclusive>(loaded[v], fold)
                                       : form::template scan<scan_kind::inclusive>(loaded[v], fold);
        fold = op(fold, totals[v]);
    }
    std::memcpy(results, loaded, sizeof(loaded));
    return static_cast<Acc>(tree.total);
}

template <class Shape, bool HasBlocks, class Acc, class T, class Out, std::size_t Rank, class Op>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    scan_staged_rows_kernel(const __grid_constant__ staged_rows<T, Out, Rank> of, Op op, line_start<Acc> start)
{
    using row_steps = staged_row_steps<Shape, HasBlocks, T, Out, Rank>;
    using results_memory = staged_elements<Out, Shape::panel, 0>;
    constexpr int elements = Shape::elements;
    constexpr int words_of_results = elements * static_cast<int>(sizeof(Out)) / 4;
    __shared__ raw_array<typename row_steps::memory, Shape::warps * Shape::stages> shared;
    __shared__ raw_array<results_memory, Shape::warps> shared_results;
    results_memory& staged = shared_results[warp_id()];
    row_steps steps(of, &shared[warp_id() * Shape::stages]);
    walked_blocks<true, Acc, Op> walked(op);
    steps.for_each([&](const auto& words, const typename row_steps::step& now) {
        if (HasBlocks && now.block == 0)
            walked = walked_blocks<true, Acc, Op>(op);
        const Acc before = HasBlocks ? walked.fold(now.block) : op.template identity<Acc>();
        unsigned results[words_of_results];
        if constexpr (folds_staged_words<Op, Acc, T, Out, elements>) {
            const Acc total =
                scan_staged_words<T>(words, before, steps.lane_of_row(), steps.lanes_of_row(), start, results, op);
            if constexpr (HasBlocks)
                walked.push(total, now.block);
        } else {
            Acc values[elements];
            staged_values<Acc, T, elements, false>(words, steps.left(now), values, op);
            const row_tree<Acc> tree(lane_total<elements>(values, op), steps.lane_of_row(), steps.lanes_of_row(), op);
            Acc after = tree.total;
            if constexpr (HasBlocks) {
                if (steps.count(now) == Shape::panel) {
                    walked.push(tree.total, now.block);
                    after = walked.fold(now.block + 1);
                }
            }
            const Acc before_lane = tree.fold_before(before, steps.lane_of_row(), op);
            const Acc next = shuffle_down(before_lane);
            replace_if(steps.lane_of_row() != steps.lanes_of_row() - 1, after, next);
            Acc folds[elements + 1];
            lane_folds<elements>(before_lane, values, folds, op);
            folds[elements] = after;
            const bool begins = now.block == 0 && steps.lane_of_row() == 0;
            Acc nan{};
            start.put_init(folds, op);
            typename lane_vector<Out, elements>::elements results_of_lane;
#pragma unroll
            for (int j = 0; j < elements; ++j) {
                const Acc fold = start.first_or(folds[j], folds[j + 1], begins && j == 0);
                results_of_lane.element[j] = convert<Out>(fold);
                if constexpr (detail::keeps_nan<Op, Acc>)
                    nan += fold;
            }
            lane_vector<Out, elements> made[1] = {lane_vector<Out, elements>::of(results_of_lane)};
            name_nan<Op>(nan, made);
            std::memcpy(results, static_cast<const void*>(&made[0].memory), sizeof(made[0].memory));
        }

        Out* const to = of.lines.out.first_of(now.line) + steps.first(now);
        const auto count = static_cast<unsigned>(steps.count(now));
        const auto rows = static_cast<unsigned>(steps.rows(now));
        const auto pitch = static_cast<unsigned>(of.out_pitch);
        const unsigned first =
            static_cast<unsigned>(steps.row_of_lane()) * pitch + static_cast<unsigned>(steps.lane_of_row() * elements);
        const unsigned begin = results_memory::byte_of(to);
        __syncwarp();
        staged.write(begin + first * unsigned{sizeof(Out)},
                     static_cast<unsigned>(steps.left(now)) * unsigned{sizeof(Out)}, results);
        __syncwarp();
        if (HasBlocks || pitch == count)
            staged.copy_to(to, rows * count, begin);
        else
            for (unsigned r = 0; r < rows; ++r)
                staged.copy_to(to + r * pitch, count, begin + r * pitch * unsigned{sizeof(Out)});
    });
}

// --- which lines --------------------------------------------------------------------------------------------------------------

// Types for which rows may go through shared memory: narrow ones, and wider ones where scans are short.
template <bool Scans, class Acc, class T, class Result>
inline constexpr bool
    may_be_staged = sizeof(Acc) <= 8 && std::has_single_bit(sizeof(T)) && std::has_single_bit(sizeof(Result)) &&
                    sizeof(Result) <= 8 && (sizeof(T) < 4 || (Scans && sizeof(T) == sizeof(Result)));
// Where they do, however long they are. Others are left to warp_rows.cuh where they are long.
template <bool Scans, class Acc, class T, class Result>
inline constexpr bool are_staged_of_any_length = sizeof(T) < 4 && may_be_staged<Scans, Acc, T, Result>;

// The panels of rows. Those of a panel must be equally far apart.
template <class Shape, bool Scans, class T, class Out, std::size_t Rank>
staged_rows<T, Out, Rank> cut_into_staged_rows(const detail::lines<const T, Out, Rank>& all)
{
    staged_rows<T, Out, Rank> rows{
        {line_places<const T, Rank>(all.in), line_places<Out, Rank>(all.out), all.length(), all.count()},
        0,
        0,
        lanes,
        1};
    if (all.length() > Shape::panel)
        return rows;
    // Where a row ends with the elements of a lane, the lane behind it has its fold, but where its lanes are a whole tree.
    const std::uint64_t whole = all.length() / Shape::elements;
    const bool is_tree = all.length() % Shape::elements == 0 && std::has_single_bit(whole);
    rows.lanes_of_row = static_cast<int>(is_tree ? whole : whole + 1);
    if (!rows.lines.in.in_one_dimension || !rows.lines.out.in_one_dimension)
        return rows;
    const std::ptrdiff_t out_pitch = Scans ? all.out.stride(Rank - 1) : 0;
    const auto that_fit = [&](std::ptrdiff_t pitch) {
        return pitch == 0 ? std::uint64_t{lanes}
                          : (Shape::panel - all.length()) / static_cast<std::uint64_t>(pitch) + 1;
    };
    if (out_pitch >= 0 && (!Scans || out_pitch >= static_cast<std::ptrdiff_t>(all.length()))) {
        rows.pitch = all.in.stride(Rank - 1);
        rows.out_pitch = out_pitch;
        rows.rows = static_cast<int>(std::min(
            {static_cast<std::uint64_t>(lanes / rows.lanes_of_row), that_fit(rows.pitch), that_fit(out_pitch)}));
    }
    return rows;
}

// Whether there are so many rows that all warps are busy, or none for long, and panels are well filled.
template <bool Scans, class T, class Out, std::size_t Rank>
bool are_staged_rows(const detail::lines<const T, Out, Rank>& all)
{
    constexpr bool is_narrow = sizeof(T) < 4;
    using shape = staged_row_shape<T, std::conditional_t<Scans, Out, T>>;
    // Short ones of wide elements that lie without gaps are faster as segments, which read and write vectors then.
    constexpr std::uint64_t least_apart = !Scans ? 9 : !is_narrow ? 5 : shape::larger == 8 ? 96 : 12;
    constexpr std::uint64_t least_wide = 32;
    const bool are_apart = is_narrow || !Scans || !lie_without_gaps(all.in) || !lie_without_gaps(all.out);
    const std::uint64_t least = are_apart ? least_apart : least_wide;
    constexpr std::uint64_t many = 2048;
    constexpr std::uint64_t some = 512;
    constexpr std::uint64_t few_panels = 64;
    if (all.length() < least || all.in.stride(0) != 1 || (Scans && all.out.stride(0) != 1) ||
        all.length() >= std::uint64_t{shape::panel} << walk_levels)
        return false;
    if (all.length() > shape::panel)
        return is_narrow && all.count() >= (all.length() <= few_panels * shape::panel ? some : many);
    const auto rows = cut_into_staged_rows<shape, Scans>(all);
    const auto filled = static_cast<std::uint64_t>(rows.rows) * all.length(); // of bytes other kernels are slower still
    const bool are_filled = shape::larger == 1 || all.length() >= 32 || filled * 5 >= std::uint64_t{shape::panel} * 3;
    return are_filled && rows.rows * 2 >= lanes / rows.lanes_of_row &&
           (is_narrow || all.length() * sizeof(T) < least_warp_row_bytes);
}

template <class Shape, auto Kernel, bool Scans, class T, class Out, std::size_t Rank, class... Arguments>
void launch_staged_rows(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                        const Arguments&... arguments)
{
    const staged_rows<T, Out, Rank> rows = cut_into_staged_rows<Shape, Scans>(all);
    const auto rows_of_block = static_cast<unsigned>(Shape::warps * rows.rows);
    const std::uint64_t blocks = std::min<std::uint64_t>((all.count() + rows_of_block - 1) / rows_of_block,
                                                         resident_blocks<Kernel>(target, Shape::threads, 0));
    launch(target, call, Kernel, grid_shape{static_cast<unsigned>(blocks), Shape::threads, 0}, rows, arguments...);
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_staged_rows(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                        const Op& op, const Finish& finish)
{
    using shape = staged_row_shape<T, T>;
    if (all.length() > shape::panel)
        launch_staged_rows<shape, reduce_staged_rows_kernel<shape, true, Acc, T, Out, Rank, Op, Finish>, false>(
            target, call, all, op, finish);
    else
        launch_staged_rows<shape, reduce_staged_rows_kernel<shape, false, Acc, T, Out, Rank, Op, Finish>, false>(
            target, call, all, op, finish);
}

template <class Acc, class T, class Out, std::size_t Rank, class Op>
void scan_staged_rows(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                      const Op& op, const line_start<Acc>& start)
{
    using shape = staged_row_shape<T, Out>;
    if constexpr (are_staged_of_any_length<true, Acc, T, Out>)
        if (all.length() > shape::panel)
            return launch_staged_rows<shape, scan_staged_rows_kernel<shape, true, Acc, T, Out, Rank, Op>, true>(
                target, call, all, op, start);
    launch_staged_rows<shape, scan_staged_rows_kernel<shape, false, Acc, T, Out, Rank, Op>, true>(target, call, all, op,
                                                                                                  start);
}

} // namespace upsweep::gpu
