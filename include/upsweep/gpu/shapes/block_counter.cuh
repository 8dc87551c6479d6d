// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/few.cuh>
#include <upsweep/op.hpp>

// What a lane knows of a line along which it walks, block by block.
namespace upsweep::gpu {

// The blocks that a lane or a warp has walked past, fewer than 2^Levels: a binary counter in registers, whose digit k is the total of 2^k blocks,
// and of a type of its own.
template <class Total, int Levels>
class block_counter {
public:
    block_counter() = default;
    template <class Op>
    __device__ explicit block_counter(const Op&)
    {
    }

    // Adds the total of block number `blocks`.
    template <class Op>
    __device__ void push(const Total& total, unsigned blocks, const Op& op)
    {
        if ((blocks & 1) != 0)
            above_.push(op(total_, total), blocks >> 1, op);
        else
            total_ = total;
    }

    // before (+) the fold of so many blocks, all that there have been.
    template <class Acc, class Op>
    __device__ Acc fold_after(const Acc& before, unsigned blocks, const Op& op) const
    {
        const Acc of_larger = above_.fold_after(before, blocks >> 1, op);
        return (blocks & 1) != 0 ? op(of_larger, static_cast<Acc>(total_)) : of_larger;
    }

private:
    Total total_;
    block_counter<detail::joined_t<Total>, Levels - 1> above_;
};
template <class Total>
class block_counter<Total, 0> {
public:
    template <class Op>
    __device__ void push(const Total&, unsigned, const Op&)
    {
    }
    template <class Acc, class Op>
    __device__ Acc fold_after(const Acc& before, unsigned, const Op&) const
    {
        return before;
    }
};

// The same where any order of the blocks has the same bits.
template <class Acc>
class any_order_counter {
public:
    any_order_counter() = default;
    template <class Op>
    __device__ explicit any_order_counter(const Op& op) : fold_(op.template identity<Acc>())
    {
    }

    template <class Total, class Op>
    __device__ void push(const Total& total, unsigned, const Op& op)
    {
        fold_ = op(fold_, convert<Acc>(total));
    }
    template <class Op>
    __device__ Acc fold_after(const Acc& before, unsigned, const Op& op) const
    {
        return op(before, fold_);
    }

private:
    Acc fold_;
};

// Of blocks whose totals have the type Total, and are accumulated in Acc.
template <class Op, class Acc, class Total, int Levels>
using counter_of_blocks =
    std::conditional_t<is_any_order<Op, Acc>, any_order_counter<Acc>, block_counter<Total, Levels>>;

// The type in which the elements of a block are folded.
template <class Op, class Acc, class T>
using walked_element_t =
    std::conditional_t<is_any_order<Op, Acc>, element_of_few_t<Op, Acc, T>, vector_element_t<Op, Acc, T>>;

// The type of the elements behind the last whole block, where those of blocks are folded as Element.
template <class Op, class Acc, class Element>
using rest_element_t = std::conditional_t<is_any_order<Op, Acc>, Acc, Element>;

// Blocks of so many rows, 64 bytes of a line; a lane walks fewer than 2^block_walk_levels of them.
template <class T>
inline constexpr int block_walk_rows = sizeof(T) < 8 ? 16 : 8;
inline constexpr int block_walk_levels = 8;

// before (+) the fold of `count` elements from `from` on, `stride` apart, fewer than the lane can walk. They are folded as Element.
template <class Element, class Acc, class T, class Op>
__device__ Acc fold_walk(const Acc& before, const T* from, std::int64_t stride, unsigned count, const Op& op)
{
    constexpr int rows = block_walk_rows<T>;
    using total = decltype(lane_total<rows>(static_cast<const Element*>(nullptr), op));
    counter_of_blocks<Op, Acc, total, block_walk_levels> walked(op);
    const unsigned whole = count / rows;
#pragma unroll 1
    for (unsigned block = 0; block < whole; ++block) {
        T loaded[rows];
#pragma unroll
        for (int r = 0; r < rows; ++r, from += stride)
            loaded[r] = *from;
        Element values[rows];
#pragma unroll
        for (int r = 0; r < rows; ++r)
            values[r] = convert<Element>(loaded[r]);
        walked.push(lane_total<rows>(values, op), block, op);
    }
    const auto rest = [&](int r) { return convert<rest_element_t<Op, Acc, Element>>(from[r * stride]); };
    return fold_few<Acc, rows / 2>(walked.fold_after(before, whole, op), rest, 0, static_cast<int>(count % rows), op);
}

} // namespace upsweep::gpu
