// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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

[[noreturn, gnu::cold]] inline void throw_failure(std::string_view call, cudaError_t code)
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
    explicit current_device(int device) : before_(device), device_(device)
    {
        if (is_only_device())
            return;
        check("cudaGetDevice", cudaGetDevice(&before_));
        if (before_ != device)
            check("cudaSetDevice", cudaSetDevice(device));
    }
    current_device(const current_device&) = delete;
    current_device& operator=(const current_device&) = delete;
    ~current_device()
    {
        if (before_ != device_)
            cudaSetDevice(before_);
    }

private:
    static bool is_only_device()
    {
        static const bool only = [] {
            int devices = 0;
            check("cudaGetDeviceCount", cudaGetDeviceCount(&devices));
            return devices == 1;
        }();
        return only;
    }

    int before_;
    int device_;
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

// The memory that kernels on one stream share with one another. It is taken on the first call, grows with the largest
// call and is given back in order of the stream.
class workspace {
public:
    explicit workspace(cudaStream_t stream) : stream_(stream)
    {
        check("up::cuda", cudaGetDevice(&device_));
        check("up::cuda", cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, device_));
        check("up::cuda", cudaDeviceGetAttribute(&shared_bytes_, cudaDevAttrMaxSharedMemoryPerBlockOptin, device_));
        check("up::cuda", cudaDeviceGetAttribute(&cache_bytes_, cudaDevAttrL2CacheSize, device_));
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

    // The targets that share it: whoever makes it is one. `release` tells whether that was the last.
    void acquire() { __atomic_add_fetch(&targets_, 1, __ATOMIC_RELAXED); }
    bool release() { return __atomic_sub_fetch(&targets_, 1, __ATOMIC_ACQ_REL) == 0; }

    cudaStream_t stream() const { return stream_; }
    int device() const { return device_; }
    int processors() const { return processors_; }
    std::size_t shared_bytes() const { return static_cast<std::size_t>(shared_bytes_); }
    std::size_t cache_bytes() const { return static_cast<std::size_t>(cache_bytes_); } // of the second level
    bool has_clusters() const { return generation_ >= 9; }

    // Where an address is kept that a call was given and kernels could reach. Most programs pass the same few again and again,
    // and the driver takes a tenth of a microsecond to tell where one lies.
    const void*& reached(const void* address)
    {
        constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U; // spreads addresses that differ in few bits
        return reached_[reinterpret_cast<std::uintptr_t>(address) * golden >> 60];
    }

    board_memory board(std::uint64_t tiles, std::size_t total_bytes)
    {
        const std::size_t large = total_bytes > sizeof(std::uint64_t) ? total_bytes : 0;
        if (tiles_ == 0 || tiles > tiles_ || tiles * large > large_bytes_)
            grow(tiles > tiles_ ? tiles : tiles_, tiles * large > large_bytes_ ? tiles * large : large_bytes_);
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
            bytes = bytes > least_result_bytes ? bytes : least_result_bytes;
            check("cudaMallocHost", cudaMallocHost(&result_, bytes));
            result_bytes_ = bytes;
        }
        return result_;
    }

private:
    static constexpr std::size_t state_bytes = 256;
    static constexpr std::size_t least_result_bytes = 256;
    static constexpr std::uint64_t least_tiles = 65536; // a megabyte, which is enough for most arrays

    [[gnu::cold]] void grow(std::uint64_t tiles, std::size_t large_bytes)
    {
        tiles = tiles > least_tiles ? tiles : least_tiles;
        memory_.grow(stream_, state_bytes + tiles * sizeof(word128) + large_bytes);
        tiles_ = tiles;
        large_bytes_ = large_bytes;
    }

    int targets_ = 1;
    cudaStream_t stream_;
    int device_ = 0;
    int processors_ = 0;
    int shared_bytes_ = 0;
    int cache_bytes_ = 0;
    int generation_ = 0;
    growing_memory memory_; // the state, the notices, the large totals
    std::uint64_t tiles_ = 0;
    std::size_t large_bytes_ = 0;
    const void* reached_[16] = {};
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
    explicit cuda(cudaStream_t stream = nullptr) : workspace_(new gpu::workspace(stream)) {}
    cuda(const cuda& other) : workspace_(other.workspace_) { workspace_->acquire(); }
    cuda& operator=(cuda other)
    {
        std::swap(workspace_, other.workspace_);
        return *this;
    }
    ~cuda()
    {
        if (workspace_->release())
            delete workspace_;
    }

    cudaStream_t stream() const { return workspace_->stream(); }
    int device() const { return workspace_->device(); }
    gpu::workspace& workspace() const { return *workspace_; }

