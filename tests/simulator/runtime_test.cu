// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Memory, copies, streams, events and properties, as programs use them. nvcc compiles this file, too.
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#include <cstring>
#include <numeric>
#include <string>

#include "portable.h"

namespace {

__global__ void add_one(int* values, int count)
{
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count)
        values[i] += 1;
}

} // namespace

TEST(runtime, registered_host_memory_is_the_kernels_too)
{
    std::vector<int> values(100, 5);
    ASSERT_EQ(cudaHostRegister(values.data(), 400, cudaHostRegisterMapped), cudaSuccess);
    EXPECT_EQ(cudaHostRegister(values.data(), 400, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
    int* on_device = nullptr;
    ASSERT_EQ(cudaHostGetDevicePointer(&on_device, values.data(), 0), cudaSuccess);
    cudaPointerAttributes attributes;
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, values.data()), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
    run_on_device(add_one, 4, 32, 0, on_device, 100);
    EXPECT_EQ(values, std::vector<int>(100, 6));
    EXPECT_EQ(cudaHostUnregister(values.data()), cudaSuccess);
    EXPECT_EQ(cudaHostUnregister(values.data()), cudaErrorHostMemoryNotRegistered);
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, values.data()), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
    EXPECT_EQ(cudaHostGetDevicePointer(&on_device, values.data(), 0), cudaErrorInvalidValue);
    cudaGetLastError();
}

TEST(runtime, allocations_of_constant_and_volatile_values)
{
    const float* constant = nullptr;
    volatile int* flag = nullptr;
    EXPECT_EQ(cudaMalloc(&constant, 16), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&flag, 16), cudaSuccess);
    EXPECT_EQ(cudaFree(const_cast<float*>(constant)), cudaSuccess);
    EXPECT_EQ(cudaFree(const_cast<int*>(flag)), cudaSuccess);
}

TEST(runtime, mapped_host_memory)
{
    ASSERT_EQ(cudaSetDeviceFlags(cudaDeviceMapHost), cudaSuccess);
    int *host = nullptr, *on_device = nullptr;
    ASSERT_EQ(cudaHostAlloc(&host, 40, cudaHostAllocMapped | cudaHostAllocWriteCombined), cudaSuccess);
    ASSERT_EQ(cudaHostGetDevicePointer(&on_device, host, 0), cudaSuccess);
    for (int i = 0; i < 10; ++i)
        host[i] = i;
    run_on_device(add_one, 1, 32, 0, on_device, 10);
    EXPECT_EQ(host[9], 10);
    unsigned flags = 0;
    EXPECT_EQ(cudaHostGetFlags(&flags, host), cudaSuccess);
    EXPECT_NE(flags & cudaHostAllocMapped, 0u);
    EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
}

TEST(runtime, managed_memory_takes_advice)
{
    int* values = nullptr;
    ASSERT_EQ(cudaMallocManaged(&values, 4096), cudaSuccess);
    std::iota(values, values + 1024, 0);
    cudaMemLocation here{};
    here.type = cudaMemLocationTypeDevice;
    EXPECT_EQ(cudaMemAdvise(values, 4096, cudaMemAdviseSetPreferredLocation, here), cudaSuccess);
    EXPECT_EQ(cudaMemPrefetchAsync(values, 4096, here, 0, nullptr), cudaSuccess);
    run_on_device(add_one, 8, 128, 0, values, 1024);
    EXPECT_EQ(values[1023], 1024);
    EXPECT_EQ(cudaMemPrefetchAsync(values, 8192, here, 0, nullptr), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFree(values), cudaSuccess);
    cudaGetLastError();
}

#ifdef __CUDACC_SIMULATED__ // CUDA 13 has only the other form
TEST(runtime, prefetching_as_before_cuda_13)
{
    int* values = nullptr;
    ASSERT_EQ(cudaMallocManaged(&values, 4096), cudaSuccess);
    EXPECT_EQ(cudaMemPrefetchAsync(values, 4096, 0), cudaSuccess);
    EXPECT_EQ(cudaMemPrefetchAsync(values, 4096, cudaCpuDeviceId, nullptr), cudaSuccess);
    EXPECT_EQ(cudaMemAdvise(values, 4096, cudaMemAdviseSetReadMostly, 0), cudaSuccess);
    EXPECT_EQ(cudaMemPrefetchAsync(values, 4096, 7), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaFree(values), cudaSuccess);
    cudaGetLastError();
}
#endif

