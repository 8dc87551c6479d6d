// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <upsweep/gpu/fold/reduce.cuh>
#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/block_counter.cuh>
#include <upsweep/gpu/shapes/few.cuh>
#include <upsweep/gpu/shapes/lane_rows.cuh>
#include <upsweep/gpu/shapes/line_places.cuh>
#include <upsweep/gpu/shapes/pieces.cuh>
#include <upsweep/gpu/shapes/walked_lines.cuh>
#include <upsweep/gpu/shapes/walked_pieces.cuh>
#include <upsweep/gpu/shapes/warp_rows.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>

// Reductions of lines by an operator that folds whole blocks as something else than its accumulators (detail::element_of_block), which are
// large: of moments, a lane has no counts and no branches below the level of what it folds alone. Whole blocks and the rest of a line are
// read apart, so that no register holds an element that may not be there. The kernels are:
//
//   reduce_lane_rows_kernel     very many lines whose elements lie one behind the other: a lane has a line (lane_rows.cuh)
//   reduce_block_rows_kernel    others of them: a warp has a line
//   reduce_block_walks_kernel   many lines side by side, and short rows that lie apart: a lane has a line
//   fold_walked_pieces_kernel   few of them: a lane has a piece of a line (walked_pieces.cuh)
namespace upsweep::gpu {

template <class Op, class Acc, class T>
inline constexpr bool folds_blocks = !std::is_same_v<vector_element_t<Op, Acc, T>, Acc>;

// Rows of fewer pieces than this have a warp each, and so do longer ones of which there are many.
inline constexpr std::uint64_t short_row_pieces = 4;
inline constexpr std::uint64_t many_block_rows = 512;
inline constexpr int log_long_row_pieces = 4; // these have fewer pieces than 2^log_long_row_pieces, which a warp counts

// --- rows -------------------------------------------------------------------------------------------------------------------------

// The elements behind the last whole piece of a line: of the rows of vectors that the binary digits of their number tell, and of the last row.
template <class T>
class rows_behind_pieces {
    using shape = piece_shape<const T*>;
    static constexpr int elements = shape::elements;
    using vector = lane_vector<T, elements>;

public:
    // All that there is is on its way at once.
    __device__ rows_behind_pieces(const T* from, int count) : rows_(count / shape::row), left_(count % shape::row)
    {
        const T* const mine = from + lane_id() * elements;
        load<shape::rows / 2>(mine, is_aligned<elements>(from));
        last_ = gather_vector<elements>(mine + rows_ * shape::row, left_ - lane_id() * elements);
    }

    // before (+) their fold, for every lane of the warp.
    template <class Acc, class Op>
    __device__ Acc fold_after(const Acc& before, const Op& op) const
    {
        const Acc of_rows = fold_rows<shape::rows / 2>(before, op);
        return left_ == 0 ? of_rows : fold_last(of_rows, op);
    }

private:
    // Rows whose number has the digit Size lie at the place of that digit.
    template <int Size>
    __device__ void load(const T* mine, bool aligned)
    {
        if constexpr (Size > 0) {
            const T* const first = mine + (rows_ & ~(2 * Size - 1)) * shape::row;
            if ((rows_ & Size) != 0)
#pragma unroll
                for (int r = 0; r < Size; ++r) {
                    const T* const at = first + r * shape::row;
                    loaded_[Size - 1 + r] = aligned ? load_vector<elements>(at) : gather_vector<elements>(at);
                }
            load<Size / 2>(mine, aligned);
        }
    }

    template <int Size, class Acc, class Op>
    __device__ Acc fold_rows(const Acc& before, const Op& op) const
    {
        if constexpr (Size > 0) {
            Acc with = before;
            if ((rows_ & Size) != 0) {
                decltype(vector_total<Acc>(last_, op)) totals[Size];
#pragma unroll
                for (int r = 0; r < Size; ++r)
                    totals[r] = vector_total<Acc>(loaded_[Size - 1 + r], op);
                with = op(before, static_cast<Acc>(warp_total(totals, op)));
            }
            return fold_rows<Size / 2>(with, op);
        } else {
            return before;
        }
    }

    // The last row ends in the vector of one lane, or before it: the lanes before that one are told by the digits of its number.
    template <class Acc, class Op>
    __device__ Acc fold_last(const Acc& before, const Op& op) const
    {
        const Acc before_lane = fold_lanes<0>(before, vector_total<Acc>(last_, op), op);
        Acc values[elements];
        Acc folds[elements];
#pragma unroll
        for (int j = 0; j < elements; ++j)
            values[j] = convert<Acc>(last_[j]);
        lane_folds<elements>(before_lane, values, folds, op);
        return shuffle(fold_number(folds, left_ % elements), left_ / elements);
    }

    // before (+) the fold of the first lanes, those with whole vectors, of which 2^Level have the total `mine`.
    template <int Level, class Acc, class Total, class Op>
    __device__ Acc fold_lanes(const Acc& before, const Total& mine, const Op& op) const
    {
        if constexpr (Level == lane_levels) {
            return before;
        } else {
            const int count = left_ / elements >> Level; // of such blocks
            const bool right = (lane_id() >> Level & 1) != 0;
            const Acc of_larger =
                fold_lanes<Level + 1>(before, combine(op, mine, shuffle_xor(mine, 1 << Level), right), op);
            return (count & 1) != 0 ? op(of_larger, static_cast<Acc>(shuffle(mine, (count - 1) << Level))) : of_larger;
        }
    }

