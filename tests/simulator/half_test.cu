// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Half precision and bfloat16. nvcc compiles this file, too.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "portable.h"

namespace {

__global__ void scalars(float* out)
{
    const half a = __float2half(1.5f), b = __int2half_rn(-4);
    int i = 0;
    out[i++] = __half2float(a * b + a);
    out[i++] = __half2float(__hfma(a, b, __float2half(10.0f)));
    out[i++] = static_cast<float>(__half2int_rz(__float2half(-2.75f)));
    out[i++] = __half2float(__float2half_rz(2049.0f));
    out[i++] = __half2float(__float2half_ru(2049.0f));
    out[i++] = __half2float(__float2half_rd(70000.0f));
    out[i++] = __half2float(__float2half_ru(1e-10f));
    out[i++] = __half2float(hsqrt(__float2half(2.25f)));
    out[i++] = __half2float(__habs(b)) + __half2float(-b);
    out[i++] = static_cast<float>(__half_as_ushort(__ushort_as_half(0x3c00)));
    out[i++] = __hgt(a, b) + 2.0f * __hisnan(__ushort_as_half(0x7fff)) + 4.0f * __hltu(a, __ushort_as_half(0x7fff)) +
               8.0f * __heq(a, a) + 16.0f * static_cast<float>(__hisinf(__float2half(-1e6f)));
    half sum = a;
    sum += b;
    sum /= a;
    out[i++] = __half2float(__hmax(sum, a));
    out[i++] = __half2float(__hadd_sat(a, a));
}

TEST(half_precision, scalars)
{
    EXPECT_EQ(results_of<float>(13, 1, 1, scalars),
              (std::vector<float>{-4.5f, 4.0f, -2.0f, 2048.0f, 2050.0f, 65504.0f, 0x1p-24f, 1.5f, 8.0f, 15360.0f,
                                  -1.0f * 16 + 8 + 4 + 2 + 1, 1.5f, 1.0f}));
}

__global__ void pairs(float2* out, half2* sum)
{
    const half2 a = __floats2half2_rn(1.0f, 2.0f), b = __float2half2_rn(0.5f);
    int i = 0;
    out[i++] = __half22float2(__hfma2(a, b, b));
    out[i++] = __half22float2(a * b - a);
    out[i++] = __half22float2(__lowhigh2highlow(a));
    out[i++] = __half22float2(__heq2(a, __half2half2(__low2half(a))));
    out[i++] = make_float2(__hbgt2(a, b), __hblt2(a, b));
    out[i++] = __half22float2(__halves2half2(__high2half(a), __low2half(a)));
    out[i++] = __half22float2(h2exp2(a));
    out[i++] = __half22float2(__hmin2(a, __highs2half2(a, b)));
    out[i++] =
        make_float2(static_cast<float>(__hgt2_mask(a, b) == 0xffffffffu), __low2float(__shfl_xor_sync(1u, a, 0)));
    atomicAdd(sum, a);
    atomicAdd(sum, b);
    out[i++] = __half22float2(*sum);
}

TEST(half_precision, pairs)
{
    half2* sum = nullptr;
    ASSERT_EQ(cudaMalloc(&sum, sizeof *sum), cudaSuccess);
    ASSERT_EQ(cudaMemset(sum, 0, sizeof *sum), cudaSuccess);
    const auto got = results_of<float2>(10, 1, 1, pairs, sum);
    const float expected[][2] = {{1, 1.5f}, {-0.5f, -1}, {2, 1},    {1, 0}, {1, 0},
                                 {2, 1},    {2, 4},      {1, 0.5f}, {1, 1}, {1.5f, 2.5f}};
    for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(got[i].x, expected[i][0]) << i;
        EXPECT_EQ(got[i].y, expected[i][1]) << i;
    }
    EXPECT_EQ(cudaFree(sum), cudaSuccess);
}

__global__ void brain_floats(float* out)
{
    const __nv_bfloat16 a = __float2bfloat16(3.0f), b = __int2bfloat16_rn(2);
    const __nv_bfloat162 both = __halves2bfloat162(a, b);
    int i = 0;
    out[i++] = __bfloat162float(a / b);
    out[i++] = __bfloat162float(__hfma(a, b, a));
    out[i++] = __bfloat162float(__float2bfloat16_rz(257.9f));
    out[i++] = __bfloat162float(__low2bfloat16(__hadd2(both, both)));
    out[i++] = __high2float(__hmul2(both, __bfloat162bfloat162(a)));
    out[i++] = __bfloat162float(hrcp(b)) + (a > b) + static_cast<float>(__bfloat16_as_ushort(b));
}

TEST(half_precision, brain_floats)
{
    EXPECT_EQ(results_of<float>(6, 1, 1, brain_floats),
              (std::vector<float>{1.5f, 9.0f, 256.0f, 6.0f, 6.0f, 0.5f + 1 + 0x4000}));
}

__global__ void eight_bits(float* out, const float* in)
{
    const __nv_fp8_e4m3 a(in[threadIdx.x]);
    const __nv_fp8_e5m2 b(in[threadIdx.x]);
    out[threadIdx.x] = static_cast<float>(a);
    out[8 + threadIdx.x] = static_cast<float>(b);
}

TEST(half_precision, numbers_of_eight_bits)
{
    const std::vector<float> values{1.0625f, 1.1875f, -300.0f, 1000.0f, 0.001f, 15.6f, 1e6f, -0.0f};
    float* in = nullptr;
    ASSERT_EQ(cudaMalloc(&in, 32), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(in, values.data(), 32, cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(results_of<float>(16, 1, 8, eight_bits, static_cast<const float*>(in)),
              (std::vector<float>{1.0f, 1.25f, -288.0f, 448.0f, 0x1p-9f * 1, 16.0f, 448.0f, 0.0f, 1.0f, 1.25f, -320.0f,
                                  1024.0f, 0x1p-10f, 16.0f, 57344.0f, 0.0f}));
    EXPECT_EQ(cudaFree(in), cudaSuccess);
}

} // namespace

#ifdef __CUDACC_SIMULATED__
// A sum that lies a little above the middle of two halves: rounded to float first, it would be the middle itself.
TEST(half_precision, a_fused_product_is_rounded_once)
{
    const half a = __ushort_as_half(0x3c01); // 1 + 2^-10
    const half c = __float2half(2048.0f);
    EXPECT_EQ(__half2float(__hfma(a, __float2half(1.0f), c)), 2050.0f); // 2049 + 2^-10
    EXPECT_EQ(static_cast<float>(half(2049.0 + 0x1p-30)), 2050.0f);
    EXPECT_EQ(static_cast<float>(half(2049.0)), 2048.0f);
}
#endif
