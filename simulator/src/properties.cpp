// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The simulated device as a program sees it: its properties, attributes and limits, and how many blocks it holds.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "device_heap.h"
#include "runtime_state.h"
#include "upsweep/simulator/cuda/runtime_api.h"
#include "upsweep/simulator/simulator.h"

using namespace upsweep::simulator;

namespace {

// What the simulator does not use, but programs print: the figures of a product of each compute capability.
struct product {
    int major, minor;
    int clock_khz, memory_clock_khz, bus_bits, l2_bytes, single_to_double, async_engines;
};
constexpr int mib = 1 << 20;
constexpr product products[] = {
    {1, 0, 1350000, 900000, 384, 0, 0, 0},            // GeForce 8800 GTX
    {7, 0, 1530000, 877000, 4096, 6 * mib, 2, 5},     // V100
    {7, 5, 1590000, 5001000, 256, 4 * mib, 32, 3},    // T4
    {8, 0, 1410000, 1215000, 5120, 40 * mib, 2, 3},   // A100
    {8, 6, 1695000, 9751000, 384, 6 * mib, 32, 2},    // GeForce RTX 3090
    {8, 9, 2520000, 10501000, 384, 72 * mib, 64, 2},  // GeForce RTX 4090
    {9, 0, 1980000, 2619000, 5120, 50 * mib, 2, 3},   // H100
    {10, 0, 1965000, 3996000, 8192, 126 * mib, 2, 4}, // B200
};

const product& product_of(const geometry& machine)
{
    const product* best = std::begin(products);
    for (const auto& p : products)
        if (10 * p.major + p.minor <= 10 * machine.major + machine.minor)
            best = &p;
    return *best;
}

cudaError_t only_device(int device) { return device == 0 ? cudaSuccess : failed(cudaErrorInvalidDevice); }

std::size_t printf_buffer = std::size_t{1} << 20, sync_depth = 2, pending_launches = 2048, fetch_granularity = 64,
            persisting_l2 = 0, stack_limit = 1024;
unsigned device_flags = cudaDeviceMapHost;
cudaFuncCache cache_config = cudaFuncCachePreferNone;

} // namespace