private:
    gpu::workspace* workspace_;
};

namespace gpu {

[[noreturn, gnu::cold]] inline void throw_misplaced(const cuda& target, std::string_view call,
                                                    const cudaPointerAttributes& place)
{
    if (place.type == cudaMemoryTypeUnregistered)
        throw error(error_kind::invalid_argument, call, "the GPU cannot reach this memory: it belongs to the host",
                    "copy it to the GPU, or use the target cpu");
    throw error(error_kind::invalid_argument, call,
                "the memory belongs to device " + std::to_string(place.device) + ", the target is device " +
                    std::to_string(target.device()),
                "make the target while the memory's device is the current one");
}

// Refuses memory that kernels of the target cannot reach, but not what they could reach in an earlier call.
inline void check_pointer(const cuda& target, std::string_view call, const void* pointer)
{
    const void*& reached = target.workspace().reached(pointer);
    if (pointer != nullptr && reached == pointer)
        return;
    cudaPointerAttributes place{};
    check(call, cudaPointerGetAttributes(&place, pointer));
    if (place.type == cudaMemoryTypeUnregistered ||
        (place.type == cudaMemoryTypeDevice && place.device != target.device()))
        throw_misplaced(target, call, place);
    reached = pointer;
}

// The same for `count` elements. Iterators that are no pointers are taken on trust.
template <class It>
void check_place(const cuda& target, std::string_view call, It it, std::size_t count)
{
    if constexpr (std::is_pointer_v<It>)
        if (count != 0)
            check_pointer(target, call, it);
}

// What is found out once for each device; zero before. Host threads that do so at once find the same. (By the compiler's
// builtins, since <atomic> would take nvcc a fifth of a second.)
class known_of_devices {
public:
    unsigned of(int device) const { return __atomic_load_n(&value_[place(device)], __ATOMIC_ACQUIRE); }
    void set(int device, unsigned value) { __atomic_store_n(&value_[place(device)], value, __ATOMIC_RELEASE); }

private:
    static constexpr std::size_t devices = 64;
    static std::size_t place(int device) { return static_cast<std::size_t>(device) % devices; }

    unsigned value_[devices] = {};
};

// How many blocks of a kernel the device holds at once.
inline unsigned resident_blocks(const cuda& target, const void* kernel, int threads, std::size_t shared_bytes,
                                known_of_devices& known)
{
    if (const unsigned blocks = known.of(target.device()))
        return blocks;
    int each = 0;
    check("cudaFuncSetAttribute",
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
    check("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, shared_bytes));
    known.set(target.device(), static_cast<unsigned>(each * target.workspace().processors()));
    return known.of(target.device());
}

template <auto Kernel>
unsigned resident_blocks(const cuda& target, int threads, std::size_t shared_bytes)
{
    static known_of_devices known;
    return resident_blocks(target, reinterpret_cast<const void*>(Kernel), threads, shared_bytes, known);
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
    allow_shared_bytes(target, reinterpret_cast<const void*>(Kernel), allowed);
}

// Whether a kernel was compiled for GPUs with clusters: what a driver makes of PTX for older ones knows nothing of them.
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
