// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <cuda_runtime.h>

#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/device.cuh>

// How kernels are launched, and how many of their blocks are resident at once.
namespace upsweep::gpu {

// What is launched for a kernel.
template <auto Kernel>
const void* handle_of(const cuda& target)
{
    const auto* const stub = reinterpret_cast<const void*>(Kernel);
    return target.loaded() == nullptr ? stub : target.loaded()->in_place_of(stub).handle;
}

// How many blocks of what is launched the device holds at once, of so many threads and with so much shared memory, which it has been allowed.
inline unsigned blocks_that_fit(const cuda& target, const void* handle, int threads, std::size_t shared_bytes)
{
    int each = 0;
    check("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, handle, threads, shared_bytes));
    return static_cast<unsigned>(each * target.workspace().multiprocessors());
}

// The same of a kernel whose blocks are all alike.
inline unsigned resident_blocks(const cuda& target, const void* kernel, int threads, std::size_t shared_bytes,
                                known_of_devices& known)
{
    if (const unsigned blocks = known.of(target.device()))
        return blocks;
    check("cudaFuncSetAttribute",
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
    known.set(target.device(), blocks_that_fit(target, kernel, threads, shared_bytes));
    return known.of(target.device());
}

template <auto Kernel>
unsigned resident_blocks(const cuda& target, int threads, std::size_t shared_bytes)
{
    static known_of_devices known;
    const auto* const kernel = reinterpret_cast<const void*>(Kernel);
    if (target.loaded() == nullptr)
        return resident_blocks(target, kernel, threads, shared_bytes, known);
    loaded_kernels::kernel& loaded = target.loaded()->in_place_of(kernel);
    return resident_blocks(target, loaded.handle, threads, shared_bytes, loaded.resident_blocks);
}

// Allows a kernel all the shared memory that a block can have.
inline void allow_shared_bytes(const cuda& target, const void* kernel, known_of_devices& allowed)
{
    if (allowed.of(target.device()) != 0)
        return;
    cudaFuncAttributes attributes{};
    check("cudaFuncGetAttributes", cudaFuncGetAttributes(&attributes, kernel));
    check("cudaFuncSetAttribute",
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(target.workspace().shared_bytes() - attributes.sharedSizeBytes)));
    allowed.set(target.device(), 1);
}

template <auto Kernel>
void allow_shared_bytes(const cuda& target)
{
    static known_of_devices allowed;
    const auto* const stub = reinterpret_cast<const void*>(Kernel);
    if (target.loaded() == nullptr)
        return allow_shared_bytes(target, stub, allowed);
    loaded_kernels::kernel& loaded = target.loaded()->in_place_of(stub);
    allow_shared_bytes(target, loaded.handle, loaded.all_shared_bytes);
}

// Whether a kernel was compiled for GPUs with clusters: what a driver makes of PTX for older ones knows nothing of
// them.
inline bool knows_clusters(const cuda& target, const void* kernel, known_of_devices& known)
{
    constexpr unsigned no = 1;
    constexpr unsigned yes = 2;
    if (known.of(target.device()) == 0) {
        cudaFuncAttributes attributes{};
        check("cudaFuncGetAttributes", cudaFuncGetAttributes(&attributes, kernel));
        known.set(target.device(), attributes.ptxVersion >= 90 ? yes : no);
    }
    return known.of(target.device()) == yes;
}

template <auto Kernel>
bool knows_clusters(const cuda& target)
{
    static known_of_devices known;
    return knows_clusters(target, reinterpret_cast<const void*>(Kernel), known);
}

// As many blocks as are useful, but no more than keep the device busy, of a kernel whose blocks take what there is by turns.
inline unsigned some_blocks(const cuda& target, std::size_t useful)
{
    const auto most = static_cast<std::size_t>(8 * target.workspace().multiprocessors());
    return static_cast<unsigned>(useful < most ? useful : most);
}

struct grid_shape {
    unsigned blocks;
    int threads;
    std::size_t shared_bytes;
    unsigned cluster = 1;     // blocks in one
    bool cooperative = false; // the blocks wait for one another: all of them are resident at once, or the launch fails
};

// The grid of a kernel whose warps have one task each and wait for no other. The GPU starts a block wherever one has ended, so that none is the
// last to have something to do: up to 8 % faster than blocks that stay and take tasks by turns.
inline grid_shape grid_of_warps(std::uint64_t warps, int threads)
{
    constexpr int lanes = 32;
    const auto of_block = static_cast<unsigned>(threads / lanes);
    return {static_cast<unsigned>((warps + of_block - 1) / of_block), threads, 0};
}

template <class... Parameters, class... Arguments>
void launch(const cuda& target, std::string_view call, void (*kernel)(Parameters...), const grid_shape& grid,
            Arguments&&... arguments)
{
    if (target.loaded() != nullptr)
        kernel = reinterpret_cast<decltype(kernel)>(
            const_cast<void*>(target.loaded()->in_place_of(reinterpret_cast<const void*>(kernel)).handle));
    std::array<cudaLaunchAttribute, 2> attributes{};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(grid.blocks);
    config.blockDim = dim3(static_cast<unsigned>(grid.threads));
    config.dynamicSmemBytes = grid.shared_bytes;
    config.stream = target.stream();
    config.attrs = attributes.data();
    if (grid.cooperative && grid.blocks > 1) {
        cudaLaunchAttribute& cooperative = attributes[config.numAttrs++];
        cooperative.id = cudaLaunchAttributeCooperative;
        cooperative.val.cooperative = 1;
    }
    if (grid.cluster > 1) {
        cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim.x = grid.cluster;
        cluster.val.clusterDim.y = 1;
        cluster.val.clusterDim.z = 1;
    }
    check(call, cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...));
}

// Launches a kernel whose blocks may take all the shared memory that there is.
template <auto Kernel, class... Arguments>
void launch(const cuda& target, std::string_view call, const grid_shape& grid, Arguments&&... arguments)
{
    allow_shared_bytes<Kernel>(target);
    launch(target, call, Kernel, grid, std::forward<Arguments>(arguments)...);
}

// Launches blocks that wait for one another.
template <class... Parameters, class... Arguments>
void launch(const cuda& target, std::string_view call, void (*kernel)(Parameters...), unsigned blocks, int threads,
            std::size_t shared_bytes, Arguments&&... arguments)
{
    launch(target, call, kernel, grid_shape{blocks, threads, shared_bytes, 1, true},
           std::forward<Arguments>(arguments)...);
}

} // namespace upsweep::gpu
