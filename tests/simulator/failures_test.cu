// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Kernels that stop, or are stopped: what the report says, and that the next kernel runs.
#include "simulated.h"

#undef NDEBUG
#include <cassert>

namespace {

__global__ void fills(int* out) { out[threadIdx.x] = 1; }

void expect_next_kernel_runs()
{
    cudaGetLastError();
    auto out = zeros<int>(64);
    EXPECT_CLEAN(run(fills, 1, 64, 0, out));
    EXPECT_EQ(out.read(), std::vector<int>(64, 1));
}

template <int Waiting>
__global__ void waits_apart(int* out)
{
    const unsigned t = threadIdx.x;
    if (blockIdx.x == 0 && t < Waiting)
        __syncthreads();
    else
        while (atomicAdd(out, 0) == 0)
            __nanosleep(100);
}

// Half of the threads wait at the block's barrier, the others for the grid.
__global__ void waits_crosswise(int* out)
{
    if (threadIdx.x < 32)
        __syncthreads();
    else
        sim::device::barrier(sim::device::barrier_level::grid, sim::device::barrier_vote::none, 0);
    out[threadIdx.x] = 1;
}

template <int Depth>
__attribute__((noinline)) __device__ int descends(volatile int* in, int depth)
{
    volatile int local[64];
    for (int i = 0; i < 64; ++i)
        local[i] = in[0];
    if (depth == Depth)
        return local[5];
    return local[63] + descends<Depth>(in, depth + 1);
}

template <int Depth>
__global__ void recurses(int* out)
{
    out[threadIdx.x] += descends<Depth>(out + threadIdx.x, 0);
}

template <int Words>
__global__ void large_frame(int* out)
{
    volatile int local[Words];
    for (int i = 0; i < Words; i += 64)
        local[i] = out[threadIdx.x];
    out[threadIdx.x] = local[(threadIdx.x * 64) % Words];
}

__global__ void traps_at(int* out, int thread)
{
    if (static_cast<int>(threadIdx.x) == thread)
        __trap();
    out[threadIdx.x] = 1;
}

__global__ void asserts(int* out, int limit)
{
    assert(static_cast<int>(threadIdx.x) < limit);
    out[threadIdx.x] = 1;
}

} // namespace

TEST(failures, a_deadlock_names_every_place_where_threads_wait)
{
    auto out = zeros<int>(64);
    const auto report = run(waits_crosswise, 1, 64, 0, out);
    EXPECT_FALSE(report.completed);
    ASSERT_EQ(kinds(report.findings), std::vector{sim::finding_kind::deadlock});
    const auto& stuck = report.findings[0];
    EXPECT_EQ(stuck.message, "64 threads cannot go on");
    ASSERT_EQ(stuck.parties.size(), 2u);
    for (const auto& p : stuck.parties)
        EXPECT_EQ(p.did, "waits at the barrier, with 31 others");
    EXPECT_EQ(std::abs(stuck.parties[0].where.line - stuck.parties[1].where.line), 2);
    EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchTimeout);
    expect_next_kernel_runs();
}

TEST(failures, those_who_poll_are_named_beside_those_who_wait)
{
    sim::options opts;
    opts.patience = 1000;
    sim::with_options with(opts);
    auto out = zeros<int>(1);
    const auto report = run(waits_apart<16>, 2, 32, 0, out);
    ASSERT_EQ(kinds(report.findings), std::vector{sim::finding_kind::livelock}) << texts(report);
    EXPECT_NE(texts(report).find("waits at the barrier, with 15 others"), std::string::npos) << texts(report);
    expect_next_kernel_runs();
}

TEST(failures, a_thread_that_runs_out_of_stack)
{
    auto out = zeros<int>(64);
    EXPECT_CLEAN(run(recurses<20>, 1, 64, 0, out));
    const auto deep = run(recurses<100000>, 1, 64, 0, out);
    EXPECT_FOUND(deep, stack_overflow);
    EXPECT_FALSE(deep.completed);
    EXPECT_NE(texts(deep).find("failures_test.cu"), std::string::npos) << texts(deep);
    EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
    expect_next_kernel_runs();

    EXPECT_CLEAN(run(large_frame<1024>, 1, 64, 0, out));
    EXPECT_FOUND(run(large_frame<256 * 1024>, 1, 64, 0, out), stack_overflow);
    expect_next_kernel_runs();
    sim::options opts;
    opts.stack_bytes = 2 << 20;
    sim::with_options with(opts);
    EXPECT_CLEAN(run(large_frame<256 * 1024>, 1, 64, 0, out));
}

TEST(failures, a_trap_stops_the_kernel)
{
    auto out = zeros<int>(64);
    EXPECT_CLEAN(run(traps_at, 1, 64, 0, out, 64));
    const auto report = run(traps_at, 1, 64, 0, out, 40);
    EXPECT_FALSE(report.completed);
    ASSERT_EQ(kinds(report.findings), std::vector{sim::finding_kind::failed_launch});
    EXPECT_EQ(report.findings[0].parties.at(0).thread.x, 40u);
    EXPECT_NE(report.findings[0].parties[0].where.file.find("failures_test.cu"), std::string::npos);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    expect_next_kernel_runs();
}

TEST(failures, a_failed_assertion_is_a_finding)
{
    auto out = zeros<int>(64);
    EXPECT_CLEAN(run(asserts, 1, 64, 0, out, 64));
    const auto report = run(asserts, 1, 64, 0, out, 50);
    EXPECT_FALSE(report.completed);
    ASSERT_EQ(kinds(report.findings), std::vector{sim::finding_kind::assertion});
    const auto& finding = report.findings[0];
    EXPECT_EQ(finding.message, "'static_cast<int>(threadIdx.x) < limit' does not hold");
    EXPECT_EQ(finding.parties.at(0).thread.x, 50u);
    EXPECT_NE(finding.parties[0].where.file.find("failures_test.cu"), std::string::npos);
    EXPECT_EQ(cudaGetLastError(), cudaErrorAssert);
    expect_next_kernel_runs();
}

TEST(failures, an_assertion_of_the_host_is_the_hosts)
{
    EXPECT_DEATH(assert(1 + 1 == 3), "Assertion `1 \\+ 1 == 3' failed");
}
