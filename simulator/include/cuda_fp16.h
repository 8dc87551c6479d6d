// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Half precision. Every operation is one in float or double whose result is rounded once, to nearest even, as the hardware
// rounds it.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda_runtime.h"
#include "upsweep/simulator/cuda/round_to_odd.h"

namespace upsweep::simulator::cuda {

constexpr std::uint16_t half_bits(float value)
{
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return static_cast<std::uint16_t>(sign | 0x7fffu);
    if (magnitude >= 0x477ff000u)
        return static_cast<std::uint16_t>(sign | 0x7c00u);
    if (magnitude < 0x38800000u) { // subnormal halves: units of 2^-24
        const int shift = 126 - static_cast<int>(magnitude >> 23);
        if (shift > 24)
            return sign;
        const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
        const std::uint32_t rest = mantissa & ((1u << shift) - 1), middle = 1u << (shift - 1);
        std::uint32_t units = mantissa >> shift;
        units += rest > middle || (rest == middle && (units & 1u));
        return static_cast<std::uint16_t>(sign | units);
    }
    const std::uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
    return static_cast<std::uint16_t>(sign | (rounded - 0x38000000u) >> 13);
}

constexpr float half_value(std::uint16_t half)
{
    const std::uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 0x1fu, mantissa = half & 0x3ffu;
    if (exponent == 31)
        return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
    if (exponent != 0)
        return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
    const float small = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -small : small;
}

} // namespace upsweep::simulator::cuda

#define UPSWEEP_SCALAR __half
#define UPSWEEP_PAIR __half2
#define UPSWEEP_RAW __half_raw
#define UPSWEEP_RAW_PAIR __half2_raw
#define UPSWEEP_TO_BITS upsweep::simulator::cuda::half_bits
#define UPSWEEP_FROM_BITS upsweep::simulator::cuda::half_value
#define UPSWEEP_INFINITY_BITS 0x7c00u
#define UPSWEEP_NAMED(before, after) before##half##after
#include "upsweep/simulator/cuda/small_float.inc"

using half = __half;
using half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;
inline __half2 __half2half2(__half a) { return {a, a}; }
#define CUDART_INF_FP16 __ushort_as_half(0x7c00u)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fffu)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bffu)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00u)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000u)
