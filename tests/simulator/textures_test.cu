// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Arrays, textures and surfaces. The expected values follow from the CUDA Programming Guide ("Texture Fetching"). nvcc compiles this
// file, too.
#include <numeric>

#include "portable.h"

namespace {

cudaTextureDesc rules(cudaTextureAddressMode mode, cudaTextureFilterMode filter, bool normalized)
{
    cudaTextureDesc all{};
    all.addressMode[0] = all.addressMode[1] = all.addressMode[2] = mode;
    all.filterMode = filter;
    all.normalizedCoords = normalized;
    return all;
}

cudaTextureObject_t texture_of(cudaArray_t array, const cudaTextureDesc& how)
{
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureObject_t object = 0;
    EXPECT_EQ(cudaCreateTextureObject(&object, &resource, &how, nullptr), cudaSuccess);
    return object;
}

// 4 columns and 3 rows: 0 1 2 3 / 10 11 12 13 / 20 21 22 23.
cudaArray_t numbers()
{
    std::vector<float> values;
    for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 4; ++column)
            values.push_back(static_cast<float>(10 * row + column));
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array = nullptr;
    EXPECT_EQ(cudaMallocArray(&array, &format, 4, 3), cudaSuccess);
    EXPECT_EQ(cudaMemcpy2DToArray(array, 0, 0, values.data(), 16, 16, 3, cudaMemcpyHostToDevice), cudaSuccess);
    return array;
}

__global__ void sample(float* out, cudaTextureObject_t texture, const float2* at)
{
    out[threadIdx.x] = tex2D<float>(texture, at[threadIdx.x].x, at[threadIdx.x].y);
}

std::vector<float> samples(cudaArray_t array, const cudaTextureDesc& how, const std::vector<float2>& at)
{
    const cudaTextureObject_t texture = texture_of(array, how);
    float2* places = nullptr;
    EXPECT_EQ(cudaMalloc(&places, at.size() * sizeof(float2)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(places, at.data(), at.size() * sizeof(float2), cudaMemcpyHostToDevice), cudaSuccess);
    const auto count = static_cast<unsigned>(at.size());
    auto got = results_of<float>(count, 1, count, sample, texture, static_cast<const float2*>(places));
    EXPECT_EQ(cudaFree(places), cudaSuccess);
    EXPECT_EQ(cudaDestroyTextureObject(texture), cudaSuccess);
    return got;
}

TEST(textures, every_addressing_mode)
{
    cudaArray_t array = numbers();
    EXPECT_EQ(samples(array, rules(cudaAddressModeClamp, cudaFilterModePoint, false),
                      {{0, 0}, {3.9f, 2.1f}, {-7, 1}, {100, 100}}),
              (std::vector<float>{0, 23, 10, 23}));
    EXPECT_EQ(samples(array, rules(cudaAddressModeBorder, cudaFilterModePoint, false), {{-0.1f, 0}, {1, 2}, {4, 0}}),
              (std::vector<float>{0, 21, 0}));
    EXPECT_EQ(samples(array, rules(cudaAddressModeWrap, cudaFilterModePoint, true), {{1.26f, 0.1f}, {-0.1f, 0.99f}}),
              (std::vector<float>{1, 23}));
    EXPECT_EQ(samples(array, rules(cudaAddressModeMirror, cudaFilterModePoint, true), {{1.1f, 0.1f}, {-0.1f, 1.2f}}),
              (std::vector<float>{3, 20}));
    EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
}

TEST(textures, linear_filtering)
{
    cudaArray_t array = numbers();
    EXPECT_EQ(samples(array, rules(cudaAddressModeClamp, cudaFilterModeLinear, false),
                      {{0.5f, 0.5f}, {1.0f, 0.5f}, {2.0f, 1.0f}, {1.75f, 1.5f}, {0, 0}}),
              (std::vector<float>{0, 0.5f, 6.5f, 11.25f, 0}));
    EXPECT_EQ(samples(array, rules(cudaAddressModeBorder, cudaFilterModeLinear, false), {{4.0f, 0.5f}}),
              (std::vector<float>{1.5f}));
    EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
}

__global__ void fetch_linear(float4* out, cudaTextureObject_t texture)
{
    out[threadIdx.x] = tex1Dfetch<float4>(texture, static_cast<int>(threadIdx.x));
}

TEST(textures, bytes_as_numbers_up_to_one)
{
    const std::vector<unsigned char> bytes{0, 51, 102, 255, 255, 0, 0, 153};
    unsigned char* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, 8), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(memory, bytes.data(), 8, cudaMemcpyHostToDevice), cudaSuccess);
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<uchar4>();
    resource.res.linear.sizeInBytes = 8;
    cudaTextureDesc how{};
    how.readMode = cudaReadModeNormalizedFloat;
    cudaTextureObject_t texture = 0;
    ASSERT_EQ(cudaCreateTextureObject(&texture, &resource, &how, nullptr), cudaSuccess);
    const auto got = results_of<float4>(2, 1, 2, fetch_linear, texture);
    EXPECT_FLOAT_EQ(got[0].y, 0.2f);
    EXPECT_FLOAT_EQ(got[0].w, 1.0f);
    EXPECT_FLOAT_EQ(got[1].w, 0.6f);
    EXPECT_EQ(cudaDestroyTextureObject(texture), cudaSuccess);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