TEST(runtime, pitched_arrays_row_by_row)
{
    char* array = nullptr;
    std::size_t pitch = 0;
    ASSERT_EQ(cudaMallocPitch(&array, &pitch, 30, 4), cudaSuccess);
    EXPECT_GE(pitch, 30u);
    EXPECT_EQ(pitch % 32, 0u);
    ASSERT_EQ(cudaMemset2D(array, pitch, 7, 30, 4), cudaSuccess);
    std::vector<char> rows(3 * 10, 1);
    ASSERT_EQ(cudaMemcpy2DAsync(array + pitch, pitch, rows.data(), 10, 10, 3, cudaMemcpyHostToDevice), cudaSuccess);
    std::vector<char> got(4 * 30);
    ASSERT_EQ(cudaMemcpy2D(got.data(), 30, array, pitch, 30, 4, cudaMemcpyDeviceToHost), cudaSuccess);
    for (int row = 0; row < 4; ++row)
        for (int column = 0; column < 30; ++column)
            EXPECT_EQ(got[static_cast<std::size_t>(row * 30 + column)], row > 0 && column < 10 ? 1 : 7);
    EXPECT_EQ(cudaMemcpy2D(got.data(), 20, array, pitch, 30, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue);
    EXPECT_EQ(cudaFree(array), cudaSuccess);
    cudaGetLastError();
}

TEST(runtime, boxes_of_three_dimensions)
{
    const cudaExtent extent = make_cudaExtent(4 * sizeof(int), 3, 2);
    cudaPitchedPtr array{};
    ASSERT_EQ(cudaMalloc3D(&array, extent), cudaSuccess);
    ASSERT_EQ(cudaMemset3D(array, 0, extent), cudaSuccess);
    std::vector<int> values(24);
    std::iota(values.begin(), values.end(), 0);
    cudaMemcpy3DParms box{};
    box.srcPtr = make_cudaPitchedPtr(values.data(), 4 * sizeof(int), 4, 3);
    box.srcPos = make_cudaPos(sizeof(int), 1, 0);
    box.dstPtr = array;
    box.dstPos = make_cudaPos(0, 0, 1);
    box.extent = make_cudaExtent(2 * sizeof(int), 2, 1);
    box.kind = cudaMemcpyHostToDevice;
    ASSERT_EQ(cudaMemcpy3D(&box), cudaSuccess);
    std::vector<int> got(24);
    cudaMemcpy3DParms back{};
    back.srcPtr = array;
    back.dstPtr = make_cudaPitchedPtr(got.data(), 4 * sizeof(int), 4, 3);
    back.extent = extent;
    back.kind = cudaMemcpyDeviceToHost;
    ASSERT_EQ(cudaMemcpy3D(&back), cudaSuccess);
    std::vector<int> expected(24);
    expected[12] = 5, expected[13] = 6, expected[16] = 9, expected[17] = 10;
    EXPECT_EQ(got, expected);
    EXPECT_EQ(cudaFree(array.ptr), cudaSuccess);
}

__device__ int counters[4];
__constant__ float weights[3];

__global__ void weigh(float* out)
{
    out[threadIdx.x] = weights[threadIdx.x] + static_cast<float>(counters[threadIdx.x]);
}

TEST(runtime, symbols)
{
    const int two[] = {20, 30};
    const float all[] = {0.5f, 1.5f, 2.5f};
    ASSERT_EQ(cudaMemcpyToSymbolAsync(counters, two, sizeof two, sizeof(int), cudaMemcpyHostToDevice, nullptr),
              cudaSuccess);
    ASSERT_EQ(cudaMemcpyToSymbol(weights, all, sizeof all), cudaSuccess);
    EXPECT_EQ(results_of<float>(3, 1, 3, weigh), (std::vector<float>{0.5f, 21.5f, 32.5f}));
    int got[2] = {};
    ASSERT_EQ(cudaMemcpyFromSymbolAsync(got, counters, 8, 4, cudaMemcpyDeviceToHost), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(got[1], 30);
    std::size_t size = 0;
    EXPECT_EQ(cudaGetSymbolSize(&size, counters), cudaSuccess);
    EXPECT_EQ(size, 16u);
    int* address = nullptr;
    ASSERT_EQ(cudaGetSymbolAddress(reinterpret_cast<void**>(&address), counters), cudaSuccess);
    ASSERT_EQ(cudaMemset(address, 0, 16), cudaSuccess);
    EXPECT_EQ(results_of<float>(3, 1, 3, weigh)[2], 2.5f);
    EXPECT_EQ(cudaMemcpyToSymbol(counters, got, 8, 12), cudaErrorInvalidValue);
    cudaGetLastError();
}

TEST(runtime, streams_have_priorities_flags_and_callbacks)
{
    int least = 1, greatest = 1, priority = 0;
    ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
    EXPECT_LT(greatest, least);
    cudaStream_t stream;
    ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), cudaSuccess);
    ASSERT_EQ(cudaStreamGetPriority(stream, &priority), cudaSuccess);
    EXPECT_EQ(priority, greatest);
    unsigned flags = 0;
    ASSERT_EQ(cudaStreamGetFlags(stream, &flags), cudaSuccess);
    EXPECT_EQ(flags, static_cast<unsigned>(cudaStreamNonBlocking));
    ASSERT_EQ(cudaStreamGetFlags(cudaStreamPerThread, &flags), cudaSuccess);
    int calls = 0;
    ASSERT_EQ(cudaStreamAddCallback(
                  stream, [](cudaStream_t, cudaError_t, void* count) { ++*static_cast<int*>(count); }, &calls, 0),
              cudaSuccess);
    ASSERT_EQ(cudaLaunchHostFunc(
                  stream, [](void* count) { ++*static_cast<int*>(count); }, &calls),
              cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(runtime, events_measure_time)
{
    cudaEvent_t from, to, without_time;
    ASSERT_EQ(cudaEventCreate(&from), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&to, cudaEventBlockingSync), cudaSuccess);
    ASSERT_EQ(cudaEventCreateWithFlags(&without_time, cudaEventDisableTiming), cudaSuccess);
    float milliseconds = -1;
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, from, to), cudaErrorInvalidResourceHandle);
    ASSERT_EQ(cudaEventRecord(from), cudaSuccess);
    ASSERT_EQ(cudaEventRecordWithFlags(to, nullptr, cudaEventRecordDefault), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(without_time, cudaStreamLegacy), cudaSuccess);
    ASSERT_EQ(cudaEventSynchronize(to), cudaSuccess);
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, from, to), cudaSuccess);
    EXPECT_GE(milliseconds, 0);
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, from, without_time), cudaErrorInvalidResourceHandle);
    for (cudaEvent_t event : {from, to, without_time})
        EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
    cudaGetLastError();
}

