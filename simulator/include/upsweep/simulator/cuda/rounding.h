// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The intrinsics whose names end in _rn, _rz, _ru or _rd: arithmetic and conversions that round to nearest, toward zero, up or
// down.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "upsweep/simulator/cuda/types.h"

namespace upsweep::simulator::rounding {

enum class direction { nearest, zero, up, down };

float add(float a, float b, direction to);
float subtract(float a, float b, direction to);
float multiply(float a, float b, direction to);
float divide(float a, float b, direction to);
float multiply_add(float a, float b, float c, direction to);
float square_root(float a, direction to);
double add(double a, double b, direction to);
double subtract(double a, double b, direction to);
double multiply(double a, double b, direction to);
double divide(double a, double b, direction to);
double multiply_add(double a, double b, double c, direction to);
double square_root(double a, direction to);
template <class To, class From>
To convert(From value, direction to);

// To an integer, as GPUs do it: values outside the range become its nearest end, and a NaN becomes 0, or the number whose only
// bit is the highest where either type has 64 bits.
template <class To, class From>
inline To to_integer(From value, direction to)
{
    if (std::isnan(value))
        return sizeof(From) < 8 && sizeof(To) < 8 ? To{0} : static_cast<To>(std::uint64_t{1} << (8 * sizeof(To) - 1));
    const From whole = to == direction::zero   ? std::trunc(value)
                       : to == direction::up   ? std::ceil(value)
                       : to == direction::down ? std::floor(value)
                                               : std::nearbyint(value);
    constexpr From beyond =
        static_cast<From>(std::uint64_t{1} << (8 * sizeof(To) - 1)) * (std::is_signed_v<To> ? 1 : 2);
    if (whole >= beyond)
        return std::numeric_limits<To>::max();
    if (whole < (std::is_signed_v<To> ? -beyond : From{0}))
        return std::numeric_limits<To>::min();
    return static_cast<To>(whole);
}

} // namespace upsweep::simulator::rounding

#define UPSWEEP_ROUNDED(suffix, how)                                                                                   \
    inline float __fadd_##suffix(float a, float b)                                                                     \
    {                                                                                                                  \
        return upsweep::simulator::rounding::add(a, b, upsweep::simulator::rounding::direction::how);                  \
    }                                                                                                                  \
    inline float __fsub_##suffix(float a, float b)                                                                     \
    {                                                                                                                  \
        return upsweep::simulator::rounding::subtract(a, b, upsweep::simulator::rounding::direction::how);             \
    }                                                                                                                  \
    inline float __fmul_##suffix(float a, float b)                                                                     \
    {                                                                                                                  \
        return upsweep::simulator::rounding::multiply(a, b, upsweep::simulator::rounding::direction::how);             \
    }                                                                                                                  \
    inline float __fdiv_##suffix(float a, float b)                                                                     \
    {                                                                                                                  \
        return upsweep::simulator::rounding::divide(a, b, upsweep::simulator::rounding::direction::how);               \
    }                                                                                                                  \
    inline float __frcp_##suffix(float a) { return __fdiv_##suffix(1.0f, a); }                                         \
    inline float __fsqrt_##suffix(float a)                                                                             \
    {                                                                                                                  \
        return upsweep::simulator::rounding::square_root(a, upsweep::simulator::rounding::direction::how);             \
    }                                                                                                                  \
    inline double __dadd_##suffix(double a, double b)                                                                  \
    {                                                                                                                  \
        return upsweep::simulator::rounding::add(a, b, upsweep::simulator::rounding::direction::how);                  \
    }                                                                                                                  \
    inline double __dsub_##suffix(double a, double b)                                                                  \
    {                                                                                                                  \
        return upsweep::simulator::rounding::subtract(a, b, upsweep::simulator::rounding::direction::how);             \
    }                                                                                                                  \
    inline double __dmul_##suffix(double a, double b)                                                                  \
    {                                                                                                                  \
        return upsweep::simulator::rounding::multiply(a, b, upsweep::simulator::rounding::direction::how);             \
    }                                                                                                                  \
    inline double __ddiv_##suffix(double a, double b)                                                                  \
    {                                                                                                                  \
        return upsweep::simulator::rounding::divide(a, b, upsweep::simulator::rounding::direction::how);               \
    }                                                                                                                  \
    inline double __drcp_##suffix(double a) { return __ddiv_##suffix(1.0, a); }                                        \
    inline double __dsqrt_##suffix(double a)                                                                           \
    {                                                                                                                  \
        return upsweep::simulator::rounding::square_root(a, upsweep::simulator::rounding::direction::how);             \
    }                                                                                                                  \
    inline double __fma_##suffix(double a, double b, double c)                                                         \
    {                                                                                                                  \
        return upsweep::simulator::rounding::multiply_add(a, b, c, upsweep::simulator::rounding::direction::how);      \
    }