cudaError_t cudaDeviceReset()
{
    entered_runtime();
    return cudaSuccess;
}
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
cudaError_t cudaSetDevice(int device) { return only_device(device); }
cudaError_t cudaSetValidDevices(int* devices, int count)
{
    for (int i = 0; i < count; ++i)
        if (devices[i] != 0)
            return failed(cudaErrorInvalidDevice);
    return cudaSuccess;
}
cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return only_device(device); }
cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    if ((flags & ~static_cast<unsigned>(cudaDeviceMask)) != 0)
        return failed(cudaErrorInvalidValue);
    device_flags = flags | cudaDeviceMapHost;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceFlags(unsigned* flags)
{
    *flags = device_flags;
    return cudaSuccess;
}
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device)
{
    if (p == nullptr)
        return failed(cudaErrorInvalidValue);
    if (auto error = only_device(device); error != cudaSuccess)
        return error;
    const auto& m = current_options().machine;
    const product& like = product_of(m);
    const int generation = 10 * m.major + m.minor;
    *p = {};
    std::snprintf(p->name, sizeof p->name, "simulated %s", m.name.c_str());
    std::memcpy(p->uuid.bytes, "upsweep-simulate", sizeof p->uuid.bytes);
    p->totalGlobalMem = m.memory_bytes;
    p->sharedMemPerBlock = m.shared_per_block;
    p->sharedMemPerBlockOptin = m.shared_opt_in;
    p->sharedMemPerMultiprocessor = m.shared_per_sm;
    p->reservedSharedMemPerBlock = generation >= 80 ? 1024 : 0;
    p->totalConstMem = 64 << 10;
    p->regsPerBlock = p->regsPerMultiprocessor = generation >= 70 ? 65536 : 8192;
    p->warpSize = static_cast<int>(m.warp_width);
    p->memPitch = 2147483647;
    p->maxThreadsPerBlock = static_cast<int>(m.threads_per_block);
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = static_cast<int>(m.threads_per_block);
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 2147483647;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->clockRate = like.clock_khz;
    p->memoryClockRate = like.memory_clock_khz;
    p->memoryBusWidth = like.bus_bits;
    p->l2CacheSize = like.l2_bytes;
    p->persistingL2CacheMaxSize = generation >= 80 ? like.l2_bytes / 8 * 5 : 0;
    p->singleToDoublePrecisionPerfRatio = like.single_to_double;
    p->asyncEngineCount = like.async_engines;
    p->deviceOverlap = like.async_engines > 0;
    p->major = m.major;
    p->minor = m.minor;
    p->multiProcessorCount = static_cast<int>(m.sms);
    p->maxThreadsPerMultiProcessor = static_cast<int>(m.threads_per_sm);
    p->maxBlocksPerMultiProcessor = static_cast<int>(m.blocks_per_sm);
    p->textureAlignment = p->surfaceAlignment = 512;
    p->texturePitchAlignment = 32;
    p->maxTexture1D = p->maxTexture2D[0] = 131072;
    p->maxTexture1DLinear = 268435456;
    p->maxTexture2D[1] = 65536;
    p->maxTexture2DLinear[0] = p->maxTexture2DLinear[1] = 131072;
    p->maxTexture2DLinear[2] = 2097120;
    p->maxTexture3D[0] = p->maxTexture3D[1] = p->maxTexture3D[2] = 16384;
    p->maxTexture1DLayered[0] = p->maxTexture2DLayered[0] = p->maxTexture2DLayered[1] = 32768;
    p->maxTexture1DLayered[1] = p->maxTexture2DLayered[2] = 2048;
    p->maxTextureCubemap = 32768;
    p->pciBusID = 1;
    p->canMapHostMemory = p->concurrentKernels = p->managedMemory = p->unifiedAddressing = p->cooperativeLaunch =
        p->streamPrioritiesSupported = p->globalL1CacheSupported = p->localL1CacheSupported =
            p->canUseHostPointerForRegisteredMem = p->hostRegisterSupported = p->memoryPoolsSupported =
                p->concurrentManagedAccess = p->computePreemptionSupported = 1;
    p->ECCEnabled = m.major >= 7 && like.single_to_double == 2;
    p->accessPolicyMaxWindowSize = generation >= 80 ? 128 * mib : 0;
    p->clusterLaunch = m.major >= 9;
    p->deviceNumaId = p->hostNumaId = -1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device)
{
    cudaDeviceProp p;
    if (value == nullptr)
        return failed(cudaErrorInvalidValue);
    if (auto error = cudaGetDeviceProperties(&p, device); error != cudaSuccess)
        return error;
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxBlockDimX: *value = p.maxThreadsDim[0]; break;
    case cudaDevAttrMaxBlockDimY: *value = p.maxThreadsDim[1]; break;
    case cudaDevAttrMaxBlockDimZ: *value = p.maxThreadsDim[2]; break;
    case cudaDevAttrMaxGridDimX: *value = p.maxGridSize[0]; break;
    case cudaDevAttrMaxGridDimY: *value = p.maxGridSize[1]; break;
    case cudaDevAttrMaxGridDimZ: *value = p.maxGridSize[2]; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(p.sharedMemPerBlock); break;
    case cudaDevAttrTotalConstantMemory: *value = static_cast<int>(p.totalConstMem); break;
    case cudaDevAttrWarpSize: *value = p.warpSize; break;
    case cudaDevAttrMaxPitch: *value = static_cast<int>(p.memPitch); break;
    case cudaDevAttrMaxRegistersPerBlock: *value = p.regsPerBlock; break;
    case cudaDevAttrClockRate: *value = p.clockRate; break;
    case cudaDevAttrTextureAlignment: *value = static_cast<int>(p.textureAlignment); break;
    case cudaDevAttrGpuOverlap: *value = p.deviceOverlap; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrCanMapHostMemory: *value = p.canMapHostMemory; break;
    case cudaDevAttrComputeMode: *value = p.computeMode; break;
    case cudaDevAttrMaxTexture1DWidth: *value = p.maxTexture1D; break;
    case cudaDevAttrMaxTexture2DWidth: *value = p.maxTexture2D[0]; break;
    case cudaDevAttrMaxTexture2DHeight: *value = p.maxTexture2D[1]; break;
    case cudaDevAttrMaxTexture3DWidth: *value = p.maxTexture3D[0]; break;
    case cudaDevAttrMaxTexture3DHeight: *value = p.maxTexture3D[1]; break;
    case cudaDevAttrMaxTexture3DDepth: *value = p.maxTexture3D[2]; break;
    case cudaDevAttrMaxTexture1DLinearWidth: *value = p.maxTexture1DLinear; break;
    case cudaDevAttrSurfaceAlignment: *value = static_cast<int>(p.surfaceAlignment); break;
    case cudaDevAttrConcurrentKernels: *value = p.concurrentKernels; break;
    case cudaDevAttrEccEnabled: *value = p.ECCEnabled; break;
    case cudaDevAttrPciBusId: *value = p.pciBusID; break;
    case cudaDevAttrMemoryClockRate: *value = p.memoryClockRate; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = p.memoryBusWidth; break;
    case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrAsyncEngineCount: *value = p.asyncEngineCount; break;
    case cudaDevAttrUnifiedAddressing: *value = p.unifiedAddressing; break;
    case cudaDevAttrTexturePitchAlignment: *value = static_cast<int>(p.texturePitchAlignment); break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
    case cudaDevAttrStreamPrioritiesSupported: *value = p.streamPrioritiesSupported; break;
    case cudaDevAttrGlobalL1CacheSupported: *value = p.globalL1CacheSupported; break;
    case cudaDevAttrLocalL1CacheSupported: *value = p.localL1CacheSupported; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = static_cast<int>(p.sharedMemPerMultiprocessor); break;
    case cudaDevAttrMaxRegistersPerMultiprocessor: *value = p.regsPerMultiprocessor; break;
    case cudaDevAttrManagedMemory: *value = p.managedMemory; break;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio: *value = p.singleToDoublePrecisionPerfRatio; break;
    case cudaDevAttrConcurrentManagedAccess: *value = p.concurrentManagedAccess; break;
    case cudaDevAttrComputePreemptionSupported: *value = p.computePreemptionSupported; break;
    case cudaDevAttrCanUseHostPointerForRegisteredMem: *value = p.canUseHostPointerForRegisteredMem; break;
    case cudaDevAttrCooperativeLaunch: *value = p.cooperativeLaunch; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(p.sharedMemPerBlockOptin); break;
    case cudaDevAttrHostRegisterSupported: *value = p.hostRegisterSupported; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = p.maxBlocksPerMultiProcessor; break;
    case cudaDevAttrMaxPersistingL2CacheSize: *value = p.persistingL2CacheMaxSize; break;
    case cudaDevAttrMaxAccessPolicyWindowSize: *value = p.accessPolicyMaxWindowSize; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = static_cast<int>(p.reservedSharedMemPerBlock); break;
    case cudaDevAttrMemoryPoolsSupported: *value = p.memoryPoolsSupported; break;
    case cudaDevAttrClusterLaunch: *value = p.clusterLaunch; break;
    case cudaDevAttrNumaId: *value = p.deviceNumaId; break;
    case cudaDevAttrHostNumaId: *value = p.hostNumaId; break;
    default: *value = 0; // what the machine has not
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device)
{
    if (auto error = only_device(device); error != cudaSuccess)
        return error;
    std::snprintf(id, static_cast<std::size_t>(length), "0000:01:00.0");
    return cudaSuccess;
}
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* id)
{
    *device = 0;
    return std::strcmp(id, "0000:01:00.0") == 0 ? cudaSuccess : failed(cudaErrorInvalidDevice);
}

