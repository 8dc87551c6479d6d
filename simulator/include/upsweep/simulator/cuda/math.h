// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The intrinsics that need no scheduler: arithmetic, and loads and stores with hints for the cache.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "upsweep/simulator/cuda/rounding.h"
#include "upsweep/simulator/cuda/types.h"
#include "upsweep/simulator/cuda/video.h"

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
inline double min(float a, double b) { return std::fmin(a, b); }
inline double max(float a, double b) { return std::fmax(a, b); }
inline double min(double a, float b) { return std::fmin(a, b); }
inline double max(double a, float b) { return std::fmax(a, b); }
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
inline int __double2hiint(double v) { return static_cast<int>(std::bit_cast<std::int64_t>(v) >> 32); }
inline int __double2loint(double v) { return static_cast<int>(std::bit_cast<std::int64_t>(v)); }
inline double __hiloint2double(int high, int low)
{
    return std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<unsigned>(high)) << 32 |
                                 static_cast<unsigned>(low));
}

// Integers. The products of 24 bits take no less time than others, but programs of the first GPUs use them.
inline int __mul24(int a, int b) { return static_cast<int>(static_cast<std::int64_t>(a << 8 >> 8) * (b << 8 >> 8)); }
inline unsigned __umul24(unsigned a, unsigned b)
{
    return static_cast<unsigned>(static_cast<std::uint64_t>(a & 0xffffffu) * (b & 0xffffffu));
}
inline long long __mul64hi(long long a, long long b)
{
    __extension__ typedef __int128 wide;
    return static_cast<long long>(static_cast<wide>(a) * b >> 64);
}
inline int __hadd(int a, int b) { return static_cast<int>((static_cast<std::int64_t>(a) + b) >> 1); }
inline int __rhadd(int a, int b) { return static_cast<int>((static_cast<std::int64_t>(a) + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b)
{
    return static_cast<unsigned>((static_cast<std::uint64_t>(a) + b) >> 1);
}
inline unsigned __urhadd(unsigned a, unsigned b)
{
    return static_cast<unsigned>((static_cast<std::uint64_t>(a) + b + 1) >> 1);
}
inline unsigned __usad(unsigned a, unsigned b, unsigned sum) { return sum + (a < b ? b - a : a - b); }
inline unsigned __sad(int a, int b, unsigned sum)
{
    return sum + (a < b ? static_cast<unsigned>(b) - static_cast<unsigned>(a)
                        : static_cast<unsigned>(a) - static_cast<unsigned>(b));
}
inline unsigned long long __brevll(unsigned long long v)
{
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(v))) << 32 |
           __brev(static_cast<unsigned>(v >> 32));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift)
{
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift)
{
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
// The position of the set bit that is the offset-th from `base` on: upward, or downward where the offset is negative.
inline unsigned __fns(unsigned mask, unsigned base, int offset)
{
    const int step = offset < 0 ? -1 : 1;
    int left = offset == 0 ? 1 : offset * step;
    for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step) {
        if ((mask >> at & 1u) != 0 && --left == 0)
            return static_cast<unsigned>(at);
        if (offset == 0)
            break;
    }
    return 0xffffffffu;
}
inline int __dp2a_lo(int a, int b, int sum)
{
    return sum + static_cast<short>(a) * static_cast<signed char>(b) + (a >> 16) * static_cast<signed char>(b >> 8);
}
inline int __dp2a_hi(int a, int b, int sum) { return __dp2a_lo(a, b >> 16, sum); }

// Fast functions of floats. They are as exact here as the ordinary ones, where a GPU's are a little less exact.
inline float __fdividef(float a, float b) { return a / b; }
inline float fdividef(float a, float b) { return a / b; }
inline double fdivide(double a, double b) { return a / b; }
inline float __expf(float v) { return std::exp(v); }
inline float __exp10f(float v) { return std::pow(10.0f, v); }
inline float __logf(float v) { return std::log(v); }
inline float __log2f(float v) { return std::log2(v); }
inline float __log10f(float v) { return std::log10(v); }
inline float __powf(float a, float b) { return std::pow(a, b); }
inline float __sinf(float v) { return std::sin(v); }
inline float __cosf(float v) { return std::cos(v); }
inline float __tanf(float v) { return std::tan(v); }
inline float __tanhf(float v) { return std::tanh(v); }
inline void __sincosf(float v, float* sine, float* cosine)
{
    *sine = std::sin(v);
    *cosine = std::cos(v);
}
inline float __saturatef(float v) { return v > 0 ? (v < 1 ? v : 1.0f) : 0.0f; }

