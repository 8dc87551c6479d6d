// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// bfloat16. Every operation is one in float whose result is rounded once, to nearest even, as the hardware rounds it.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda_runtime.h"

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

struct __nv_bfloat16 {
    __nv_bfloat16() = default;
    constexpr __nv_bfloat16(float v) : bits(upsweep::simulator::cuda::bfloat16_bits(v)) {}
    constexpr __nv_bfloat16(double v) : __nv_bfloat16(static_cast<float>(v)) {}
    constexpr __nv_bfloat16(int v) : __nv_bfloat16(static_cast<float>(v)) {}
    constexpr operator float() const { return upsweep::simulator::cuda::bfloat16_value(bits); }
    std::uint16_t bits;
};

struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};
using nv_bfloat162 = __nv_bfloat162;

UPSWEEP_INLINE __nv_bfloat16 __float2bfloat16(float v) { return {v}; }
UPSWEEP_INLINE __nv_bfloat16 __float2bfloat16_rn(float v) { return {v}; }
UPSWEEP_INLINE float __bfloat162float(__nv_bfloat16 v) { return v; }
UPSWEEP_INLINE __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {a, b}; }
UPSWEEP_INLINE float2 __bfloat1622float2(__nv_bfloat162 v) { return {v.x, v.y}; }
UPSWEEP_INLINE float __low2float(__nv_bfloat162 v) { return v.x; }
UPSWEEP_INLINE float __high2float(__nv_bfloat162 v) { return v.y; }
#define UPSWEEP_HALF_OPERATOR(op, name)                                                                                \
    UPSWEEP_INLINE __nv_bfloat16 operator op(__nv_bfloat16 a, __nv_bfloat16 b)                                         \
    {                                                                                                                  \
        return {static_cast<float>(a) op static_cast<float>(b)};                                                       \
    }                                                                                                                  \
    UPSWEEP_INLINE __nv_bfloat16 name(__nv_bfloat16 a, __nv_bfloat16 b) { return a op b; }                             \
    UPSWEEP_INLINE __nv_bfloat162 name##2(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x op b.x, a.y op b.y}; }     \
    UPSWEEP_INLINE __nv_bfloat16& operator op##=(__nv_bfloat16& a, __nv_bfloat16 b) { return a = a op b; }
UPSWEEP_HALF_OPERATOR(+, __hadd)
UPSWEEP_HALF_OPERATOR(-, __hsub)
UPSWEEP_HALF_OPERATOR(*, __hmul)
UPSWEEP_HALF_OPERATOR(/, __hdiv)
#undef UPSWEEP_HALF_OPERATOR
#define UPSWEEP_HALF_COMPARE(op, name)                                                                                 \
    UPSWEEP_INLINE bool operator op(__nv_bfloat16 a, __nv_bfloat16 b)                                                  \
    {                                                                                                                  \
        return static_cast<float>(a) op static_cast<float>(b);                                                         \
    }                                                                                                                  \
    UPSWEEP_INLINE bool name(__nv_bfloat16 a, __nv_bfloat16 b) { return a op b; }
UPSWEEP_HALF_COMPARE(<, __hlt)
UPSWEEP_HALF_COMPARE(>, __hgt)
UPSWEEP_HALF_COMPARE(<=, __hle)
UPSWEEP_HALF_COMPARE(>=, __hge)
UPSWEEP_HALF_COMPARE(==, __heq)
UPSWEEP_HALF_COMPARE(!=, __hne)
#undef UPSWEEP_HALF_COMPARE
UPSWEEP_INLINE __nv_bfloat16 __hmin(__nv_bfloat16 a, __nv_bfloat16 b)
{
    return {std::fmin(static_cast<float>(a), static_cast<float>(b))};
}
UPSWEEP_INLINE __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b)
{
    return {std::fmax(static_cast<float>(a), static_cast<float>(b))};
}
UPSWEEP_INLINE bool __hisnan(__nv_bfloat16 a) { return (a.bits & 0x7fffu) > 0x7f80u; }
