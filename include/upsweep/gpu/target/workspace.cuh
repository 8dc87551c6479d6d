// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <cuda_runtime.h>

#include <upsweep/error.hpp>
#include <upsweep/gpu/target/device.cuh>

// The memory that the kernels of a target share, and what is known of its device.
namespace upsweep::gpu {

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

    [[gnu::cold]] void grow(cudaStream_t stream, std::size_t bytes)
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

// What the memory of a workspace is for. Each purpose has memory of its own: what one kernel leaves in it, the next
// kernel of the same kind finds there.
enum class workspace_purpose {
    tile_states,        // of reduce and scan: the totals that tiles publish
    narrow_tile_states, // the same of totals of up to four bytes, where states are many
    large_totals,       // of tiles, where they do not fit into a tile state
    tile_counts,        // of what tiles select
    tile_heads,         // the same of runs, with the last ones
    head_arrivals,      // how many tiles of a group have been published, all zero between kernels
    counters,           // of histograms, all zero between kernels
    bin_edges,          // that a call brings along
    lists,              // of samples by partition
    tables,             // of counters from which others are made
    channels,           // counters of all channels, one channel after the other
    offsets,            // of segments that a call finds
    arguments,          // of the minima of parts
    count
};
inline constexpr auto workspace_purposes = static_cast<std::size_t>(workspace_purpose::count);

// The memory that kernels on one stream share with one another. It is taken on the first call, grows with the largest
// call and is given back in order of the stream.
class workspace {
public:
    explicit workspace(cudaStream_t stream) : stream_(stream)
    {
        check("up::cuda", cudaGetDevice(&device_));
        check("up::cuda", cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device_));
        check("up::cuda", cudaDeviceGetAttribute(&shared_bytes_, cudaDevAttrMaxSharedMemoryPerBlockOptin, device_));
        check("up::cuda", cudaDeviceGetAttribute(&cache_bytes_, cudaDevAttrL2CacheSize, device_));
        check("up::cuda", cudaDeviceGetAttribute(&generation_, cudaDevAttrComputeCapabilityMajor, device_));
    }
    workspace(const workspace&) = delete;
    workspace& operator=(const workspace&) = delete;
    ~workspace()
    {
        for (growing_memory& memory : memory_)
            memory.free(stream_);
        if (result_ != nullptr)
            cudaFreeHost(result_);
    }

    // The targets that share it: whoever makes it is one. `release` tells whether that was the last.
    void acquire() { __atomic_add_fetch(&targets_, 1, __ATOMIC_RELAXED); }
    bool release() { return __atomic_sub_fetch(&targets_, 1, __ATOMIC_ACQ_REL) == 0; }

    cudaStream_t stream() const { return stream_; }
    int device() const { return device_; }
    int multiprocessors() const { return multiprocessors_; }
    std::size_t shared_bytes() const { return static_cast<std::size_t>(shared_bytes_); }
    std::size_t cache_bytes() const { return static_cast<std::size_t>(cache_bytes_); } // of the second level
    bool has_clusters() const { return generation_ >= 9; }

    // The place in which check_pointer keeps an address that kernels could reach. Most programs pass the same few
    // addresses again and again, and the driver takes a tenth of a microsecond to tell where one lies.
    const void*& reached(const void* address)
    {
        constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U; // spreads addresses that differ in few bits
        return reached_[reinterpret_cast<std::uintptr_t>(address) * golden >> 60];
    }

    // Device memory for a purpose, at least so many bytes of it. It is zero when it is new, and kernels leave what the
    // next one relies on: tile states that are older than any epoch, counters that are zero.
    void* memory(workspace_purpose purpose, std::size_t bytes)
    {
        return memory_[static_cast<std::size_t>(purpose)].at_least(bytes, stream_);
    }

    // Host memory that kernels write a result into, so that it needs no copy.
    void* result(std::size_t bytes)
    {
        if (bytes > result_bytes_) {
            if (result_ != nullptr)
                check("cudaFreeHost", cudaFreeHost(std::exchange(result_, nullptr)));
            bytes = bytes > least_result_bytes ? bytes : least_result_bytes;
            check("cudaMallocHost", cudaMallocHost(&result_, bytes));
            result_bytes_ = bytes;
        }
        return result_;
    }

private:
    static constexpr std::size_t least_result_bytes = 256;

    int targets_ = 1;
    cudaStream_t stream_;
    int device_ = 0;
    int multiprocessors_ = 0;
    int shared_bytes_ = 0;
    int cache_bytes_ = 0;
    int generation_ = 0;
    growing_memory memory_[workspace_purposes];
    const void* reached_[16] = {};
    void* result_ = nullptr;
    std::size_t result_bytes_ = 0;
};

} // namespace upsweep::gpu
