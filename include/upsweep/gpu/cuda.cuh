// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <cuda_runtime.h>

#include <upsweep/error.hpp>
#include <upsweep/gpu/primitive/board.cuh>
#include <upsweep/gpu/primitive/counters.cuh>

namespace upsweep {

namespace gpu {

[[noreturn]] inline void throw_failure(std::string_view call, cudaError_t code)
{
    const bool none = code == cudaErrorNoDevice || code == cudaErrorInsufficientDriver;
    throw error(none ? error_kind::no_device : error_kind::device, call, cudaGetErrorString(code),
                none ? "use the target cpu, or install a driver for the GPU"
                     : "check the calls before it on this stream");
}

inline void check(std::string_view call, cudaError_t code)
{
    if (code != cudaSuccess)
        throw_failure(call, code);
}

// Makes a device the current one as long as it lives.
class current_device {
public:
    explicit current_device(int device)
    {
        check("cudaGetDevice", cudaGetDevice(&before_));
        if (before_ != device)
            check("cudaSetDevice", cudaSetDevice(device));
        device_ = device;
    }
    current_device(const current_device&) = delete;
    current_device& operator=(const current_device&) = delete;
    ~current_device()
    {
        if (before_ != device_)
            cudaSetDevice(before_);
    }

private:
    int before_ = 0;
    int device_ = 0;
};

// Device memory that is replaced by more when it is too small. It is zero when it is new.
class growing_memory {
public:
    std::byte* first() const { return static_cast<std::byte*>(memory_); }

    std::byte* at_least(std::size_t bytes, cudaStream_t stream)
    {
        if (bytes > bytes_)
            grow(stream, bytes);
        return first();
    }

    void grow(cudaStream_t stream, std::size_t bytes)
    {
        cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
        check("up::cuda", cudaStreamIsCapturing(stream, &capture));
        if (capture != cudaStreamCaptureStatusNone)
            throw error(error_kind::invalid_argument, "up::cuda",
                        "the workspace cannot grow while the stream is captured",
                        "make the same call once before the capture");
        void* memory = nullptr;
        const cudaError_t code = cudaMallocAsync(&memory, bytes, stream);
        if (code == cudaErrorMemoryAllocation) {
            cudaGetLastError();
            throw error(error_kind::out_of_memory, "up::cuda",
                        "the GPU has no " + std::to_string(bytes) + " bytes left for a workspace",
                        "free some of its memory");
        }
        check("cudaMallocAsync", code);
        check("cudaMemsetAsync", cudaMemsetAsync(memory, 0, bytes, stream));
        free(stream);
        memory_ = memory;
        bytes_ = bytes;
    }

    void free(cudaStream_t stream)
    {
        if (memory_ != nullptr)
            cudaFreeAsync(memory_, stream);
        memory_ = nullptr;
        bytes_ = 0;
    }

private:
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
};

// The memory that kernels on one stream share with one another. It is taken on the first call, grows with the largest
// call and is given back in order of the stream.
class workspace {
public:
    explicit workspace(cudaStream_t stream) : stream_(stream)
    {
        check("up::cuda", cudaGetDevice(&device_));
        check("up::cuda", cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, device_));
        check("up::cuda", cudaDeviceGetAttribute(&shared_bytes_, cudaDevAttrMaxSharedMemoryPerBlockOptin, device_));
        check("up::cuda", cudaDeviceGetAttribute(&generation_, cudaDevAttrComputeCapabilityMajor, device_));
    }
    workspace(const workspace&) = delete;
    workspace& operator=(const workspace&) = delete;
    ~workspace()
    {
        for (growing_memory* memory : {&memory_, &counters_, &edges_, &lists_, &tables_})
            memory->free(stream_);
        if (result_ != nullptr)
            cudaFreeHost(result_);
    }

    cudaStream_t stream() const { return stream_; }
    int device() const { return device_; }
    int processors() const { return processors_; }
    std::size_t shared_bytes() const { return static_cast<std::size_t>(shared_bytes_); }
    bool has_clusters() const { return generation_ >= 9; }

    board_memory board(std::uint64_t tiles, std::size_t total_bytes)
    {
        const std::size_t large = total_bytes > sizeof(std::uint64_t) ? total_bytes : 0;
        if (tiles_ == 0 || tiles > tiles_ || tiles * large > large_bytes_)
            grow(std::max(tiles, tiles_), std::max<std::size_t>(tiles * large, large_bytes_));
        std::byte* const first = memory_.first();
        return {reinterpret_cast<board_state*>(first), reinterpret_cast<word128*>(first + state_bytes),
                first + state_bytes + tiles_ * sizeof(word128)};
    }

    counter_memory counters(std::size_t slots)
    {
        std::byte* const first = counters_.at_least(state_bytes + slots * sizeof(std::uint64_t), stream_);
        return {reinterpret_cast<std::uint32_t*>(first), reinterpret_cast<std::uint64_t*>(first + state_bytes / 2),
                reinterpret_cast<std::uint64_t*>(first + state_bytes)};
    }

    // Memory of which kernels expect nothing: for the edges of bins, for lists of samples, and for tables of counters from which
    // others are made.
    void* edges(std::size_t bytes) { return edges_.at_least(bytes, stream_); }
    void* lists(std::size_t bytes) { return lists_.at_least(bytes, stream_); }
    void* tables(std::size_t bytes) { return tables_.at_least(bytes, stream_); }

