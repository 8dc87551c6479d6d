// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Complex numbers as pairs of floats (cuFloatComplex, cuComplex) and of doubles (cuDoubleComplex).
#pragma once

#include <cmath>

#include "cuda_runtime.h"

using cuFloatComplex = float2;
using cuComplex = cuFloatComplex;
using cuDoubleComplex = double2;

#define UPSWEEP_COMPLEX(type, real, f, make)                                                                           \
    inline __host__ __device__ real cuCreal##f(type a) { return a.x; }                                                 \
    inline __host__ __device__ real cuCimag##f(type a) { return a.y; }                                                 \
    inline __host__ __device__ type make(real x, real y) { return {x, y}; }                                            \
    inline __host__ __device__ type cuConj##f(type a) { return {a.x, -a.y}; }                                          \
    inline __host__ __device__ type cuCadd##f(type a, type b) { return {a.x + b.x, a.y + b.y}; }                       \
    inline __host__ __device__ type cuCsub##f(type a, type b) { return {a.x - b.x, a.y - b.y}; }                       \
    inline __host__ __device__ type cuCmul##f(type a, type b)                                                          \
    {                                                                                                                  \
        return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};                                                         \
    }                                                                                                                  \
    inline __host__ __device__ type cuCdiv##f(type a, type b)                                                          \
    {                                                                                                                  \
        const real scale = 1 / (std::fabs(b.x) + std::fabs(b.y));                                                      \
        const type p{a.x * scale, a.y * scale}, q{b.x * scale, b.y * scale};                                           \
        const real inverse = 1 / (q.x * q.x + q.y * q.y);                                                              \
        return {(p.x * q.x + p.y * q.y) * inverse, (p.y * q.x - p.x * q.y) * inverse};                                 \
    }                                                                                                                  \
    inline __host__ __device__ real cuCabs##f(type a) { return std::hypot(a.x, a.y); }                                 \
    inline __host__ __device__ type cuCfma##f(type a, type b, type c)                                                  \
    {                                                                                                                  \
        return {a.x * b.x + c.x - a.y * b.y, a.x * b.y + c.y + a.y * b.x};                                             \
    }
UPSWEEP_COMPLEX(cuFloatComplex, float, f, make_cuFloatComplex)
UPSWEEP_COMPLEX(cuDoubleComplex, double, , make_cuDoubleComplex)
#undef UPSWEEP_COMPLEX
inline __host__ __device__ cuComplex make_cuComplex(float x, float y) { return {x, y}; }
inline __host__ __device__ cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) { return {a.x, a.y}; }
inline __host__ __device__ cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a)
{
    return {static_cast<float>(a.x), static_cast<float>(a.y)};
}
