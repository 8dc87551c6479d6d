// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Each checker on a kernel with the fault, and on its mended twin.
#include <cuda/atomic>

#include "simulated.h"

template <bool Barrier>
__global__ void neighbour(const int* in, int* out)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    if constexpr (Barrier)
        __syncthreads();
    out[threadIdx.x] = tile[(threadIdx.x + 32) % 64];
}

TEST(races, in_shared_memory)
{
    device_array<int> in(std::vector<int>(64, 1)), out(64);
    EXPECT_CLEAN(run(neighbour<true>, 1, 64, 0, in, out));
    sim::options opts;
    opts.schedule.kind = sim::schedule::order::round_robin;
    sim::with_options with(opts);
    auto report = run(neighbour<false>, 1, 64, 0, in, out);
    ASSERT_TRUE(found(report, sim::finding_kind::race));
    const auto& race = report.findings.front();
    EXPECT_EQ(race.kernel.find("neighbour<false>"), 0u) << race.kernel;
    ASSERT_EQ(race.parties.size(), 2u);
    EXPECT_NE(race.parties[0].where.file.find("checkers_test.cu"), std::string::npos);
    EXPECT_EQ(std::abs(race.parties[0].where.line - race.parties[1].where.line), 3);
}

template <bool Barrier>
__global__ void broadcast_then_overwrite(int* out)
{
    __shared__ int word;
    if (threadIdx.x == 0)
        word = 5;
    __syncthreads();
    const int got = word;
    if constexpr (Barrier)
        __syncthreads();
    if (threadIdx.x == 63)
        word = 6;
    out[threadIdx.x] = got;
}

TEST(races, a_write_after_many_readers)
{
    device_array<int> out(64);
    EXPECT_CLEAN(run(broadcast_then_overwrite<true>, 1, 64, 0, out));
    EXPECT_FOUND(run(broadcast_then_overwrite<false>, 1, 64, 0, out), race);
}

// Both words have several readers in one interval, and their bytes are written one by one.
__global__ void bytes_of_words_with_many_readers(int* out)
{
    __shared__ int words[2];
    auto* bytes = reinterpret_cast<unsigned char*>(words);
    if (threadIdx.x < 2)
        words[threadIdx.x] = 1;
    __syncthreads();
    int sum = words[0] + bytes[4];
    __syncthreads();
    if (threadIdx.x == 0)
        bytes[0] = 2;
    sum += words[1];
    if (threadIdx.x == 1)
        bytes[1] = 3;
    out[threadIdx.x] = sum;
}

TEST(races, bytes_of_a_word_have_their_own_readers)
{
    device_array<int> out(64);
    EXPECT_CLEAN(run(bytes_of_words_with_many_readers, 1, 64, 0, out));
}

template <bool Synced>
__global__ void lanes_in_step(int* out)
{
    __shared__ int tile[32];
    tile[threadIdx.x] = static_cast<int>(threadIdx.x);
    if constexpr (Synced)
        __syncwarp();
    out[threadIdx.x] = tile[31 - threadIdx.x];
}

TEST(races, within_a_warp_only_syncwarp_orders)
{
    device_array<int> out(32);
    EXPECT_CLEAN(run(lanes_in_step<true>, 1, 32, 0, out));
    EXPECT_FOUND(run(lanes_in_step<false>, 1, 32, 0, out), race);
}

template <bool Atomic>
__global__ void count_into(int* counter)
{
    if constexpr (Atomic)
        atomicAdd(counter, 1);
    else
        ++*counter;
}

TEST(races, in_global_memory_between_blocks)
{
    auto counter = zeros<int>(1);
    EXPECT_CLEAN(run(count_into<true>, 4, 32, 0, counter));
    EXPECT_EQ(counter.read()[0], 128);
    EXPECT_FOUND(run(count_into<false>, 4, 1, 0, counter), race);
}

__global__ void plain_beside_atomic(int* counter, int* out)
{
    if (blockIdx.x == 0)
        atomicAdd(counter, 1);
    else
        *out = *counter;
}

