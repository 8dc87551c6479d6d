// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Cooperative groups, barriers, pipelines and atomics of libcu++. nvcc compiles this file, too.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/complex>
#include <cuda/std/limits>
#include <numeric>

#include "portable.h"

namespace cg = cooperative_groups;

namespace {

__device__ int sum_of(cg::thread_group group, int* scratch, int value)
{
    const int lane = static_cast<int>(group.thread_rank());
    for (int i = static_cast<int>(group.size()) / 2; i > 0; i /= 2) {
        scratch[lane] = value;
        group.sync();
        if (lane < i)
            value += scratch[lane + i];
        group.sync();
    }
    return value;
}

__global__ void dynamic_groups(int* out)
{
    __shared__ int scratch[64];
    const cg::thread_block block = cg::this_thread_block();
    const int rank = static_cast<int>(block.thread_rank());
    const int all = sum_of(block, scratch, rank);
    const cg::thread_group tile = cg::tiled_partition(block, 8);
    const int part = sum_of(tile, scratch + rank / 8 * 8, rank);
    if (rank == 0)
        out[0] = all;
    if (tile.thread_rank() == 0)
        out[1 + rank / 8] = part;
    cg::sync(block);
}

TEST(groups, groups_whose_size_is_known_late)
{
    EXPECT_EQ(results_of<int>(9, 1, 64, dynamic_groups),
              (std::vector<int>{2016, 28, 92, 156, 220, 284, 348, 412, 476}));
}

__global__ void tiles_of_tiles(int* out)
{
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const auto eight = cg::tiled_partition<8>(warp);
    const cg::thread_block_tile<4> four = cg::tiled_partition<4>(eight);
    const int rank = static_cast<int>(threadIdx.x);
    out[rank] = static_cast<int>(1000 * warp.meta_group_rank() + 100 * eight.meta_group_rank() +
                                 10 * four.meta_group_rank() + four.thread_rank());
    out[64 + rank] =
        static_cast<int>(warp.meta_group_size() * 100 + eight.meta_group_size() * 10 + four.meta_group_size());
    out[128 + rank] = four.shfl(rank, 2) + static_cast<int>(four.ballot(rank % 2)) + four.any(rank == 5) +
                      10 * four.all(rank < 60) + static_cast<int>(four.match_any(rank / 2)) * 100;
}

TEST(groups, tiles_of_tiles)
{
    const auto got = results_of<int>(192, 1, 64, tiles_of_tiles);
    EXPECT_EQ(got[0], 0);
    EXPECT_EQ(got[63], 1313);
    EXPECT_EQ(got[64], 242);
    EXPECT_EQ(got[128 + 6], 6 + 0b1010 + 1 + 10 + 0b1100 * 100);
    EXPECT_EQ(got[128 + 61], 62 + 0b1010 + 0 + 0 + 0b0011 * 100);
}

__global__ void lanes_together(int* out)
{
    const int rank = static_cast<int>(threadIdx.x);
    if (rank % 3 == 0) {
        const cg::coalesced_group active = cg::coalesced_threads(); // 11 lanes
        const int total = cg::reduce(active, rank, cg::plus<int>());
        const int most = cg::reduce(active, rank, cg::greater<int>());
        const int before = cg::exclusive_scan(active, rank, cg::plus<int>());
        const int upto = cg::inclusive_scan(active, rank);
        const cg::coalesced_group pairs = cg::tiled_partition(active, 2);
        out[rank] = total;
        out[32 + rank] = most + before + upto;
        out[64 + rank] = static_cast<int>(pairs.size() * 100 + pairs.thread_rank() * 10 + pairs.meta_group_rank());
        out[96 + rank] = active.shfl(rank, 10) + active.shfl_up(rank, 1) + active.shfl_down(rank, 1);
    }
}

TEST(groups, lanes_that_run_together)
{
    const auto got = results_of<int>(128, 1, 32, lanes_together);
    EXPECT_EQ(got[0], 165);
    EXPECT_EQ(got[30], 165);
    EXPECT_EQ(got[32 + 6], 30 + 3 + 9);
    EXPECT_EQ(got[64 + 30], 105);
    EXPECT_EQ(got[64 + 9], 211);
    EXPECT_EQ(got[96 + 6], 30 + 3 + 9);
}

__global__ void partitions(int* out)
{
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int rank = static_cast<int>(threadIdx.x);
    const cg::coalesced_group same = cg::labeled_partition(warp, rank % 5);
    const cg::coalesced_group odd = cg::binary_partition(warp, rank % 2 == 1);
    out[rank] = static_cast<int>(same.size()) + 100 * cg::reduce(odd, 1, cg::plus<int>());
    cg::invoke_one(same, [&] { atomicAdd(out + 32, 1); });
    out[64 + rank] = cg::invoke_one_broadcast(odd, [&] { return 7; });
}

TEST(groups, partitions_by_label_and_by_answer)
{
    const auto got = results_of<int>(96, 1, 32, partitions);
    EXPECT_EQ(got[1], 1607);
    EXPECT_EQ(got[4], 1606);
    EXPECT_EQ(got[32], 5);
    EXPECT_EQ(got[64 + 31], 7);
}

__global__ void whole_grid(unsigned* out)
{
    const cg::grid_group grid = cg::this_grid();
    out[grid.thread_rank()] =
        static_cast<unsigned>(grid.size() + 1000 * grid.num_blocks() + 100000 * grid.block_rank());
    if (grid.thread_rank() == 0)
        out[0] += 7 + grid.dim_blocks().x;
}

TEST(groups, the_grid_knows_its_shape)
{
    const auto got = results_of<unsigned>(64, dim3(2, 2), 16, whole_grid);
    EXPECT_EQ(got[0], 4064u + 9);
    EXPECT_EQ(got[63], 304064u);
}

constexpr int tile = 128;

__global__ void groups_copy(int* out, const int* in)
{
    alignas(16) __shared__ int staged[tile];
    const auto block = cg::this_thread_block();
    cg::memcpy_async(block, staged, in + blockIdx.x * tile, sizeof(int) * tile);
    cg::wait(block);
    out[blockIdx.x * tile + threadIdx.x] = staged[tile - 1 - threadIdx.x];
}

__global__ void barriers_copy(int* out, const int* in)
{
    alignas(16) __shared__ int staged[tile];
    __shared__ cuda::barrier<cuda::thread_scope_block> filled;
    const auto block = cg::this_thread_block();
    if (block.thread_rank() == 0)
        init(&filled, tile);
    block.sync();
    cuda::memcpy_async(block, staged, in + blockIdx.x * tile, cuda::aligned_size_t<16>(sizeof(int) * tile), filled);
    auto token = filled.arrive();
    filled.wait(std::move(token)); // NOLINT(performance-move-const-arg): libcu++ wants it
    out[blockIdx.x * tile + threadIdx.x] = staged[tile - 1 - threadIdx.x];
    filled.arrive_and_wait();
}

// Two stages: while one tile is used, the next one comes.
__global__ void pipelines_copy(int* out, const int* in)
{
    alignas(16) __shared__ int staged[2][tile];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    const auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    const int tiles = 4;
    for (int consumed = 0, fetched = 0; consumed < tiles; ++consumed) {
        for (; fetched < tiles && fetched < consumed + 2; ++fetched) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, staged[fetched % 2], in + fetched * tile,
                               cuda::aligned_size_t<16>(sizeof(int) * tile), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        out[consumed * tile + static_cast<int>(threadIdx.x)] = staged[consumed % 2][tile - 1 - threadIdx.x];
        pipe.consumer_release();
    }
}

// The same with one warp that fetches and others that use.
__global__ void roles_copy(int* out, const int* in)
{
    alignas(16) __shared__ int staged[2][tile];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    const auto block = cg::this_thread_block();
    const auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    for (int i = 0; i < 4; ++i)
        if (role == cuda::pipeline_role::producer) {
            pipe.producer_acquire();
            for (unsigned j = threadIdx.x; j < tile; j += 32)
                cuda::memcpy_async(&staged[i % 2][j], in + i * tile + j, sizeof(int), pipe);
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            const int t = static_cast<int>(threadIdx.x) - 32;
            out[i * tile + t] = staged[i % 2][tile - 1 - t];
            pipe.consumer_release();
        }
}

TEST(groups, copies_are_there_when_one_has_waited)
{
    std::vector<int> values(4 * tile), expected(4 * tile);
    std::iota(values.begin(), values.end(), 0);
    for (int i = 0; i < 4 * tile; ++i)
        expected[static_cast<std::size_t>(i)] = i / tile * tile + (tile - 1 - i % tile);
    int* in = nullptr;
    ASSERT_EQ(cudaMalloc(&in, sizeof(int) * values.size()), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(in, values.data(), sizeof(int) * values.size(), cudaMemcpyHostToDevice), cudaSuccess);
    const int* from = in;
    EXPECT_EQ(results_of<int>(4 * tile, 4, tile, groups_copy, from), expected);
    EXPECT_EQ(results_of<int>(4 * tile, 4, tile, barriers_copy, from), expected);
    EXPECT_EQ(results_of<int>(4 * tile, 1, tile, pipelines_copy, from), expected);
    EXPECT_EQ(results_of<int>(4 * tile, 1, tile + 32, roles_copy, from), expected);
    EXPECT_EQ(cudaFree(in), cudaSuccess);
}

__global__ void standard_types(float* out)
{
    const cuda::std::complex<float> i(0, 1);
    out[0] = (i * i).real();
    out[1] = cuda::std::numeric_limits<float>::max();
    cuda::atomic_ref<float, cuda::thread_scope_device> sum(out[2]);
    sum.fetch_add(1.0f, cuda::std::memory_order_relaxed);
}

TEST(groups, types_of_the_standard_library)
{
    const auto got = results_of<float>(3, 1, 1, standard_types);
    EXPECT_EQ(got[0], -1);
    EXPECT_EQ(got[1], std::numeric_limits<float>::max());
    EXPECT_EQ(got[2], 1);
}

} // namespace