    // Host memory that kernels write a result into, so that it needs no copy.
    void* result(std::size_t bytes)
    {
        if (bytes > result_bytes_) {
            if (result_ != nullptr)
                check("cudaFreeHost", cudaFreeHost(std::exchange(result_, nullptr)));
            check("cudaMallocHost", cudaMallocHost(&result_, std::max<std::size_t>(bytes, 256)));
            result_bytes_ = std::max<std::size_t>(bytes, 256);
        }
        return result_;
    }

private:
    static constexpr std::size_t state_bytes = 256;
    static constexpr std::uint64_t least_tiles = 65536; // a megabyte, which is enough for most arrays

    void grow(std::uint64_t tiles, std::size_t large_bytes)
    {
        tiles = std::max(tiles, least_tiles);
        memory_.grow(stream_, state_bytes + tiles * sizeof(word128) + large_bytes);
        tiles_ = tiles;
        large_bytes_ = large_bytes;
    }

    cudaStream_t stream_;
    int device_ = 0;
    int processors_ = 0;
    int shared_bytes_ = 0;
    int generation_ = 0;
    growing_memory memory_; // the state, the notices, the large totals
    std::uint64_t tiles_ = 0;
    std::size_t large_bytes_ = 0;
    growing_memory counters_;
    growing_memory edges_;
    growing_memory lists_;
    growing_memory tables_;
    void* result_ = nullptr;
    std::size_t result_bytes_ = 0;
};

} // namespace gpu

// A stream of a CUDA device, the one that is current when the target is made. Calls are carried out in order of the
// stream; a call that returns a value waits for it. The target keeps a workspace, which its copies share: calls from two
// host threads or on two streams at once need a target each. After the first call nothing is allocated unless a later call
// is larger, and calls can be captured in a graph.
class cuda {
public:
    explicit cuda(cudaStream_t stream = nullptr) : workspace_(std::make_shared<gpu::workspace>(stream)) {}

    cudaStream_t stream() const { return workspace_->stream(); }
    int device() const { return workspace_->device(); }
    gpu::workspace& workspace() const { return *workspace_; }

private:
    std::shared_ptr<gpu::workspace> workspace_;
};

namespace gpu {

// Refuses memory that kernels of the target cannot reach. Iterators that are no pointers are taken on trust.
template <class It>
void check_place(const cuda& target, std::string_view call, It it, std::size_t count)
{
    if constexpr (std::is_pointer_v<It>) {
        if (count == 0)
            return;
        cudaPointerAttributes place{};
        check(call, cudaPointerGetAttributes(&place, it));
        if (place.type == cudaMemoryTypeUnregistered)
            throw error(error_kind::invalid_argument, call, "the GPU cannot reach this memory: it belongs to the host",
                        "copy it to the GPU, or use the target cpu");
        if (place.type == cudaMemoryTypeDevice && place.device != target.device())
            throw error(error_kind::invalid_argument, call,
                        "the memory belongs to device " + std::to_string(place.device) + ", the target is device " +
                            std::to_string(target.device()),
                        "make the target while the memory's device is the current one");
    }
}

// How many blocks of a kernel the device holds at once. Asked once for each kernel and device.
template <auto Kernel>
unsigned resident_blocks(const cuda& target, int threads, std::size_t shared_bytes)
{
    static std::array<std::atomic<unsigned>, 64> known{};
    std::atomic<unsigned>& blocks = known[static_cast<std::size_t>(target.device()) % known.size()];
    if (blocks == 0) {
        int each = 0;
        check("cudaFuncSetAttribute", cudaFuncSetAttribute(Kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                           static_cast<int>(shared_bytes)));
        check("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
              cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, Kernel, threads, shared_bytes));
        blocks = static_cast<unsigned>(each * target.workspace().processors());
    }
    return blocks;
}

// Allows a kernel all the shared memory that a block can have. Said once for each kernel and device.
template <auto Kernel>
void allow_shared_bytes(const cuda& target)
{
    static std::array<std::atomic<bool>, 64> said{};
    std::atomic<bool>& allowed = said[static_cast<std::size_t>(target.device()) % said.size()];
    if (!allowed) {
        cudaFuncAttributes attributes{};
        check("cudaFuncGetAttributes", cudaFuncGetAttributes(&attributes, Kernel));
        check("cudaFuncSetAttribute",
              cudaFuncSetAttribute(Kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(target.workspace().shared_bytes() - attributes.sharedSizeBytes)));
        allowed = true;
    }
}

struct grid_shape {
    unsigned blocks;
    int threads;
    std::size_t shared_bytes;
    unsigned cluster = 1;  // blocks in one
    bool together = false; // the blocks wait for one another: all of them are resident at once, or the launch fails
};

template <class... Parameters, class... Arguments>
void launch(const cuda& target, std::string_view call, void (*kernel)(Parameters...), const grid_shape& grid,
            Arguments&&... arguments)
{
    std::array<cudaLaunchAttribute, 2> attributes{};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(grid.blocks);
    config.blockDim = dim3(static_cast<unsigned>(grid.threads));
    config.dynamicSmemBytes = grid.shared_bytes;
    config.stream = target.stream();
    config.attrs = attributes.data();
    if (grid.together && grid.blocks > 1) {
        cudaLaunchAttribute& together = attributes[config.numAttrs++];
        together.id = cudaLaunchAttributeCooperative;
        together.val.cooperative = 1;
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

// Launches blocks that wait for one another.
template <class... Parameters, class... Arguments>
void launch(const cuda& target, std::string_view call, void (*kernel)(Parameters...), unsigned blocks, int threads,
            std::size_t shared_bytes, Arguments&&... arguments)
{
    launch(target, call, kernel, grid_shape{blocks, threads, shared_bytes, 1, true},
           std::forward<Arguments>(arguments)...);
}

} // namespace gpu
} // namespace upsweep
