// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The functions that kernels call without including anything. The expected values follow from CUDA's documentation. nvcc
// compiles this file, too.
#include <math_constants.h>

#include <climits>
#include <cmath>

#include "portable.h"

namespace {

__global__ void integers(long long* out)
{
    int i = 0;
    out[i++] = __mul24(0x01ffffff, 3); // the upper 8 bits do not count: -1 times 3
    out[i++] = __umul24(0xff000002u, 5u);
    out[i++] = __mulhi(1 << 30, 8);
    out[i++] = __mul64hi(1ll << 62, -8);
    out[i++] = __hadd(INT_MAX, INT_MAX - 2);
    out[i++] = __rhadd(-3, 2);
    out[i++] = __uhadd(UINT_MAX, UINT_MAX);
    out[i++] = __sad(-5, 7, 100);
    out[i++] = __usad(3, 10, 1);
    out[i++] = __brev(1);
    out[i++] = static_cast<long long>(__brevll(2));
    out[i++] = __fns(0b101100, 0, 2);
    out[i++] = __fns(0b101100, 4, -1);
    out[i++] = __funnelshift_lc(1, 2, 40);
    out[i++] = __double2hiint(1.0);
    out[i++] = min(3, 5u) + max(2ll, 7ull) + umax(1, 4) + llmin(-2, 9);
    out[i++] = abs(-4) + abs(-5ll);
}

TEST(device_functions, integer_arithmetic)
{
    const std::vector<long long> expected{
        -3, 10, 2, -2,         INT_MAX - 1,   0, UINT_MAX, 112, 8, 1ll << 31, static_cast<long long>(1ull << 62),
        3,  3,  1, 0x3ff00000, 3 + 7 + 4 - 2, 9};
    EXPECT_EQ(results_of<long long>(expected.size(), 1, 1, integers), expected);
}

__global__ void video(unsigned* out)
{
    int i = 0;
    out[i++] = __vadd4(0x01ff80f0, 0x01018020);
    out[i++] = __vaddus4(0x01ff80f0, 0x01018020);
    out[i++] = __vaddss2(0x7fff8000, 0x0001ffff);
    out[i++] = __vsub2(0x00010000, 0x00020001);
    out[i++] = __vsubus4(0x05060708, 0x06060101);
    out[i++] = __vabsdiffu4(0x10ff0005, 0x20000a05);
    out[i++] = __vsadu4(0x10ff0005, 0x20000a05);
    out[i++] = __vcmpeq4(0x01020304, 0x01030305);
    out[i++] = __vcmpgts2(0x00018000, 0xffff7fff);
    out[i++] = __vavgu4(0x01020304, 0x02020508);
    out[i++] = __vmins4(0x80017f05, 0x7f02ff04);
    out[i++] = __vmaxu2(0x80000001, 0x7fff0002);
    out[i++] = __vneg4(0x01ff0080);
    out[i++] = __vabsss4(0x80ff0105);
    out[i++] = __vseteq2(0x00010002, 0x00010003);
}

TEST(device_functions, parts_of_words)
{
    const std::vector<unsigned> expected{0x02000010, 0x02ffffff,         0x7fff8000, 0xffffffff, 0x00000607,
                                         0x10ff0a00, 0x10 + 0xff + 0x0a, 0xff00ff00, 0xffff0000, 0x02020406,
                                         0x8001ff04, 0x80000002,         0xff010080, 0x7f010105, 0x00010000};
    EXPECT_EQ(results_of<unsigned>(expected.size(), 1, 1, video), expected);
}

__global__ void directed(float* out, double* wide)
{
    const float third = 1.0f / 3.0f, tiny = 1e-30f;
    int i = 0;
    out[i++] = __fadd_ru(1.0f, tiny);
    out[i++] = __fadd_rz(-1.0f, tiny);
    out[i++] = __fadd_rd(1.0f, tiny);
    out[i++] = __fmul_ru(third, 3.0f) - __fmul_rd(third, 3.0f);
    out[i++] = __fdiv_ru(1.0f, 3.0f) - __fdiv_rd(1.0f, 3.0f);
    out[i++] = __fsqrt_ru(2.0f) - __fsqrt_rd(2.0f);
    out[i++] = __fmaf_ru(third, 3.0f, tiny);
    out[i++] = __frcp_rz(-3.0f) - __frcp_rd(-3.0f);
    out[i++] = __double2float_ru(0.1) - __double2float_rd(0.1);
    out[i++] = __int2float_rz(INT_MAX);
    out[i++] = __uint2float_ru(UINT_MAX - 1);
    wide[0] = __dadd_ru(1.0, 1e-300);
    wide[1] = __dmul_rd(0.1, 10.0);
    wide[2] = __ddiv_ru(1.0, 3.0) - __ddiv_rz(1.0, 3.0);
    wide[3] = __ll2double_rd(LLONG_MAX);
}

TEST(device_functions, arithmetic_that_rounds_in_a_direction)
{
    double* wide = nullptr;
    ASSERT_EQ(cudaMalloc(&wide, 4 * sizeof(double)), cudaSuccess);
    const auto got = results_of<float>(11, 1, 1, directed, wide);
    const float up = 1.0f + 0x1p-23f, down = 1.0f - 0x1p-24f;
    EXPECT_EQ(got, (std::vector<float>{up, -down, 1.0f, up - 1.0f, 0x1p-25f, 0x1p-23f, up, 0x1p-25f, 0x1p-27f,
                                       2147483520.0f, 4294967296.0f}));
    double doubles[4];
    ASSERT_EQ(cudaMemcpy(doubles, wide, sizeof doubles, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(doubles[0], 1.0 + 0x1p-52);
    EXPECT_EQ(doubles[1], 1.0);
    EXPECT_EQ(doubles[2], 0x1p-54);
    EXPECT_EQ(doubles[3], 9223372036854774784.0);
    EXPECT_EQ(cudaFree(wide), cudaSuccess);
}

__global__ void to_integers(long long* out, float two_and_a_half)
{
    int i = 0;
    out[i++] = __float2int_rn(two_and_a_half);
    out[i++] = __float2int_ru(two_and_a_half);
    out[i++] = __float2int_rd(-two_and_a_half);
    out[i++] = __float2int_rz(-two_and_a_half);
    out[i++] = __float2int_rn(1e20f);
    out[i++] = __float2int_rn(CUDART_NAN_F);
    out[i++] = __float2uint_rz(-1.0f);
    out[i++] = __double2ll_rn(-3.5);
    out[i++] = __double2int_rz(-1e300);
    out[i++] = static_cast<long long>(__float2ull_rn(CUDART_INF_F) >> 1);
    out[i++] = __float2ll_rd(-0.5f);
}

TEST(device_functions, conversions_saturate)
{
    EXPECT_EQ(results_of<long long>(11, 1, 1, to_integers, 2.5f),
              (std::vector<long long>{2, 3, -3, -2, INT_MAX, 0, 0, -4, INT_MIN, LLONG_MAX, -1}));
}

__global__ void functions(double* out)
{
    int i = 0;
    out[i++] = sinpi(1.5);
    out[i++] = cospi(2.5);
    out[i++] = sinpif(-0.25f);
    out[i++] = rsqrtf(16.0f);
    out[i++] = rcbrt(27.0);
    out[i++] = normcdf(0.0);
    out[i++] = normcdfinv(0.975);
    out[i++] = erfcinv(0.5);
    out[i++] = erfinv(0.25);
    out[i++] = __saturatef(1.5f) + __saturatef(-3.0f);
    out[i++] = __fdividef(6.0f, 4.0f);
    out[i++] = __powf(2.0f, 10.0f);
    out[i++] = norm3d(2.0, 3.0, 6.0);
    out[i++] = rhypot(3.0, 4.0);
    float sine, cosine;
    __sincosf(0.0f, &sine, &cosine);
    out[i++] = sine + cosine;
    sincospif(0.5f, &sine, &cosine);
    out[i++] = sine + cosine;
    out[i++] = __exp10f(2.0f) + __log2f(8.0f) + __cosf(0.0f);
    out[i++] = isnan(CUDART_NAN) + signbit(-1.0f) + isinf(CUDART_INF_F);
    out[i++] = fminf(1.0f, 2.0f) + max(1.0f, 2.5) + fabs(-1.5f);
}

TEST(device_functions, functions_of_real_numbers)
{
    const std::vector<double> expected{-1,
                                       0,
                                       -0.70710678118654752,
                                       0.25,
                                       1.0 / 3,
                                       0.5,
                                       1.9599639845400542,
                                       0.47693627620446987,
                                       0.22531205501217808,
                                       1,
                                       1.5,
                                       1024,
                                       7,
                                       0.2,
                                       1,
                                       1,
                                       104,
                                       3,
                                       5};
    const auto got = results_of<double>(expected.size(), 1, 1, functions);
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(got[i], expected[i], 1e-6 * (1 + std::fabs(expected[i]))) << i;
}

__global__ void spaces(unsigned* out)
{
    __shared__ int shared[4];
    int local = 0;
    out[0] = __isShared(shared) != 0;
    out[1] = __isGlobal(out) != 0;
    out[2] = __isGlobal(shared) != 0 || __isShared(&local) != 0;
    out[3] = __isLocal(&local) != 0;
    const auto place = __cvta_generic_to_shared(&shared[1]);
    *static_cast<int*>(__cvta_shared_to_generic(place)) = 7;
    out[4] = static_cast<unsigned>(shared[1]);
    out[5] = place < (1u << 20);
}

TEST(device_functions, memory_spaces)
{
    EXPECT_EQ(results_of<unsigned>(6, 1, 1, spaces), (std::vector<unsigned>{1, 1, 0, 1, 7, 1}));
}

__global__ void vector_atomics(float4* out)
{
    atomicAdd(out, make_float4(1, 2, 3, 4));
    atomicAdd(reinterpret_cast<float2*>(out), make_float2(1, 1));
}

TEST(device_functions, vectors_of_floats_are_added)
{
    const float4 got = results_of<float4>(1, 1, 64, vector_atomics)[0];
    EXPECT_EQ(got.x, 128);
    EXPECT_EQ(got.y, 192);
    EXPECT_EQ(got.w, 256);
}

__global__ void hinted(float4* out, const float4* in)
{
    out[threadIdx.x] = threadIdx.x % 2 ? __ldg(in + threadIdx.x) : __ldcs(in + threadIdx.x);
    __stwt(out + 32 + threadIdx.x, __ldcv(in + threadIdx.x));
}

TEST(device_functions, loads_of_vectors_with_hints)
{
    std::vector<float4> values(32);
    for (int i = 0; i < 32; ++i)
        values[static_cast<std::size_t>(i)] = make_float4(static_cast<float>(i), 0, 0, 1);
    float4* in = nullptr;
    ASSERT_EQ(cudaMalloc(&in, 512), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(in, values.data(), 512, cudaMemcpyHostToDevice), cudaSuccess);
    const auto got = results_of<float4>(64, 1, 32, hinted, static_cast<const float4*>(in));
    EXPECT_EQ(got[31].x, 31);
    EXPECT_EQ(got[62].x, 30);
    EXPECT_EQ(cudaFree(in), cudaSuccess);
}

} // namespace
