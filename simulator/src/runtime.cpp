// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Memory, copies, streams and events of the CUDA runtime.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>

#include "arrays.h"
#include "host.h"
#include "host_access.h"
#include "memory.h"
#include "runtime_state.h"
#include "upsweep/simulator/cuda/runtime_api.h"

using namespace upsweep::simulator;

#define CALL_SITE reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))

struct CUstream_st {
    unsigned flags = 0;
    int priority = 0;
    unsigned long long id = 0;
};
struct CUevent_st {
    unsigned flags = 0;
    bool recorded = false;
    std::chrono::steady_clock::time_point when{};
};
struct CUmemPoolHandle_st {
    std::uint64_t attributes[9] = {};
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

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, std::uintptr_t caller)
{
    return bytes == 0 || check_direction(to, from, kind, caller) ? copy(to, from, bytes, caller)
                                                                 : failed(cudaErrorInvalidValue);
}

cudaError_t set(void* to, int value, std::size_t bytes, std::uintptr_t caller)
{
    entered_runtime();
    if (bytes == 0)
        return cudaSuccess;
    auto& memory = device_memory::instance();
    const auto address = reinterpret_cast<std::uintptr_t>(to);
    if (!memory.contains(address) && memory.device_variable(address) == nullptr)
        return failed(cudaErrorInvalidValue);
    if (!inside_allocation(to, bytes, caller, "wrote"))
        return failed(cudaErrorInvalidValue);
    std::memset(to, value, bytes);
    device_memory::instance().host_wrote(to, bytes);
    return cudaSuccess;
}

// Each row of a pitched array, in turn.
cudaError_t copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                      std::size_t height, std::uintptr_t caller)
{
    if (height > 1 && (to_pitch < width || from_pitch < width))
        return failed(cudaErrorInvalidPitchValue);
    for (std::size_t row = 0; row < height; ++row)
        if (auto error = copy(static_cast<char*>(to) + row * to_pitch,
                              static_cast<const char*>(from) + row * from_pitch, width, caller);
            error != cudaSuccess)
            return error;
    return cudaSuccess;
}

cudaError_t copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                      std::size_t height, cudaMemcpyKind kind, std::uintptr_t caller)
{
    return width == 0 || height == 0 || check_direction(to, from, kind, caller)
               ? copy_rows(to, to_pitch, from, from_pitch, width, height, caller)
               : failed(cudaErrorInvalidValue);
}

cudaError_t set_rows(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                     std::uintptr_t caller)
{
    if (height > 1 && pitch < width)
        return failed(cudaErrorInvalidPitchValue);
    for (std::size_t row = 0; row < height; ++row)
        if (auto error = set(static_cast<char*>(to) + row * pitch, value, width, caller); error != cudaSuccess)
            return error;
    return cudaSuccess;
}

// One side of a copy of a box: where it begins, and how far apart its rows and slices are.
struct box_side {
    box_side(const cudaPitchedPtr& linear, const cudaArray* array, const cudaPos& at)
    {
        if (array != nullptr) {
            row = array->pitch();
            slice = row * array->rows();
            begin = array->at(at.x * array->element_bytes, at.y, at.z);
        } else {
            row = linear.pitch;
            slice = row * linear.ysize;
            begin = static_cast<char*>(linear.ptr) + at.z * slice + at.y * row + at.x;
        }
    }
    char* begin;
    std::size_t row, slice;
};

cudaError_t copy_box(const cudaMemcpy3DParms* p, std::uintptr_t caller)
{
    if (p == nullptr)
        return failed(cudaErrorInvalidValue);
    const box_side from(p->srcPtr, p->srcArray, p->srcPos), to(p->dstPtr, p->dstArray, p->dstPos);
    // The extent counts elements where a side is an array, and otherwise bytes.
    const cudaArray* array = p->srcArray != nullptr ? p->srcArray : p->dstArray;
    const std::size_t width = p->extent.width * (array != nullptr ? array->element_bytes : 1);
    for (std::size_t z = 0; z < p->extent.depth; ++z)
        if (auto error = copy_rows(to.begin + z * to.slice, to.row, from.begin + z * from.slice, from.row, width,
                                   p->extent.height, caller);
            error != cudaSuccess)
            return error;
    return cudaSuccess;
}

