// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of CUDA's vectors of two to four floats, ints and unsigned ints, under the names of the CUDA samples. Every function
// works member by member, unless its comment says otherwise.
#pragma once

#include <cuda_runtime.h>
#include <math.h>

typedef unsigned int uint;
typedef unsigned short ushort;

// Vectors of one value, of parts of other vectors, and of other element types.
#define UPSWEEP_SAMPLES_SPLAT(name, type)                                                                              \
    inline __host__ __device__ name##2 make_##name##2(type s) { return make_##name##2(s, s); }                         \
    inline __host__ __device__ name##3 make_##name##3(type s) { return make_##name##3(s, s, s); }                      \
    inline __host__ __device__ name##4 make_##name##4(type s) { return make_##name##4(s, s, s, s); }                   \
    inline __host__ __device__ name##2 make_##name##2(name##3 a) { return make_##name##2(a.x, a.y); }                  \
    inline __host__ __device__ name##3 make_##name##3(name##2 a) { return make_##name##3(a.x, a.y, 0); }               \
    inline __host__ __device__ name##3 make_##name##3(name##2 a, type s) { return make_##name##3(a.x, a.y, s); }       \
    inline __host__ __device__ name##3 make_##name##3(name##4 a) { return make_##name##3(a.x, a.y, a.z); }             \
    inline __host__ __device__ name##4 make_##name##4(name##3 a) { return make_##name##4(a.x, a.y, a.z, 0); }          \
    inline __host__ __device__ name##4 make_##name##4(name##3 a, type s) { return make_##name##4(a.x, a.y, a.z, s); }
UPSWEEP_SAMPLES_SPLAT(float, float)
UPSWEEP_SAMPLES_SPLAT(int, int)
UPSWEEP_SAMPLES_SPLAT(uint, uint)
#undef UPSWEEP_SAMPLES_SPLAT
#define UPSWEEP_SAMPLES_CONVERT(name, type, from)                                                                      \
    inline __host__ __device__ name##2 make_##name##2(from##2 a)                                                       \
    {                                                                                                                  \
        return make_##name##2(static_cast<type>(a.x), static_cast<type>(a.y));                                         \
    }                                                                                                                  \
    inline __host__ __device__ name##3 make_##name##3(from##3 a)                                                       \
    {                                                                                                                  \
        return make_##name##3(static_cast<type>(a.x), static_cast<type>(a.y), static_cast<type>(a.z));                 \
    }                                                                                                                  \
    inline __host__ __device__ name##4 make_##name##4(from##4 a)                                                       \
    {                                                                                                                  \
        return make_##name##4(static_cast<type>(a.x), static_cast<type>(a.y), static_cast<type>(a.z),                  \
                              static_cast<type>(a.w));                                                                 \
    }
UPSWEEP_SAMPLES_CONVERT(float, float, int)
UPSWEEP_SAMPLES_CONVERT(float, float, uint)
UPSWEEP_SAMPLES_CONVERT(int, int, uint)
UPSWEEP_SAMPLES_CONVERT(int, int, float)
UPSWEEP_SAMPLES_CONVERT(uint, uint, int)
#undef UPSWEEP_SAMPLES_CONVERT

// A function of two vectors, of a vector and a value, and the like. `each` is the expression for the members a and b.
#define UPSWEEP_SAMPLES_BINARY(function, v, type, ...)                                                                 \
    inline __host__ __device__ v##2 function(v##2 p, v##2 q)                                                           \
    {                                                                                                                  \
        const auto each = [](type a, type b) -> type { return __VA_ARGS__; };                                          \
        return make_##v##2(each(p.x, q.x), each(p.y, q.y));                                                            \
    }                                                                                                                  \
    inline __host__ __device__ v##3 function(v##3 p, v##3 q)                                                           \
    {                                                                                                                  \
        const auto each = [](type a, type b) -> type { return __VA_ARGS__; };                                          \
        return make_##v##3(each(p.x, q.x), each(p.y, q.y), each(p.z, q.z));                                            \
    }                                                                                                                  \
    inline __host__ __device__ v##4 function(v##4 p, v##4 q)                                                           \
    {                                                                                                                  \
        const auto each = [](type a, type b) -> type { return __VA_ARGS__; };                                          \
        return make_##v##4(each(p.x, q.x), each(p.y, q.y), each(p.z, q.z), each(p.w, q.w));                            \
    }
