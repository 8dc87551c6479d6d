// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "simulated.h"

namespace cg = cooperative_groups;
constexpr unsigned all_lanes = 0xffffffffu;

__global__ void indices(uint4* out)
{
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] =
        make_uint4(threadIdx.x, threadIdx.y, blockIdx.x, blockIdx.y);
}

TEST(intrinsics, built_in_indices_cover_every_dimension)
{
    device_array<uint4> out(2 * 3 * 4 * 5);
    EXPECT_CLEAN(run(indices, dim3(2, 3), dim3(4, 5), 0, out));
    auto got = out.read();
    const auto last = got.back(), first = got.front(), second_row = got[4];
    EXPECT_EQ(first.x + first.y + first.z + first.w, 0u);
    EXPECT_EQ(std::vector<unsigned>({last.x, last.y, last.z, last.w}), (std::vector<unsigned>{3, 4, 1, 2}));
    EXPECT_EQ(second_row.y, 1u);
}

__global__ void shuffles(int* out)
{
    const int lane = static_cast<int>(threadIdx.x);
    out[lane] = __shfl_sync(all_lanes, lane, 5);
    out[32 + lane] = __shfl_up_sync(all_lanes, lane, 3);
    out[64 + lane] = __shfl_down_sync(all_lanes, lane, 3);
    out[96 + lane] = __shfl_xor_sync(all_lanes, lane, 7);
    out[128 + lane] = __shfl_down_sync(all_lanes, lane, 1, 8);
    out[160 + lane] = static_cast<int>(__shfl_sync(all_lanes, 1.5 * lane, lane + 1, 16));
}

TEST(intrinsics, shuffles_follow_the_programming_guide)
{
    device_array<int> out(192);
    EXPECT_CLEAN(run(shuffles, 1, 32, 0, out));
    auto got = out.read();
    for (int lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(got[lane], 5);
        EXPECT_EQ(got[32 + lane], lane < 3 ? lane : lane - 3);
        EXPECT_EQ(got[64 + lane], lane + 3 < 32 ? lane + 3 : lane);
        EXPECT_EQ(got[96 + lane], lane ^ 7);
        EXPECT_EQ(got[128 + lane], lane % 8 == 7 ? lane : lane + 1);
        EXPECT_EQ(got[160 + lane], (lane / 16 * 16 + (lane + 1) % 16) * 3 / 2);
    }
}

__global__ void votes(unsigned* out)
{
    const unsigned lane = threadIdx.x;
    int same = 0;
    const unsigned answers[] = {__ballot_sync(all_lanes, lane % 3 == 0),
                                static_cast<unsigned>(__all_sync(all_lanes, lane < 32)),
                                static_cast<unsigned>(__all_sync(all_lanes, lane < 31)),
                                static_cast<unsigned>(__any_sync(all_lanes, lane == 31)),
                                __match_any_sync(all_lanes, lane / 8),
                                __match_all_sync(all_lanes, 7, &same),
                                __reduce_add_sync(all_lanes, lane),
                                __reduce_max_sync(all_lanes, lane),
                                static_cast<unsigned>(__reduce_min_sync(all_lanes, -static_cast<int>(lane)))};
    if (lane == 9) {
        for (int i = 0; i < 9; ++i)
            out[i] = answers[i];
        out[9] = static_cast<unsigned>(same);
    }
}

TEST(intrinsics, votes_matches_and_warp_reductions)
{
    device_array<unsigned> out(10);
    EXPECT_CLEAN(run(votes, 1, 32, 0, out));
    EXPECT_EQ(out.read(), (std::vector<unsigned>{0x49249249u, 1, 0, 1, 0x0000ff00u, all_lanes, 496, 31,
                                                 static_cast<unsigned>(-31), 1}));
}

__global__ void masks(unsigned* out)
{
    if (threadIdx.x < 10)
        out[threadIdx.x] = __activemask();
    else
        out[threadIdx.x] = __ballot_sync(~0x3ffu, threadIdx.x % 2);
}

// Each copies a part of the input, by a load and a store with a hint for the caches.
__global__ void hinted_copies(const int* in, int* out, long long* waited)
{
    const unsigned t = threadIdx.x;
    const long long begin = clock64();
    out[t] = __ldg(in + t);
    __stcs(out + 32 + t, __ldcs(in + 32 + t));
    __stwt(out + 64 + t, __ldca(in + 64 + t));
    __nanosleep(50);
    waited[t] = clock64() - begin;
}