TEST(races, an_atomic_and_a_plain_access)
{
    auto counter = zeros<int>(1), out = zeros<int>(1);
    EXPECT_FOUND(run(plain_beside_atomic, 2, 1, 0, counter, out), race);
}

__global__ void adjacent_bytes(unsigned char* bytes) { bytes[threadIdx.x] = static_cast<unsigned char>(threadIdx.x); }

TEST(races, neighbouring_bytes_are_not_one_word)
{
    device_array<unsigned char> bytes(64);
    EXPECT_CLEAN(run(adjacent_bytes, 1, 64, 0, bytes));
    EXPECT_EQ(bytes.read()[63], 63);
}

template <bool WriterFence, bool ReaderFence>
__global__ void hand_over(int* data, volatile int* flag, int* out)
{
    if (blockIdx.x == 0) {
        *data = 42;
        if constexpr (WriterFence)
            __threadfence();
        *flag = 1;
    } else {
        while (*flag == 0) {
        }
        if constexpr (ReaderFence)
            __threadfence();
        *out = *data;
    }
}

TEST(order, a_flag_needs_a_fence_on_both_sides)
{
    for (auto block : {0u, 1u}) {
        sim::options opts;
        opts.schedule = sim::schedule::stall(block);
        sim::with_options with(opts);
        auto run_with = [](auto kernel) {
            auto data = zeros<int>(1), flag = zeros<int>(1), out = zeros<int>(1);
            auto report = run(kernel, 2, 1, 0, data, static_cast<volatile int*>(static_cast<int*>(flag)), out);
            EXPECT_EQ(out.read()[0], 42);
            return report;
        };
        EXPECT_CLEAN(run_with(hand_over<true, true>));
        EXPECT_FOUND(run_with(hand_over<false, true>), race);
        EXPECT_FOUND(run_with(hand_over<true, false>), race);
    }
}

template <cuda::thread_scope Scope>
__global__ void release_acquire(int* data, int* flag, int* out)
{
    cuda::atomic_ref<int, Scope> ready(*flag);
    if (blockIdx.x == 0) {
        *data = 7;
        ready.store(1, cuda::memory_order_release);
    } else {
        while (ready.load(cuda::memory_order_acquire) == 0) {
        }
        *out = *data;
    }
}

TEST(order, release_and_acquire_reach_as_far_as_their_scope)
{
    auto data = zeros<int>(1), flag = zeros<int>(1), out = zeros<int>(1);
    EXPECT_CLEAN(run(release_acquire<cuda::thread_scope_device>, 2, 1, 0, data, flag, out));
    cudaMemset(flag, 0, sizeof(int));
    EXPECT_FOUND(run(release_acquire<cuda::thread_scope_block>, 2, 1, 0, data, flag, out), scope_too_narrow);
}