namespace {

std::size_t* limit_of(cudaLimit limit)
{
    switch (limit) {
    case cudaLimitStackSize: return &stack_limit;
    case cudaLimitPrintfFifoSize: return &printf_buffer;
    case cudaLimitMallocHeapSize: return &device_heap_limit();
    case cudaLimitDevRuntimeSyncDepth: return &sync_depth;
    case cudaLimitDevRuntimePendingLaunchCount: return &pending_launches;
    case cudaLimitMaxL2FetchGranularity: return &fetch_granularity;
    case cudaLimitPersistingL2CacheSize: return &persisting_l2;
    }
    return nullptr;
}

} // namespace

// The heap's limit counts. Stacks have the size of options::stack_bytes, and printf has no buffer.
cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value)
{
    std::size_t* place = limit_of(limit);
    if (place == nullptr)
        return failed(cudaErrorUnsupportedLimit);
    *place = value;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit)
{
    const std::size_t* place = limit_of(limit);
    if (place == nullptr || value == nullptr)
        return failed(place == nullptr ? cudaErrorUnsupportedLimit : cudaErrorInvalidValue);
    *value = *place;
    return cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config)
{
    cache_config = config;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config)
{
    *config = cache_config;
    return cudaSuccess;
}
// Since Maxwell, banks are four bytes wide, whatever a program asks for.
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config)
{
    *config = cudaSharedMemBankSizeFourByte;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest)
{
    if (least != nullptr)
        *least = 0;
    if (greatest != nullptr)
        *greatest = -5;
    return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer)
{
    *can = 0;
    return device == 0 && peer == 0 ? cudaSuccess : failed(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return failed(cudaErrorInvalidDevice); }
cudaError_t cudaDeviceDisablePeerAccess(int) { return failed(cudaErrorInvalidDevice); }
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int, int)
{
    *value = 0;
    return failed(cudaErrorInvalidDevice);
}
cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

