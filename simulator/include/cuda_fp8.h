// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Numbers of 8 bits, which are stored and converted: e4m3, which has no infinity, and e5m2.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"

enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned;

namespace upsweep::simulator::cuda {

struct fp8_format {
    int mantissa, bias;
    float largest;
    unsigned beyond, nan; // what stands for numbers beyond the largest, without saturation
};
inline const fp8_format& format_of(__nv_fp8_interpretation_t kind)
{
    static const fp8_format e4m3{3, 7, 448.0f, 0x7f, 0x7f}, e5m2{2, 15, 57344.0f, 0x7c, 0x7e};
    return kind == __NV_E4M3 ? e4m3 : e5m2;
}

inline float fp8_value(unsigned char bits, __nv_fp8_interpretation_t kind)
{
    const fp8_format& f = format_of(kind);
    const int exponent = (bits & 0x7f) >> f.mantissa, fraction = bits & ((1 << f.mantissa) - 1);
    float value = std::ldexp(static_cast<float>(fraction + (exponent > 0 ? 1 << f.mantissa : 0)),
                             (exponent > 0 ? exponent : 1) - f.bias - f.mantissa);
    if (kind == __NV_E4M3 ? (bits & 0x7f) == 0x7f : (bits & 0x7f) > 0x7c)
        value = NAN;
    else if (kind == __NV_E5M2 && (bits & 0x7f) == 0x7c)
        value = INFINITY;
    return bits & 0x80 ? -value : value;
}

// To nearest even.
inline unsigned char fp8_bits(float value, __nv_saturation_t saturation, __nv_fp8_interpretation_t kind)
{
    const fp8_format& f = format_of(kind);
    if (std::isnan(value))
        return static_cast<unsigned char>(f.nan);
    const unsigned sign = std::signbit(value) ? 0x80 : 0;
    const float size = std::fabs(value);
    int exponent = 0;
    std::frexp(size, &exponent); // size is below 2^exponent
    // Subnormal numbers have the smallest exponent, and so has 0.
    exponent = size == 0 ? 1 - f.bias : std::max(exponent - 1, 1 - f.bias);
    const float unit = std::ldexp(1.0f, exponent - f.mantissa);
    const float rounded = std::isinf(size) ? size : std::nearbyint(size / unit) * unit;
    if (rounded > f.largest) {
        const unsigned largest = kind == __NV_E4M3 ? 0x7e : 0x7b;
        return static_cast<unsigned char>(sign | (saturation == __NV_SATFINITE ? largest : f.beyond));
    }
    // Units of the exponent, the leading one included, carry into the next exponent where they are rounded up to it.
    const auto units = static_cast<unsigned>(rounded / unit);
    const auto bits = (static_cast<unsigned>(exponent + f.bias - 1) << f.mantissa) + units;
    return static_cast<unsigned char>(sign | bits);
}

} // namespace upsweep::simulator::cuda

inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float v, __nv_saturation_t saturation, __nv_fp8_interpretation_t kind)
{
    return upsweep::simulator::cuda::fp8_bits(v, saturation, kind);
}
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t v, __nv_fp8_interpretation_t kind)
{
    return __half(upsweep::simulator::cuda::fp8_value(v, kind));
}
#define UPSWEEP_FP8(name, kind)                                                                                        \
    struct name {                                                                                                      \
        name() = default;                                                                                              \
        explicit name(float v) : __x(upsweep::simulator::cuda::fp8_bits(v, __NV_SATFINITE, kind)) {}                   \
        explicit name(double v) : name(static_cast<float>(v)) {}                                                       \
        explicit name(__half v) : name(static_cast<float>(v)) {}                                                       \
        explicit name(__nv_bfloat16 v) : name(static_cast<float>(v)) {}                                                \
        explicit name(int v) : name(static_cast<float>(v)) {}                                                          \
        explicit operator float() const { return upsweep::simulator::cuda::fp8_value(__x, kind); }                     \
        explicit operator double() const { return static_cast<float>(*this); }                                         \
        explicit operator __half() const { return static_cast<float>(*this); }                                         \
        explicit operator __nv_bfloat16() const { return static_cast<float>(*this); }                                  \
        __nv_fp8_storage_t __x;                                                                                        \
    };
UPSWEEP_FP8(__nv_fp8_e4m3, __NV_E4M3)
UPSWEEP_FP8(__nv_fp8_e5m2, __NV_E5M2)
#undef UPSWEEP_FP8
