// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What a finding tells a learner: the variable and its element, the hazard, whether it is benign, and the remedy.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "simulated.h"

__device__ int device_total[8];

__global__ void in_dynamic_memory(int* out)
{
    extern __shared__ float numbers[];
    numbers[threadIdx.x] = 1;
    out[threadIdx.x] = static_cast<int>(numbers[threadIdx.x ^ 1]);
}

namespace {

struct pair_of_sums {
    int first;
    float second[4];
};

// The first finding of a kind with a hazard, and with a text in its remedy.
const sim::finding* find(const sim::launch_report& report, sim::finding_kind kind, const std::string& hazard = "",
                         const std::string& remedy = "")
{
    for (const auto& f : report.findings)
        if (f.kind == kind && (hazard.empty() || f.hazard == hazard) && f.remedy.find(remedy) != std::string::npos)
            return &f;
    return nullptr;
}

sim::launch_report run_in_turns(auto&&... launch)
{
    sim::options opts;
    opts.schedule.kind = sim::schedule::order::round_robin;
    sim::with_options with(opts);
    return run(launch...);
}

std::string between(int first, int second)
{
    return " between lines " + std::to_string(first) + " and " + std::to_string(second);
}

#define REQUIRE_FINDING(name, report, ...)                                                                             \
    const sim::finding* name = find(report, sim::finding_kind::__VA_ARGS__);                                           \
    ASSERT_NE(name, nullptr) << texts(report)

__global__ void writes_then_reads_rows(const int* in, int* out)
{
    __shared__ int tile[4][32];
    tile[threadIdx.x / 32][threadIdx.x % 32] = in[threadIdx.x];
    const unsigned other = 127 - threadIdx.x;
    out[threadIdx.x] = tile[other / 32][other % 32];
}
constexpr int rows_line = __LINE__ - 4;

TEST(findings, a_race_names_the_element_the_hazard_and_the_barrier)
{
    device_array<int> in(std::vector<int>(128, 1)), out(128);
    const auto report = run_in_turns(writes_then_reads_rows, 1, 128, 0, in, out);
    REQUIRE_FINDING(race, report, race, "RAW");
    EXPECT_EQ(race->variable.find("tile["), 0u) << race->text();
    EXPECT_EQ(std::count(race->variable.begin(), race->variable.end(), '['), 2) << race->text();
    EXPECT_NE(race->remedy.find("`__syncthreads()`" + between(rows_line, rows_line + 2)), std::string::npos)
        << race->text();
    const std::string text = race->text();
    EXPECT_NE(text.find(race->variable + " (RAW), "), std::string::npos) << text;
    EXPECT_NE(text.find("\n    remedy: " + race->remedy), std::string::npos) << text;
}

__global__ void warp_writes_then_reads(int* out)
{
    __shared__ pair_of_sums sums[8];
    if (threadIdx.x < 8)
        sums[threadIdx.x].second[1] = 1;
    if (threadIdx.x < 8)
        out[threadIdx.x] = static_cast<int>(sums[7 - threadIdx.x].second[1]);
}
constexpr int warp_line = __LINE__ - 4;

TEST(findings, within_a_warp_the_remedy_is_syncwarp_and_members_are_named)
{
    device_array<int> out(8);
    const auto report = run(warp_writes_then_reads, 1, 32, 0, out);
    REQUIRE_FINDING(race, report, race, "RAW");
    EXPECT_NE(race->remedy.find("`__syncwarp()`" + between(warp_line, warp_line + 2)), std::string::npos)
        << race->text();
    EXPECT_EQ(race->variable.substr(0, 5), "sums[") << race->variable;
    EXPECT_NE(race->variable.find("].second[1]"), std::string::npos) << race->variable;
}

__device__ void fill(int* tile, int value) { tile[threadIdx.x] = value; }

__global__ void calls_a_function(int* out)
{
    __shared__ int tile[64];
    fill(tile, 1);
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
constexpr int call_line = __LINE__ - 3;

TEST(findings, a_barrier_belongs_between_the_calls_of_functions)
{
    device_array<int> out(64);
    const auto report = run_in_turns(calls_a_function, 1, 64, 0, out);
    REQUIRE_FINDING(race, report, race, "RAW");
    EXPECT_NE(race->remedy.find("`__syncthreads()`" + between(call_line, call_line + 1)), std::string::npos)
        << race->text();
}

template <bool AtTheEnd>
__global__ void tiles_in_a_loop(const int* in, int* out)
{
    __shared__ int tile[64];
    int sum = 0;
    for (int i = 0; i < 4; ++i) {
        tile[threadIdx.x] = in[threadIdx.x] + i;
        __syncthreads();
        sum += tile[63 - threadIdx.x];
        if constexpr (AtTheEnd)
            __syncthreads();
    }
    out[threadIdx.x] = sum;
}
constexpr int loop_line = __LINE__ - 8;

// Which of the two accesses happens first depends on the schedule. The missing barrier is the same.
TEST(findings, a_missing_barrier_at_the_end_of_a_loop_is_sought_there)
{
    device_array<int> in(std::vector<int>(64, 1)), out(64);
    const std::string expected = "`__syncthreads()` at the end of the loop, after line " +
                                 std::to_string(loop_line + 2) + " and before line " + std::to_string(loop_line) +
                                 " comes again";
    int races = 0;
    under_every_schedule([&] {
        EXPECT_CLEAN(run(tiles_in_a_loop<true>, 1, 64, 0, in, out));
        const auto report = run(tiles_in_a_loop<false>, 1, 64, 0, in, out);
        for (const auto& f : report.findings) {
            ++races;
            if (f.parties[0].thread.x / 32 != f.parties[1].thread.x / 32) {
                EXPECT_NE(f.remedy.find(expected), std::string::npos) << f.text();
            }
        }
    });
    EXPECT_GT(races, 0);
}

__global__ void reads_before_others_write(const int* in, int* out)
{
    __shared__ int tile[64];
    if (threadIdx.x < 32)
        tile[threadIdx.x] = tile[threadIdx.x + 32] = 0;
    __syncthreads();
    tile[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
constexpr int early_line = __LINE__ - 3;

TEST(findings, an_early_reader_needs_the_same_barrier_as_a_late_one)
{
    device_array<int> in(std::vector<int>(64, 1)), out(64);
    const auto report = run(reads_before_others_write, 1, 64, 0, in, out);
    REQUIRE_FINDING(race, report, race, "WAR");
    EXPECT_NE(race->remedy.find("`__syncthreads()`" + between(early_line, early_line + 1)), std::string::npos)
        << race->text();
}

__global__ void scans_in_place(int* data)
{
    __shared__ int sums[64];
    const int t = static_cast<int>(threadIdx.x);
    sums[t] = data[t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        if (t >= d)
            sums[t] += sums[t - d];
        __syncthreads();
    }
    data[t] = sums[t];
}
constexpr int scan_line = __LINE__ - 5;

TEST(findings, a_line_that_reads_what_others_write_there_is_split)
{
    device_array<int> data(std::vector<int>(64, 1));
    under_every_schedule([&] {
        const auto report = run(scans_in_place, 1, 64, 0, data);
        ASSERT_FALSE(report.findings.empty());
        for (const auto& f : report.findings)
            EXPECT_EQ(f.remedy.find("split line " + std::to_string(scan_line)), 0u) << f.text();
    });
}

// The second warp updates the bins, too, so that a barrier of the warp would not do.
__global__ void counts_before_all_is_zero(const int* bins, int* out)
{
    __shared__ int counts[8];
    if (threadIdx.x < 8)
        counts[threadIdx.x] = 0;
    atomicAdd(&counts[bins[threadIdx.x]], 1);
    __syncthreads();
    if (threadIdx.x < 8)
        out[threadIdx.x] = counts[threadIdx.x];
}

TEST(findings, a_race_in_a_warp_needs_the_barrier_that_other_warps_need)
{
    device_array<int> bins(std::vector<int>(64, 3)), out(8);
    const auto report = run(counts_before_all_is_zero, 1, 64, 0, bins, out);
    ASSERT_FALSE(report.findings.empty());
    for (const auto& f : report.findings)
        EXPECT_EQ(f.remedy.find("put `__syncthreads()` between lines"), 0u) << f.text();
}

template <bool Atomic>
__global__ void counts_in_shared(const int* bins, int* out)
{
    __shared__ int counts[8];
    if (threadIdx.x < 8)
        counts[threadIdx.x] = 0;
    __syncthreads();
    if constexpr (Atomic)
        atomicAdd(&counts[bins[threadIdx.x]], 1);
    else
        counts[bins[threadIdx.x]]++;
    __syncthreads();
    if (threadIdx.x < 8)
        out[threadIdx.x] = counts[threadIdx.x];
}

TEST(findings, a_lost_update_needs_an_atomic_and_no_barrier)
{
    device_array<int> bins(std::vector<int>(256, 3)), out(8);
    EXPECT_CLEAN(run(counts_in_shared<true>, 1, 256, 0, bins, out));
    under_every_schedule([&] {
        const auto report = run(counts_in_shared<false>, 1, 256, 0, bins, out);
        EXPECT_FOUND(report, race);
        for (const auto& f : report.findings) {
            EXPECT_NE(f.remedy.find("atomicAdd"), std::string::npos) << f.text();
            EXPECT_EQ(f.variable, "counts[3]");
            EXPECT_FALSE(f.benign);
        }
    });
}

__global__ void counts_in_global(int* total) { *total = *total + 1; }

TEST(findings, a_lost_update_between_blocks_needs_an_atomic)
{
    auto total = zeros<int>(1);
    const auto report = run(counts_in_global, 4, 1, 0, total);
    ASSERT_FALSE(report.findings.empty());
    for (const auto& f : report.findings)
        EXPECT_NE(f.remedy.find("atomicAdd"), std::string::npos) << f.text();
}

// Within a warp and across warps the same two lines race. Neither hides the other.
TEST(findings, both_classes_of_a_pair_are_reported)
{
    device_array<int> bins(std::vector<int>(256, 3)), out(8);
    sim::options opts;
    opts.schedule.kind = sim::schedule::order::round_robin;
    sim::with_options with(opts);
    const auto report = run(counts_in_shared<false>, 1, 256, 0, bins, out);
    int within = 0, across = 0;
    for (const auto& f : report.findings) {
        ASSERT_EQ(f.parties.size(), 2u);
        ++(f.parties[0].thread.x / 32 == f.parties[1].thread.x / 32 ? within : across);
    }
    EXPECT_GT(within, 0) << texts(report);
    EXPECT_GT(across, 0) << texts(report);
}

template <bool Same>
__global__ void all_set_a_flag(int* flag)
{
    *flag = Same ? 1 : static_cast<int>(threadIdx.x);
}

TEST(findings, the_same_value_from_all_is_benign)
{
    under_every_schedule([&] {
        auto flag = zeros<int>(1);
        const auto same = run(all_set_a_flag<true>, 1, 64, 0, flag);
        ASSERT_FALSE(same.findings.empty());
        for (const auto& f : same.findings) {
            EXPECT_TRUE(f.benign) << f.text();
            EXPECT_EQ(f.hazard, "WAW");
            EXPECT_NE(f.text().find("(benign)"), std::string::npos);
        }
        const auto different = run(all_set_a_flag<false>, 1, 64, 0, flag);
        ASSERT_FALSE(different.findings.empty());
        for (const auto& f : different.findings)
            EXPECT_FALSE(f.benign) << f.text();
    });
}

__global__ void all_write_one_then_two(int* flag)
{
    *flag = 1;
    if (threadIdx.x % 2 == 1)
        *flag = 2;
}

TEST(findings, once_another_value_was_written_it_is_not_benign)
{
    auto flag = zeros<int>(1);
    const auto report = run(all_write_one_then_two, 1, 64, 0, flag);
    EXPECT_TRUE(std::any_of(report.findings.begin(), report.findings.end(), [](auto& f) { return !f.benign; }))
        << texts(report);
}

__global__ void uses_a_device_variable(int* out)
{
    if (threadIdx.x == 5)
        device_total[5] = 1;
    if (threadIdx.x == 40)
        *out = device_total[5];
}

TEST(findings, device_variables_have_their_names)
{
    device_array<int> out(1);
    const auto report = run(uses_a_device_variable, 1, 64, 0, out);
    REQUIRE_FINDING(race, report, race, "");
    EXPECT_EQ(race->variable, "device_total[5]");
}

__global__ void reads_element(const int* in, int* out, int index) { *out = in[index]; }

TEST(findings, global_memory_is_named_by_its_allocation)
{
    int* fresh = nullptr;
    cudaMalloc(&fresh, 32 * sizeof(int));
    const int line = __LINE__ - 1;
    auto out = zeros<int>(1);
    const auto unwritten = run(reads_element, 1, 1, 0, fresh, out, 19);
    REQUIRE_FINDING(read, unwritten, uninitialised_read);
    EXPECT_EQ(read->variable, "element 19 of the allocation made at line " + std::to_string(line));
    EXPECT_NE(read->remedy.find("cudaMemset or cudaMemcpy"), std::string::npos);
    const auto outside = run(reads_element, 1, 1, 0, fresh, out, 32);
    REQUIRE_FINDING(past, outside, out_of_bounds);
    EXPECT_NE(past->remedy.find("32 elements of 4 bytes"), std::string::npos) << past->text();
    const auto below = run(reads_element, 1, 1, 0, fresh, out, -2);
    REQUIRE_FINDING(before, below, out_of_bounds);
    EXPECT_EQ(before->variable, "element -2 of the allocation made at line " + std::to_string(line));
    EXPECT_NE(before->remedy.find("below 0"), std::string::npos) << before->text();
    cudaFree(fresh);
    const auto late = run(reads_element, 1, 1, 0, fresh, out, 3);
    REQUIRE_FINDING(freed, late, out_of_bounds);
    EXPECT_NE(freed->remedy.find("cudaFree only after"), std::string::npos) << freed->text();
}

TEST(findings, dynamic_shared_memory_has_the_name_of_the_array)
{
    device_array<int> out(32);
    const auto report = run(in_dynamic_memory, 1, 32, 32 * sizeof(float), out);
    REQUIRE_FINDING(race, report, race, "RAW");
#ifdef __clang__ // which writes no debug information of variables that are only declared
    EXPECT_NE(race->variable.find("of dynamic shared memory"), std::string::npos) << race->variable;
#else
    EXPECT_EQ(race->variable.find("numbers["), 0u) << race->variable;
#endif
    const auto small = run(in_dynamic_memory, 1, 32, 16 * sizeof(float), out);
    REQUIRE_FINDING(past, small, out_of_bounds);
    EXPECT_NE(past->remedy.find("dynamic shared memory"), std::string::npos) << past->text();
}

__global__ void neighbours_of_an_updated_array(int* data)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    data[i] = data[(i + 1) % n];
}

TEST(findings, between_blocks_a_barrier_of_the_block_is_not_proposed)
{
    device_array<int> data(std::vector<int>(64, 1));
    const auto report = run(neighbours_of_an_updated_array, 64, 1, 0, data);
    ASSERT_FALSE(report.findings.empty());
    for (const auto& f : report.findings) {
        EXPECT_EQ(f.remedy.find("put `__syncthreads()`"), std::string::npos) << f.text();
        EXPECT_NE(f.remedy.find("second kernel"), std::string::npos) << f.text();
    }
}

__global__ void some_return_first(int* out)
{
    if (threadIdx.x >= 40)
        return;
    __syncthreads();
    out[threadIdx.x] = 1;
}
constexpr int kernel_line = __LINE__ - 7;

TEST(findings, who_returned_before_any_access_is_at_a_line_of_the_kernel)
{
    device_array<int> out(64);
    const auto report = run(some_return_first, 1, 64, 0, out);
    REQUIRE_FINDING(divergence, report, barrier_divergence);
    ASSERT_EQ(divergence->parties.size(), 2u);
    EXPECT_NE(divergence->parties[1].where.file.find("findings_test.cu"), std::string::npos) << divergence->text();
    EXPECT_GE(divergence->parties[1].where.line, kernel_line);
    EXPECT_LE(divergence->parties[1].where.line, kernel_line + 3);
    EXPECT_EQ(divergence->text().find('?'), std::string::npos) << divergence->text();
    EXPECT_NE(divergence->remedy.find("no thread return before the barrier"), std::string::npos);
}

template <int Bytes>
__global__ void much_static_memory(char* out)
{
    __shared__ char large[Bytes];
    large[threadIdx.x] = 1;
    __syncwarp();
    out[threadIdx.x] = large[threadIdx.x ^ 1];
}

TEST(findings, static_shared_memory_is_at_most_48_kib)
{
    device_array<char> out(32);
    EXPECT_CLEAN(run(much_static_memory<48 * 1024>, 1, 32, 0, out));
    const auto report = run(much_static_memory<64 * 1024>, 1, 32, 0, out);
    REQUIRE_FINDING(refused, report, failed_launch);
    EXPECT_NE(refused->remedy.find("cudaFuncSetAttribute"), std::string::npos) << refused->text();
    EXPECT_EQ(refused->variable, "large[0]");
    EXPECT_FALSE(report.completed);
    cudaGetLastError();
}

TEST(findings, every_kind_has_a_name_and_a_remedy)
{
    sim::recording here;
    for (int kind = 0; kind <= static_cast<int>(sim::last_finding_kind); ++kind) {
        sim::finding f;
        f.kind = static_cast<sim::finding_kind>(kind);
        EXPECT_STRNE(sim::name_of(f.kind), "") << kind;
        here.add(f);
    }
    const auto all = here.findings();
    ASSERT_EQ(all.size(), static_cast<std::size_t>(sim::last_finding_kind) + 1);
    for (const auto& f : all)
        EXPECT_FALSE(f.remedy.empty()) << sim::name_of(f.kind);
}

__global__ void adds_one(int* data) { data[threadIdx.x] += 1; }

TEST(host_accesses, device_memory_is_out_of_reach)
{
    sim::recording here;
    auto data = zeros<int>(32);
    int* const pointer = data;
    for (int i = 0; i < 3; ++i)
        pointer[i] = i;
    const int sum = pointer[0] + pointer[1];
    EXPECT_EQ(sum, 1);
    const auto all = here.findings();
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all[0].kind, sim::finding_kind::host_access);
    EXPECT_EQ(all[0].count, 3u);
    EXPECT_NE(all[0].text().find("the host writes at "), std::string::npos) << all[0].text();
    EXPECT_NE(all[0].remedy.find("cudaMemcpy"), std::string::npos);
    EXPECT_NE(all[0].parties.at(0).where.file.find("findings_test.cu"), std::string::npos);
}

TEST(host_accesses, managed_memory_waits_for_the_launch)
{
    int *used, *unused;
    cudaMallocManaged(&used, 32 * sizeof(int));
    cudaMallocManaged(&unused, 32 * sizeof(int));
    {
        sim::recording here;
        for (int i = 0; i < 32; ++i)
            used[i] = unused[i] = i;
        sim::cuda::configured(adds_one, 1, 32)(used);
        unused[3] = 4;
        cudaDeviceSynchronize();
        EXPECT_EQ(used[5], 6);
        EXPECT_TRUE(here.findings().empty());
    }
    for (int way = 0; way < 2; ++way) {
        sim::recording here;
        sim::cuda::configured(adds_one, 1, 32)(used);
        if (way == 0)
            EXPECT_EQ(used[7], 9);
        else
            used[7] = 1;
        EXPECT_EQ(kinds(here.findings()), std::vector{sim::finding_kind::unsynchronised_access});
        EXPECT_NE(here.findings().at(0).remedy.find("cudaDeviceSynchronize()"), std::string::npos);
        cudaDeviceSynchronize();
    }
    cudaFree(used);
    cudaFree(unused);
}

TEST(host_accesses, a_copy_has_the_direction_of_its_pointers)
{
    auto data = zeros<int>(4);
    std::vector<int> host(4, 7);
    const auto expect_refused = [&](void* to, const void* from, cudaMemcpyKind direction, const std::string& right) {
        sim::recording here;
        EXPECT_EQ(cudaMemcpy(to, from, 4 * sizeof(int), direction), cudaErrorInvalidValue);
        ASSERT_EQ(kinds(here.findings()), std::vector{sim::finding_kind::wrong_direction});
        EXPECT_NE(here.findings()[0].remedy.find(right), std::string::npos) << here.findings()[0].text();
        cudaGetLastError();
    };
    expect_refused(host.data(), data, cudaMemcpyHostToDevice, "cudaMemcpyDeviceToHost");
    expect_refused(data, host.data(), cudaMemcpyDeviceToHost, "cudaMemcpyHostToDevice");
    expect_refused(data, host.data(), cudaMemcpyDeviceToDevice, "cudaMemcpyHostToDevice");
    expect_refused(data, host.data(), cudaMemcpyHostToHost, "cudaMemcpyHostToDevice");
    EXPECT_EQ(data.read(), std::vector<int>(4, 0));
    sim::recording here;
    EXPECT_EQ(cudaMemcpy(data, host.data(), 4 * sizeof(int), cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(data.read(), host);
    EXPECT_TRUE(here.findings().empty());
}

__global__ void never_ends(int* out, int n)
{
    unsigned x = 1;
    if (threadIdx.x == 3)
        while (x != 0) {
            x = x * 3 + static_cast<unsigned>(n) * 2;
            asm volatile("" : "+r"(x)); // a compiler may take it for granted that a loop ends which does nothing
        }
    out[threadIdx.x] = static_cast<int>(x);
}
constexpr int endless_line = __LINE__ - 5;

TEST(stops, an_endless_loop_without_an_access)
{
    sim::options opts;
    opts.lane_seconds = 0.3;
    sim::with_options with(opts);
    auto out = zeros<int>(32);
    const auto report = run(never_ends, 4, 32, 0, out, 0);
    EXPECT_FALSE(report.completed);
    REQUIRE_FINDING(loop, report, endless_loop);
    EXPECT_NEAR(loop->parties.at(0).where.line, endless_line, 2) << loop->text();
    EXPECT_EQ(loop->parties[0].thread.x, 3u);
    EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
    EXPECT_CLEAN(run(adds_one, 1, 32, 0, out));
}

__global__ void computes(int* out, int rounds)
{
    unsigned x = threadIdx.x;
    for (int i = 0; i < rounds; ++i)
        x = x * 1664525u + 1013904223u;
    out[threadIdx.x] = static_cast<int>(x);
}

TEST(stops, threads_that_compute_for_long_are_left_alone)
{
    sim::options opts;
    opts.lane_seconds = 0.3;
    sim::with_options with(opts);
    device_array<int> out(32);
    EXPECT_CLEAN(run(computes, 1, 32, 0, out, 20'000'000)); // 32 threads take more than that together
}

__global__ void works(int* data, int rounds)
{
    for (int i = 0; i < rounds; ++i)
        atomicAdd(&data[blockIdx.x], 1);
}

TEST(stops, on_request)
{
    auto data = zeros<int>(64);
    sim::options opts;
    int calls = 0;
    opts.progress = [&](const sim::launch_progress& now) {
        ++calls;
        EXPECT_EQ(now.blocks_total, 64u);
        EXPECT_LE(now.blocks_done, 64u);
        EXPECT_GT(now.seconds, 0);
        if (calls == 2)
            sim::request_stop("that is enough");
    };
    sim::with_options with(opts);
    const auto report = run(works, 64, 32, 0, data, 1'000'000);
    EXPECT_EQ(calls, 2);
    EXPECT_FALSE(report.completed);
    EXPECT_EQ(report.note, "that is enough");
    EXPECT_TRUE(report.findings.empty()) << texts(report);
    EXPECT_GT(report.total.atomics, 0u);
    EXPECT_LT(report.blocks_run, 64u);
    sim::request_stop(nullptr);
    EXPECT_CLEAN(run(works, 64, 32, 0, data, 1));
    cudaGetLastError();
}

TEST(stops, on_request_in_an_endless_loop)
{
    sim::options opts;
    opts.lane_seconds = 1e9;
    sim::with_options with(opts);
    auto out = zeros<int>(32);
    std::thread impatient([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        sim::request_stop("no time");
    });
    const auto report = run(never_ends, 1, 32, 0, out, 0);
    impatient.join();
    sim::request_stop(nullptr);
    EXPECT_FALSE(report.completed);
    EXPECT_EQ(report.note, "no time");
    EXPECT_TRUE(report.findings.empty()) << texts(report);
    cudaGetLastError();
}

__global__ void marks_block(int* data) { data[blockIdx.x] = 1; }

TEST(samples, blocks_are_evenly_spaced)
{
    sim::options opts;
    opts.blocks = 4;
    sim::with_options with(opts);
    auto data = zeros<int>(100);
    const auto report = run(marks_block, 100, 1, 0, data);
    EXPECT_CLEAN(report);
    EXPECT_EQ(report.blocks_run, 4u);
    EXPECT_EQ(report.blocks_total, 100u);
    std::vector<int> expected(100);
    expected[0] = expected[25] = expected[50] = expected[75] = 1;
    EXPECT_EQ(data.read(), expected);
}

__global__ void waits_for_the_block_before(volatile int* flags)
{
    if (blockIdx.x != 0)
        while (flags[blockIdx.x - 1] == 0)
            ;
    flags[blockIdx.x] = 1;
}

TEST(samples, blocks_that_wait_for_others_are_no_livelock)
{
    sim::options opts;
    opts.blocks = 4;
    opts.patience = 2000;
    sim::with_options with(opts);
    auto flags = zeros<int>(100);
    const auto report =
        run(waits_for_the_block_before, 100, 1, 0, static_cast<volatile int*>(static_cast<int*>(flags)));
    EXPECT_FALSE(report.completed);
    EXPECT_TRUE(report.findings.empty()) << texts(report);
    EXPECT_NE(report.note.find("sample"), std::string::npos) << report.note;
    cudaGetLastError();
}

sim::launch_report seen_so_far;

__global__ void asks_for_its_report(int* data)
{
    data[threadIdx.x] = 1;
    *data += 1;
    if (threadIdx.x == 31)
        seen_so_far = *sim::running_launch_report();
}

TEST(reports, of_a_launch_that_runs)
{
    auto data = zeros<int>(32);
    EXPECT_FALSE(sim::running_launch_report());
    run(asks_for_its_report, 1, 32, 0, data);
    EXPECT_FALSE(seen_so_far.completed);
    EXPECT_EQ(seen_so_far.total.global_store_accesses, 64u);
    EXPECT_FALSE(seen_so_far.findings.empty());
    EXPECT_EQ(seen_so_far.blocks_run, 0u);
}

// Constructed before anything of the simulator, so that it is destroyed after it.
struct reports_at_exit {
    ~reports_at_exit()
    {
        if (recorded == nullptr)
            return;
        const auto all = recorded->findings();
        const bool whole =
            all.size() == 1 && all[0].kind == sim::finding_kind::leak && all[0].remedy.find("cudaFree") == 5;
        _exit(whole && sim::current_options().machine.name == "sm_90" ? 42 : 43);
    }
    sim::recording* recorded = nullptr;
};
reports_at_exit last_to_go;

TEST(reports, are_made_while_the_program_exits)
{
    EXPECT_EXIT(
        {
            last_to_go.recorded = new sim::recording;
            int* leaked;
            cudaMalloc(&leaked, 128);
            cudaMemset(leaked, 0, 128);
            sim::cuda::configured(adds_one, 1, 32)(leaked);
            std::exit(0);
        },
        testing::ExitedWithCode(42), "");
}

} // namespace
