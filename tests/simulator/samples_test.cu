// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The headers that stand in for those of the CUDA samples.
#include <cuComplex.h>
#include <cuda_runtime.h>
#include <helper_cuda.h>
#include <helper_functions.h>
#include <helper_math.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <filesystem>

#include "portable.h"

namespace {

TEST(samples, options_of_the_command_line)
{
    const char* arguments[] = {"./program", "--width=64", "-Scale=2.5", "verbose", "-file=a.txt", "--w=3"};
    const int count = 6;
    EXPECT_EQ(getCmdLineArgumentInt(count, arguments, "width"), 64);
    EXPECT_EQ(getCmdLineArgumentInt(count, arguments, "w"), 3);
    EXPECT_EQ(getCmdLineArgumentInt(count, arguments, "height"), 0);
    EXPECT_EQ(getCmdLineArgumentFloat(count, arguments, "scale"), 2.5f);
    EXPECT_TRUE(checkCmdLineFlag(count, arguments, "verbose"));
    EXPECT_FALSE(checkCmdLineFlag(count, arguments, "verb"));
    char* file = nullptr;
    EXPECT_TRUE(getCmdLineArgumentString(count, arguments, "file", &file));
    EXPECT_STREQ(file, "a.txt");
}

TEST(samples, the_device_and_its_architecture)
{
    const char* arguments[] = {"./program"};
    EXPECT_EQ(findCudaDevice(1, arguments), 0);
    EXPECT_EQ(_ConvertSMVer2Cores(9, 0), 128);
    EXPECT_EQ(_ConvertSMVer2Cores(7, 5), 64);
    EXPECT_STREQ(_ConvertSMVer2ArchName(8, 6), "Ampere");
    EXPECT_TRUE(checkCudaCapabilities(1, 0));
    EXPECT_FALSE(checkCudaCapabilities(99, 0));
    EXPECT_EQ(ftoi(2.5f) + ftoi(-2.5f), 0);
}

TEST(samples, an_error_ends_the_program)
{
    EXPECT_EXIT(checkCudaErrors(cudaMemcpy(nullptr, nullptr, 4, cudaMemcpyDefault)), testing::ExitedWithCode(1),
                "samples_test.cu:[0-9]+ code=1\\(cudaErrorInvalidValue\\)");
    cudaSetDevice(5);
    EXPECT_EXIT(getLastCudaError("choosing"), testing::ExitedWithCode(1),
                "choosing : \\(101\\) invalid device ordinal");
    cudaGetLastError();
}

TEST(samples, stop_watches_add_up)
{
    StopWatchInterface* watch = nullptr;
    ASSERT_TRUE(sdkCreateTimer(&watch));
    for (int i = 0; i < 2; ++i) {
        sdkStartTimer(&watch);
        const clock_t begin = clock();
        while (clock() - begin < CLOCKS_PER_SEC / 500) {
        }
        sdkStopTimer(&watch);
    }
    const float total = sdkGetTimerValue(&watch);
    EXPECT_GE(total, 3.9f);
    EXPECT_FLOAT_EQ(sdkGetAverageTimerValue(&watch), total / 2);
    sdkResetTimer(&watch);
    EXPECT_EQ(sdkGetTimerValue(&watch), 0);
    sdkDeleteTimer(&watch);
    EXPECT_EQ(watch, nullptr);
}

TEST(samples, images_are_written_and_read)
{
    const std::string path = std::string(testing::TempDir()) + "upsweep_image";
    std::vector<unsigned char> pixels(4 * 6);
    for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = i % 4 == 3 ? 0 : static_cast<unsigned char>(9 * i + 10); // 10 is a line feed
    ASSERT_TRUE(sdkSavePPM4ub(path.c_str(), pixels.data(), 3, 2));
    unsigned char* read = nullptr;
    unsigned width = 0, height = 0;
    ASSERT_TRUE(sdkLoadPPM4ub(path.c_str(), &read, &width, &height));
    EXPECT_EQ(width, 3u);
    EXPECT_EQ(height, 2u);
    EXPECT_EQ(std::vector<unsigned char>(read, read + 24), pixels);
    free(read);

    std::vector<float> grey{0.0f, 1.0f, 0.303f, 0.6f};
    ASSERT_TRUE(sdkSavePGM(path.c_str(), grey.data(), 2, 2));
    float* back = nullptr;
    ASSERT_TRUE(sdkLoadPGM(path.c_str(), &back, &width, &height));
    EXPECT_NEAR(back[3], 0.6f, 0.004f);
    EXPECT_TRUE(compareData(grey.data(), back, 4, 0.01f, 0.0f));
    EXPECT_FALSE(compareData(grey.data(), back, 4, 0.0001f, 0.0f));
    EXPECT_TRUE(sdkCompareL2fe(grey.data(), back, 4, 0.01f));
    back[0] = 1;
    EXPECT_FALSE(sdkCompareL2fe(grey.data(), back, 4, 0.01f));
    free(back);

    sdkDumpBin(grey.data(), 16, path.c_str());
    EXPECT_TRUE(sdkCompareBin2BinFloat(path.c_str(), path.c_str(), 4, 0, 0, nullptr));
    EXPECT_FALSE(sdkCompareBin2BinFloat(path.c_str(), path.c_str(), 5, 0, 0, nullptr));
    char* found = sdkFindFilePath(path.c_str(), nullptr);
    EXPECT_NE(found, nullptr);
    free(found);
    std::filesystem::remove(path);
    EXPECT_EQ(sdkFindFilePath("no such file", "./program"), nullptr);
}

__global__ void vectors(float4* out)
{
    const float3 a = make_float3(1, 2, 3), b = make_float3(make_int3(4, 5, 6));
    int i = 0;
    out[i++] = make_float4(cross(a, b), dot(a, b));
    out[i++] = make_float4(normalize(make_float2(3, 4)).x, length(make_float4(2, 4, 4, 8)), lerp(1.0f, 3.0f, 0.25f), 0);
    out[i++] = clamp(make_float4(-1, 0.5f, 2, 9), 0.0f, 1.0f) + 2 * make_float4(1);
    float4 c = make_float4(8, 6, 4, 2);
    c /= 2;
    c -= make_float4(a, 0.5f);
    out[i++] = c;
    out[i++] = make_float4(reflect(make_float3(1, -1, 0), make_float3(0, 1, 0)), fracf(2.75f));
    out[i++] = make_float4(max(make_int4(1, 5, -3, 0), make_int4(2)) * make_int4(3));
    out[i++] = make_float4(fminf(-a, floorf(b / 4)), smoothstep(0.0f, 2.0f, 1.0f));
    const cuComplex product = cuCmulf(make_cuComplex(1, 2), make_cuComplex(3, 4));
    out[i++] =
        make_float4(product.x, product.y, cuCabsf(make_cuComplex(3, 4)), cuCdivf(product, make_cuComplex(3, 4)).y);
}

TEST(samples, arithmetic_of_vectors)
{
    const float expected[][4] = {{-3, 6, -3, 32},  {0.6f, 10, 1.5f, 0}, {2, 2.5f, 3, 3},    {3, 1, -1, 0.5f},
                                 {1, 1, 0, 0.75f}, {6, 15, 6, 6},       {-1, -2, -3, 0.5f}, {-5, 10, 5, 2}};
    const auto got = results_of<float4>(8, 1, 1, vectors);
    for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_FLOAT_EQ(got[i].x, expected[i][0]) << i;
        EXPECT_FLOAT_EQ(got[i].y, expected[i][1]) << i;
        EXPECT_FLOAT_EQ(got[i].z, expected[i][2]) << i;
        EXPECT_FLOAT_EQ(got[i].w, expected[i][3]) << i;
    }
}

} // namespace