TEST(runtime, memory_pools)
{
    cudaMemPool_t pool;
    ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
    unsigned long long threshold = 1 << 20, got = 0;
    EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold), cudaSuccess);
    EXPECT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got), cudaSuccess);
    EXPECT_EQ(got, threshold);
    int* values = nullptr;
    ASSERT_EQ(cudaMallocFromPoolAsync(&values, 400, pool, nullptr), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(values, 0, 400, nullptr), cudaSuccess);
    run_on_device(add_one, 1, 128, 0, values, 100);
    EXPECT_EQ(cudaFreeAsync(values, nullptr), cudaSuccess);
    EXPECT_EQ(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
}

TEST(runtime, one_device_and_no_peers)
{
    int device = -1, can = -1;
    EXPECT_EQ(cudaSetDevice(1000), cudaErrorInvalidDevice);
    EXPECT_STREQ(cudaGetErrorString(cudaGetLastError()), "invalid device ordinal");
    EXPECT_EQ(cudaInitDevice(0, 0, 0), cudaSuccess);
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, 0);
    cudaDeviceProp wanted{};
    EXPECT_EQ(cudaChooseDevice(&device, &wanted), cudaSuccess);
    EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 0), cudaSuccess);
    EXPECT_EQ(can, 0);
    EXPECT_EQ(cudaProfilerStart(), cudaSuccess);
    EXPECT_EQ(cudaProfilerStop(), cudaSuccess);
}

