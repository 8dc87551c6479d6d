// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "simulated.h"

template <int Stride>
__global__ void strided_read(const int* in, int* out)
{
    out[threadIdx.x] = in[threadIdx.x * Stride];
}

TEST(counters, transactions_follow_the_stride)
{
    device_array<int> in(std::vector<int>(1024, 1)), out(32);
    auto dense = run(strided_read<1>, 1, 32, 0, in, out).total, sparse = run(strided_read<8>, 1, 32, 0, in, out).total,
         every_other = run(strided_read<2>, 1, 32, 0, in, out).total;
    EXPECT_EQ(dense.load_transactions, 4u);
    EXPECT_EQ(every_other.load_transactions, 8u);
    EXPECT_EQ(sparse.load_transactions, 32u);
    EXPECT_EQ(dense.efficiency(), 1.0);
    EXPECT_EQ(sparse.load_bytes, 128u);
    EXPECT_EQ(sparse.load_bytes_moved, 1024u);
    EXPECT_EQ(dense.global_loads, 1u);
    EXPECT_EQ(dense.global_load_accesses, 32u);
}

TEST(counters, one_word_for_all_lanes_is_one_transaction)
{
    device_array<int> in(std::vector<int>(1, 1)), out(32);
    auto total = run(strided_read<0>, 1, 32, 0, in, out).total;
    EXPECT_EQ(total.load_transactions, 1u);
    EXPECT_EQ(total.load_bytes, 4u);
}

template <int Stride>
__global__ void strided_shared(int* out)
{
    __shared__ int tile[32 * 33];
    tile[threadIdx.x * Stride] = 1;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x * Stride];
}

TEST(counters, bank_conflicts_follow_the_stride)
{
    device_array<int> out(32);
    const std::uint64_t degrees[] = {run(strided_shared<1>, 1, 32, 0, out).total.worst_bank,
                                     run(strided_shared<2>, 1, 32, 0, out).total.worst_bank,
                                     run(strided_shared<4>, 1, 32, 0, out).total.worst_bank,
                                     run(strided_shared<32>, 1, 32, 0, out).total.worst_bank,
                                     run(strided_shared<33>, 1, 32, 0, out).total.worst_bank,
                                     run(strided_shared<3>, 1, 32, 0, out).total.worst_bank};
    EXPECT_EQ(std::vector<std::uint64_t>(std::begin(degrees), std::end(degrees)),
              (std::vector<std::uint64_t>{1, 2, 4, 32, 1, 1}));
    EXPECT_EQ(run(strided_shared<4>, 1, 32, 0, out).total.bank_conflicts, 6u);
}

TEST(counters, the_first_machines_have_sixteen_banks_for_half_a_warp)
{
    sim::options opts;
    opts.machine = sim::geometry::preset("g80");
    sim::with_options with(opts);
    device_array<int> out(32);
    EXPECT_EQ(run(strided_shared<1>, 1, 32, 0, out).total.worst_bank, 1u);
    EXPECT_EQ(run(strided_shared<16>, 1, 32, 0, out).total.worst_bank, 16u);
    EXPECT_EQ(run(strided_shared<32>, 1, 32, 0, out).total.worst_bank, 16u);
}

struct alignas(16) four_ints {
    int v[4];
};

template <class V>
__global__ void vector_copy(const V* in, V* out)
{
    out[threadIdx.x] = in[threadIdx.x];
}

template <class V>
__global__ void vector_use(const V* in, float* out)
{
    const V v = in[threadIdx.x];
    out[threadIdx.x] = v.x + v.y;
}

__global__ void four_scalars(const float* in, float* out)
{
    float sum = 0;
    for (int i = 0; i < 4; ++i)
        sum += in[4 * threadIdx.x + i];
    out[threadIdx.x] = sum;
}

TEST(counters, a_vector_access_is_one_instruction)
{
    device_array<float> in(std::vector<float>(256, 1.0f)), out(256);
    auto* in4 = reinterpret_cast<float4*>(static_cast<float*>(in));
    auto* out4 = reinterpret_cast<float4*>(static_cast<float*>(out));
    auto copied = run(vector_copy<float4>, 1, 32, 0, in4, out4).total;
    EXPECT_EQ(copied.global_loads, 1u);
    EXPECT_EQ(copied.global_stores, 1u);
    EXPECT_EQ(copied.load_transactions, 16u);
    EXPECT_EQ(copied.load_bytes, 512u);
    auto own =
        run(vector_copy<four_ints>, 1, 32, 0, reinterpret_cast<four_ints*>(in4), reinterpret_cast<four_ints*>(out4))
            .total;
    EXPECT_EQ(own.global_loads, 1u);
    EXPECT_EQ(own.global_stores, 1u);
    auto used = run(vector_use<float4>, 1, 32, 0, in4, out).total;
    EXPECT_EQ(used.global_loads, 1u);
    auto scalars = run(four_scalars, 1, 32, 0, in, out).total;
    EXPECT_EQ(scalars.global_loads, 4u);
    EXPECT_EQ(scalars.load_transactions, 64u);
}

__global__ void half_the_lanes(int* out)
{
    if (threadIdx.x % 2 == 0)
        out[threadIdx.x] = 1;
    if (threadIdx.x < 32)
        out[64 + threadIdx.x] = 1;
}