    int rows_;
    int left_; // elements of the last row
    vector loaded_[shape::rows - 1];
    vector last_;
};

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
__global__ void __launch_bounds__(long_warp_rows::threads, long_warp_rows::blocks)
    reduce_block_rows_kernel(const __grid_constant__ lines_on_device<T, Out, Rank> of, Op op, Finish finish)
{
    using shape = piece_shape<const T*>;
    const auto pieces = static_cast<unsigned>(of.length / shape::piece);
    const auto left = static_cast<int>(of.length % shape::piece);
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / lanes);
    for (std::uint64_t line = warp_in_grid(); line < of.count; line += warps) {
        const T* const from = of.in.first_of(line);
        const bool aligned = is_aligned<shape::elements>(from);
        const rows_behind_pieces<T> rest(from + std::uint64_t{pieces} * shape::piece, left);
        block_counter<Acc, log_long_row_pieces> walked;
#pragma unroll 1
        for (unsigned piece = 0; piece < pieces; ++piece) {
            const std::uint64_t first = std::uint64_t{piece} * shape::piece;
            const auto place = tile_place::of<shape::elements>(aligned, first, shape::piece, of.length, false);
            walked.push(warp_tile_total<shape, Acc>(from + first, place, op), piece, op);
        }
        const Acc fold = rest.fold_after(walked.fold_after(op.template identity<Acc>(), pieces, op), op);
        if (lane_id() == 0)
            finish(fold, *of.out.first_of(line));
    }
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_block_rows(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                       const Op& op, const Finish& finish)
{
    launch_warp_rows<long_warp_rows, reduce_block_rows_kernel<Acc, T, Out, Rank, Op, Finish>>(target, call, all, op,
                                                                                              finish);
}

// --- lines side by side -------------------------------------------------------------------------------------------------------------

inline constexpr int short_walk = 16;

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
__global__ void __launch_bounds__(long_walk::threads, 3)
    reduce_block_walks_kernel(const __grid_constant__ lines_on_device<T, Out, Rank> of, Op op, Finish finish)
{
    const std::uint64_t line = blockIdx.x * std::uint64_t{long_walk::threads} + threadIdx.x;
    if (line >= of.count)
        return;
    const Acc fold = fold_walk<walked_element_t<Op, Acc, T>>(op.template identity<Acc>(), of.in.first_of(line),
                                                             of.in.stride, static_cast<unsigned>(of.length), op);
    finish(fold, *of.out.first_of(line));
}

// Lines of fewer than 16 elements, for which nothing is kept.
template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
__global__ void __launch_bounds__(long_walk::threads, 4)
    reduce_block_short_kernel(const __grid_constant__ lines_on_device<T, Out, Rank> of, Op op, Finish finish)
{
    using element = vector_element_t<Op, Acc, T>;
    const std::uint64_t line = blockIdx.x * std::uint64_t{long_walk::threads} + threadIdx.x;
    if (line >= of.count)
        return;
    const T* const from = of.in.first_of(line);
    const auto at = [&](int r) { return convert<element>(from[r * of.in.stride]); };
    finish(fold_few<Acc, short_walk / 2>(op.template identity<Acc>(), at, 0, static_cast<int>(of.length), op),
           *of.out.first_of(line));
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_block_walks(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                        const Op& op, const Finish& finish)
{
    if (all.length() < short_walk)
        launch_walk<long_walk>(target, call, reduce_block_short_kernel<Acc, T, Out, Rank, Op, Finish>, all, op, finish);
    else
        launch_walk<long_walk>(target, call, reduce_block_walks_kernel<Acc, T, Out, Rank, Op, Finish>, all, op, finish);
}

// --- which lines --------------------------------------------------------------------------------------------------------------------

enum class block_line_kernels { segments, lanes, rows, pieces, walks, walked_pieces };

template <class T, class Out, std::size_t Rank>
block_line_kernels block_kernels_for(const detail::lines<const T, Out, Rank>& all, bool side_by_side)
{
    constexpr std::uint64_t piece = piece_shape<const T*>::piece;
    constexpr std::uint64_t least_row_bytes = 384;
    constexpr std::uint64_t short_column = 64;
    constexpr std::uint64_t many_columns = 65536; // as many as lanes keep the memory busy
    if (side_by_side)
        return all.length() < short_column ||
                       (all.count() >= many_columns && all.length() < (block_walk_rows<T> << block_walk_levels))
                   ? block_line_kernels::walks
                   : block_line_kernels::walked_pieces;
    if (are_walked_rows(all))
        return block_line_kernels::walks;
    if (may_be_lane_rows<T> && are_lane_rows_of_blocks(all))
        return block_line_kernels::lanes;
    if (all.count() == 0 || all.in.stride(0) != 1 || all.length() * sizeof(T) < least_row_bytes)
        return block_line_kernels::segments;
    const bool are_many = all.count() >= many_block_rows && all.length() < piece << log_long_row_pieces;
    return are_many || all.length() < short_row_pieces * piece ? block_line_kernels::rows : block_line_kernels::pieces;
}

} // namespace upsweep::gpu