TEST(intrinsics, hints_for_the_caches_and_clocks)
{
    std::vector<int> values(96);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<int>(3 * i);
    const device_array<int> in(values);
    device_array<int> out(96);
    device_array<long long> waited(32);
    const auto report = run(hinted_copies, 1, 32, 0, in, out, waited);
    EXPECT_CLEAN(report);
    EXPECT_EQ(out.read(), values);
    EXPECT_EQ(report.total.load_transactions, 3 * 32 * sizeof(int) / 32);
    EXPECT_GT(waited.read()[7], 0);
}

TEST(intrinsics, a_mask_names_part_of_a_warp)
{
    device_array<unsigned> out(32);
    EXPECT_CLEAN(run(masks, 1, 32, 0, out));
    EXPECT_EQ(out.read()[3], 0x3ffu);
    EXPECT_EQ(out.read()[20], 0xaaaaa800u);
}

__global__ void counting_barriers(int* out)
{
    const int t = static_cast<int>(threadIdx.x);
    const int counted = __syncthreads_count(t % 3 == 0), all = __syncthreads_and(t >= 0),
              any = __syncthreads_or(t == 99);
    if (t == 70)
        out[0] = counted, out[1] = all, out[2] = any;
}

TEST(intrinsics, barriers_that_count)
{
    device_array<int> out(3);
    EXPECT_CLEAN(run(counting_barriers, 1, 96, 0, out));
    EXPECT_EQ(out.read(), (std::vector<int>{32, 1, 0}));
}

__global__ void every_atomic(unsigned* a, float* f, unsigned long long* wide)
{
    const unsigned t = threadIdx.x;
    atomicAdd(&a[0], t);
    atomicSub(&a[1], 1u);
    atomicMin(&a[2], t + 5);
    atomicMax(&a[3], t);
    atomicInc(&a[4], 9u);
    atomicDec(&a[5], 9u);
    atomicAnd(&a[6], ~(1u << t));
    atomicOr(&a[7], 1u << t);
    atomicXor(&a[8], 3u);
    if (t == 31)
        atomicExch(&a[9], 42u);
    if (atomicCAS(&a[10], 0u, t + 1) == 0)
        atomicAdd(&a[11], 1u);
    atomicAdd(f, 0.5f);
    atomicAdd(wide, 1ull << 33);
    atomicAdd_block(&a[12], 1u);
    atomicAdd_system(&a[13], 1u);
}

TEST(intrinsics, atomics_of_every_operator_and_width)
{
    std::vector<unsigned> start(14, 0);
    start[1] = start[2] = start[6] = all_lanes;
    device_array<unsigned> a(start);
    auto f = zeros<float>(1);
    auto wide = zeros<unsigned long long>(1);
    auto report = run(every_atomic, 1, 32, 0, a, f, wide);
    EXPECT_CLEAN(report);
    auto got = a.read();
    EXPECT_EQ(got[10] != 0, true);
    got[10] = 0;
    EXPECT_EQ(got, (std::vector<unsigned>{496, all_lanes - 32, 5, 31, 2, 8, 0, all_lanes, 0, 42, 0, 1, 32, 32}));
    EXPECT_EQ(f.read()[0], 16.0f);
    EXPECT_EQ(wide.read()[0], 32ull << 33);
    EXPECT_EQ(report.total.worst_address, 32u);
}

__global__ void references(int* a, int* seen)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> shared_count(a[0]);
    const int mine = shared_count.fetch_add(1, cuda::memory_order_relaxed);
    seen[mine] = 1;
    int expected = 64;
    if (shared_count.compare_exchange_strong(expected, 1000))
        a[1] = expected;
}

TEST(intrinsics, atomic_references)
{
    auto a = zeros<int>(2), seen = zeros<int>(64);
    EXPECT_CLEAN(run(references, 2, 32, 0, a, seen));
    EXPECT_EQ(a.read(), (std::vector<int>{1000, 64}));
    EXPECT_EQ(seen.read(), std::vector<int>(64, 1));
}

__global__ void halves(const float* in, float* out)
{
    const unsigned t = threadIdx.x;
    const half h = __float2half(in[t]);
    const __nv_bfloat16 b = __float2bfloat16(in[t]);
    out[t] = __half2float(__hadd(h, h));
    out[32 + t] = __bfloat162float(__hmul(b, b));
}

