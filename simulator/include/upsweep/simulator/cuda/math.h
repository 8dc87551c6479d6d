// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The intrinsics that need no scheduler: arithmetic, and loads and stores with hints for the cache.
#pragma once

#include <bit>
#include <climits>
#include <cmath>
#include <cstdint>
#include <limits>

#include "upsweep/simulator/cuda/types.h"

#define UPSWEEP_MIN_MAX(a_type, b_type, type)                                                                          \
    inline type min(a_type a, b_type b)                                                                                \
    {                                                                                                                  \
        return static_cast<type>(a) < static_cast<type>(b) ? static_cast<type>(a) : static_cast<type>(b);              \
    }                                                                                                                  \
    inline type max(a_type a, b_type b)                                                                                \
    {                                                                                                                  \
        return static_cast<type>(a) > static_cast<type>(b) ? static_cast<type>(a) : static_cast<type>(b);              \
    }
UPSWEEP_MIN_MAX(int, int, int)
UPSWEEP_MIN_MAX(unsigned, unsigned, unsigned)
UPSWEEP_MIN_MAX(int, unsigned, unsigned)
UPSWEEP_MIN_MAX(unsigned, int, unsigned)
UPSWEEP_MIN_MAX(long, long, long)
UPSWEEP_MIN_MAX(unsigned long, unsigned long, unsigned long)
UPSWEEP_MIN_MAX(long, unsigned long, unsigned long)
UPSWEEP_MIN_MAX(unsigned long, long, unsigned long)
UPSWEEP_MIN_MAX(long long, long long, long long)
UPSWEEP_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
UPSWEEP_MIN_MAX(long long, unsigned long long, unsigned long long)
UPSWEEP_MIN_MAX(unsigned long long, long long, unsigned long long)
#undef UPSWEEP_MIN_MAX
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }

inline int __popc(unsigned v) { return std::popcount(v); }
inline int __popcll(unsigned long long v) { return std::popcount(v); }
inline int __clz(int v) { return std::countl_zero(static_cast<unsigned>(v)); }
inline int __clzll(long long v) { return std::countl_zero(static_cast<unsigned long long>(v)); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned __brev(unsigned v)
{
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(v);
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum)
{
    for (unsigned i = 0; i < 32; i += 8)
        sum += (a >> i & 0xff) * (b >> i & 0xff);
    return sum;
}
inline int __dp4a(int a, int b, int sum)
{
    for (unsigned i = 0; i < 32; i += 8)
        sum += static_cast<signed char>(a >> i) * static_cast<signed char>(b >> i);
    return sum;
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned pick = selector >> 4 * i & 0xf;
        unsigned byte = static_cast<unsigned>(bytes >> 8 * (pick & 7)) & 0xff;
        if (pick & 8)
            byte = byte & 0x80 ? 0xff : 0;
        result |= byte << 8 * i;
    }
    return result;
}
// The minimum or maximum of the lower and of the upper halves, as numbers of type T.
template <class T>
unsigned __extremum_of_halves(unsigned a, unsigned b, bool is_minimum)
{
    unsigned result = 0;
    for (unsigned i = 0; i < 32; i += 16) {
        const T x = static_cast<T>(a >> i);
        const T y = static_cast<T>(b >> i);
        result |= static_cast<unsigned>(static_cast<unsigned short>((x < y) == is_minimum ? x : y)) << i;
    }
    return result;
}
inline unsigned __vmins2(unsigned a, unsigned b) { return __extremum_of_halves<short>(a, b, true); }
inline unsigned __vmaxs2(unsigned a, unsigned b) { return __extremum_of_halves<short>(a, b, false); }
inline unsigned __vminu2(unsigned a, unsigned b) { return __extremum_of_halves<unsigned short>(a, b, true); }
inline unsigned __vmaxu2(unsigned a, unsigned b) { return __extremum_of_halves<unsigned short>(a, b, false); }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    return static_cast<unsigned>((std::uint64_t{high} << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (shift & 31));
}
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(std::uint64_t{a} * b >> 32); }
inline int __mulhi(int a, int b) { return static_cast<int>(std::int64_t{a} * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return static_cast<unsigned long long>(static_cast<upsweep::simulator::device::bits>(a) * b >> 64);
}
inline float __int_as_float(int v) { return std::bit_cast<float>(v); }
inline int __float_as_int(float v) { return std::bit_cast<int>(v); }
inline float __uint_as_float(unsigned v) { return std::bit_cast<float>(v); }
inline unsigned __float_as_uint(float v) { return std::bit_cast<unsigned>(v); }
inline double __longlong_as_double(long long v) { return std::bit_cast<double>(v); }
inline long long __double_as_longlong(double v) { return std::bit_cast<long long>(v); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
// Rounds to nearest, and takes the next number below if the result is above a * b + c. That is exact, because the product of
// two floats fits into a double, and what the sum of two doubles leaves over is computed, too.
inline float __fmaf_rd(float a, float b, float c)
{
    const float nearest = std::fma(a, b, c);
    const double product = static_cast<double>(a) * b;
    const double sum = product + c;
    if (!std::isfinite(sum))
        return nearest;
    const double part = sum - product;
    const double left = (product - (sum - part)) + (c - part);
    const bool is_above = nearest > sum || (nearest == sum && left < 0);
    return is_above ? std::nextafter(nearest, -std::numeric_limits<float>::infinity()) : nearest;
}
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline int __float2int_rn(float v) { return static_cast<int>(std::nearbyint(v)); }
inline int __float2int_rz(float v) { return static_cast<int>(v); }
inline int __float2int_rd(float v) { return static_cast<int>(std::floor(v)); }
inline int __double2int_ru(double v) { return static_cast<int>(std::fmin(std::fmax(std::ceil(v), INT_MIN), INT_MAX)); }
inline unsigned __double2uint_ru(double v)
{
    return static_cast<unsigned>(std::fmin(std::fmax(std::ceil(v), 0), UINT_MAX));
}
inline float __int2float_rn(int v) { return static_cast<float>(v); }
inline float __expf(float v) { return std::exp(v); }
inline float __logf(float v) { return std::log(v); }
inline float __saturatef(float v) { return v > 0 ? (v < 1 ? v : 1.0f) : 0.0f; }
inline float rsqrtf(float v) { return 1.0f / std::sqrt(v); }
inline double rsqrt(double v) { return 1.0 / std::sqrt(v); }

#define UPSWEEP_LOAD(name)                                                                                             \
    template <class T>                                                                                                 \
    __forceinline__ T name(const T* address)                                                                           \
    {                                                                                                                  \
        return *address;                                                                                               \
    }
UPSWEEP_LOAD(__ldg)
UPSWEEP_LOAD(__ldcg)
UPSWEEP_LOAD(__ldca)
UPSWEEP_LOAD(__ldcs)
UPSWEEP_LOAD(__ldlu)
UPSWEEP_LOAD(__ldcv)
#undef UPSWEEP_LOAD
#define UPSWEEP_STORE(name)                                                                                            \
    template <class T>                                                                                                 \
    __forceinline__ void name(T* address, std::type_identity_t<T> value)                                               \
    {                                                                                                                  \
        *address = value;                                                                                              \
    }
UPSWEEP_STORE(__stwb)
UPSWEEP_STORE(__stcg)
UPSWEEP_STORE(__stcs)
UPSWEEP_STORE(__stwt)
#undef UPSWEEP_STORE