// What is prefetched or advised about must be managed memory, or mapped for the device.
cudaError_t managed_range(const void* place, std::size_t bytes)
{
    entered_runtime();
    auto& memory = device_memory::instance();
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    const allocation* here = memory.contains(address) ? memory.find(address) : nullptr;
    if (here == nullptr || here->freed || here->kind != memory_kind::managed ||
        address - reinterpret_cast<std::uintptr_t>(here->base) + bytes > here->size)
        return failed(cudaErrorInvalidValue);
    return cudaSuccess;
}

const CUstream_st& properties_of(cudaStream_t stream)
{
    static const CUstream_st legacy;
    return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread ? legacy : *stream;
}

CUmemPoolHandle_st default_pool;
std::atomic<cudaMemPool_t> current_pool = &default_pool;

} // namespace

cudaError_t cudaMalloc(void** place, std::size_t bytes)
{
    return allocate(place, bytes, CALL_SITE, memory_kind::device);
}
cudaError_t cudaMallocAsync(void** place, std::size_t bytes, cudaStream_t)
{
    return allocate(place, bytes, CALL_SITE, memory_kind::device);
}
cudaError_t cudaMallocFromPoolAsync(void** place, std::size_t bytes, cudaMemPool_t, cudaStream_t)
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
cudaError_t cudaMallocHost(void** place, std::size_t bytes, unsigned)
{
    return allocate(place, bytes, CALL_SITE, memory_kind::host);
}
cudaError_t cudaHostAlloc(void** place, std::size_t bytes, unsigned)
{
    return allocate(place, bytes, CALL_SITE, memory_kind::host);
}
cudaError_t cudaMallocPitch(void** place, std::size_t* pitch, std::size_t width, std::size_t height)
{
    if (pitch == nullptr)
        return failed(cudaErrorInvalidValue);
    *pitch = (width + 511) / 512 * 512;
    return allocate(place, *pitch * height, CALL_SITE, memory_kind::device);
}
cudaError_t cudaMalloc3D(cudaPitchedPtr* place, cudaExtent extent)
{
    if (place == nullptr)
        return failed(cudaErrorInvalidValue);
    *place = {nullptr, (extent.width + 511) / 512 * 512, extent.width, extent.height};
    return allocate(&place->ptr, place->pitch * extent.height * extent.depth, CALL_SITE, memory_kind::device);
}
cudaError_t cudaFree(void* place)
{
    synchronised();
    return release(place, CALL_SITE);
}
cudaError_t cudaFreeHost(void* place) { return release(place, CALL_SITE); }
cudaError_t cudaFreeAsync(void* place, cudaStream_t) { return release(place, CALL_SITE); }

