// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/gpu/primitive/warp.cuh>

// What one lane folds alone: few elements, fewer than 32, at places that at(i) reads. The binary digits of their number cut them into
// aligned blocks, each of which is a tree in registers.
namespace upsweep::gpu {

inline constexpr int few = 32;

// at.from(first), where there is such a thing, reads up to At::reach elements from number `first` on, by fewer instructions.
template <int Size, class At, class Op>
__device__ auto block_total(const At& at, int first, const Op& op)
{
    if constexpr (Size == 1) {
        return at(first);
    } else if constexpr (requires { requires Size <= At::reach; }) {
        return block_total<Size>(at.from(first), 0, op);
    } else {
        using half = decltype(block_total<Size / 2>(at, first, op));
        return static_cast<detail::joined_t<half>>(
            op(block_total<Size / 2>(at, first, op), block_total<Size / 2>(at, first + Size / 2, op)));
    }
}

// before (+) the fold of `count` elements from number `first` on, fewer than 2 Size.
template <class T, int Size = few / 2, class At, class Op>
__device__ T fold_few(T before, const At& at, int first, int count, const Op& op)
{
    if ((count & Size) != 0) {
        before = op(before, static_cast<T>(block_total<Size>(at, first, op)));
        first += Size;
    }
    if constexpr (Size > 1)
        return fold_few<T, Size / 2>(before, at, first, count, op);
    else
        return before;
}

// Calls put(i, before (+) fold before element i, the same with element i) for `count` elements from number `first` on, and returns
// the latter of all of them.
template <class T, int Size = few / 2, class At, class Put, class Op>
__device__ T scan_few(T before, const At& at, const Put& put, int first, int count, const Op& op)
{
    if ((count & Size) != 0) {
        T values[Size];
        T folds[Size + 1];
#pragma unroll
        for (int j = 0; j < Size; ++j)
            values[j] = at(first + j);
        lane_folds<Size>(before, values, folds, op);
        before = op(before, lane_total<Size>(values, op));
        folds[Size] = before;
#pragma unroll
        for (int j = 0; j < Size; ++j)
            put(first + j, folds[j], folds[j + 1]);
        first += Size;
    }
    if constexpr (Size > 1)
        return scan_few<T, Size / 2>(before, at, put, first, count, op);
    else
        return before;
}

} // namespace upsweep::gpu