TEST(runtime, properties_and_attributes_agree)
{
    cudaDeviceProp p;
    ASSERT_EQ(cudaGetDeviceProperties(&p, 0), cudaSuccess);
    const auto attribute = [](cudaDeviceAttr which) {
        int value = -1;
        EXPECT_EQ(cudaDeviceGetAttribute(&value, which, 0), cudaSuccess);
        return value;
    };
    EXPECT_EQ(attribute(cudaDevAttrMultiProcessorCount), p.multiProcessorCount);
    EXPECT_EQ(attribute(cudaDevAttrMaxBlockDimZ), 64);
    EXPECT_EQ(attribute(cudaDevAttrMaxRegistersPerBlock), p.regsPerBlock);
    EXPECT_EQ(attribute(cudaDevAttrGlobalMemoryBusWidth), p.memoryBusWidth);
    EXPECT_EQ(attribute(cudaDevAttrL2CacheSize), p.l2CacheSize);
    EXPECT_GT(attribute(cudaDevAttrClockRate), 0);
    EXPECT_EQ(attribute(cudaDevAttrTotalConstantMemory), 65536);
    char text[400];
    std::snprintf(text, sizeof text, "%zu %zu %d %d %s", p.totalConstMem, p.sharedMemPerBlockOptin, p.maxGridSize[2],
                  p.canMapHostMemory, p.name);
    EXPECT_EQ(std::string(text).rfind("65536 ", 0), 0u);
    char bus[20];
    ASSERT_EQ(cudaDeviceGetPCIBusId(bus, sizeof bus, 0), cudaSuccess);
    EXPECT_EQ(std::strlen(bus), 12u);
}

TEST(runtime, limits_are_kept)
{
    std::size_t value = 0;
    ASSERT_EQ(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2 << 20), cudaSuccess);
    ASSERT_EQ(cudaDeviceGetLimit(&value, cudaLimitPrintfFifoSize), cudaSuccess);
    EXPECT_EQ(value, std::size_t{2} << 20);
    ASSERT_EQ(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize), cudaSuccess);
    EXPECT_EQ(value, std::size_t{8} << 20);
    cudaFuncCache config;
    ASSERT_EQ(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1), cudaSuccess);
    ASSERT_EQ(cudaDeviceGetCacheConfig(&config), cudaSuccess);
    EXPECT_EQ(config, cudaFuncCachePreferL1);
    EXPECT_EQ(cudaFuncSetCacheConfig(add_one, cudaFuncCachePreferShared), cudaSuccess);
}

TEST(runtime, the_block_size_of_the_best_occupancy)
{
    int grid = 0, block = 0, blocks = 0;
    ASSERT_EQ(cudaOccupancyMaxPotentialBlockSize(&grid, &block, add_one, 0, 0), cudaSuccess);
    EXPECT_EQ(block, 1024);
    cudaDeviceProp p;
    ASSERT_EQ(cudaGetDeviceProperties(&p, 0), cudaSuccess);
    EXPECT_EQ(grid, p.multiProcessorCount * (p.maxThreadsPerMultiProcessor / 1024));
    // A kilobyte of shared memory a thread: a few small blocks.
    ASSERT_EQ(cudaOccupancyMaxPotentialBlockSizeVariableSMem(
                  &grid, &block, add_one, [](int threads) { return static_cast<std::size_t>(threads) * 1024; }, 128),
              cudaSuccess);
    EXPECT_LE(block, 128);
    ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, add_one, 256, 0, cudaOccupancyDefault),
              cudaSuccess);
    EXPECT_EQ(blocks, p.maxThreadsPerMultiProcessor / 256);
    std::size_t left = 0;
    ASSERT_EQ(cudaOccupancyAvailableDynamicSMemPerBlock(&left, add_one, 2, 128), cudaSuccess);
    EXPECT_EQ(left, 48u << 10);
    ASSERT_EQ(cudaOccupancyAvailableDynamicSMemPerBlock(&left, add_one, 16, 128), cudaSuccess);
    EXPECT_GT(left, 8u << 10);
    EXPECT_LE(left, p.sharedMemPerMultiprocessor / 16);
}

