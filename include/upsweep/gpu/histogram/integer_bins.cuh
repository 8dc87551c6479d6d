// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <upsweep/bins.hpp>
#include <upsweep/gpu/histogram/bin_finder.cuh>
#include <upsweep/gpu/primitive/vector.cuh>

// Bins of integer bins.
namespace upsweep::gpu {

template <class T>
struct integer_bin_finder {
    static constexpr bin_range range = bin_range::any;

    detail::integer_offset<T> offset;
    std::size_t bins;

    constexpr std::size_t shared_bytes() const { return 0; }

    struct function {
        detail::integer_offset<T> offset;

        __device__ bin_index operator()(T sample) const { return offset(sample); }

        // Of some samples at once: only if one is in no bin, each is asked on which side of them it is.
        template <int Count>
        __device__ void find(const lane_vector<T, Count>& samples, bin_index (&found)[Count]) const
        {
            bool all_inside = true;
#pragma unroll
            for (int j = 0; j < Count; ++j) {
                const auto distance = offset.distance(samples[j]);
                all_inside &= offset.is_inside(distance);
                found[j] = offset.bin_at(distance);
            }
            if (!all_inside)
#pragma unroll
                for (int j = 0; j < Count; ++j)
                    found[j] = offset(samples[j]);
        }
    };

    __device__ function of_block(void*) const { return {offset}; }
};

} // namespace upsweep::gpu