#define UPSWEEP_SAMPLES_OPERATOR(v, type, op)                                                                          \
    UPSWEEP_SAMPLES_BINARY(operator op, v, type, a op b)                                                               \
    UPSWEEP_SAMPLES_ASSIGN(v##2, type, op)                                                                             \
    UPSWEEP_SAMPLES_ASSIGN(v##3, type, op)                                                                             \
    UPSWEEP_SAMPLES_ASSIGN(v##4, type, op)
#define UPSWEEP_SAMPLES_ASSIGN(vector, type, op)                                                                       \
    inline __host__ __device__ vector operator op(vector p, type s) { return p op make_##vector(s); }                  \
    inline __host__ __device__ vector operator op(type s, vector p) { return make_##vector(s) op p; }                  \
    inline __host__ __device__ void operator op##=(vector& p, vector q) { p = p op q; }                                \
    inline __host__ __device__ void operator op##=(vector& p, type s) { p = p op make_##vector(s); }
#define UPSWEEP_SAMPLES_NUMBER(v, type)                                                                                \
    UPSWEEP_SAMPLES_OPERATOR(v, type, +)                                                                               \
    UPSWEEP_SAMPLES_OPERATOR(v, type, -)                                                                               \
    UPSWEEP_SAMPLES_OPERATOR(v, type, *)                                                                               \
    inline __host__ __device__ type dot(v##2 a, v##2 b) { return a.x * b.x + a.y * b.y; }                              \
    inline __host__ __device__ type dot(v##3 a, v##3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }                  \
    inline __host__ __device__ type dot(v##4 a, v##4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
UPSWEEP_SAMPLES_NUMBER(float, float)
UPSWEEP_SAMPLES_NUMBER(int, int)
UPSWEEP_SAMPLES_NUMBER(uint, uint)
UPSWEEP_SAMPLES_OPERATOR(float, float, /)
UPSWEEP_SAMPLES_BINARY(fminf, float, float, a < b ? a : b)
UPSWEEP_SAMPLES_BINARY(fmaxf, float, float, a > b ? a : b)
UPSWEEP_SAMPLES_BINARY(fmodf, float, float, ::fmodf(a, b))
UPSWEEP_SAMPLES_BINARY(min, int, int, a < b ? a : b)
UPSWEEP_SAMPLES_BINARY(max, int, int, a > b ? a : b)
UPSWEEP_SAMPLES_BINARY(min, uint, uint, a < b ? a : b)
UPSWEEP_SAMPLES_BINARY(max, uint, uint, a > b ? a : b)
#undef UPSWEEP_SAMPLES_NUMBER
#undef UPSWEEP_SAMPLES_ASSIGN
#undef UPSWEEP_SAMPLES_OPERATOR
#undef UPSWEEP_SAMPLES_BINARY

#define UPSWEEP_SAMPLES_UNARY(function, v, type, ...)                                                                  \
    inline __host__ __device__ v##2 function(v##2 p)                                                                   \
    {                                                                                                                  \
        const auto each = [](type a) -> type { return __VA_ARGS__; };                                                  \
        return make_##v##2(each(p.x), each(p.y));                                                                      \
    }                                                                                                                  \
    inline __host__ __device__ v##3 function(v##3 p)                                                                   \
    {                                                                                                                  \
        const auto each = [](type a) -> type { return __VA_ARGS__; };                                                  \
        return make_##v##3(each(p.x), each(p.y), each(p.z));                                                           \
    }                                                                                                                  \
    inline __host__ __device__ v##4 function(v##4 p)                                                                   \
    {                                                                                                                  \
        const auto each = [](type a) -> type { return __VA_ARGS__; };                                                  \
        return make_##v##4(each(p.x), each(p.y), each(p.z), each(p.w));                                                \
    }
inline __host__ __device__ float fracf(float v) { return v - floorf(v); }
UPSWEEP_SAMPLES_UNARY(operator-, float, float, -a)
UPSWEEP_SAMPLES_UNARY(operator-, int, int, -a)
UPSWEEP_SAMPLES_UNARY(floorf, float, float, ::floorf(a))
UPSWEEP_SAMPLES_UNARY(fracf, float, float, ::fracf(a))
UPSWEEP_SAMPLES_UNARY(fabs, float, float, ::fabsf(a))
UPSWEEP_SAMPLES_UNARY(abs, int, int, a < 0 ? -a : a)
#undef UPSWEEP_SAMPLES_UNARY

// Between a and b, where t is between 0 and 1.
inline __host__ __device__ float lerp(float a, float b, float t) { return a + t * (b - a); }
inline __host__ __device__ float2 lerp(float2 a, float2 b, float t) { return a + t * (b - a); }
inline __host__ __device__ float3 lerp(float3 a, float3 b, float t) { return a + t * (b - a); }
inline __host__ __device__ float4 lerp(float4 a, float4 b, float t) { return a + t * (b - a); }

inline __host__ __device__ float clamp(float f, float a, float b) { return fmaxf(a, fminf(f, b)); }
inline __host__ __device__ int clamp(int f, int a, int b) { return max(a, min(f, b)); }
inline __host__ __device__ uint clamp(uint f, uint a, uint b) { return max(a, min(f, b)); }
#define UPSWEEP_SAMPLES_CLAMP(v, type)                                                                                 \
    inline __host__ __device__ v##2 clamp(v##2 p, v##2 a, v##2 b)                                                      \
    {                                                                                                                  \
        return make_##v##2(clamp(p.x, a.x, b.x), clamp(p.y, a.y, b.y));                                                \
    }                                                                                                                  \
    inline __host__ __device__ v##3 clamp(v##3 p, v##3 a, v##3 b)                                                      \
    {                                                                                                                  \
        return make_##v##3(clamp(p.x, a.x, b.x), clamp(p.y, a.y, b.y), clamp(p.z, a.z, b.z));                          \
    }                                                                                                                  \
    inline __host__ __device__ v##4 clamp(v##4 p, v##4 a, v##4 b)                                                      \
    {                                                                                                                  \
        return make_##v##4(clamp(p.x, a.x, b.x), clamp(p.y, a.y, b.y), clamp(p.z, a.z, b.z), clamp(p.w, a.w, b.w));    \
    }                                                                                                                  \
    inline __host__ __device__ v##2 clamp(v##2 p, type a, type b) { return clamp(p, make_##v##2(a), make_##v##2(b)); } \
    inline __host__ __device__ v##3 clamp(v##3 p, type a, type b) { return clamp(p, make_##v##3(a), make_##v##3(b)); } \
    inline __host__ __device__ v##4 clamp(v##4 p, type a, type b) { return clamp(p, make_##v##4(a), make_##v##4(b)); }
UPSWEEP_SAMPLES_CLAMP(float, float)
UPSWEEP_SAMPLES_CLAMP(int, int)
UPSWEEP_SAMPLES_CLAMP(uint, uint)
#undef UPSWEEP_SAMPLES_CLAMP

// Geometry.
#define UPSWEEP_SAMPLES_GEOMETRY(vector)                                                                               \
    inline __host__ __device__ float length(vector v) { return sqrtf(dot(v, v)); }                                     \
    inline __host__ __device__ vector normalize(vector v) { return v * rsqrtf(dot(v, v)); }                            \
    inline __host__ __device__ vector smoothstep(vector a, vector b, vector v)                                         \
    {                                                                                                                  \
        const vector t = clamp((v - a) / (b - a), 0.0f, 1.0f);                                                         \
        return t * t * (make_##vector(3.0f) - make_##vector(2.0f) * t);                                                \
    }
UPSWEEP_SAMPLES_GEOMETRY(float2)
UPSWEEP_SAMPLES_GEOMETRY(float3)
UPSWEEP_SAMPLES_GEOMETRY(float4)
#undef UPSWEEP_SAMPLES_GEOMETRY
inline __host__ __device__ float smoothstep(float a, float b, float v)
{
    const float t = clamp((v - a) / (b - a), 0.0f, 1.0f);
    return t * t * (3.0f - 2.0f * t);
}
// The incident vector i, reflected from a surface whose normal is n.
inline __host__ __device__ float3 reflect(float3 i, float3 n) { return i - 2.0f * n * dot(n, i); }
inline __host__ __device__ float3 cross(float3 a, float3 b)
{
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
