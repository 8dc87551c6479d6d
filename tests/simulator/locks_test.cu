// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Locks that the lanes of a warp take from one another. They are right on every GPU with independent thread scheduling.
#include <numeric>

#include <cuda/atomic>

#include "simulated.h"

namespace {

__device__ void acquire(int* lock)
{
    while (atomicCAS(lock, 0, 1) != 0)
        ;
}

__device__ void release(int* lock)
{
    __threadfence();
    atomicExch(lock, 0);
}

__global__ void plain_lock(int* lock, int* count)
{
    while (atomicCAS(lock, 0, 1) != 0)
        ;
    __threadfence();
    *count = *count + 1;
    __threadfence();
    atomicExch(lock, 0);
}

__global__ void inside_the_loop(int* lock, int* count)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *count += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

__global__ void inside_the_loop_by_exchange(int* lock, int* count)
{
    for (bool leaves = false; !leaves;) {
        if (atomicExch(lock, 1) == 0) {
            __threadfence();
            *count += 1;
            __threadfence();
            atomicExch(lock, 0);
            leaves = true;
        }
    }
}

__global__ void with_backoff(int* lock, int* count)
{
    unsigned pause = 8;
    while (atomicCAS(lock, 0, 1) != 0) {
        __nanosleep(pause);
        if (pause < 256)
            pause *= 2;
    }
    __threadfence();
    *count += 1;
    release(lock);
}

__global__ void by_test_and_set(int* lock, int* count)
{
    volatile int* const seen = lock;
    do {
        while (*seen != 0)
            ;
    } while (atomicCAS(lock, 0, 1) != 0);
    __threadfence();
    *count += 1;
    __threadfence();
    *seen = 0;
}

__global__ void ticket_lock(int* lock, int* count)
{
    volatile int* const serving = lock + 1;
    const int mine = atomicAdd(lock, 1);
    while (*serving != mine)
        ;
    __threadfence();
    *count += 1;
    __threadfence();
    *serving = mine + 1;
}

__global__ void ticket_lock_of_atomics(int* lock, int* count)
{
    const int mine = atomicAdd(lock, 1);
    while (atomicAdd(lock + 1, 0) != mine)
        ;
    __threadfence();
    *count += 1;
    __threadfence();
    atomicAdd(lock + 1, 1);
}

__global__ void nested_locks(int* lock, int* count)
{
    acquire(lock);
    __threadfence();
    acquire(lock + 1);
    __threadfence();
    *count += 1;
    release(lock + 1);
    release(lock);
}

__global__ void a_lock_for_each_bin(int* lock, int* count)
{
    const unsigned bin = (threadIdx.x * 7 + blockIdx.x) % 8;
    acquire(lock + bin);
    __threadfence();
    ++count[bin];
    release(lock + bin);
}

__global__ void in_a_branch(int* lock, int* count)
{
    if (threadIdx.x % 2 == 0) {
        acquire(lock);
        __threadfence();
        *count += 1;
        release(lock);
    } else {
        acquire(lock);
        __threadfence();
        *count += 1;
        release(lock);
    }
}

__global__ void in_shared_memory(int* lock, int* count)
{
    __shared__ int own_lock, own_count;
    if (threadIdx.x == 0)
        own_lock = own_count = 0;
    __syncthreads();
    acquire(&own_lock);
    __threadfence_block();
    ++own_count;
    __threadfence_block();
    atomicExch(&own_lock, 0);
    __syncthreads();
    if (threadIdx.x == 0) {
        acquire(lock);
        __threadfence();
        *count += own_count;
        release(lock);
    }
}

__global__ void cuda_atomic_lock(int* lock, int* count)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> state(*lock);
    while (state.exchange(1, cuda::memory_order_acquire) != 0)
        ;
    *count += 1;
    state.store(0, cuda::memory_order_release);
}

__global__ void weak_exchange_lock(int* lock, int* count)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> state(*lock);
    int open = 0;
    while (!state.compare_exchange_weak(open, 1, cuda::memory_order_acquire))
        open = 0;
    *count += 1;
    state.store(0, cuda::memory_order_release);
}

struct shape {
    unsigned blocks, threads;
};

void expect_exclusion(void (*kernel)(int*, int*), shape of)
{
    auto lock = zeros<int>(8), count = zeros<int>(8);
    const auto report = run(kernel, of.blocks, of.threads, 0, lock, count);
    EXPECT_CLEAN(report);
    const auto counted = count.read();
    EXPECT_EQ(std::accumulate(counted.begin(), counted.end(), 0), static_cast<int>(of.blocks * of.threads));
}

} // namespace

#define EXCLUDES(kernel)                                                                                               \
    TEST(locks, kernel)                                                                                                \
    {                                                                                                                  \
        for (shape of : {shape{1, 32}, shape{1, 256}, shape{1, 1024}, shape{8, 64}, shape{64, 32}})                    \
            expect_exclusion(kernel, of);                                                                              \
        under_every_schedule([] {                                                                                      \
            expect_exclusion(kernel, {2, 48});                                                                         \
            expect_exclusion(kernel, {6, 32});                                                                         \
        });                                                                                                            \
    }
EXCLUDES(plain_lock)
EXCLUDES(inside_the_loop)
EXCLUDES(inside_the_loop_by_exchange)
EXCLUDES(with_backoff)
EXCLUDES(by_test_and_set)
EXCLUDES(ticket_lock)
EXCLUDES(ticket_lock_of_atomics)
EXCLUDES(a_lock_for_each_bin)
EXCLUDES(nested_locks)
EXCLUDES(in_a_branch)
EXCLUDES(in_shared_memory)
EXCLUDES(cuda_atomic_lock)
EXCLUDES(weak_exchange_lock)

TEST(locks, a_gpu_in_lockstep_may_hang)
{
    sim::options opts;
    opts.machine = sim::geometry::preset("g80");
    sim::with_options with(opts);
    auto lock = zeros<int>(2), count = zeros<int>(1);
    const auto report = run(plain_lock, 1, 32, 0, lock, count);
    EXPECT_FOUND(report, lanes_wait);
    cudaMemset(lock, 0, 2 * sizeof(int));
    EXPECT_CLEAN(run(plain_lock, 8, 1, 0, lock, count));
}
