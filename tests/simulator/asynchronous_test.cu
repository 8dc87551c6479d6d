// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Bulk copies, mbarriers and cluster barriers: what a correct pipeline computes under every schedule, and each way of
// getting it wrong.
#include <numeric>

#include <cuda/atomic>
#include <upsweep/gpu/primitive/ptx.cuh>

#include "simulated.h"

namespace gpu = upsweep::gpu;
using order = sim::schedule::order;

namespace {

device_array<int> iota(int n)
{
    std::vector<int> values(static_cast<std::size_t>(n));
    std::iota(values.begin(), values.end(), 1);
    return device_array<int>(values);
}

constexpr int threads = 64, stages = 3;
constexpr unsigned tile_bytes = threads * sizeof(int);

enum class fault { none, no_wait, no_init_fence, no_init_barrier, no_write_fence, no_read_wait, no_final_wait };

// Three stages in flight: thread 0 loads tiles ahead, everybody doubles them, thread 0 stores them.
template <fault Fault>
__global__ void doubles(const int* in, int* out, int tiles)
{
    alignas(128) __shared__ int tile[stages][threads];
    alignas(128) __shared__ int result[threads];
    __shared__ std::uint64_t full[stages];
    const unsigned t = threadIdx.x;
    in += blockIdx.x * static_cast<unsigned>(tiles) * threads;
    out += blockIdx.x * static_cast<unsigned>(tiles) * threads;
    if (t == 0) {
        for (int s = 0; s < stages; ++s)
            gpu::mbarrier_init(&full[s], 1);
        if constexpr (Fault != fault::no_init_fence)
            gpu::mbarrier_init_fence();
    }
    if constexpr (Fault != fault::no_init_barrier)
        __syncthreads();
    const auto load = [&](int i) {
        const int s = i % stages;
        gpu::mbarrier_expect(&full[s], tile_bytes);
        gpu::bulk_load(tile[s], in + i * threads, tile_bytes, &full[s]);
    };
    if (t == 0)
        for (int i = 0; i < stages - 1 && i < tiles; ++i)
            load(i);
    for (int i = 0; i < tiles; ++i) {
        const int s = i % stages;
        if (t == 0 && i + stages - 1 < tiles)
            load(i + stages - 1);
        if constexpr (Fault != fault::no_wait)
            gpu::mbarrier_wait(&full[s], (i / stages) & 1);
        const int doubled = 2 * tile[s][t];
        if (t == 0 && Fault != fault::no_read_wait)
            gpu::bulk_wait_read<0>();
        __syncthreads();
        result[t] = doubled;
        if constexpr (Fault != fault::no_write_fence)
            gpu::async_proxy_fence();
        __syncthreads();
        if (t == 0) {
            gpu::bulk_store(out + i * threads, result, tile_bytes);
            gpu::bulk_commit();
        }
    }
    if (t == 0 && Fault != fault::no_final_wait)
        gpu::bulk_wait_read<0>();
}

template <fault Fault>
sim::launch_report run_doubles(std::vector<int>* result = nullptr)
{
    constexpr int tiles = 8, blocks = 3, n = blocks * tiles * threads;
    const auto in = iota(n);
    device_array<int> out(n);
    auto report = run(doubles<Fault>, blocks, threads, 0, in, out, tiles);
    if (result != nullptr)
        *result = out.read();
    return report;
}

} // namespace

TEST(asynchronous, a_pipeline_is_right_under_every_schedule)
{
    under_every_schedule([] {
        std::vector<int> got;
        EXPECT_CLEAN(run_doubles<fault::none>(&got));
        for (std::size_t i = 0; i < got.size(); ++i)
            ASSERT_EQ(got[i], 2 * (static_cast<int>(i) + 1)) << i;
    });
}