template <bool Initialised>
__global__ void reads_tail(int n, const int* in, int* out)
{
    __shared__ int tile[64];
    if (static_cast<int>(threadIdx.x) < n)
        tile[threadIdx.x] = in[threadIdx.x];
    else if constexpr (Initialised)
        tile[threadIdx.x] = 0;
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

TEST(uninitialised, shared_memory)
{
    device_array<int> in(std::vector<int>(50, 1)), out(64);
    EXPECT_CLEAN(run(reads_tail<true>, 1, 64, 0, 50, in, out));
    auto report = run(reads_tail<false>, 1, 64, 0, 50, in, out);
    EXPECT_FOUND(report, uninitialised_read);
    EXPECT_EQ(report.findings.at(0).count, 14u);
}

__global__ void copies(const int* in, int* out) { out[threadIdx.x] = in[threadIdx.x]; }

TEST(uninitialised, device_memory)
{
    device_array<int> fresh(32), out(32);
    EXPECT_FOUND(run(copies, 1, 32, 0, fresh, out), uninitialised_read);
    cudaMemset(fresh, 0, 32 * sizeof(int));
    EXPECT_CLEAN(run(copies, 1, 32, 0, fresh, out));
}

TEST(bounds, one_past_the_end_of_an_allocation)
{
    device_array<int> in(std::vector<int>(32, 1)), out(40);
    EXPECT_CLEAN(run(copies, 1, 32, 0, in, out));
    auto report = run(copies, 1, 33, 0, in, out);
    EXPECT_FOUND(report, out_of_bounds);
    EXPECT_EQ(report.findings.at(0).parties.at(0).thread.x, 32u);
    EXPECT_TRUE(report.completed);
}

template <int Reach>
__global__ void past_shared(int* out)
{
    __shared__ int first[32];
    __shared__ int second[32];
    first[threadIdx.x] = second[threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.x == 31)
        first[threadIdx.x + Reach] = 2;
    __syncthreads();
    out[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];
}

TEST(bounds, one_past_the_end_of_a_shared_array)
{
    device_array<int> out(32);
    EXPECT_CLEAN(run(past_shared<0>, 1, 32, 0, out));
    EXPECT_FOUND(run(past_shared<1>, 1, 32, 0, out), out_of_bounds);
}

template <class T>
__global__ void fills_dynamic(T* out)
{
    extern __shared__ int dynamic[];
    dynamic[threadIdx.x] = static_cast<int>(threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x];
}

TEST(bounds, dynamic_shared_memory_is_as_large_as_the_launch_says)
{
    device_array<int> out(64);
    EXPECT_CLEAN(run(fills_dynamic<int>, 1, 64, 64 * sizeof(int), out));
    EXPECT_FOUND(run(fills_dynamic<int>, 1, 64, 63 * sizeof(int), out), out_of_bounds);
}

TEST(bounds, a_host_pointer_ends_the_kernel)
{
    std::vector<int> host(32);
    device_array<int> out(32);
    auto report = run(copies, 1, 32, 0, host.data(), out);
    EXPECT_FOUND(report, out_of_bounds);
    EXPECT_FALSE(report.completed);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(bounds, memory_that_was_freed)
{
    int* gone;
    ASSERT_EQ(cudaMalloc(&gone, 128), cudaSuccess);
    ASSERT_EQ(cudaFree(gone), cudaSuccess);
    device_array<int> out(32);
    EXPECT_FOUND(run(copies, 1, 32, 0, gone, out), out_of_bounds);
}

template <int Offset>
__global__ void vector_read(const float* in, float* out)
{
    const float4 v = *reinterpret_cast<const float4*>(in + Offset);
    out[0] = v.x + v.w;
}

__global__ void wide_read(const int* in, long long* out) { *out = *reinterpret_cast<const long long*>(in); }

TEST(alignment, of_wide_accesses)
{
    device_array<float> in(std::vector<float>(8, 1.0f)), out(1);
    EXPECT_CLEAN(run(vector_read<4>, 1, 1, 0, in, out));
#ifndef __clang__ // which does not check the alignment of a struct that is copied as a whole
    EXPECT_FOUND(run(vector_read<1>, 1, 1, 0, in, out), misaligned);
#endif
    device_array<int> words(std::vector<int>(4, 1));
    device_array<long long> wide(1);
    EXPECT_CLEAN(run(wide_read, 1, 1, 0, words + 2, wide));
    EXPECT_FOUND(run(wide_read, 1, 1, 0, words + 1, wide), misaligned);
}

template <int Threads>
__global__ void some_reach_the_barrier(int* out)
{
    if (threadIdx.x < Threads) {
        __syncthreads();
        out[threadIdx.x] = 1;
    } else {
        __syncthreads();
        out[threadIdx.x] = 2;
    }
}

__global__ void some_leave(int* out)
{
    if (threadIdx.x >= 40)
        return;
    __syncthreads();
    out[threadIdx.x] = 1;
}

TEST(barriers, divergence_names_both_places)
{
    device_array<int> out(64);
    EXPECT_CLEAN(run(some_reach_the_barrier<64>, 1, 64, 0, out));
    auto report = run(some_reach_the_barrier<20>, 1, 64, 0, out);
    EXPECT_FOUND(report, barrier_divergence);
    EXPECT_EQ(report.findings.at(0).parties.size(), 2u);
    EXPECT_TRUE(report.completed);
    EXPECT_FOUND(run(some_leave, 1, 64, 0, out), barrier_divergence);
    EXPECT_CLEAN(run(some_leave, 1, 40, 0, out));
}

template <unsigned Mask, int Lanes>
__global__ void partial_shuffle(int* out)
{
    if (threadIdx.x < Lanes)
        out[threadIdx.x] = __shfl_xor_sync(Mask, static_cast<int>(threadIdx.x), 1);
    else
        __syncwarp(~Mask);
}

template <bool Leave>
__global__ void exited_lane(int* out)
{
    if (Leave && threadIdx.x == 31)
        return;
    out[threadIdx.x] = __shfl_down_sync(0xffffffffu, static_cast<int>(threadIdx.x), 1);
}

TEST(warps, a_lane_that_the_mask_names_must_come)
{
    device_array<int> out(32);
    EXPECT_CLEAN(run(partial_shuffle<0xffffu, 16>, 1, 32, 0, out));
    auto report = run(partial_shuffle<0xffffu, 12>, 1, 32, 0, out);
    EXPECT_FOUND(report, missing_lane);
    EXPECT_NE(texts(report).find("lane 12"), std::string::npos) << texts(report);
    EXPECT_CLEAN(run(exited_lane<false>, 1, 32, 0, out));
    auto exited = run(exited_lane<true>, 1, 32, 0, out);
    EXPECT_FOUND(exited, missing_lane);
    EXPECT_NE(exited.findings.at(0).message.find("lane 31 has exited"), std::string::npos) << texts(exited);
}

__global__ void asks_for_outside_lane(int* out)
{
    if (threadIdx.x < 8)
        out[threadIdx.x] = __shfl_sync(0xffu, 1, 20);
}

TEST(warps, the_source_of_a_shuffle_must_take_part)
{
    device_array<int> out(32);
    EXPECT_FOUND(run(asks_for_outside_lane, 1, 32, 0, out), missing_lane);
}

TEST(host, leaks_and_bad_frees)
{
    sim::recording here;
    int *kept, *released;
    cudaMalloc(&kept, 100);
    cudaMalloc(&released, 100);
    EXPECT_EQ(cudaFree(released), cudaSuccess);
    ASSERT_EQ(kinds(here.findings()), std::vector{sim::finding_kind::leak});
    EXPECT_NE(here.findings()[0].message.find("100 bytes"), std::string::npos);
    EXPECT_EQ(cudaFree(kept), cudaSuccess);
    EXPECT_TRUE(here.findings().empty());
    EXPECT_EQ(cudaFree(kept), cudaErrorInvalidValue);
    EXPECT_EQ(kinds(here.findings()), std::vector{sim::finding_kind::invalid_free});
    cudaGetLastError();
}

TEST(host, a_launch_that_cannot_run_must_be_looked_at)
{
    device_array<int> out(32);
    {
        sim::recording here;
        sim::cuda::configured(copies, 1, 2048)(out, out);
        EXPECT_EQ(kinds(here.findings()), std::vector{sim::finding_kind::unchecked_launch});
        cudaDeviceSynchronize();
        EXPECT_EQ(kinds(here.findings()), std::vector{sim::finding_kind::unchecked_launch});
    }
    sim::recording here;
    sim::cuda::configured(copies, 1, 2048)(out, out);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    EXPECT_TRUE(here.findings().empty());
    sim::cuda::configured(copies, 1, 32, 100 << 10)(out, out);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST(host, copies_stay_inside_their_allocation)
{
    device_array<int> small(8);
    std::vector<int> host(16);
    sim::recording here;
    EXPECT_EQ(cudaMemcpy(small, host.data(), 8 * sizeof(int), cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_TRUE(here.findings().empty());
    EXPECT_EQ(cudaMemcpy(small, host.data(), 9 * sizeof(int), cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT_EQ(kinds(here.findings()), std::vector{sim::finding_kind::out_of_bounds});
    cudaGetLastError();
}