UPSWEEP_ROUNDED(rz, zero)
UPSWEEP_ROUNDED(ru, up)
UPSWEEP_ROUNDED(rd, down)
#undef UPSWEEP_ROUNDED
inline float __fmaf_rz(float a, float b, float c)
{
    return upsweep::simulator::rounding::multiply_add(a, b, c, upsweep::simulator::rounding::direction::zero);
}
inline float __fmaf_ru(float a, float b, float c)
{
    return upsweep::simulator::rounding::multiply_add(a, b, c, upsweep::simulator::rounding::direction::up);
}
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

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __frsqrt_rn(float a) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a))); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline double __drcp_rn(double a) { return 1.0 / a; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }

#define UPSWEEP_FROM_FLOAT(suffix, how)                                                                                \
    UPSWEEP_TO_INTEGER(float, int, int, suffix, how)                                                                   \
    UPSWEEP_TO_INTEGER(float, uint, unsigned, suffix, how)                                                             \
    UPSWEEP_TO_INTEGER(float, ll, long long, suffix, how)                                                              \
    UPSWEEP_TO_INTEGER(float, ull, unsigned long long, suffix, how)                                                    \
    UPSWEEP_TO_INTEGER(double, int, int, suffix, how)                                                                  \
    UPSWEEP_TO_INTEGER(double, uint, unsigned, suffix, how)                                                            \
    UPSWEEP_TO_INTEGER(double, ll, long long, suffix, how)                                                             \
    UPSWEEP_TO_INTEGER(double, ull, unsigned long long, suffix, how)                                                   \
    UPSWEEP_TO_FLOAT(double2float, double, float, suffix, how)                                                         \
    UPSWEEP_TO_FLOAT(int2float, int, float, suffix, how)                                                               \
    UPSWEEP_TO_FLOAT(uint2float, unsigned, float, suffix, how)                                                         \
    UPSWEEP_TO_FLOAT(ll2float, long long, float, suffix, how)                                                          \
    UPSWEEP_TO_FLOAT(ull2float, unsigned long long, float, suffix, how)                                                \
    UPSWEEP_TO_FLOAT(ll2double, long long, double, suffix, how)                                                        \
    UPSWEEP_TO_FLOAT(ull2double, unsigned long long, double, suffix, how)
#define UPSWEEP_TO_INTEGER(from, name, to, suffix, how)                                                                \
    inline to __##from##2##name##_##suffix(from value)                                                                 \
    {                                                                                                                  \
        return upsweep::simulator::rounding::to_integer<to>(value, upsweep::simulator::rounding::direction::how);      \
    }
#define UPSWEEP_TO_FLOAT(name, from, to, suffix, how)                                                                  \
    inline to __##name##_##suffix(from value)                                                                          \
    {                                                                                                                  \
        return upsweep::simulator::rounding::convert<to>(value, upsweep::simulator::rounding::direction::how);         \
    }
UPSWEEP_FROM_FLOAT(rz, zero)
UPSWEEP_FROM_FLOAT(ru, up)
UPSWEEP_FROM_FLOAT(rd, down)
#undef UPSWEEP_TO_FLOAT
#define UPSWEEP_TO_FLOAT(name, from, to, suffix, how)                                                                  \
    inline to __##name##_##suffix(from value) { return static_cast<to>(value); }
UPSWEEP_FROM_FLOAT(rn, nearest)
#undef UPSWEEP_TO_FLOAT
#undef UPSWEEP_TO_INTEGER
#undef UPSWEEP_FROM_FLOAT
inline double __int2double_rn(int value) { return value; }
inline double __uint2double_rn(unsigned value) { return value; }