TEST(asynchronous, each_missing_wait_is_a_race)
{
    EXPECT_FOUND(run_doubles<fault::no_wait>(), race);
    EXPECT_FOUND(run_doubles<fault::no_read_wait>(), race);
    const auto report = run_doubles<fault::no_wait>();
    EXPECT_NE(texts(report).find("an asynchronous copy, and no wait for its end"), std::string::npos) << texts(report);
    EXPECT_NE(texts(report).find("issued a copy that wrote at"), std::string::npos) << texts(report);
}

TEST(asynchronous, without_the_wait_some_schedule_reads_too_early)
{
    bool wrong = false;
    under_every_schedule([&] {
        std::vector<int> got;
        run_doubles<fault::no_wait>(&got);
        for (std::size_t i = 0; i < got.size(); ++i)
            wrong = wrong || got[i] != 2 * (static_cast<int>(i) + 1);
    });
    EXPECT_TRUE(wrong);
    sim::options opts;
    opts.schedule.kind = order::reversed; // copies end as late as may be
    sim::with_options with(opts);
    EXPECT_FOUND(run_doubles<fault::no_wait>(), uninitialised_read);
}

TEST(asynchronous, ordinary_writes_need_a_proxy_fence)
{
    under_every_schedule([] {
        const auto report = run_doubles<fault::no_write_fence>();
        EXPECT_EQ(kinds(report.findings), std::vector{sim::finding_kind::missing_proxy_fence}) << texts(report);
        EXPECT_EQ(kinds(run_doubles<fault::no_init_fence>().findings),
                  std::vector(report.findings.size(), sim::finding_kind::missing_proxy_fence));
    });
}

TEST(asynchronous, the_initialisation_needs_a_barrier)
{
    const auto report = run_doubles<fault::no_init_barrier>();
    EXPECT_TRUE(found(report, sim::finding_kind::race) || found(report, sim::finding_kind::mbarrier_misuse))
        << texts(report);
}

TEST(asynchronous, a_store_must_be_read_before_its_thread_exits)
{
    under_every_schedule([] {
        const auto report = run_doubles<fault::no_final_wait>();
        EXPECT_EQ(kinds(report.findings), std::vector{sim::finding_kind::unfinished_copy}) << texts(report);
        EXPECT_EQ(report.findings.at(0).count, 3u);
    });
}

// One warp loads and the others use, held together by mbarriers alone.
template <bool WaitsForEmpty>
__global__ void producer_and_consumers(const int* in, int* out, int tiles)
{
    alignas(128) __shared__ int tile[stages][threads];
    __shared__ std::uint64_t full[stages], empty[stages];
    const unsigned t = threadIdx.x;
    if (t == 0) {
        for (int s = 0; s < stages; ++s) {
            gpu::mbarrier_init(&full[s], 1);
            gpu::mbarrier_init(&empty[s], threads);
        }
        gpu::mbarrier_init_fence();
    }
    __syncthreads();
    if (t < 32) {
        if (t != 0)
            return;
        for (int i = 0; i < tiles; ++i) {
            const int s = i % stages;
            if constexpr (WaitsForEmpty)
                gpu::mbarrier_wait(&empty[s], (i / stages - 1) & 1);
            gpu::mbarrier_expect(&full[s], tile_bytes);
            gpu::bulk_load(tile[s], in + i * threads, tile_bytes, &full[s]);
        }
    } else {
        for (int i = 0; i < tiles; ++i) {
            const int s = i % stages;
            gpu::mbarrier_wait(&full[s], (i / stages) & 1);
            out[i * threads + static_cast<int>(t) - 32] = tile[s][t - 32];
            gpu::mbarrier_arrive(&empty[s]);
        }
    }
}

TEST(asynchronous, producer_and_consumers_meet_at_mbarriers)
{
    constexpr int tiles = 10;
    under_every_schedule([&] {
        const auto in = iota(tiles * threads);
        device_array<int> out(tiles * threads);
        EXPECT_CLEAN(run(producer_and_consumers<true>, 1, threads + 32, 0, in, out, tiles));
        EXPECT_EQ(out.read(), in.read());
    });
    under_every_schedule([&] {
        const auto in = iota(tiles * threads);
        device_array<int> out(tiles * threads);
        const auto report = run(producer_and_consumers<false>, 1, threads + 32, 0, in, out, tiles);
        // Late copies leave the phase open, and the producer arrives at it for a second time.
        EXPECT_TRUE(found(report, sim::finding_kind::race) || found(report, sim::finding_kind::mbarrier_misuse))
            << texts(report);
        cudaGetLastError();
    });
}

