// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <upsweep/gpu/primitive/ptx.cuh>

namespace upsweep::test {

constexpr unsigned bulk_threads = 128;

// Doubles an array, tile by tile of one element a thread: bulk loads run two tiles ahead of the threads, and bulk
// stores one tile behind. A block takes `tiles` tiles.
//
//   step           i - 1      i           i + 1      i + 2
//   first thread   stores     waits for   loads      loads
//   all threads               doubles
__global__ void double_by_bulk_copies(const std::uint32_t* in, std::uint32_t* out, unsigned tiles)
{
    constexpr unsigned stages = 3;
    constexpr unsigned bytes = bulk_threads * sizeof(std::uint32_t);
    __shared__ __align__(16) std::uint32_t loaded[stages][bulk_threads];
    __shared__ __align__(16) std::uint32_t doubled[bulk_threads];
    __shared__ std::uint64_t full[stages], empty[stages];
    const unsigned t = threadIdx.x;
    in += blockIdx.x * tiles * bulk_threads;
    out += blockIdx.x * tiles * bulk_threads;
    if (t == 0) {
        for (unsigned s = 0; s < stages; ++s) {
            gpu::mbarrier_init(&full[s], 1);
            gpu::mbarrier_init(&empty[s], bulk_threads);
        }
        gpu::mbarrier_init_fence();
    }
    __syncthreads();

    const auto load = [&](unsigned tile) {
        const unsigned stage = tile % stages;
        gpu::mbarrier_wait(&empty[stage], (tile / stages + 1) % 2);
        gpu::mbarrier_expect(&full[stage], bytes);
        gpu::bulk_load(loaded[stage], in + tile * bulk_threads, bytes, &full[stage]);
    };
    if (t == 0)
        for (unsigned tile = 0; tile < stages - 1 && tile < tiles; ++tile)
            load(tile);
    for (unsigned tile = 0; tile < tiles; ++tile) {
        if (t == 0 && tile + stages - 1 < tiles)
            load(tile + stages - 1);
        gpu::mbarrier_wait(&full[tile % stages], tile / stages % 2);
        const std::uint32_t element = loaded[tile % stages][t];
        gpu::mbarrier_arrive(&empty[tile % stages]);
        if (t == 0)
            gpu::bulk_wait_read<0>();
        __syncthreads(); // nobody overwrites what the last store still reads
        doubled[t] = 2 * element;
        gpu::async_proxy_fence();
        __syncthreads();
        if (t == 0) {
            gpu::bulk_store(out + tile * bulk_threads, doubled, bytes);
            gpu::bulk_commit();
        }
    }
    if (t == 0)
        gpu::bulk_wait<0>();
}

// A thread writes to global memory what it then loads.
__global__ void load_what_was_written(std::uint32_t* data, std::uint32_t* out)
{
    __shared__ __align__(16) std::uint32_t loaded[4];
    __shared__ std::uint64_t full;
    for (unsigned i = 0; i < 4; ++i)
        data[i] = 10 + i;
    gpu::mbarrier_init(&full, 1);
    gpu::async_proxy_fence_of_all_memory();
    gpu::mbarrier_expect(&full, sizeof loaded);
    gpu::bulk_load(loaded, data, sizeof loaded, &full);
    gpu::mbarrier_wait(&full, 0);
    for (unsigned i = 0; i < 4; ++i)
        out[i] = loaded[i];
}

} // namespace upsweep::test