cudaError_t cudaHostRegister(void* place, std::size_t bytes, unsigned)
{
    entered_runtime();
    if (place == nullptr || bytes == 0)
        return failed(cudaErrorInvalidValue);
    auto& memory = device_memory::instance();
    if (memory.contains(reinterpret_cast<std::uintptr_t>(place)) || !memory.add_host_range(place, bytes))
        return failed(cudaErrorHostMemoryAlreadyRegistered);
    return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* place)
{
    entered_runtime();
    return device_memory::instance().remove_host_range(place) ? cudaSuccess : failed(cudaErrorHostMemoryNotRegistered);
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned)
{
    cudaPointerAttributes attributes;
    cudaPointerGetAttributes(&attributes, host);
    if (device == nullptr || attributes.type != cudaMemoryTypeHost)
        return failed(cudaErrorInvalidValue);
    *device = attributes.devicePointer;
    return cudaSuccess;
}
cudaError_t cudaHostGetFlags(unsigned* flags, void* host)
{
    cudaPointerAttributes attributes;
    cudaPointerGetAttributes(&attributes, host);
    if (flags == nullptr || attributes.type != cudaMemoryTypeHost)
        return failed(cudaErrorInvalidValue);
    *flags = cudaHostAllocMapped | cudaHostAllocPortable;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* place)
{
    entered_runtime();
    *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, const_cast<void*>(place)};
    auto& memory = device_memory::instance();
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    const allocation* here = memory.contains(address) ? memory.find(address) : memory.host_range(address);
    if (here == nullptr || here->freed || address - reinterpret_cast<std::uintptr_t>(here->base) >= here->size)
        return cudaSuccess;
    attributes->device = 0;
    attributes->devicePointer = const_cast<void*>(place);
    switch (here->kind) {
    case memory_kind::host: attributes->type = cudaMemoryTypeHost; break;
    case memory_kind::managed: attributes->type = cudaMemoryTypeManaged; break;
    case memory_kind::device:
    case memory_kind::device_heap:
        attributes->type = cudaMemoryTypeDevice;
        attributes->hostPointer = nullptr;
        break;
    }
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total)
{
    *total = current_options().machine.memory_bytes;
    *free = *total - std::min(*total, device_memory::instance().in_use());
    return cudaSuccess;
}
cudaError_t cudaMemPrefetchAsync(const void* place, std::size_t bytes, int device, cudaStream_t)
{
    if (device != 0 && device != cudaCpuDeviceId)
        return failed(cudaErrorInvalidDevice);
    return managed_range(place, bytes);
}
cudaError_t cudaMemPrefetchAsync(const void* place, std::size_t bytes, cudaMemLocation, unsigned, cudaStream_t)
{
    return managed_range(place, bytes);
}
cudaError_t cudaMemAdvise(const void* place, std::size_t bytes, cudaMemoryAdvise, int device)
{
    if (device != 0 && device != cudaCpuDeviceId)
        return failed(cudaErrorInvalidDevice);
    return managed_range(place, bytes);
}
cudaError_t cudaMemAdvise(const void* place, std::size_t bytes, cudaMemoryAdvise, cudaMemLocation)
{
    return managed_range(place, bytes);
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void* place, std::size_t bytes, unsigned)
{
    return managed_range(place, bytes);
}

// Memory pools hold nothing back, so that their thresholds change nothing.
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device)
{
    *pool = &default_pool;
    return device == 0 ? cudaSuccess : failed(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device)
{
    *pool = current_pool;
    return device == 0 ? cudaSuccess : failed(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    current_pool = pool;
    return device == 0 ? cudaSuccess : failed(cudaErrorInvalidDevice);
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*)
{
    *pool = new CUmemPoolHandle_st;
    return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    if (pool == nullptr || pool == &default_pool)
        return failed(cudaErrorInvalidValue);
    delete pool;
    return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) { return cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value)
{
    if (attribute < cudaMemPoolReuseFollowEventDependencies || attribute > cudaMemPoolAttrUsedMemHigh)
        return failed(cudaErrorInvalidValue);
    // The first three attributes are ints, and the others are 64-bit numbers.
    std::memcpy(&pool->attributes[attribute], value, attribute < cudaMemPoolAttrReleaseThreshold ? 4 : 8);
    return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value)
{
    if (attribute < cudaMemPoolReuseFollowEventDependencies || attribute > cudaMemPoolAttrUsedMemHigh)
        return failed(cudaErrorInvalidValue);
    if (attribute == cudaMemPoolAttrUsedMemCurrent || attribute == cudaMemPoolAttrReservedMemCurrent)
        pool->attributes[attribute] = device_memory::instance().in_use();
    std::memcpy(value, &pool->attributes[attribute], attribute < cudaMemPoolAttrReleaseThreshold ? 4 : 8);
    return cudaSuccess;
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, std::size_t) { return cudaSuccess; }

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind)
{
    synchronised();
    return copy(to, from, bytes, kind, CALL_SITE);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t)
{
    return copy(to, from, bytes, kind, CALL_SITE);
}
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t bytes)
{
    return to_device == 0 && from_device == 0 ? copy(to, from, bytes, CALL_SITE) : failed(cudaErrorInvalidDevice);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t)
{
    return to_device == 0 && from_device == 0 ? copy(to, from, bytes, CALL_SITE) : failed(cudaErrorInvalidDevice);
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind)
{
    synchronised();
    return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, CALL_SITE);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t)
{
    return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, CALL_SITE);
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) { return copy_box(parameters, CALL_SITE); }
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t)
{
    return copy_box(parameters, CALL_SITE);
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) { return set(to, value, bytes, CALL_SITE); }
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t)
{
    return set(to, value, bytes, CALL_SITE);
}
cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height)
{
    return set_rows(to, pitch, value, width, height, CALL_SITE);
}
cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t)
{
    return set_rows(to, pitch, value, width, height, CALL_SITE);
}
cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent)
{
    for (std::size_t z = 0; z < extent.depth; ++z)
        if (auto error = set_rows(static_cast<char*>(to.ptr) + z * to.ysize * to.pitch, to.pitch, value, extent.width,
                                  extent.height, CALL_SITE);
            error != cudaSuccess)
            return error;
    return cudaSuccess;
}
cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t)
{
    return cudaMemset3D(to, value, extent);
}