TEST(counters, divergence_is_an_instruction_without_some_live_lane)
{
    device_array<int> out(96);
    auto report = run(half_the_lanes, 1, 64, 0, out);
    EXPECT_EQ(report.total.divergent, 2u);
    EXPECT_EQ(report.total.instructions, 3u);
    EXPECT_EQ(report.total.active_lanes, 64u);
    EXPECT_EQ(report.total.possible_lanes, 96u);
    ASSERT_EQ(report.lines.size(), 2u);
    EXPECT_EQ(report.lines[0].counts.divergent, 2u);
    EXPECT_EQ(report.lines[1].counts.divergent, 0u);
}

__global__ void rejoins(int* a, int* b)
{
    if (threadIdx.x % 2)
        a[threadIdx.x] = 1;
    else
        b[threadIdx.x] = 2;
    a[threadIdx.x + 32] = 3;
}

TEST(counters, a_warp_rejoins_after_a_branch)
{
    device_array<int> a(64), b(64);
    EXPECT_EQ(run(rejoins, 1, 32, 0, a, b).total.global_stores, 3u);
}

__global__ void contended(int* bins) { atomicAdd(&bins[threadIdx.x % 4], 1); }

TEST(counters, atomics_at_one_address)
{
    auto bins = zeros<int>(4);
    auto total = run(contended, 1, 32, 0, bins).total;
    EXPECT_EQ(total.atomics, 1u);
    EXPECT_EQ(total.atomic_accesses, 32u);
    EXPECT_EQ(total.atomic_replays, 28u);
    EXPECT_EQ(total.worst_address, 8u);
    EXPECT_EQ(total.global_atomic_accesses, 32u);
}

__global__ void applies(int times)
{
    for (int i = 0; i < times; ++i)
        sim::device::applied_operator();
    __syncthreads();
    if (threadIdx.x < 3)
        sim::device::applied_operator();
}

TEST(counters, steps_are_the_longest_chain_and_work_is_all_of_it)
{
    auto report = run(applies, 2, 64, 0, 5);
    EXPECT_EQ(report.work, 2u * (64 * 5 + 3));
    EXPECT_EQ(report.steps, 6u);
    EXPECT_EQ(report.total.barriers, 2u);
}

TEST(counters, intervals_lie_between_barriers)
{
    device_array<int> out(32);
    auto report = run(strided_shared<2>, 1, 32, 0, out);
    ASSERT_EQ(report.intervals.size(), 2u);
    EXPECT_EQ(report.intervals[0].shared_stores, 1u);
    EXPECT_EQ(report.intervals[1].shared_loads, 1u);
    EXPECT_EQ(report.intervals[1].global_stores, 1u);
}

TEST(geometry, presets_are_known_by_name)
{
    for (const auto& name : sim::geometry::presets())
        EXPECT_EQ(sim::geometry::preset(name).name, name);
    EXPECT_THROW(sim::geometry::preset("sm_1"), std::invalid_argument);
    EXPECT_EQ(sim::geometry::preset("sm_90").sms, 132u);
}

// One instruction, whose lanes access the same words relative to the first lane each time, counts anew where these lie.
__global__ void loads_from_shifted_addresses(const int* in, int* out)
{
    int sum = 0;
    for (int shift = 0; shift < 8; ++shift)
        sum += in[threadIdx.x + shift];
    out[threadIdx.x] = sum;
}

TEST(counters, the_same_load_from_other_transactions)
{
    device_array<int> in(std::vector<int>(64, 1)), out(32);
    const auto c = run(loads_from_shifted_addresses, 1, 32, 0, in, out).total;
    EXPECT_EQ(c.global_loads, 8u);
    EXPECT_EQ(c.load_transactions, 4u + 7 * 5);
    EXPECT_EQ(c.load_bytes, 8u * 128);
}

// The rows of a tile, as a block of 16 by 2 threads reads them: 2 words by 16 lanes each, then 16 words by 2 lanes each, and
// at last a column, whose 2 words of a lane pair lie in one bank when the pitch is 32 words.
__global__ void reads_tiles(int* out)
{
    __shared__ int tile[16 * 32];
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
    for (int i = y * 16 + x; i < 16 * 32; i += 32)
        tile[i] = i;
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < 4; ++k)
        sum += tile[y * 16 + k];
    for (int k = 0; k < 4; ++k)
        sum += tile[k * 32 + x];
    for (int k = 0; k < 4; ++k)
        sum += tile[x * 32 + k];
    out[y * 16 + x] = sum;
}

TEST(counters, banks_of_tiles)
{
    device_array<int> out(32);
    const auto c = run(reads_tiles, 1, dim3(16, 2), 0, out).total;
    EXPECT_EQ(c.shared_stores, 16u);
    EXPECT_EQ(c.shared_loads, 12u);
    EXPECT_EQ(c.shared_load_accesses, 12u * 32);
    EXPECT_EQ(c.shared_wavefronts, 16u + 4 + 4 + 4 * 16);
    EXPECT_EQ(c.bank_conflicts, 4u * 15);
    EXPECT_EQ(c.worst_bank, 16u);
}