TEST(intrinsics, half_and_bfloat16_round_to_nearest_even)
{
    std::vector<float> values(32, 0.0f);
    values[0] = 1.0009765625f, values[1] = 2049.0f, values[2] = 65504.0f, values[3] = 5.96e-8f, values[4] = 1.00390625f,
    values[5] = 65520.0f;
    device_array<float> in(values), out(64);
    EXPECT_CLEAN(run(halves, 1, 32, 0, in, out));
    auto got = out.read();
    EXPECT_EQ(got[0], 2.001953125f);
    EXPECT_EQ(got[1], 4096.0f); // 2049 is halfway between 2048 and 2050
    EXPECT_TRUE(std::isinf(got[2]) && std::isinf(got[5]));
    EXPECT_EQ(got[3], 0x1p-23f);
    EXPECT_EQ(got[32 + 4], 1.0f); // halfway again, to the even one
}

__global__ void groups(int* out)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int sum = static_cast<int>(block.thread_rank());
    for (unsigned delta = 4; delta > 0; delta /= 2)
        sum += tile.shfl_down(sum, delta);
    if (tile.thread_rank() == 0)
        out[tile.meta_group_rank()] = sum;
    block.sync();
    if (threadIdx.x % 2) {
        auto odd = cg::coalesced_threads();
        if (odd.thread_rank() == 3)
            out[8 + threadIdx.x / 32] = static_cast<int>(odd.size() * 100 + threadIdx.x);
    }
}

TEST(intrinsics, cooperative_groups)
{
    device_array<int> out(10);
    EXPECT_CLEAN(run(groups, 1, 64, 0, out));
    EXPECT_EQ(out.read(), (std::vector<int>{28, 92, 156, 220, 284, 348, 412, 476, 1607, 1639}));
}

__global__ void two_phases(int* a, int* out)
{
    a[blockIdx.x] = static_cast<int>(blockIdx.x);
    cg::this_grid().sync();
    out[blockIdx.x] = a[(blockIdx.x + 1) % gridDim.x];
}

TEST(intrinsics, a_cooperative_grid_waits_for_itself)
{
    device_array<int> a(20), out(20);
    int *pa = a, *pout = out;
    void* arguments[] = {&pa, &pout};
    sim::recording here;
    ASSERT_EQ(cudaLaunchCooperativeKernel(two_phases, 20, 1, arguments), cudaSuccess);
    EXPECT_CLEAN(here.launches().at(0));
    EXPECT_EQ(out.read()[19], 0);
    EXPECT_EQ(out.read()[3], 4);
}

__global__ void neighbours(int* out)
{
    __shared__ int mine;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        mine = 10 + static_cast<int>(blockIdx.x);
    cluster.sync();
    if (threadIdx.x == 0)
        out[blockIdx.x] =
            *cluster.map_shared_rank(&mine, static_cast<int>((cluster.block_rank() + 1) % cluster.num_blocks()));
    cluster.sync();
}

TEST(intrinsics, a_cluster_reads_its_neighbours_shared_memory)
{
    device_array<int> out(8);
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {4, 1, 1};
    cudaLaunchConfig_t config{8, 32, 0, nullptr, &attribute, 1};
    sim::recording here;
    ASSERT_EQ(cudaLaunchKernelEx(&config, neighbours, static_cast<int*>(out)), cudaSuccess);
    EXPECT_CLEAN(here.launches().at(0));
    EXPECT_EQ(out.read(), (std::vector<int>{11, 12, 13, 10, 15, 16, 17, 14}));
}

__device__ int counter_on_device = 3;
__constant__ int table_on_device[4];

__global__ void device_variables(int* out)
{
    atomicAdd(&counter_on_device, 1);
    out[threadIdx.x] = table_on_device[threadIdx.x];
}

TEST(intrinsics, device_and_constant_variables)
{
    const int values[] = {4, 5, 6, 7};
    ASSERT_EQ(cudaMemcpyToSymbol(table_on_device, values, sizeof values), cudaSuccess);
    device_array<int> out(4);
    EXPECT_CLEAN(run(device_variables, 1, 4, 0, out));
    int count = 0;
    ASSERT_EQ(cudaMemcpyFromSymbol(&count, counter_on_device, sizeof count), cudaSuccess);
    EXPECT_EQ(count, 7);
    EXPECT_EQ(out.read(), (std::vector<int>{4, 5, 6, 7}));
}