cudaError_t cuda::copy_to_symbol(void* symbol, std::size_t size, const void* from, std::size_t bytes,
                                 std::size_t offset)
{
    if (offset > size || bytes > size - offset)
        return failed(cudaErrorInvalidValue);
    return copy(static_cast<char*>(symbol) + offset, from, bytes, CALL_SITE);
}
cudaError_t cuda::copy_from_symbol(void* to, const void* symbol, std::size_t size, std::size_t bytes,
                                   std::size_t offset)
{
    if (offset > size || bytes > size - offset)
        return failed(cudaErrorInvalidValue);
    return copy(to, static_cast<const char*>(symbol) + offset, bytes, CALL_SITE);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority)
{
    static std::atomic<unsigned long long> last_id = 2; // 1 and 2 are the default streams
    entered_runtime();
    if (stream == nullptr || flags > cudaStreamNonBlocking)
        return failed(cudaErrorInvalidValue);
    *stream = new CUstream_st{flags, std::clamp(priority, -5, 0), ++last_id};
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream)
{
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
        return failed(cudaErrorInvalidResourceHandle);
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaDeviceSynchronize(); }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status)
{
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaDeviceSynchronize(); }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority)
{
    *priority = properties_of(stream).priority;
    return cudaSuccess;
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags)
{
    *flags = properties_of(stream).flags;
    return cudaSuccess;
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id)
{
    *id = stream == cudaStreamPerThread ? 2 : std::max(1ull, properties_of(stream).id);
    return cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t, int* device) { return cudaGetDevice(device); }
cudaError_t cudaStreamSetAttribute(cudaStream_t, cudaStreamAttrID, const cudaStreamAttrValue*) { return cudaSuccess; }
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags)
{
    if (callback == nullptr || flags != 0)
        return failed(cudaErrorInvalidValue);
    callback(stream, cudaDeviceSynchronize(), data);
    return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void* data)
{
    entered_runtime();
    if (function == nullptr)
        return failed(cudaErrorInvalidValue);
    function(data);
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags)
{
    entered_runtime();
    if (event == nullptr)
        return failed(cudaErrorInvalidValue);
    *event = new CUevent_st{flags};
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags) { return cudaEventCreateWithFlags(event, flags); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t)
{
    entered_runtime();
    if (event == nullptr)
        return failed(cudaErrorInvalidResourceHandle);
    event->when = std::chrono::steady_clock::now();
    event->recorded = true;
    return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned)
{
    return cudaEventRecord(event, stream);
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaDeviceSynchronize(); }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaDeviceSynchronize(); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    if (milliseconds == nullptr)
        return failed(cudaErrorInvalidValue);
    if (from == nullptr || to == nullptr || !from->recorded || !to->recorded ||
        ((from->flags | to->flags) & cudaEventDisableTiming) != 0)
        return failed(cudaErrorInvalidResourceHandle);
    *milliseconds = std::chrono::duration<float, std::milli>(to->when - from->when).count();
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (event == nullptr)
        return failed(cudaErrorInvalidResourceHandle);
    delete event;
    return cudaSuccess;
}
