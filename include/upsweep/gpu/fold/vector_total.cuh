// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <upsweep/gpu/fold/packed.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/op.hpp>

// What the lanes of a reduce make of their elements.
namespace upsweep::gpu {

// Whether every order of the operands gives the same bits, so that the cheapest may be taken.
template <class Op, class Acc>
inline constexpr bool is_any_order = detail::is_exact<Op, Acc> ||
                                     (detail::is_extremum<Op> && std::is_floating_point_v<Acc>);

// The type in which a lane adds up its elements of a chunk: sums of narrow integers fit into 32 bits there.
template <class Op, class Acc, class T>
using lane_accumulator_t =
    std::conditional_t<std::is_same_v<Op, plus> && std::is_integral_v<T> && sizeof(T) <= 2,
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>, Acc>;

// The total of a vector, in the type in which a lane adds up where any order will do.
template <class Acc, class T, int Count, class Op>
__device__ auto vector_total(const lane_vector<T, Count>& vector, const Op& op)
{
    using partial = std::conditional_t<is_any_order<Op, Acc>, lane_accumulator_t<Op, Acc, T>, Acc>;
    if constexpr (!std::is_same_v<partial, Acc> && sizeof(T) == 1) {
        return add_bytes(vector.memory, partial{});
    } else {
        partial values[Count];
#pragma unroll
        for (int j = 0; j < Count; ++j)
            values[j] = convert<partial>(vector[j]);
        return lane_total<Count>(values, op);
    }
}

} // namespace upsweep::gpu
