// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks of rows, columns, segments and runs of keys have in common: their elements, which are floats, and how results are
// compared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "contenders.hpp"
#include "generated.cuh"
#include "roof.hpp"

namespace bench {

inline __global__ void fill_floats_kernel(float* out, std::size_t n)
{
    for (std::size_t i = std::size_t{blockIdx.x} * block + threadIdx.x; i < n; i += std::size_t{grid} * block)
        out[i] = small_float(scattered(i));
}

// Results are compared with the CPU's where there are few elements, and of many where the first so many are lines of their own.
inline constexpr std::size_t compared = std::size_t{1} << 20;

template <class T>
bool begins_with(const T* there, const std::vector<T>& expected)
{
    const auto found = to_host(there, expected.size());
    return std::equal(expected.begin(), expected.end(), found.begin(),
                      [](const T& a, const T& b) { return std::memcmp(&a, &b, sizeof(T)) == 0; });
}

inline std::size_t multiple_of_16(std::size_t bytes) { return bytes / 16 * 16; }

// Memory for the elements and the results of all subjects; the roofs read as many bytes of it as offsets and keys have, too.
struct line_arrays {
    explicit line_arrays(std::size_t most) : in(3 * most * sizeof(float)), out(3 * most * sizeof(float))
    {
        fill_floats_kernel<<<grid, block>>>(in.data<float>(), 3 * most);
        check(cudaDeviceSynchronize(), "fill_floats_kernel");
    }
    std::span<const float> elements(std::size_t n) const { return {in.data<float>(), n}; }

    device_memory in, out;
};

} // namespace bench