// Functions that the C library does not have.
inline float rsqrtf(float v) { return 1.0f / std::sqrt(v); }
inline double rsqrt(double v) { return 1.0 / std::sqrt(v); }
inline float rsqrt(float v) { return rsqrtf(v); }
inline float rcbrtf(float v) { return 1.0f / std::cbrt(v); }
inline double rcbrt(double v) { return 1.0 / std::cbrt(v); }
inline double rhypot(double a, double b) { return 1.0 / std::hypot(a, b); }
inline float rhypotf(float a, float b) { return 1.0f / std::hypot(a, b); }
inline double norm3d(double a, double b, double c) { return std::hypot(a, b, c); }
inline float norm3df(float a, float b, float c) { return std::hypot(a, b, c); }
inline double rnorm3d(double a, double b, double c) { return 1.0 / std::hypot(a, b, c); }
inline float rnorm3df(float a, float b, float c) { return 1.0f / std::hypot(a, b, c); }
inline double norm4d(double a, double b, double c, double d) { return std::hypot(std::hypot(a, b), std::hypot(c, d)); }
inline float norm4df(float a, float b, float c, float d) { return std::hypot(std::hypot(a, b), std::hypot(c, d)); }
double sinpi(double v); // exact at multiples of 1/2
double cospi(double v);
inline float sinpif(float v) { return static_cast<float>(sinpi(v)); }
inline float cospif(float v) { return static_cast<float>(cospi(v)); }
inline void sincospi(double v, double* sine, double* cosine)
{
    *sine = sinpi(v);
    *cosine = cospi(v);
}
inline void sincospif(float v, float* sine, float* cosine)
{
    *sine = sinpif(v);
    *cosine = cospif(v);
}
double normcdfinv(double p);
inline double normcdf(double v) { return std::erfc(-v * 0.70710678118654752440) / 2; }
inline float normcdff(float v) { return static_cast<float>(normcdf(v)); }
inline float normcdfinvf(float p) { return static_cast<float>(normcdfinv(p)); }
inline double erfcinv(double v) { return -0.70710678118654752440 * normcdfinv(v / 2); }
inline float erfcinvf(float v) { return static_cast<float>(erfcinv(v)); }
double erfinv(double v);
inline float erfinvf(float v) { return static_cast<float>(erfinv(v)); }
inline double erfcx(double v)
{
    return v < 25 ? std::exp(v * v) * std::erfc(v) : 0.56418958354775628695 / v * (1 - 1 / (2 * v * v));
}
inline float erfcxf(float v) { return static_cast<float>(erfcx(v)); }

#define UPSWEEP_OF_FLOATS(name)                                                                                        \
    inline float name(float v) { return name##f(v); }
UPSWEEP_OF_FLOATS(rcbrt)
UPSWEEP_OF_FLOATS(sinpi)
UPSWEEP_OF_FLOATS(cospi)
UPSWEEP_OF_FLOATS(normcdf)
UPSWEEP_OF_FLOATS(normcdfinv)
UPSWEEP_OF_FLOATS(erfcinv)
UPSWEEP_OF_FLOATS(erfinv)
UPSWEEP_OF_FLOATS(erfcx)
#undef UPSWEEP_OF_FLOATS
inline float fdivide(float a, float b) { return a / b; }
inline float rhypot(float a, float b) { return rhypotf(a, b); }

inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
inline long long llmin(long long a, long long b) { return a < b ? a : b; }
inline long long llmax(long long a, long long b) { return a < b ? b : a; }
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a < b ? b : a; }

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