template <bool IssuerFences, bool EachFences>
__global__ void stores_what_others_wrote(int* out)
{
    alignas(16) __shared__ int tile[32];
    tile[threadIdx.x] = static_cast<int>(threadIdx.x);
    if constexpr (EachFences)
        gpu::async_proxy_fence();
    __syncwarp();
    if (threadIdx.x == 0) {
        if constexpr (IssuerFences)
            gpu::async_proxy_fence();
        gpu::bulk_store(out, tile, sizeof tile);
        gpu::bulk_commit();
        gpu::bulk_wait<0>();
        out[0] += 100;
    }
}

TEST(asynchronous, the_writers_or_the_issuer_fence)
{
    device_array<int> out(32);
    EXPECT_CLEAN(run(stores_what_others_wrote<true, false>, 1, 32, 0, out));
    EXPECT_CLEAN(run(stores_what_others_wrote<false, true>, 1, 32, 0, out));
    EXPECT_EQ(out.read()[0], 100);
    EXPECT_EQ(out.read()[31], 31);
    EXPECT_FOUND(run(stores_what_others_wrote<false, false>, 1, 32, 0, out), missing_proxy_fence);
}

// One lane waits for a copy while the others wait for that lane.
template <bool Comes>
__global__ void one_lane_waits_for_all(const int* in, int* out)
{
    alignas(128) __shared__ int tile[32];
    __shared__ std::uint64_t full;
    if (threadIdx.x == 0) {
        gpu::mbarrier_init(&full, 1);
        gpu::mbarrier_init_fence();
        gpu::mbarrier_expect(&full, sizeof tile);
        if constexpr (Comes)
            gpu::bulk_load(tile, in, sizeof tile, &full);
        gpu::mbarrier_wait(&full, 0);
    }
    __syncwarp();
    out[threadIdx.x] = __shfl_xor_sync(~0u, tile[threadIdx.x], 1);
}

TEST(asynchronous, a_lane_that_waits_for_a_copy_is_not_missing)
{
    under_every_schedule([] {
        const auto in = iota(32);
        device_array<int> out(32);
        EXPECT_CLEAN(run(one_lane_waits_for_all<true>, 1, 32, 0, in, out));
        EXPECT_EQ(out.read()[30], 32);
        EXPECT_FOUND(run(one_lane_waits_for_all<false>, 1, 32, 0, in, out), deadlock);
        cudaGetLastError();
    });
}

enum class third_fence { none, before_the_write, in_between, after_the_store };

// One thread writes, one fences, and one stores: of three warps, or of one.
template <third_fence When>
__global__ void stores_what_a_third_thread_fenced(int* out)
{
    alignas(16) __shared__ int tile[4];
    const unsigned role = threadIdx.x / (blockDim.x / 3);
    const bool speaks = threadIdx.x % (blockDim.x / 3) == 0;
    const auto fence_when = [&](third_fence when) {
        if (role == 1 && speaks && when == When)
            gpu::async_proxy_fence();
    };
    const auto everyone = [] {
        if (blockDim.x > 32)
            __syncthreads();
        else
            __syncwarp(7);
    };
    fence_when(third_fence::before_the_write);
    everyone();
    if (role == 0 && speaks)
        *reinterpret_cast<int4*>(tile) = make_int4(1, 2, 3, 4);
    everyone();
    fence_when(third_fence::in_between);
    everyone();
    if (role == 2 && speaks) {
        gpu::bulk_store(out, tile, sizeof tile);
        gpu::bulk_commit();
        gpu::bulk_wait<0>();
    }
    everyone();
    fence_when(third_fence::after_the_store);
}

