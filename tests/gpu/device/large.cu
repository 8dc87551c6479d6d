// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Arrays of more than 2^32 elements. Integers are the differences of a scattered sequence, so that their running sums
// are the sequence itself; sums of floats are compared with those of their aligned blocks.
#include <cstdint>

#include "../operators.cuh"
#include "device.cuh"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

constexpr std::uint64_t two_to_32 = std::uint64_t{1} << 32;
constexpr std::uint64_t beyond = two_to_32 + 1'234'567;
constexpr unsigned grid = 4096;
constexpr unsigned block = 256;

// The finaliser of SplitMix64; zero before the first element.
__host__ __device__ std::uint64_t sequence(std::uint64_t i)
{
    std::uint64_t z = i * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

template <class F>
__device__ void for_each_element(std::uint64_t count, F f)
{
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
         i += std::uint64_t{gridDim.x} * blockDim.x)
        f(i);
}

template <class T>
__global__ void fill_with_differences(T* out, std::uint64_t count)
{
    for_each_element(count, [=](std::uint64_t i) { out[i] = static_cast<T>(sequence(i + 1) - sequence(i)); });
}

template <class T>
__global__ void count_wrong_sums(const T* sums, std::uint64_t count, unsigned long long* wrong)
{
    for_each_element(count, [=](std::uint64_t i) {
        if (sums[i] != static_cast<T>(sequence(i + 1)))
            atomicAdd(wrong, 1);
    });
}

// Magnitudes over 16 binades.
__global__ void fill_with_floats(float* out, std::uint64_t count)
{
    for_each_element(count, [=](std::uint64_t i) {
        const std::uint64_t bits = sequence(i + 1);
        const float magnitude =
            ldexpf(1.0F + static_cast<float>(bits >> 44) * 0x1p-20F, static_cast<int>(bits & 15) - 8);
        out[i] = (bits >> 4 & 1) != 0 ? -magnitude : magnitude;
    });
}

#define SKIP_WITHOUT(bytes)                                                                                            \
    if (free_device_bytes() < (bytes) + (std::size_t{1} << 30))                                                        \
    GTEST_SKIP() << "needs " << (bytes) << " bytes of the GPU's memory"

template <class T>
void expect_sums_in_place()
{
    SKIP_WITHOUT(beyond * sizeof(T));
    const device_bytes memory(beyond * sizeof(T));
    const device_bytes wrong(sizeof(unsigned long long));
    check(cudaMemset(wrong.as<void>(), 0, wrong.size()));
    T* const array = memory.as<T>();
    fill_with_differences<<<grid, block>>>(array, beyond);
    const up::cuda gpu;
    up::inclusive_scan(gpu, std::span<const T>(array, beyond), std::span<T>(array, beyond));
    count_wrong_sums<<<grid, block>>>(array, beyond, wrong.as<unsigned long long>());
    unsigned long long count = 0;
    check(cudaMemcpy(&count, wrong.as<void>(), sizeof count, cudaMemcpyDeviceToHost));
    EXPECT_EQ(count, 0U);
}

TEST(large, scan_of_i8_in_place) { expect_sums_in_place<std::int8_t>(); }
TEST(large, scan_of_i32_in_place) { expect_sums_in_place<std::int32_t>(); }

// The fold of an array is that of its two halves, where its elements are a power of two, and else of its largest
// aligned block and what follows; less than 2^32 elements are compared with the CPU elsewhere.
TEST(large, sum_of_u8)
{
    SKIP_WITHOUT(beyond);
    const device_bytes memory(beyond);
    auto* const array = memory.as<std::uint8_t>();
    fill_with_differences<<<grid, block>>>(array, beyond);
    const up::cuda gpu;
    std::uint64_t expected = 0;
    for (std::uint64_t done = 0; done < beyond; done += two_to_32 / 4)
        expected +=
            up::reduce(gpu, std::span<const std::uint8_t>(array + done, std::min(two_to_32 / 4, beyond - done)));
    EXPECT_GT(expected, two_to_32 * 127);
    EXPECT_EQ(up::reduce(gpu, std::span<const std::uint8_t>(array, beyond)), expected);
}

TEST(large, sum_of_floats)
{
    SKIP_WITHOUT(beyond * sizeof(float));
    const device_bytes memory(beyond * sizeof(float));
    fill_with_floats<<<grid, block>>>(memory.as<float>(), beyond);
    const up::cuda gpu;
    const auto sum = [&](std::uint64_t first, std::uint64_t count) {
        return up::reduce(gpu, std::span<const float>(memory.as<float>() + first, count));
    };
    const std::uint64_t half = two_to_32 / 2;
    EXPECT_TRUE(bits_equal(sum(0, beyond), (sum(0, half) + sum(half, half)) + sum(two_to_32, beyond - two_to_32)));
}

// Each of some results, in arrays that begin anywhere, against the reduce of what precedes it.
TEST(large, scan_of_floats)
{
    SKIP_WITHOUT(2 * (beyond + 3) * sizeof(float));
    auto random = generator();
    const device_bytes in_memory((beyond + 3) * sizeof(float));
    const device_bytes out_memory((beyond + 3) * sizeof(float));
    const std::span<const float> in(in_memory.as<float>() + 3, beyond);
    const std::span<float> out(out_memory.as<float>() + 1, beyond);
    fill_with_floats<<<grid, block>>>(in_memory.as<float>(), beyond + 3);
    const up::cuda gpu;
    up::inclusive_scan(gpu, in, out);
    for (int sample = 0; sample < 20; ++sample) {
        const std::uint64_t i = sample == 0 ? beyond - 1 : sample < 10 ? two_to_32 - 5 + sample : random() % beyond;
        float got = 0;
        check(cudaMemcpy(&got, out.data() + i, sizeof got, cudaMemcpyDeviceToHost));
        ASSERT_TRUE(bits_equal(got, up::reduce(gpu, in.first(i + 1)))) << "element " << i;
    }
}

TEST(large, sum_of_what_an_iterator_makes)
{
    const squares first{0};
    const unsigned __int128 n = beyond;
    const auto expected = static_cast<std::uint64_t>((n - 1) * n * (2 * n - 1) / 6);
    EXPECT_EQ(up::reduce(up::cuda{}, std::ranges::subrange(first, first + beyond)), expected);
}

} // namespace
