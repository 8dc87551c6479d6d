// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Memory, streams, events and devices of the CUDA runtime.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "host.h"
#include "memory.h"
#include "runtime_state.h"
#include "upsweep/simulator/cuda/runtime_api.h"

using namespace upsweep::simulator;

#define CALL_SITE reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))

struct CUstream_st {
    int unused;
};
struct CUevent_st {
    std::chrono::steady_clock::time_point when;
    bool recorded;
};

namespace {

cudaError_t allocate(void** place, std::size_t bytes, std::uintptr_t caller, memory_kind kind)
{
    entered_runtime();
    if (place == nullptr)
        return failed(cudaErrorInvalidValue);
    *place = nullptr;
    if (bytes == 0)
        return cudaSuccess;
    *place = device_memory::instance().allocate(bytes, caller, kind);
    return *place == nullptr ? failed(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t release(void* place, std::uintptr_t caller)
{
    entered_runtime();
    if (place == nullptr)
        return cudaSuccess;
    const auto result = device_memory::instance().release(place);
    if (result == device_memory::free_result::freed)
        return cudaSuccess;
    finding f;
    f.kind = finding_kind::invalid_free;
    f.message = result == device_memory::free_result::twice ? "the memory was freed before"
                                                            : "the address was not returned by an allocation";
    f.parties.push_back({locate(caller), {0, 0, 0}, {0, 0, 0}, "freed", caller});
    add_host_finding(std::move(f));
    return failed(cudaErrorInvalidValue);
}

// The copies of the host are checked, too: each side must be inside one allocation.
bool inside_allocation(const void* place, std::size_t bytes, std::uintptr_t caller, const char* did)
{
    auto& memory = device_memory::instance();
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    if (!memory.contains(address))
        return true;
    const allocation* here = memory.find(address);
    const std::size_t offset = here ? address - reinterpret_cast<std::uintptr_t>(here->base) : 0;
    if (here != nullptr && !here->freed && offset + bytes <= here->size)
        return true;
    finding f;
    f.kind = finding_kind::out_of_bounds;
    f.message = "a host call touches " + std::to_string(bytes) + " bytes of " +
                (here == nullptr || here->freed
                     ? "memory that is not allocated"
                     : "an allocation with " + std::to_string(here->size - std::min(offset, here->size)) + " left");
    f.parties.push_back({locate(caller), {0, 0, 0}, {0, 0, 0}, did, caller});
    add_host_finding(std::move(f));
    return false;
}

cudaError_t copy(void* to, const void* from, std::size_t bytes, std::uintptr_t caller)
{
    entered_runtime();
    if (bytes == 0)
        return cudaSuccess;
    if (to == nullptr || from == nullptr)
        return failed(cudaErrorInvalidValue);
    if (!inside_allocation(to, bytes, caller, "wrote") || !inside_allocation(from, bytes, caller, "read"))
        return failed(cudaErrorInvalidValue);
    std::memmove(to, from, bytes);
    device_memory::instance().host_copied(to, from, bytes);
    return cudaSuccess;
}

cudaError_t set(void* to, int value, std::size_t bytes, std::uintptr_t caller)
{
    entered_runtime();
    if (bytes == 0)
        return cudaSuccess;
    if (!device_memory::instance().contains(reinterpret_cast<std::uintptr_t>(to)) ||
        !inside_allocation(to, bytes, caller, "wrote"))
        return failed(cudaErrorInvalidValue);
    std::memset(to, value, bytes);
    device_memory::instance().host_wrote(to, bytes);
    return cudaSuccess;
}

} // namespace

cudaError_t cudaMalloc(void** place, std::size_t bytes)
{
    return allocate(place, bytes, CALL_SITE, memory_kind::device);
}
cudaError_t cudaMallocAsync(void** place, std::size_t bytes, cudaStream_t)
{
    return allocate(place, bytes, CALL_SITE, memory_kind::device);
}
cudaError_t cudaMallocManaged(void** place, std::size_t bytes, unsigned)
{
    return allocate(place, bytes, CALL_SITE, memory_kind::managed);
}
cudaError_t cudaMallocHost(void** place, std::size_t bytes)
{
    return allocate(place, bytes, CALL_SITE, memory_kind::host);
}
cudaError_t cudaHostAlloc(void** place, std::size_t bytes, unsigned)
{
    return allocate(place, bytes, CALL_SITE, memory_kind::host);
}
cudaError_t cudaFree(void* place) { return release(place, CALL_SITE); }
cudaError_t cudaFreeHost(void* place) { return release(place, CALL_SITE); }
cudaError_t cudaFreeAsync(void* place, cudaStream_t) { return release(place, CALL_SITE); }

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* place)
{
    entered_runtime();
    *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, const_cast<void*>(place)};
    auto& memory = device_memory::instance();
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    const allocation* here = memory.contains(address) ? memory.find(address) : nullptr;
    if (here == nullptr || here->freed || address - reinterpret_cast<std::uintptr_t>(here->base) >= here->size)
        return cudaSuccess;
    attributes->device = 0;
    attributes->devicePointer = const_cast<void*>(place);
    switch (here->kind) {
    case memory_kind::host: attributes->type = cudaMemoryTypeHost; break;
    case memory_kind::managed: attributes->type = cudaMemoryTypeManaged; break;
    case memory_kind::device:
        attributes->type = cudaMemoryTypeDevice;
        attributes->hostPointer = nullptr;
        break;
    }
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind)
{
    return copy(to, from, bytes, CALL_SITE);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t)
{
    return copy(to, from, bytes, CALL_SITE);
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind)
{
    for (std::size_t row = 0; row < height; ++row)
        if (auto error = copy(static_cast<char*>(to) + row * to_pitch,
                              static_cast<const char*>(from) + row * from_pitch, width, CALL_SITE);
            error != cudaSuccess)
            return error;
    return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) { return set(to, value, bytes, CALL_SITE); }
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t)
{
    return set(to, value, bytes, CALL_SITE);
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total)
{
    *total = current_options().machine.memory_bytes;
    *free = *total - std::min(*total, device_memory::instance().in_use());
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream)
{
    *stream = new CUstream_st{0};
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return cudaStreamCreate(stream); }
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaDeviceSynchronize(); }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status)
{
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }

