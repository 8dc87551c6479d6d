// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <cuda_runtime.h>

#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/gpu/target/device.cuh>
#include <upsweep/gpu/target/loaded_kernels.cuh>
#include <upsweep/gpu/target/workspace.cuh>

namespace upsweep {

// A stream of a CUDA device, the one that is current when the target is made. Calls are carried out in order of the
// stream; a call that returns a value waits for it. The target keeps a workspace, which its copies share: calls from
// two host threads or on two streams at once need a target each. After the first call nothing is allocated unless a
// later call is larger, and calls can be captured in a graph.
class cuda {
public:
    explicit cuda(cudaStream_t stream = nullptr) : workspace_(new gpu::workspace(stream)) {}
    cuda(const cuda& other) : workspace_(other.workspace_), loaded_(other.loaded_) { workspace_->acquire(); }
    // The same stream and workspace, for calls whose kernels were loaded at run time.
    cuda(const cuda& other, gpu::loaded_kernels& loaded) : cuda(other) { loaded_ = &loaded; }
    cuda& operator=(cuda other)
    {
        std::swap(workspace_, other.workspace_);
        std::swap(loaded_, other.loaded_);
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
    gpu::loaded_kernels* loaded() const { return loaded_; } // or null

private:
    gpu::workspace* workspace_;
    gpu::loaded_kernels* loaded_ = nullptr;
};

template <>
inline constexpr bool is_target<cuda> = true;

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

} // namespace gpu

// A value that a kernel writes is in pinned memory of the workspace; the call waits for the stream.
template <>
struct detail::returned<cuda> {
    static constexpr bool is_in_host_memory = false;

    template <class T, class Write>
    static T value(const cuda& target, std::string_view call, Write write)
    {
        auto* const result = static_cast<T*>(target.workspace().result(sizeof(T)));
        write(result);
        gpu::check(call, cudaStreamSynchronize(target.stream()));
        return *result;
    }
};

} // namespace upsweep