TEST(runtime, clusters_that_are_resident)
{
    cudaLaunchAttribute cluster;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = 4;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = 64;
    config.blockDim = 512;
    config.attrs = &cluster;
    config.numAttrs = 1;
    int clusters = 0, size = 0;
    ASSERT_EQ(cudaOccupancyMaxActiveClusters(&clusters, add_one, &config), cudaSuccess);
    // At most four such blocks a multiprocessor; a GPU whose multiprocessors form uneven groups holds fewer clusters.
    EXPECT_LE(clusters, 132);
    EXPECT_GT(clusters, 100);
    ASSERT_EQ(cudaOccupancyMaxPotentialClusterSize(&size, add_one, &config), cudaSuccess);
    EXPECT_EQ(size, 8);
}

TEST(runtime, errors_have_nvidias_names_numbers_and_texts)
{
    EXPECT_EQ(cudaErrorDevicesUnavailable, 46);
    EXPECT_EQ(cudaErrorStreamCaptureUnsupported, 900);
    EXPECT_STREQ(cudaGetErrorName(cudaErrorNoKernelImageForDevice), "cudaErrorNoKernelImageForDevice");
    EXPECT_STREQ(cudaGetErrorString(cudaErrorHostMemoryAlreadyRegistered),
                 "part or all of the requested memory range is already mapped");
    EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(5555)), "unrecognized error code");
    enum cudaError also = cudaErrorInvalidValue;
    EXPECT_EQ(also, 1);
}

struct node {
    int value;
    node* next;
};

__global__ void build_list(node** head, int* sum)
{
    for (int i = 0; i < 5; ++i) {
        auto* made = static_cast<node*>(malloc(sizeof(node)));
        made->value = i;
        made->next = *head;
        *head = made;
    }
    int* more = new int[3];
    more[2] = 100;
    *sum = more[2];
    delete[] more;
}

__global__ void take_list_apart(node** head, int* sum)
{
    while (*head != nullptr) {
        node* first = *head;
        *sum += first->value;
        *head = first->next;
        free(first);
    }
}

TEST(runtime, kernels_allocate_from_a_heap)
{
    node** head = nullptr;
    int *sum = nullptr, got = 0;
    ASSERT_EQ(cudaMalloc(&head, sizeof(void*)), cudaSuccess);
    ASSERT_EQ(cudaMemset(head, 0, sizeof(void*)), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&sum, sizeof *sum), cudaSuccess);
    run_on_device(build_list, 1, 1, 0, head, sum);
    run_on_device(take_list_apart, 1, 1, 0, head, sum);
    ASSERT_EQ(cudaMemcpy(&got, sum, sizeof got, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(got, 110);
    EXPECT_EQ(cudaFree(head), cudaSuccess);
    EXPECT_EQ(cudaFree(sum), cudaSuccess);
}

__global__ void allocate_too_much(int* out)
{
    void* volatile place = malloc(std::size_t{1} << 30); // else a compiler may take it for granted that there is room
    *out = place == nullptr;
}

TEST(runtime, the_heap_of_kernels_ends) { EXPECT_EQ(results_of<int>(1, 1, 1, allocate_too_much)[0], 1); }

__global__ void two_clocks(long long* out)
{
    const clock_t from = clock();
    const long long from_64 = clock64();
    out[0] = clock64() - from_64;
    out[1] = clock() - from;
}

TEST(runtime, kernels_count_cycles_and_the_host_counts_time)
{
    const auto cycles = results_of<long long>(2, 1, 1, two_clocks);
    EXPECT_GT(cycles[0], 0);
    EXPECT_GT(cycles[1], cycles[0]);
    const clock_t before = clock();
    EXPECT_GE(clock(), before);
    srand(static_cast<unsigned>(time(nullptr)));
}