cudaError_t cudaEventCreate(cudaEvent_t* event)
{
    *event = new CUevent_st{{}, false};
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t)
{
    entered_runtime();
    if (event == nullptr)
        return failed(cudaErrorInvalidResourceHandle);
    *event = {std::chrono::steady_clock::now(), true};
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaDeviceSynchronize(); }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    if (from == nullptr || to == nullptr || !from->recorded || !to->recorded)
        return failed(cudaErrorInvalidResourceHandle);
    *milliseconds = std::chrono::duration<float, std::milli>(to->when - from->when).count();
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}

cudaError_t cudaDeviceReset() { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count)
{
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device)
{
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : failed(cudaErrorInvalidDevice); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device)
{
    if (device != 0)
        return failed(cudaErrorInvalidDevice);
    const auto& m = current_options().machine;
    *p = {};
    std::snprintf(p->name, sizeof p->name, "simulated %s", m.name.c_str());
    p->totalGlobalMem = m.memory_bytes;
    p->sharedMemPerBlock = m.shared_per_block;
    p->sharedMemPerBlockOptin = m.shared_opt_in;
    p->sharedMemPerMultiprocessor = m.shared_per_sm;
    p->totalConstMem = 64 << 10;
    p->regsPerBlock = 65536;
    p->warpSize = static_cast<int>(m.warp_width);
    p->maxThreadsPerBlock = static_cast<int>(m.threads_per_block);
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = static_cast<int>(m.threads_per_block);
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 2147483647;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->clockRate = p->memoryClockRate = 1000000;
    p->memoryBusWidth = 4096;
    p->major = m.major;
    p->minor = m.minor;
    p->multiProcessorCount = static_cast<int>(m.sms);
    p->maxThreadsPerMultiProcessor = static_cast<int>(m.threads_per_sm);
    p->maxBlocksPerMultiProcessor = static_cast<int>(m.blocks_per_sm);
    p->l2CacheSize = 4 << 20;
    p->cooperativeLaunch = p->concurrentKernels = p->managedMemory = p->unifiedAddressing = 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device)
{
    cudaDeviceProp p;
    if (auto error = cudaGetDeviceProperties(&p, device); error != cudaSuccess)
        return error;
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(p.sharedMemPerBlock); break;
    case cudaDevAttrWarpSize: *value = p.warpSize; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = static_cast<int>(p.sharedMemPerMultiprocessor); break;
    case cudaDevAttrIntegrated: *value = 0; break;
    case cudaDevAttrComputeMode: *value = cudaComputeModeDefault; break;
    case cudaDevAttrClockRate: *value = p.clockRate; break;
    case cudaDevAttrCooperativeLaunch: *value = 1; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(p.sharedMemPerBlockOptin); break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = p.maxBlocksPerMultiProcessor; break;
    case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
    default: return failed(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version)
{
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

#define UPSWEEP_ERRORS(X)                                                                                              \
    X(cudaSuccess, "no error")                                                                                         \
    X(cudaErrorInvalidValue, "invalid argument")                                                                       \
    X(cudaErrorMemoryAllocation, "out of memory")                                                                      \
    X(cudaErrorInitializationError, "initialization error")                                                            \
    X(cudaErrorInvalidConfiguration, "invalid configuration argument")                                                 \
    X(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version")                     \
    X(cudaErrorInvalidSymbol, "invalid device symbol")                                                                 \
    X(cudaErrorInvalidDevicePointer, "invalid device pointer")                                                         \
    X(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")                                            \
    X(cudaErrorNoDevice, "no CUDA-capable device is detected")                                                         \
    X(cudaErrorInvalidDevice, "invalid device ordinal")                                                                \
    X(cudaErrorInvalidResourceHandle, "invalid resource handle")                                                       \
    X(cudaErrorNotReady, "device not ready")                                                                           \
    X(cudaErrorIllegalAddress, "an illegal memory access was encountered")                                             \
    X(cudaErrorLaunchOutOfResources, "too many resources requested for launch")                                        \
    X(cudaErrorLaunchTimeout, "the launch timed out and was terminated")                                               \
    X(cudaErrorAssert, "device-side assert triggered")                                                                 \
    X(cudaErrorMisalignedAddress, "misaligned address")                                                                \
    X(cudaErrorLaunchFailure, "unspecified launch failure")                                                            \
    X(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch")                                     \
    X(cudaErrorInvalidClusterSize, "cluster misconfiguration")                                                         \
    X(cudaErrorNotSupported, "operation not supported")                                                                \
    X(cudaErrorUnknown, "unknown error")

const char* cudaGetErrorString(cudaError_t error)
{
    switch (error) {
#define X(name, text)                                                                                                  \
    case name: return text;
        UPSWEEP_ERRORS(X)
#undef X
    }
    return "unrecognized error code";
}
const char* cudaGetErrorName(cudaError_t error)
{
    switch (error) {
#define X(name, text)                                                                                                  \
    case name: return #name;
        UPSWEEP_ERRORS(X)
#undef X
    }
    return "unrecognized error code";
}
