// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <cuda_runtime.h>

#include <upsweep/error.hpp>
#include <upsweep/gpu/primitive/board.cuh>

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

// The memory that kernels on one stream share with one another. It is taken on the first call, grows with the largest
// call and is given back in order of the stream.
class workspace {
public:
    explicit workspace(cudaStream_t stream) : stream_(stream)
    {
        check("up::cuda", cudaGetDevice(&device_));
        check("up::cuda", cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, device_));
        check("up::cuda", cudaDeviceGetAttribute(&shared_bytes_, cudaDevAttrMaxSharedMemoryPerBlockOptin, device_));
    }
    workspace(const workspace&) = delete;
    workspace& operator=(const workspace&) = delete;
    ~workspace()
    {
        if (memory_ != nullptr)
            cudaFreeAsync(memory_, stream_);
        if (result_ != nullptr)
            cudaFreeHost(result_);
    }

    cudaStream_t stream() const { return stream_; }
    int device() const { return device_; }
    int processors() const { return processors_; }
    std::size_t shared_bytes() const { return static_cast<std::size_t>(shared_bytes_); }

    board_memory board(std::uint64_t tiles, std::size_t total_bytes)
    {
        const std::lock_guard lock(mutex_);
        const std::size_t large = total_bytes > sizeof(std::uint64_t) ? total_bytes : 0;
        if (memory_ == nullptr || tiles > tiles_ || tiles * large > large_bytes_)
            grow(std::max(tiles, tiles_), std::max<std::size_t>(tiles * large, large_bytes_));
        auto* const first = static_cast<std::byte*>(memory_);
        return {reinterpret_cast<board_state*>(first), reinterpret_cast<word128*>(first + state_bytes),
                first + state_bytes + tiles_ * sizeof(word128)};
    }

    // Host memory that kernels write a result into, so that it needs no copy.
    void* result(std::size_t bytes)
    {
        const std::lock_guard lock(mutex_);
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
        cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
        check("up::cuda", cudaStreamIsCapturing(stream_, &capture));
        if (capture != cudaStreamCaptureStatusNone)
            throw error(error_kind::invalid_argument, "up::cuda",
                        "the workspace cannot grow while the stream is captured",
                        "make the same call once before the capture");

        tiles = std::max(tiles, least_tiles);
        const std::size_t bytes = state_bytes + tiles * sizeof(word128) + large_bytes;
        void* memory = nullptr;
        const cudaError_t code = cudaMallocAsync(&memory, bytes, stream_);
        if (code == cudaErrorMemoryAllocation) {
            cudaGetLastError();
            throw error(error_kind::out_of_memory, "up::cuda",
                        "the GPU has no " + std::to_string(bytes) + " bytes left for a workspace",
                        "free some of its memory");
        }
        check("cudaMallocAsync", code);
        check("cudaMemsetAsync", cudaMemsetAsync(memory, 0, bytes, stream_));
        if (memory_ != nullptr)
            check("cudaFreeAsync", cudaFreeAsync(memory_, stream_));
        memory_ = memory;
        tiles_ = tiles;
        large_bytes_ = large_bytes;
    }

    cudaStream_t stream_;
    int device_ = 0;
    int processors_ = 0;
    int shared_bytes_ = 0;
    std::mutex mutex_;
    void* memory_ = nullptr; // the state, the notices, the large totals
    std::uint64_t tiles_ = 0;
    std::size_t large_bytes_ = 0;
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

// Launches blocks that wait for one another: all of them are resident at once, or the launch fails.
template <class... Parameters, class... Arguments>
void launch(const cuda& target, std::string_view call, void (*kernel)(Parameters...), unsigned blocks, int threads,
            std::size_t shared_bytes, Arguments&&... arguments)
{
    cudaLaunchAttribute together{};
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.dynamicSmemBytes = shared_bytes;
    config.stream = target.stream();
    config.attrs = &together;
    config.numAttrs = blocks > 1 ? 1 : 0;
    check(call, cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...));
}

} // namespace gpu
} // namespace upsweep