cudaError_t cuda::best_block_size(int* min_grid, int* block, std::size_t (*shared_of)(const void* how, int threads),
                                  const void* how, int limit)
{
    const auto& m = current_options().machine;
    const int most = static_cast<int>(m.threads_per_block), warp = static_cast<int>(m.warp_width);
    limit = limit == 0 ? most : std::min(limit, most);
    int best_threads = 0, best_blocks = 0;
    for (int rounded = (limit + warp - 1) / warp * warp; rounded > 0; rounded -= warp) {
        const int threads = std::min(rounded, limit);
        int blocks = 0;
        occupancy(&blocks, threads, shared_of(how, threads));
        if (threads * blocks > best_threads * best_blocks) {
            best_threads = threads;
            best_blocks = blocks;
        }
    }
    *block = best_threads;
    *min_grid = best_blocks * static_cast<int>(m.sms);
    return cudaSuccess;
}

cudaError_t cuda::available_dynamic_shared(std::size_t* bytes, int blocks, int threads)
{
    const auto& m = current_options().machine;
    int fit = 0;
    occupancy(&fit, threads, 0);
    if (blocks <= 0 || blocks > fit)
        return failed(cudaErrorInvalidValue);
    const std::size_t share = m.shared_per_sm / static_cast<unsigned>(blocks);
    // What a kernel may have that has not asked for more.
    *bytes = std::min(share - std::min<std::size_t>(share, 1024), m.shared_per_block);
    return cudaSuccess;
}

cudaError_t cuda::resident_clusters(int* clusters, const void*, const cudaLaunchConfig_t* config)
{
    const auto& m = current_options().machine;
    unsigned size = 1;
    for (unsigned i = 0; i < config->numAttrs; ++i)
        if (config->attrs[i].id == cudaLaunchAttributeClusterDimension) {
            const auto& c = config->attrs[i].val.clusterDim;
            size = c.x * c.y * c.z;
        }
    if (m.major < 9 || size == 0)
        return failed(cudaErrorInvalidClusterSize);
    int blocks = 0;
    occupancy(&blocks, static_cast<int>(config->blockDim.x * config->blockDim.y * config->blockDim.z),
              config->dynamicSmemBytes);
    *clusters = static_cast<int>(static_cast<unsigned>(blocks) * m.sms / size);
    return cudaSuccess;
}

cudaError_t cuda::largest_cluster(int* size, const void*)
{
    *size = current_options().machine.major >= 9 ? 8 : 1;
    return cudaSuccess;
}
