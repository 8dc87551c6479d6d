// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Blocks of a cluster: how they are launched, how they read one another's shared memory, and how they meet.
#include <cooperative_groups.h>
#include <upsweep/gpu/primitive/ptx.cuh>

#include "simulated.h"

namespace cg = cooperative_groups;
namespace gpu = upsweep::gpu;

namespace {

__global__ void places(int4* out)
{
    const auto cluster = cg::this_cluster();
    const unsigned block = blockIdx.x + gridDim.x * blockIdx.y;
    out[block] = make_int4(static_cast<int>(cluster.block_rank()), static_cast<int>(cluster.num_blocks()),
                           static_cast<int>(cluster.block_index().x), static_cast<int>(cluster.block_index().y));
}

enum class cluster_fault {
    none,
    no_barrier,
    no_last_barrier,
    no_wait,
    arrives_twice,
    waits_unasked,
    half_arrives,
    half_waits
};

// Each block offers a value and takes its right neighbour's.
template <cluster_fault Fault>
__global__ void takes_from_neighbour(int* out)
{
    __shared__ int mine;
    if (threadIdx.x == 0)
        mine = 10 + static_cast<int>(blockIdx.x);
    if constexpr (Fault == cluster_fault::half_arrives)
        if (threadIdx.x % 2)
            return;
    const auto cluster = cg::this_cluster();
    const auto right = (cluster.block_rank() + 1) % cluster.num_blocks();
    const int* theirs = gpu::cluster_map(&mine, right);
    if constexpr (Fault != cluster_fault::no_barrier && Fault != cluster_fault::waits_unasked)
        gpu::cluster_arrive();
    if constexpr (Fault == cluster_fault::half_waits)
        if (threadIdx.x % 2)
            return;
    if constexpr (Fault == cluster_fault::arrives_twice)
        gpu::cluster_arrive();
    if constexpr (Fault != cluster_fault::no_barrier && Fault != cluster_fault::no_wait)
        gpu::cluster_wait();
    if (threadIdx.x == 0)
        out[blockIdx.x] = *theirs;
    if constexpr (Fault == cluster_fault::no_wait)
        gpu::cluster_wait();
    if constexpr (Fault != cluster_fault::no_last_barrier) {
        gpu::cluster_arrive();
        gpu::cluster_wait();
    }
}

__global__ void split_by_groups(int* out)
{
    __shared__ int mine;
    auto cluster = cg::this_cluster();
    if (threadIdx.x == 0)
        mine = static_cast<int>(blockIdx.x);
    auto token = cluster.barrier_arrive();
    const int meanwhile = static_cast<int>(threadIdx.x);
    cluster.barrier_wait(std::move(token)); // NOLINT(performance-move-const-arg): as CUDA asks for
    int sum = meanwhile;
    for (unsigned b = 0; b < cluster.num_blocks(); ++b)
        sum += *cluster.map_shared_rank(&mine, static_cast<int>(b));
    cluster.sync();
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void maps_what_is_not_there(int* out)
{
    __shared__ int mine;
    mine = 1;
    __syncthreads();
    *out = *gpu::cluster_map(&mine, cg::this_cluster().num_blocks());
}

} // namespace

TEST(clusters, every_block_knows_its_place)
{
    device_array<int4> out(16);
    EXPECT_CLEAN(run_cluster(dim3(4, 4), dim3(2, 2), 1, places, static_cast<int4*>(out)));
    const auto got = out.read();
    for (int y = 0; y < 4; ++y)
        for (int x = 0; x < 4; ++x) {
            const auto& block = got[static_cast<std::size_t>(4 * y + x)];
            EXPECT_EQ(block.x, x % 2 + 2 * (y % 2));
            EXPECT_EQ(block.y, 4);
            EXPECT_EQ(block.z, x % 2);
            EXPECT_EQ(block.w, y % 2);
        }
}

TEST(clusters, the_launch_refuses_what_the_machine_cannot_do)
{
    device_array<int4> out(32);
    int4* to = out;
    EXPECT_EQ(launch_cluster(8, 8, 1, places, to), cudaSuccess);
    EXPECT_EQ(launch_cluster(9, 2, 1, places, to), cudaErrorInvalidClusterSize);
    EXPECT_EQ(launch_cluster(16, 16, 1, places, to), cudaErrorInvalidClusterSize);
    ASSERT_EQ(cudaFuncSetAttribute(places, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), cudaSuccess);
    EXPECT_EQ(launch_cluster(16, 16, 1, places, to), cudaSuccess);
    EXPECT_EQ(launch_cluster(32, 32, 1, places, to), cudaErrorInvalidClusterSize);
    ASSERT_EQ(cudaFuncSetAttribute(places, cudaFuncAttributeNonPortableClusterSizeAllowed, 0), cudaSuccess);
    EXPECT_EQ(launch_cluster(16, 16, 1, places, to), cudaErrorInvalidClusterSize);
    sim::options opts;
    opts.machine = sim::geometry::preset("sm_80");
    sim::with_options with(opts);
    EXPECT_EQ(launch_cluster(8, 2, 1, places, to), cudaErrorInvalidClusterSize);
    EXPECT_EQ(launch_cluster(8, 1, 1, places, to), cudaSuccess);
    cudaGetLastError();
}

TEST(clusters, a_split_barrier_orders_shared_memory)
{
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        sim::options opts;
        opts.schedule = seed % 2 ? sim::schedule::random(seed) : sim::schedule::lanes_apart(seed);
        sim::with_options with(opts);
        device_array<int> out(8), sums(64);
        int* to = out;
        EXPECT_CLEAN(run_cluster(8, 4, 32, takes_from_neighbour<cluster_fault::none>, to));
        EXPECT_EQ(out.read(), (std::vector<int>{11, 12, 13, 10, 15, 16, 17, 14}));
        EXPECT_FOUND(run_cluster(8, 4, 32, takes_from_neighbour<cluster_fault::no_wait>, to), race);
        EXPECT_CLEAN(run_cluster(4, 2, 16, split_by_groups, static_cast<int*>(sums)));
        EXPECT_EQ(sums.read()[3], 4);
        EXPECT_EQ(sums.read()[63], 20);
    }
}

TEST(clusters, what_is_missing_is_found)
{
    device_array<int> out(8);
    int* to = out;
    const auto unordered = run_cluster(8, 4, 32, takes_from_neighbour<cluster_fault::no_barrier>, to);
    EXPECT_TRUE(found(unordered, sim::finding_kind::race) || found(unordered, sim::finding_kind::uninitialised_read))
        << texts(unordered);
    sim::options opts;
    opts.schedule = sim::schedule::starve_others(1);
    sim::with_options with(opts);
    EXPECT_FOUND(run_cluster(8, 4, 32, takes_from_neighbour<cluster_fault::no_last_barrier>, to), out_of_bounds);
    EXPECT_FOUND(run_cluster(8, 4, 1, maps_what_is_not_there, to), out_of_bounds);
    EXPECT_FOUND(run_cluster(8, 4, 32, takes_from_neighbour<cluster_fault::arrives_twice>, to), barrier_divergence);
    EXPECT_FOUND(run_cluster(8, 4, 32, takes_from_neighbour<cluster_fault::waits_unasked>, to), barrier_divergence);
    // Threads that exited are not waited for.
    EXPECT_CLEAN(run_cluster(8, 4, 32, takes_from_neighbour<cluster_fault::half_arrives>, to));
    EXPECT_CLEAN(run_cluster(8, 4, 32, takes_from_neighbour<cluster_fault::half_waits>, to));
}