TEST(asynchronous, or_any_thread_in_between)
{
    device_array<int> out(4);
    for (const unsigned block : {3U, 96U}) {
        EXPECT_CLEAN(run(stores_what_a_third_thread_fenced<third_fence::in_between>, 1, block, 0, out));
        EXPECT_EQ(out.read()[3], 4);
        EXPECT_FOUND(run(stores_what_a_third_thread_fenced<third_fence::none>, 1, block, 0, out), missing_proxy_fence);
        EXPECT_FOUND(run(stores_what_a_third_thread_fenced<third_fence::before_the_write>, 1, block, 0, out),
                     missing_proxy_fence);
        EXPECT_FOUND(run(stores_what_a_third_thread_fenced<third_fence::after_the_store>, 1, block, 0, out),
                     missing_proxy_fence);
    }
}

// The fence of another thread, which nothing orders before the store.
__global__ void fences_too_late(int* out)
{
    alignas(16) __shared__ int tile[64];
    tile[threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.x != 0) {
        gpu::async_proxy_fence();
    } else {
        gpu::bulk_store(out, tile + 32, 128);
        gpu::bulk_commit();
        gpu::bulk_wait<0>();
    }
}

template <bool GlobalToo>
__global__ void loads_what_it_wrote(int* data, int* out)
{
    alignas(16) __shared__ int tile[4];
    __shared__ std::uint64_t ready;
    for (int i = 0; i < 4; ++i)
        data[i] = i;
    gpu::mbarrier_init(&ready, 1);
    if constexpr (GlobalToo)
        gpu::async_proxy_fence_of_all_memory();
    else
        gpu::async_proxy_fence();
    gpu::mbarrier_expect(&ready, sizeof tile);
    gpu::bulk_load(tile, data, sizeof tile, &ready);
    gpu::mbarrier_wait(&ready, 0);
    *out = tile[3];
}

TEST(asynchronous, a_fence_holds_for_what_came_before_it_in_its_memory)
{
    under_every_schedule([] {
        device_array<int> out(32), data(4);
        EXPECT_FOUND(run(fences_too_late, 1, 64, 0, out), missing_proxy_fence);
        EXPECT_CLEAN(run(loads_what_it_wrote<true>, 1, 1, 0, data, out));
        EXPECT_EQ(out.read()[0], 3);
        EXPECT_FOUND(run(loads_what_it_wrote<false>, 1, 1, 0, data, out), missing_proxy_fence);
    });
}

template <bool Writes>
__global__ void uses_the_target_of_a_store(int* out)
{
    alignas(16) __shared__ int tile[32];
    tile[threadIdx.x] = 1;
    gpu::async_proxy_fence();
    __syncthreads();
    if (threadIdx.x == 0) {
        gpu::bulk_store(out, tile, sizeof tile);
        gpu::bulk_commit();
        if constexpr (Writes)
            gpu::bulk_wait<0>();
        else
            gpu::bulk_wait_read<0>();
        out[0] += 1;
    }
}

TEST(asynchronous, a_store_that_was_read_is_not_yet_written)
{
    device_array<int> out(32);
    EXPECT_CLEAN(run(uses_the_target_of_a_store<true>, 1, 32, 0, out));
    EXPECT_EQ(out.read()[0], 2);
    EXPECT_FOUND(run(uses_the_target_of_a_store<false>, 1, 32, 0, out), race);
}

template <int Pending>
__global__ void two_buffers(int* out)
{
    alignas(16) __shared__ int tile[2][4];
    for (int i = 0; i < 8; ++i) {
        if (i >= 2)
            gpu::bulk_wait_read<Pending>();
        for (int j = 0; j < 4; ++j)
            tile[i % 2][j] = 10 * i + j;
        gpu::async_proxy_fence();
        gpu::bulk_store(out + 4 * i, tile[i % 2], 16);
        gpu::bulk_commit();
    }
    gpu::bulk_wait<0>();
}

