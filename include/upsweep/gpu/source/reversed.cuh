// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/view.hpp>

// Arrays that lie the other way round, x[::-1] for example.
namespace upsweep::gpu {

// Whether each element lies before the previous one, without gaps.
template <class T, std::size_t Rank>
bool lies_reversed(const view<T, Rank>& elements)
{
    for (std::size_t k = 0; k + 1 < Rank; ++k)
        if (elements.extent(k) != 1)
            return false;
    return elements.stride(Rank - 1) == -1;
}

// Turns a lane's vectors from back to front: in the blocked arrangement they become those of the lane that is as far from the other end of the warp.
template <class T, int Elements, int Rows>
__device__ void turn(lane_vector<T, Elements> (&vectors)[Rows])
{
    lane_vector<T, Elements> turned[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        typename lane_vector<T, Elements>::elements all;
#pragma unroll
        for (int j = 0; j < Elements; ++j)
            all.element[j] = vectors[Rows - 1 - r][Elements - 1 - j];
        turned[r] = lane_vector<T, Elements>::of(all);
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r)
        vectors[r] = turned[r];
}

} // namespace upsweep::gpu
