// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The part of the CUDA runtime that a program of kernels, copies, streams and events uses. Work runs when it is enqueued, so
// that a stream is idle whenever a call returns; this is one of the orders that CUDA allows. There is one device.
#pragma once

#include <cstddef>
#include <type_traits>

#include "upsweep/simulator/cuda/driver_types.h"
#include "upsweep/simulator/cuda/not_simulated.h"

#define CUDART_VERSION 13000
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0

// Errors and versions.
const char* cudaGetErrorString(cudaError_t);
const char* cudaGetErrorName(cudaError_t);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDriverGetVersion(int* version);

// The device.
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaSetValidDevices(int* devices, int count);
cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags);
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaGetDeviceFlags(unsigned* flags);
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
#define cudaGetDeviceProperties_v2 cudaGetDeviceProperties
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device);
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id);
cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value);
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit);
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config);
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config);
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config);
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to);
cudaError_t cudaCtxResetPersistingL2Cache();
// The names that these functions had before CUDA 4.
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }

// Memory. That of cudaMallocHost and cudaHostAlloc, and what is registered, has the same address for kernels and the host.
cudaError_t cudaMalloc(void** place, std::size_t bytes);
cudaError_t cudaMallocManaged(void** place, std::size_t bytes, unsigned flags = cudaMemAttachGlobal);
cudaError_t cudaMallocHost(void** place, std::size_t bytes);
cudaError_t cudaMallocHost(void** place, std::size_t bytes, unsigned flags);
cudaError_t cudaHostAlloc(void** place, std::size_t bytes, unsigned flags);
cudaError_t cudaMallocAsync(void** place, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaMallocFromPoolAsync(void** place, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
cudaError_t cudaMallocPitch(void** place, std::size_t* pitch, std::size_t width, std::size_t height);
cudaError_t cudaMalloc3D(cudaPitchedPtr* place, cudaExtent extent);
cudaError_t cudaFree(void* place);
cudaError_t cudaFreeHost(void* place);
cudaError_t cudaFreeAsync(void* place, cudaStream_t stream);
cudaError_t cudaHostRegister(void* place, std::size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* place);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
cudaError_t cudaHostGetFlags(unsigned* flags, void* host);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* place);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaMemPrefetchAsync(const void* place, std::size_t bytes, int device, cudaStream_t stream = nullptr);
cudaError_t cudaMemPrefetchAsync(const void* place, std::size_t bytes, cudaMemLocation where, unsigned flags,
                                 cudaStream_t stream = nullptr);
cudaError_t cudaMemAdvise(const void* place, std::size_t bytes, cudaMemoryAdvise advice, int device);
cudaError_t cudaMemAdvise(const void* place, std::size_t bytes, cudaMemoryAdvise advice, cudaMemLocation where);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* place, std::size_t bytes = 0,
                                     unsigned flags = cudaMemAttachSingle);

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes_to_keep);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* list, std::size_t count);

// Allocations of typed pointers. They are inlined, so that an allocation is known by the line of the program that asks for it.
template <class T>
[[gnu::always_inline]] inline cudaError_t cudaMalloc(T** place, std::size_t bytes)
{
    return cudaMalloc(static_cast<void**>(static_cast<void*>(place)), bytes);
}
template <class T>
[[gnu::always_inline]] inline cudaError_t cudaMallocHost(T** place, std::size_t bytes, unsigned flags = 0)
{
    return cudaMallocHost(static_cast<void**>(static_cast<void*>(place)), bytes, flags);
}
template <class T>
[[gnu::always_inline]] inline cudaError_t cudaMallocManaged(T** place, std::size_t bytes,
                                                            unsigned flags = cudaMemAttachGlobal)
{
    return cudaMallocManaged(static_cast<void**>(static_cast<void*>(place)), bytes, flags);
}
template <class T>
[[gnu::always_inline]] inline cudaError_t cudaHostAlloc(T** place, std::size_t bytes, unsigned flags)
{
    return cudaHostAlloc(static_cast<void**>(static_cast<void*>(place)), bytes, flags);
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned flags)
{
    return cudaHostGetDevicePointer(static_cast<void**>(static_cast<void*>(device)), host, flags);
}
template <class T>
[[gnu::always_inline]] inline cudaError_t cudaMallocPitch(T** place, std::size_t* pitch, std::size_t width,
                                                          std::size_t height)
{
    return cudaMallocPitch(static_cast<void**>(static_cast<void*>(place)), pitch, width, height);
}
template <class T>
[[gnu::always_inline]] inline cudaError_t cudaMallocAsync(T** place, std::size_t bytes, cudaStream_t stream)
{
    return cudaMallocAsync(static_cast<void**>(static_cast<void*>(place)), bytes, stream);
}
template <class T>
cudaError_t cudaMallocFromPoolAsync(T** place, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    return cudaMallocFromPoolAsync(static_cast<void**>(static_cast<void*>(place)), bytes, pool, stream);
}
template <class T>
cudaError_t cudaMallocAsync(T** place, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    return cudaMallocFromPoolAsync(place, bytes, pool, stream);
}

// Copies.
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t bytes);
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters);
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void* to, int value, std::size_t bytes);
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height);
cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t stream = nullptr);
cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent);
cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream = nullptr);

