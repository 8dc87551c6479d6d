// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// bfloat16. Every operation is one in float or double whose result is rounded once, to nearest even, as the hardware rounds it.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda_runtime.h"
#include "upsweep/simulator/cuda/round_to_odd.h"

namespace upsweep::simulator::cuda {

constexpr std::uint16_t bfloat16_bits(float value)
{
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return 0x7fffu;
    return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

constexpr float bfloat16_value(std::uint16_t bits)
{
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

} // namespace upsweep::simulator::cuda

#define UPSWEEP_SCALAR __nv_bfloat16
#define UPSWEEP_PAIR __nv_bfloat162
#define UPSWEEP_RAW __nv_bfloat16_raw
#define UPSWEEP_RAW_PAIR __nv_bfloat162_raw
#define UPSWEEP_TO_BITS upsweep::simulator::cuda::bfloat16_bits
#define UPSWEEP_FROM_BITS upsweep::simulator::cuda::bfloat16_value
#define UPSWEEP_INFINITY_BITS 0x7f80u
#define UPSWEEP_NAMED(before, after) before##bfloat16##after
#include "upsweep/simulator/cuda/small_float.inc"

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return {a, a}; }
#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80u)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7fffu)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80u)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000u)
