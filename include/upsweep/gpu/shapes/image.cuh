// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/verb/image.hpp>
#include <upsweep/view.hpp>

// What integral images need besides scans along axes.
namespace upsweep::gpu {

template <class Out>
__global__ void put_zeros_kernel(Out out, std::uint64_t count)
{
    for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
         i += std::uint64_t{gridDim.x} * blockDim.x)
        out[i] = {};
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::images> {
    template <class Out, std::size_t Rank>
    static void put_border(const cuda& target, const view<Out, Rank>& out)
    {
        const gpu::current_device current(target.device());
        for (const std::size_t k : {Rank - 2, Rank - 1}) {
            std::array<std::size_t, Rank> extents;
            std::array<std::ptrdiff_t, Rank> strides;
            for (std::size_t j = 0; j < Rank; ++j) {
                extents[j] = j == k ? 1 : out.extent(j);
                strides[j] = out.stride(j);
            }
            const view<Out, Rank> first(out.data(), extents, strides); // row, or column, of each image
            if (first.empty())
                continue;
            const auto source = gpu::strided_source(first.begin().elements());
            gpu::check_place(target, "integral_image", source, first.size());
            constexpr int threads = 256;
            gpu::launch(target, "integral_image", gpu::put_zeros_kernel<std::remove_const_t<decltype(source)>>,
                        gpu::grid_shape{gpu::some_blocks(target, (first.size() + threads - 1) / threads), threads, 0},
                        source, first.size());
        }
    }
};

} // namespace upsweep::detail