// Variables of the device are variables of the program, so that a symbol is a reference.
namespace upsweep::simulator::cuda {
cudaError_t copy_to_symbol(void* symbol, std::size_t size, const void* from, std::size_t bytes, std::size_t offset);
cudaError_t copy_from_symbol(void* to, const void* symbol, std::size_t size, std::size_t bytes, std::size_t offset);
} // namespace upsweep::simulator::cuda
template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, std::size_t bytes, std::size_t offset = 0,
                               cudaMemcpyKind = cudaMemcpyHostToDevice)
{
    return upsweep::simulator::cuda::copy_to_symbol(const_cast<void*>(reinterpret_cast<const volatile void*>(&symbol)),
                                                    sizeof symbol, from, bytes, offset);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t bytes, std::size_t offset = 0,
                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t = nullptr)
{
    return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t bytes, std::size_t offset = 0,
                                 cudaMemcpyKind = cudaMemcpyDeviceToHost)
{
    return upsweep::simulator::cuda::copy_from_symbol(
        to, const_cast<const void*>(reinterpret_cast<const volatile void*>(&symbol)), sizeof symbol, bytes, offset);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t bytes, std::size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t = nullptr)
{
    return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}
template <class Pointer, class T>
cudaError_t cudaGetSymbolAddress(Pointer** place, const T& symbol)
{
    *static_cast<void**>(static_cast<void*>(place)) =
        const_cast<void*>(reinterpret_cast<const volatile void*>(&symbol));
    return cudaSuccess;
}
template <class T>
cudaError_t cudaGetSymbolSize(std::size_t* size, const T& symbol)
{
    *size = sizeof symbol;
    return cudaSuccess;
}

// Streams and events.
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags);
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device);
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID id, const cudaStreamAttrValue* value);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status); // never: there are no graphs
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = nullptr, unsigned flags = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaEventDestroy(cudaEvent_t event);

// Profilers see nothing of the simulator.
inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }

// Attributes and occupancy of kernels.
namespace upsweep::simulator::cuda {
cudaError_t set_attribute(const void* kernel, cudaFuncAttribute attribute, int value);
cudaError_t get_attributes(cudaFuncAttributes* attributes, const void* kernel);
cudaError_t occupancy(int* blocks, int threads, std::size_t dynamic_shared);
cudaError_t best_block_size(int* min_grid, int* block, std::size_t (*shared_of)(const void* how, int threads),
                            const void* how, int limit);
cudaError_t available_dynamic_shared(std::size_t* bytes, int blocks, int threads);
cudaError_t resident_clusters(int* clusters, const void* kernel, const cudaLaunchConfig_t* config);
cudaError_t largest_cluster(int* size, const void* kernel);
} // namespace upsweep::simulator::cuda
template <class T>
cudaError_t cudaFuncSetAttribute(T* kernel, cudaFuncAttribute attribute, int value)
{
    return upsweep::simulator::cuda::set_attribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
template <class T>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, T* kernel)
{
    return upsweep::simulator::cuda::get_attributes(attributes, reinterpret_cast<const void*>(kernel));
}
template <class T>
cudaError_t cudaFuncSetCacheConfig(T*, cudaFuncCache)
{
    return cudaSuccess;
}
template <class T>
cudaError_t cudaFuncSetSharedMemConfig(T*, cudaSharedMemConfig)
{
    return cudaSuccess;
}
template <class T>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T*, int threads, std::size_t dynamic_shared)
{
    return upsweep::simulator::cuda::occupancy(blocks, threads, dynamic_shared);
}
template <class T>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, T*, int threads,
                                                                   std::size_t dynamic_shared, unsigned)
{
    return upsweep::simulator::cuda::occupancy(blocks, threads, dynamic_shared);
}
template <class T>
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, T*, int blocks, int threads)
{
    return upsweep::simulator::cuda::available_dynamic_shared(bytes, blocks, threads);
}
template <class T>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, T* kernel, const cudaLaunchConfig_t* config)
{
    return upsweep::simulator::cuda::resident_clusters(clusters, reinterpret_cast<const void*>(kernel), config);
}
template <class T>
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, T* kernel, const cudaLaunchConfig_t*)
{
    return upsweep::simulator::cuda::largest_cluster(size, reinterpret_cast<const void*>(kernel));
}
// The block size with which most threads are resident at once, and the grid that fills the machine with such blocks.
template <class F, class T>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* min_grid, int* block, T*, F shared_of, int limit = 0)
{
    return upsweep::simulator::cuda::best_block_size(
        min_grid, block,
        [](const void* how, int threads) { return static_cast<std::size_t>((*static_cast<const F*>(how))(threads)); },
        &shared_of, limit);
}
template <class T>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* min_grid, int* block, T* kernel, std::size_t dynamic_shared = 0,
                                               int limit = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
        min_grid, block, kernel, [dynamic_shared](int) { return dynamic_shared; }, limit);
}
template <class T>
cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int* min_grid, int* block, T* kernel,
                                                        std::size_t dynamic_shared = 0, int limit = 0, unsigned = 0)
{
    return cudaOccupancyMaxPotentialBlockSize(min_grid, block, kernel, dynamic_shared, limit);
}