template <int Pending>
__global__ void leaves_a_group(int* out)
{
    alignas(16) __shared__ int tile[8];
    for (int i = 0; i < 8; ++i)
        tile[i] = i;
    gpu::async_proxy_fence();
    for (int i = 0; i < 8; i += 4) {
        gpu::bulk_store(out + i, tile + i, 16);
        gpu::bulk_commit();
    }
    gpu::bulk_wait_read<Pending>();
}

TEST(asynchronous, every_group_must_be_waited_for)
{
    under_every_schedule([] {
        device_array<int> out(8);
        EXPECT_CLEAN(run(leaves_a_group<0>, 1, 1, 0, out));
        EXPECT_EQ(out.read()[7], 7);
        EXPECT_FOUND(run(leaves_a_group<1>, 1, 1, 0, out), unfinished_copy);
    });
}

TEST(asynchronous, groups_end_in_the_order_of_their_commits)
{
    under_every_schedule([] {
        device_array<int> out(32);
        EXPECT_CLEAN(run(two_buffers<1>, 1, 1, 0, out));
        EXPECT_EQ(out.read()[4 * 5 + 2], 52);
        EXPECT_FOUND(run(two_buffers<2>, 1, 1, 0, out), race);
    });
}

enum class wrong { nothing, parity, bytes, arrivals };

template <wrong What>
__global__ void waits_in_vain(const int* in, int* out)
{
    alignas(16) __shared__ int tile[32];
    __shared__ std::uint64_t ready;
    if (threadIdx.x == 0) {
        gpu::mbarrier_init(&ready, What == wrong::arrivals ? 2 : 1);
        gpu::mbarrier_init_fence();
        gpu::mbarrier_expect(&ready, What == wrong::bytes ? 256 : 128);
        gpu::bulk_load(tile, in, 128, &ready);
    }
    __syncthreads();
    gpu::mbarrier_wait(&ready, 0);
    if constexpr (What == wrong::parity)
        gpu::mbarrier_wait(&ready, 1);
    out[threadIdx.x] = tile[threadIdx.x];
}

TEST(asynchronous, a_deadlock_says_who_waits_for_which_mbarrier)
{
    const auto in = iota(32);
    device_array<int> out(32);
    EXPECT_CLEAN(run(waits_in_vain<wrong::nothing>, 1, 32, 0, in, out));
    EXPECT_EQ(out.read()[31], 32);
    const auto deadlock = [&](auto kernel) {
        auto report = run(kernel, 1, 32, 0, in, out);
        EXPECT_EQ(kinds(report.findings), std::vector{sim::finding_kind::deadlock}) << texts(report);
        EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchTimeout);
        return texts(report);
    };
    const auto bytes = deadlock(waits_in_vain<wrong::bytes>);
    EXPECT_NE(bytes.find("whose phase 0 lacks 0 of 1 arrival and 128 bytes, with 31 others"), std::string::npos)
        << bytes;
    const auto arrivals = deadlock(waits_in_vain<wrong::arrivals>);
    EXPECT_NE(arrivals.find("whose phase 0 lacks 1 of 2 arrivals and 0 bytes"), std::string::npos) << arrivals;
    const auto parity = deadlock(waits_in_vain<wrong::parity>);
    EXPECT_NE(parity.find("waits for parity 1 of the mbarrier initialised at line"), std::string::npos) << parity;
    EXPECT_NE(parity.find("whose phase 1 lacks 1 of 1 arrival"), std::string::npos) << parity;
}

