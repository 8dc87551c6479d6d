// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <upsweep/gpu/primitive/divider.cuh>

// The lines along an axis of several views of equal extents, which need not lie alike.
namespace upsweep::gpu {

// Where lines begin in each of several arrays, and how far apart their elements are.
template <int Arrays, std::size_t Rank>
struct several_lines {
    std::uint64_t length;
    std::uint64_t count = 1;
    std::int64_t along[Arrays];
    std::int64_t strides[Rank][Arrays]; // of all dimensions but the axis, which has one index alone
    divider extents[Rank];

    // Neighbouring lines are those that lie closest together in the array number `nearest`.
    several_lines(std::array<std::size_t, Rank> of, std::array<std::array<std::ptrdiff_t, Arrays>, Rank> steps,
                  std::size_t axis, int nearest)
        : length(of[axis])
    {
        for (int n = 0; n < Arrays; ++n)
            along[n] = steps[axis][n];
        of[axis] = 1;
        steps[axis] = {};
        const auto distance = [&](std::size_t k) {
            return steps[k][nearest] < 0 ? -steps[k][nearest] : steps[k][nearest];
        };
        for (std::size_t k = 1; k < Rank; ++k) // by insertion: there are few
            for (std::size_t j = k; j > 0 && distance(j - 1) < distance(j); --j) {
                std::swap(of[j - 1], of[j]);
                std::swap(steps[j - 1], steps[j]);
            }
        for (std::size_t k = 0; k < Rank; ++k) {
            count *= of[k];
            extents[k] = divider(of[k] != 0 ? of[k] : 1);
            for (int n = 0; n < Arrays; ++n)
                strides[k][n] = steps[k][n];
        }
    }

    // Whether neighbouring lines lie closer together than the elements of one.
    bool lie_side_by_side(int array) const
    {
        const auto size = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
        std::int64_t least = size(along[array]);
        for (std::size_t k = 0; k < Rank; ++k)
            if (extents[k].divisor > 1 && size(strides[k][array]) < least)
                return true;
        return false;
    }

    // Where a line begins in each array. SkipsOnes passes over dimensions of one index, which is worth branches where there is little else to do.
    template <bool SkipsOnes = false>
    __device__ void find(std::uint64_t line, std::int64_t (&offsets)[Arrays]) const
    {
#pragma unroll
        for (int n = 0; n < Arrays; ++n)
            offsets[n] = 0;
#pragma unroll
        for (int k = static_cast<int>(Rank) - 1; k >= 0; --k) {
            if (SkipsOnes && extents[k].divisor == 1)
                continue;
            const std::uint64_t rest = extents[k].quotient(line);
            const auto index = static_cast<std::int64_t>(line - rest * extents[k].divisor);
#pragma unroll
            for (int n = 0; n < Arrays; ++n)
                offsets[n] += index * strides[k][n];
            line = rest;
        }
    }
};

} // namespace upsweep::gpu
