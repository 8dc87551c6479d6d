// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// CUDA's qualifiers and vector types for an ordinary C++ compiler.
#pragma once

#include <cstddef>
#include <cstdint>

#include "upsweep/simulator/device.h"

#ifdef UPSWEEP_TRANSLATED // by the laboratory, which reads these words when the preprocessor is done
#define __global__ __global__
#define __device__ __device__
#define __host__ __host__
#else
#define __global__
#define __device__
#define __host__
#endif
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __restrict__ __restrict
// Each block has a copy of its own: see simulator/assembler.
#define __shared__ __attribute__((tls_model("global-dynamic"))) thread_local
#ifndef UPSWEEP_HOST_SOURCE // a C++ file beside the CUDA files of a program
#define __CUDACC__ 1
#endif
#define __CUDACC_SIMULATED__ 1

#define UPSWEEP_VECTOR_TYPES(name, type, align2, align4)                                                               \
    struct name##1 { type x; };                                                                                        \
    struct alignas(align2) name##2 { type x, y; };                                                                     \
    struct name##3 { type x, y, z; };                                                                                  \
    struct alignas(align4) name##4 { type x, y, z, w; };                                                               \
    inline __attribute__((always_inline)) name##1 make_##name##1(type x) { return {x}; }                               \
    inline __attribute__((always_inline)) name##2 make_##name##2(type x, type y) { return {x, y}; }                    \
    inline __attribute__((always_inline)) name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }         \
    inline __attribute__((always_inline)) name##4 make_##name##4(type x, type y, type z, type w)                       \
    {                                                                                                                  \
        return {x, y, z, w};                                                                                           \
    }
UPSWEEP_VECTOR_TYPES(char, signed char, 2, 4)
UPSWEEP_VECTOR_TYPES(uchar, unsigned char, 2, 4)
UPSWEEP_VECTOR_TYPES(short, short, 4, 8)
UPSWEEP_VECTOR_TYPES(ushort, unsigned short, 4, 8)
UPSWEEP_VECTOR_TYPES(int, int, 8, 16)
UPSWEEP_VECTOR_TYPES(uint, unsigned, 8, 16)
UPSWEEP_VECTOR_TYPES(long, long, 16, 16)
UPSWEEP_VECTOR_TYPES(ulong, unsigned long, 16, 16)
UPSWEEP_VECTOR_TYPES(longlong, long long, 16, 16)
UPSWEEP_VECTOR_TYPES(ulonglong, unsigned long long, 16, 16)
UPSWEEP_VECTOR_TYPES(float, float, 8, 16)
UPSWEEP_VECTOR_TYPES(double, double, 16, 16)
#undef UPSWEEP_VECTOR_TYPES

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1) : x(vx), y(vy), z(vz) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};

// These belong to the running thread of the grid: the scheduler sets them whenever it lets a thread go on. They are spelled
// __thread and not thread_local, because there is one copy for each thread of the host.
extern const __thread uint3 threadIdx __attribute__((tls_model("initial-exec")));
extern const __thread uint3 blockIdx __attribute__((tls_model("initial-exec")));
extern const __thread uint3 blockDim __attribute__((tls_model("initial-exec")));
extern const __thread uint3 gridDim __attribute__((tls_model("initial-exec")));

namespace upsweep::simulator::cuda {
struct warp_size {
    operator int() const { return static_cast<int>(device::warp_width()); }
};
} // namespace upsweep::simulator::cuda
inline constexpr upsweep::simulator::cuda::warp_size warpSize;