// The mbarrier learns of the bytes only after the copy may have come: one phase too early, or in debt.
__global__ void announces_nothing(const int* in, int* out)
{
    alignas(16) __shared__ int tile[32];
    __shared__ std::uint64_t ready;
    if (threadIdx.x == 0) {
        gpu::mbarrier_init(&ready, 1);
        gpu::mbarrier_init_fence();
        gpu::bulk_load(tile, in, 128, &ready);
        gpu::mbarrier_arrive(&ready);
    }
    __syncthreads();
    gpu::mbarrier_wait(&ready, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}

TEST(asynchronous, bytes_that_nobody_announced)
{
    under_every_schedule([] {
        const auto in = iota(32);
        device_array<int> out(32);
        const auto report = run(announces_nothing, 1, 32, 0, in, out);
        EXPECT_TRUE(found(report, sim::finding_kind::race) || found(report, sim::finding_kind::deadlock))
            << texts(report);
        cudaGetLastError();
    });
}

template <bool Waits>
__global__ void loads_for_nobody(const int* in)
{
    alignas(16) __shared__ int tile[32];
    __shared__ std::uint64_t ready;
    gpu::mbarrier_init(&ready, 1);
    gpu::mbarrier_init_fence();
    gpu::mbarrier_expect(&ready, 128);
    gpu::bulk_load(tile, in, 128, &ready);
    if constexpr (Waits)
        gpu::mbarrier_wait(&ready, 0);
}

TEST(asynchronous, a_block_must_not_end_before_its_loads)
{
    const auto in = iota(32);
    EXPECT_CLEAN(run(loads_for_nobody<true>, 2, 1, 0, in));
    EXPECT_FOUND(run(loads_for_nobody<false>, 2, 1, 0, in), unfinished_copy);
}

template <int From, int To, unsigned Bytes>
__global__ void loads_at(const int* in, int* out)
{
    alignas(16) __shared__ int tile[32];
    __shared__ std::uint64_t ready;
    gpu::mbarrier_init(&ready, 1);
    gpu::mbarrier_init_fence();
    gpu::mbarrier_expect(&ready, Bytes);
    gpu::bulk_load(tile + To, in + From, Bytes, &ready);
    gpu::mbarrier_wait(&ready, 0);
    *out = tile[To];
}

TEST(asynchronous, copies_are_aligned_and_inside_their_arrays)
{
    const auto in = iota(32);
    device_array<int> out(1), fresh(32);
    EXPECT_CLEAN(run(loads_at<28, 0, 16>, 1, 1, 0, in, out));
    EXPECT_EQ(out.read()[0], 29);
    EXPECT_FOUND(run(loads_at<1, 0, 16>, 1, 1, 0, in, out), misaligned);
    EXPECT_FOUND(run(loads_at<0, 2, 16>, 1, 1, 0, in, out), misaligned);
    EXPECT_FOUND(run(loads_at<0, 0, 20>, 1, 1, 0, in, out), misaligned);
    EXPECT_FOUND(run(loads_at<28, 0, 32>, 1, 1, 0, in, out), out_of_bounds);
    EXPECT_FOUND(run(loads_at<0, 28, 32>, 1, 1, 0, in, out), out_of_bounds);
    EXPECT_FOUND(run(loads_at<0, 0, 16>, 1, 1, 0, fresh, out), uninitialised_read);
    cudaGetLastError();
}

__global__ void arrives_too_often(int)
{
    alignas(16) __shared__ int tile[4];
    __shared__ std::uint64_t ready;
    gpu::mbarrier_init(&ready, 1);
    gpu::mbarrier_expect(&ready, sizeof tile);
    gpu::mbarrier_arrive(&ready);
}

template <bool Overwrites>
__global__ void overwrites_an_mbarrier(int)
{
    __shared__ std::uint64_t words[2];
    gpu::mbarrier_init(&words[0], 2);
    words[Overwrites ? 0 : 1] = 0;
    gpu::mbarrier_arrive(&words[0]);
}

__global__ void initialises_with(int arrivals)
{
    __shared__ std::uint64_t ready;
    gpu::mbarrier_init(&ready, static_cast<std::uint32_t>(arrivals));
}

__global__ void expects(int bytes)
{
    __shared__ std::uint64_t ready;
    gpu::mbarrier_init(&ready, 2);
    gpu::mbarrier_expect(&ready, static_cast<std::uint32_t>(bytes));
}

__global__ void initialises_anew(const int* in, int)
{
    alignas(16) __shared__ int tile[4];
    __shared__ std::uint64_t ready;
    gpu::mbarrier_init(&ready, 1);
    gpu::mbarrier_init_fence();
    gpu::mbarrier_expect(&ready, sizeof tile);
    gpu::bulk_load(tile, in, sizeof tile, &ready);
    gpu::mbarrier_init(&ready, 1);
}

__global__ void arrives_at_nothing(int)
{
    __shared__ std::uint64_t ready;
    ready = 0;
    gpu::mbarrier_arrive(&ready);
}

TEST(asynchronous, mbarriers_that_are_misused)
{
    EXPECT_FOUND(run(arrives_too_often, 1, 1, 0, 0), mbarrier_misuse);
    EXPECT_CLEAN(run(overwrites_an_mbarrier<false>, 1, 1, 0, 0));
    EXPECT_FOUND(run(overwrites_an_mbarrier<true>, 1, 1, 0, 0), mbarrier_misuse);
    EXPECT_CLEAN(run(initialises_with, 1, 1, 0, 3));
    EXPECT_FOUND(run(initialises_with, 1, 1, 0, 0), mbarrier_misuse);
    EXPECT_FOUND(run(arrives_at_nothing, 1, 1, 0, 0), mbarrier_misuse);
    EXPECT_CLEAN(run(expects, 1, 1, 0, (1 << 20) - 1));
    EXPECT_FOUND(run(expects, 1, 1, 0, 1 << 20), mbarrier_misuse);
    const auto in = iota(4);
    EXPECT_FOUND(run(initialises_anew, 1, 1, 0, in, 0), mbarrier_misuse);
    cudaGetLastError();
}

// What the threads that arrive wrote is seen by those who wait, and by nobody else.
template <bool Waits>
__global__ void passes_on(int* out)
{
    __shared__ int tile[64];
    __shared__ std::uint64_t ready;
    const unsigned t = threadIdx.x;
    if (t == 0)
        gpu::mbarrier_init(&ready, 64);
    __syncthreads();
    tile[t] = static_cast<int>(t);
    gpu::mbarrier_arrive(&ready);
    if constexpr (Waits)
        gpu::mbarrier_wait(&ready, 0);
    out[t] = tile[63 - t];
}

TEST(asynchronous, arriving_releases_and_waiting_acquires)
{
    under_every_schedule([] {
        device_array<int> out(64);
        EXPECT_CLEAN(run(passes_on<true>, 1, 64, 0, out));
        EXPECT_EQ(out.read()[0], 63);
        EXPECT_FOUND(run(passes_on<false>, 1, 64, 0, out), race);
    });
}

TEST(asynchronous, copies_are_counted_as_whole_transactions)
{
    const auto report = run_doubles<fault::none>();
    constexpr std::uint64_t tiles = 3 * 8;
    EXPECT_EQ(report.total.bulk_copies, 2 * tiles);
    EXPECT_EQ(report.total.load_bytes, tiles * tile_bytes);
    EXPECT_EQ(report.total.load_transactions, tiles * tile_bytes / 32);
    EXPECT_EQ(report.total.store_transactions, tiles * tile_bytes / 32);
    EXPECT_EQ(report.total.efficiency(), 1.0);
}

using flag_ref = cuda::atomic_ref<int, cuda::thread_scope_device>;

// A value and its flag in one indivisible word: nothing else needs to be ordered.
__global__ void passes_a_whole_word(gpu::word128* words, std::uint64_t* out)
{
    gpu::word128 before{0, 1}; // the value, and the flag
    if (blockIdx.x > 0)
        do {
            before = gpu::load_relaxed(&words[blockIdx.x - 1]);
        } while (before.high == 0);
    before.low += blockIdx.x + 1;
    gpu::store_relaxed(&words[blockIdx.x], before);
    out[blockIdx.x] = before.low;
}

template <bool Ordered>
__global__ void passes_data_beside_a_flag(int* data, int* flag, int* out)
{
    if (blockIdx.x == 0) {
        *data = 42;
        flag_ref(*flag).store(1, Ordered ? cuda::memory_order_release : cuda::memory_order_relaxed);
    } else {
        while (flag_ref(*flag).load(Ordered ? cuda::memory_order_acquire : cuda::memory_order_relaxed) == 0) {
        }
        *out = *data;
    }
}

template <bool Plain>
__global__ void last_block_reads(int* data, std::uint32_t* counter, int* out)
{
    data[blockIdx.x] = static_cast<int>(blockIdx.x);
    cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device> blocks(*counter);
    const auto before = Plain ? atomicAdd(counter, 1u) : blocks.fetch_add(1, cuda::memory_order_acq_rel);
    if (before == gridDim.x - 1) {
        int sum = 0;
        for (unsigned i = 0; i < gridDim.x; ++i)
            sum += data[i];
        *out = sum;
    }
}

TEST(asynchronous, ordered_loads_and_stores)
{
    under_every_schedule([] {
        auto words = zeros<gpu::word128>(8);
        device_array<std::uint64_t> sums(8);
        EXPECT_CLEAN(run(passes_a_whole_word, 8, 1, 0, words, sums));
        EXPECT_EQ(sums.read()[7], 36u);

        auto data = zeros<int>(8), flag = zeros<int>(1), out = zeros<int>(1);
        EXPECT_CLEAN(run(passes_data_beside_a_flag<true>, 2, 1, 0, data, flag, out));
        EXPECT_EQ(out.read()[0], 42);
        cudaMemset(flag, 0, sizeof(int));
        EXPECT_FOUND(run(passes_data_beside_a_flag<false>, 2, 1, 0, data, flag, out), race);

        auto counter = zeros<std::uint32_t>(1);
        EXPECT_CLEAN(run(last_block_reads<false>, 8, 1, 0, data, counter, out));
        EXPECT_EQ(out.read()[0], 28);
        cudaMemset(counter, 0, sizeof(std::uint32_t));
        EXPECT_FOUND(run(last_block_reads<true>, 8, 1, 0, data, counter, out), race);
    });
}

// A release is worth nothing once another thread's store has taken its place.
template <bool Releases>
__global__ void a_store_replaces_a_release(int* data, int* flag, int* turn, int* out)
{
    if (blockIdx.x == 0) {
        *data = 42;
        flag_ref(*flag).store(1, cuda::memory_order_release);
        flag_ref(*turn).store(1, cuda::memory_order_relaxed);
    } else if (blockIdx.x == 1) {
        while (flag_ref(*turn).load(cuda::memory_order_relaxed) == 0) {
        }
        flag_ref(*flag).store(2, Releases ? cuda::memory_order_release : cuda::memory_order_relaxed);
    } else {
        while (flag_ref(*flag).load(cuda::memory_order_acquire) != 2) {
        }
        *out = *data;
    }
}

TEST(asynchronous, a_release_ends_with_the_next_store)
{
    sim::options opts;
    opts.schedule = sim::schedule::stall(2);
    sim::with_options with(opts);
    auto data = zeros<int>(1), flag = zeros<int>(1), turn = zeros<int>(1), out = zeros<int>(1);
    EXPECT_FOUND(run(a_store_replaces_a_release<false>, 3, 1, 0, data, flag, turn, out), race);
    cudaMemset(flag, 0, sizeof(int)), cudaMemset(turn, 0, sizeof(int));
    EXPECT_FOUND(run(a_store_replaces_a_release<true>, 3, 1, 0, data, flag, turn, out), race);
}

__global__ void streams(const float4* in, float4* out) { __stcs(out + threadIdx.x, __ldcs(in + threadIdx.x)); }

TEST(asynchronous, streaming_accesses_are_one_wide_access)
{
    device_array<float4> in(std::vector<float4>(32, make_float4(1, 2, 3, 4))), out(32);
    const auto report = run(streams, 1, 32, 0, in, out);
    EXPECT_CLEAN(report);
    EXPECT_EQ(out.read()[31].w, 4.0f);
    EXPECT_EQ(report.total.load_transactions, 16u);
    EXPECT_EQ(report.total.global_loads, 1u);
}
