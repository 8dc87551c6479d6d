// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Half precision. Every operation is one in float whose result is rounded once, to nearest even, as the hardware rounds it.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda_runtime.h"

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

struct __half {
    __half() = default;
    constexpr __half(float v) : bits(upsweep::simulator::cuda::half_bits(v)) {}
    constexpr __half(double v) : __half(static_cast<float>(v)) {}
    constexpr __half(int v) : __half(static_cast<float>(v)) {}
    constexpr operator float() const { return upsweep::simulator::cuda::half_value(bits); }
    std::uint16_t bits;
};
using half = __half;
struct alignas(4) __half2 {
    __half x, y;
};
using half2 = __half2;

UPSWEEP_INLINE __half __float2half(float v) { return {v}; }
UPSWEEP_INLINE __half __float2half_rn(float v) { return {v}; }
UPSWEEP_INLINE float __half2float(__half v) { return v; }
UPSWEEP_INLINE __half2 __floats2half2_rn(float a, float b) { return {a, b}; }
UPSWEEP_INLINE float2 __half22float2(__half2 v) { return {v.x, v.y}; }
UPSWEEP_INLINE float __low2float(__half2 v) { return v.x; }
UPSWEEP_INLINE float __high2float(__half2 v) { return v.y; }
#define UPSWEEP_HALF_OPERATOR(op, name)                                                                                \
    UPSWEEP_INLINE __half operator op(__half a, __half b) { return {static_cast<float>(a) op static_cast<float>(b)}; } \
    UPSWEEP_INLINE __half name(__half a, __half b) { return a op b; }                                                  \
    UPSWEEP_INLINE __half2 name##2(__half2 a, __half2 b) { return {a.x op b.x, a.y op b.y}; }                          \
    UPSWEEP_INLINE __half& operator op##=(__half& a, __half b) { return a = a op b; }
UPSWEEP_HALF_OPERATOR(+, __hadd)
UPSWEEP_HALF_OPERATOR(-, __hsub)
UPSWEEP_HALF_OPERATOR(*, __hmul)
UPSWEEP_HALF_OPERATOR(/, __hdiv)
#undef UPSWEEP_HALF_OPERATOR
#define UPSWEEP_HALF_COMPARE(op, name)                                                                                 \
    UPSWEEP_INLINE bool operator op(__half a, __half b) { return static_cast<float>(a) op static_cast<float>(b); }     \
    UPSWEEP_INLINE bool name(__half a, __half b) { return a op b; }
UPSWEEP_HALF_COMPARE(<, __hlt)
UPSWEEP_HALF_COMPARE(>, __hgt)
UPSWEEP_HALF_COMPARE(<=, __hle)
UPSWEEP_HALF_COMPARE(>=, __hge)
UPSWEEP_HALF_COMPARE(==, __heq)
UPSWEEP_HALF_COMPARE(!=, __hne)
#undef UPSWEEP_HALF_COMPARE
UPSWEEP_INLINE __half __hmin(__half a, __half b) { return {std::fmin(static_cast<float>(a), static_cast<float>(b))}; }
UPSWEEP_INLINE __half __hmax(__half a, __half b) { return {std::fmax(static_cast<float>(a), static_cast<float>(b))}; }
UPSWEEP_INLINE bool __hisnan(__half a) { return (a.bits & 0x7fffu) > 0x7c00u; }