__global__ void box(int* out, cudaTextureObject_t texture)
{
    const unsigned row = threadIdx.x / 6;
    out[threadIdx.x] = tex3D<int>(texture, static_cast<float>(threadIdx.x % 3), static_cast<float>(threadIdx.x / 3 % 2),
                                  static_cast<float>(row));
}

__global__ void layers(int* out, cudaTextureObject_t texture)
{
    out[threadIdx.x] = tex2DLayered<int>(texture, static_cast<float>(threadIdx.x % 3),
                                         static_cast<float>(threadIdx.x / 3 % 2), static_cast<int>(threadIdx.x / 6));
}

TEST(textures, boxes_and_layers)
{
    std::vector<int> values(24);
    std::iota(values.begin(), values.end(), 100);
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    for (const bool layered : {false, true}) {
        cudaArray_t array = nullptr;
        const cudaExtent extent = make_cudaExtent(3, 2, 4);
        ASSERT_EQ(cudaMalloc3DArray(&array, &format, extent, layered ? cudaArrayLayered : cudaArrayDefault),
                  cudaSuccess);
        cudaMemcpy3DParms copy{};
        copy.srcPtr = make_cudaPitchedPtr(values.data(), 3 * sizeof(int), 3, 2);
        copy.dstArray = array;
        copy.extent = extent;
        copy.kind = cudaMemcpyHostToDevice;
        ASSERT_EQ(cudaMemcpy3D(&copy), cudaSuccess);
        const auto texture = texture_of(array, rules(cudaAddressModeClamp, cudaFilterModePoint, false));
        EXPECT_EQ(results_of<int>(24, 1, 24, layered ? layers : box, texture), values);
        EXPECT_EQ(cudaDestroyTextureObject(texture), cudaSuccess);
        EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
    }
}

__global__ void add_to_surface(cudaSurfaceObject_t surface)
{
    const int x = static_cast<int>(threadIdx.x * sizeof(float)), y = static_cast<int>(threadIdx.y);
    surf2Dwrite(surf2Dread<float>(surface, x, y) + 0.5f, surface, x, y);
    float outside = 1;
    surf2Dread(&outside, surface, -4, 0, cudaBoundaryModeZero);
    if (outside != 0)
        surf2Dwrite(-1.0f, surface, x, y);
}

TEST(textures, surfaces_are_written)
{
    cudaArray_t array = numbers();
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t surface = 0;
    ASSERT_EQ(cudaCreateSurfaceObject(&surface, &resource), cudaSuccess);
    run_on_device(add_to_surface, 1, dim3(4, 3), 0, surface);
    std::vector<float> got(12);
    ASSERT_EQ(cudaMemcpy2DFromArray(got.data(), 16, array, 0, 0, 16, 3, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(got[0], 0.5f);
    EXPECT_EQ(got[11], 23.5f);
    EXPECT_EQ(cudaDestroySurfaceObject(surface), cudaSuccess);
    EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
}

} // namespace
