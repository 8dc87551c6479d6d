// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <upsweep/gpu/target/launch.cuh>

// Kernels whose threads take elements by turns.
namespace upsweep::runtime::gpu {

inline upsweep::gpu::grid_shape grid_of_elements(std::uint64_t count)
{
    constexpr std::uint64_t threads = 256;
    constexpr std::uint64_t most = 65536;
    const std::uint64_t blocks = count == 0 ? 1 : (count + threads - 1) / threads; // no grid is empty
    return {static_cast<unsigned>(blocks < most ? blocks : most), threads, 0};
}

// The grid for kernels whose threads convert several elements each.
inline upsweep::gpu::grid_shape grid_of_conversion(std::uint64_t count) { return grid_of_elements(count / 8 + 1); }

// Calls f(number) for so many elements, each by one thread of the grid.
template <class F>
__device__ void for_each_element(std::uint64_t count, F f)
{
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads)
        f(i);
}

} // namespace upsweep::runtime::gpu
