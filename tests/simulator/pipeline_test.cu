// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Copies from global to shared memory that the threads make themselves (cp.async).
#include <utility>

#include <cuda_pipeline.h>

#include "simulated.h"

// Each thread copies what its neighbour will read, two groups ahead.
template <int Pending, bool Barrier>
__global__ void copies_ahead(const int4* in, int* out, int rounds)
{
    __shared__ int4 ring[3][64];
    const unsigned t = threadIdx.x;
    const auto copy = [&](int i) {
        if (i < rounds)
            __pipeline_memcpy_async(&ring[i % 3][t], in + i * 64 + static_cast<int>(t), sizeof(int4));
        __pipeline_commit();
    };
    copy(0);
    copy(1);
    int sum = 0;
    for (int i = 0; i < rounds; ++i) {
        __pipeline_wait_prior(Pending);
        if constexpr (Barrier)
            __syncthreads();
        const int4 got = ring[i % 3][Barrier ? 63 - t : t];
        sum += got.x + got.w;
        copy(i + 2);
    }
    out[t] = sum;
}

__global__ void leaves_copies(const int4* in)
{
    __shared__ int4 tile[32];
    __pipeline_memcpy_async(&tile[threadIdx.x], in + threadIdx.x, sizeof(int4));
    __pipeline_commit();
}

TEST(pipeline, copies_what_the_threads_asked_for)
{
    constexpr int rounds = 7;
    under_every_schedule([&] {
        device_array<int4> in(std::vector<int4>(rounds * 64, make_int4(1, 2, 3, 4)));
        device_array<int> out(64);
        const auto report = run(copies_ahead<1, true>, 1, 64, 0, in, out, rounds);
        EXPECT_CLEAN(report);
        EXPECT_EQ(out.read(), std::vector<int>(64, 5 * rounds));
        EXPECT_GE(report.total.load_transactions, rounds * 64u / 2);
        EXPECT_CLEAN(run(copies_ahead<1, false>, 1, 64, 0, in, out, rounds));
        EXPECT_FOUND(run(copies_ahead<2, false>, 1, 64, 0, in, out, rounds), race);
        EXPECT_FOUND(run(leaves_copies, 1, 32, 0, in), unfinished_copy);
    });
    device_array<int4> in(std::vector<int4>(rounds * 64, make_int4(1, 2, 3, 4)));
    device_array<int> out(64);
    EXPECT_EQ(run(copies_ahead<1, true>, 1, 64, 0, in, out, rounds).total.load_transactions, rounds * 64u / 2);
}

// Each thread copies one element to a word so many words after its neighbour's.
template <class T>
__global__ void copies_with_a_stride(const T* in, int words)
{
    extern __shared__ int tile[];
    __pipeline_memcpy_async(tile + static_cast<int>(threadIdx.x) * words, in + threadIdx.x, sizeof(T));
    __pipeline_commit();
    __pipeline_wait_prior(0);
}

TEST(pipeline, copies_pass_the_banks)
{
    const auto passes = [](auto element, int words) {
        const device_array<decltype(element)> in(std::vector<decltype(element)>(32, element));
        const auto report = run(copies_with_a_stride<decltype(element)>, 1, 32, 32 * 32 * sizeof(int), in, words);
        EXPECT_CLEAN(report);
        EXPECT_EQ(report.total.shared_stores, 1u);
        EXPECT_EQ(report.total.shared_store_accesses, 32u);
        EXPECT_EQ(report.total.global_loads, 1u);
        return std::pair{report.total.shared_wavefronts, report.total.bank_conflicts};
    };
    using counts = std::pair<std::uint64_t, std::uint64_t>;
    EXPECT_EQ(passes(1, 1), (counts{1, 0}));
    EXPECT_EQ(passes(1, 2), (counts{2, 1}));
    EXPECT_EQ(passes(1, 32), (counts{32, 31}));
    EXPECT_EQ(passes(make_int4(1, 2, 3, 4), 4), (counts{4, 0}));
}