struct tile_results {
    int sum[64], first_lane[64], any[64], all[64], scan[64];
};

__global__ void wide_tiles(tile_results* out)
{
    __shared__ cg::block_tile_memory<256> memory;
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    const int t = static_cast<int>(threadIdx.x);
    const int sum = cg::reduce(tile, t, cg::plus<int>());
    const int first = tile.shfl(t, 0);
    const int any = tile.any(t == 70), all = tile.all(t < 130);
    const int scan = cg::exclusive_scan(tile, t, cg::plus<int>());
    auto& mine = out[tile.meta_group_rank()];
    const unsigned i = tile.thread_rank();
    mine.sum[i] = sum, mine.first_lane[i] = first, mine.any[i] = any, mine.all[i] = all, mine.scan[i] = scan;
}

__global__ void wide_tile_without_memory(int*) { cg::tiled_partition<64>(cg::this_thread_block()).sync(); }

TEST(intrinsics, tiles_of_several_warps)
{
    device_array<tile_results> out(4);
    EXPECT_CLEAN(run(wide_tiles, 1, 256, 0, out));
    const auto got = out.read();
    for (int tile = 0; tile < 4; ++tile) {
        const auto& mine = got[static_cast<std::size_t>(tile)];
        EXPECT_EQ(mine.sum[63], 64 * 64 * tile + 2016);
        EXPECT_EQ(mine.first_lane[5], 64 * tile);
        EXPECT_EQ(mine.any[0], tile == 1);
        EXPECT_EQ(mine.all[0], tile < 2);
        EXPECT_EQ(mine.scan[0], 0);
        EXPECT_EQ(mine.scan[3], 3 * 64 * tile + 3);
    }
    EXPECT_FOUND(run(wide_tile_without_memory, 1, 64, 0, nullptr), failed_launch);
    cudaGetLastError();
}

template <cuda::thread_scope Scope>
__global__ void counts_in_a_scope(int* counters, int* out)
{
    cuda::atomic_ref<int, Scope> counter(counters[0]);
    counter.fetch_add(1, cuda::memory_order_relaxed);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        cuda::atomic_ref<int, Scope> own(counters[1]);
        own = 5;
        ++own;
        own += 4;
        out[0] = own++;
        out[1] = own;
    }
}

TEST(intrinsics, the_scope_of_an_atomic_reference)
{
    auto counters = zeros<int>(2), out = zeros<int>(2);
    EXPECT_CLEAN(run(counts_in_a_scope<cuda::thread_scope_system>, 2, 32, 0, counters, out));
    EXPECT_CLEAN(run(counts_in_a_scope<cuda::thread_scope_device>, 2, 32, 0, counters, out));
    EXPECT_CLEAN(run(counts_in_a_scope<cuda::thread_scope_block>, 1, 64, 0, counters, out));
    EXPECT_EQ(out.read(), (std::vector<int>{10, 11}));
    EXPECT_FOUND(run(counts_in_a_scope<cuda::thread_scope_block>, 2, 32, 0, counters, out), scope_too_narrow);
}

TEST(host, every_pointer_has_a_kind)
{
    int *device = nullptr, *host = nullptr, *managed = nullptr, local = 0;
    ASSERT_EQ(cudaMalloc(&device, 64), cudaSuccess);
    ASSERT_EQ(cudaMallocHost(&host, 64), cudaSuccess);
    ASSERT_EQ(cudaMallocManaged(&managed, 64), cudaSuccess);
    const auto kind = [](const void* place) {
        cudaPointerAttributes found{};
        EXPECT_EQ(cudaPointerGetAttributes(&found, place), cudaSuccess);
        return found.type;
    };
    EXPECT_EQ(kind(device), cudaMemoryTypeDevice);
    EXPECT_EQ(kind(device + 15), cudaMemoryTypeDevice);
    EXPECT_EQ(kind(device + 16), cudaMemoryTypeUnregistered);
    EXPECT_EQ(kind(host), cudaMemoryTypeHost);
    EXPECT_EQ(kind(managed), cudaMemoryTypeManaged);
    EXPECT_EQ(kind(&local), cudaMemoryTypeUnregistered);
    cudaFree(device), cudaFreeHost(host), cudaFree(managed);
    EXPECT_EQ(kind(device), cudaMemoryTypeUnregistered);
}
