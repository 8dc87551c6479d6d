// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Numbers that look random, made on the GPU, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

inline constexpr int grid = 1024;
inline constexpr int block = 256;

// The finaliser of SplitMix64: scattered bits.
__host__ __device__ inline std::uint64_t scattered(std::uint64_t z)
{
    z = (z + 1) * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

// In (-1/4, 1/4), an odd multiple of 2^-25 with 23 bits of randomness.
__device__ inline float small_float(std::uint64_t bits)
{
    return (static_cast<float>(bits >> 41) + 0.5f) * 0x1p-24f - 0.25f;
}

} // namespace bench
