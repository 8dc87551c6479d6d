// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Arrays, texture objects and surface objects of one to three dimensions, with layers. An array is linear memory here, row by
// row; reading a texture costs the accesses to its texels. Mipmaps and cube maps are not simulated.
#pragma once

#include <cstdint>
#include <type_traits>

#include "upsweep/simulator/cuda/runtime_api.h"
#include "upsweep/simulator/cuda/warp.h"

enum cudaTextureAddressMode {
    cudaAddressModeWrap = 0,
    cudaAddressModeClamp = 1,
    cudaAddressModeMirror = 2,
    cudaAddressModeBorder = 3
};
enum cudaTextureFilterMode { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };
enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero = 0, cudaBoundaryModeClamp = 1, cudaBoundaryModeTrap = 2 };
using cudaMipmappedArray_t = struct cudaMipmappedArray*;

struct cudaResourceDesc {
    cudaResourceType resType;
    union {
        struct {
            cudaArray_t array;
        } array;
        struct {
            cudaMipmappedArray_t mipmap;
        } mipmap;
        struct {
            void* devPtr;
            cudaChannelFormatDesc desc;
            std::size_t sizeInBytes;
        } linear;
        struct {
            void* devPtr;
            cudaChannelFormatDesc desc;
            std::size_t width, height, pitchInBytes;
        } pitch2D;
    } res;
};
struct cudaTextureDesc {
    cudaTextureAddressMode addressMode[3];
    cudaTextureFilterMode filterMode;
    cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
};
struct cudaResourceViewDesc;

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind);
cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, std::size_t width,
                            std::size_t height = 0, unsigned flags = 0);
cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                              unsigned flags = 0);
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags, cudaArray_t array);
cudaError_t cudaMemcpyToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                              cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, std::size_t x, std::size_t y, std::size_t bytes,
                                cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                                std::size_t width, std::size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DFromArray(void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x, std::size_t y,
                                  std::size_t width, std::size_t height, cudaMemcpyKind kind);
inline cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, std::size_t x, std::size_t y, const void* from,
                                            std::size_t pitch, std::size_t width, std::size_t height,
                                            cudaMemcpyKind kind, cudaStream_t = nullptr)
{
    return cudaMemcpy2DToArray(to, x, y, from, pitch, width, height, kind);
}
cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* rules, const cudaResourceViewDesc* view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object);
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t object);
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* rules, cudaTextureObject_t object);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object);

namespace upsweep::simulator::cuda {

template <class T>
concept has_members = requires(T v)
{
    v.x;
};
template <class T>
struct members_of {
    using type = T;
};
template <has_members T>
struct members_of<T> {
    using type = decltype(T::x);
};
template <class T>
using member = typename members_of<T>::type;

} // namespace upsweep::simulator::cuda

template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc()
{
    using namespace upsweep::simulator::cuda;
    constexpr int bits = 8 * sizeof(member<T>), count = sizeof(T) / sizeof(member<T>);
    return cudaCreateChannelDesc(bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 3 ? bits : 0,
                                 !std::is_arithmetic_v<member<T>> || std::is_floating_point_v<member<T>>
                                     ? cudaChannelFormatKindFloat
                                 : std::is_signed_v<member<T>> ? cudaChannelFormatKindSigned
                                                               : cudaChannelFormatKindUnsigned);
}

namespace upsweep::simulator::device {

// The texels that a fetch reads, and the weight of each. A texel outside has no address; it has the border's colour.
struct texels {
    const void* address[8];
    float weight[8];
    unsigned count;
    std::uint32_t element_bytes;
    bool normalized, is_signed; // whether integers stand for numbers from 0 (or -1) to 1
    float border[4];
};
texels fetch(cudaTextureObject_t object, unsigned dimensions, float x, float y, float z, unsigned layer);
texels fetch_element(cudaTextureObject_t object, int index);
// Null for what is outside, where the mode is not to stop the kernel.
void* surface_element(cudaSurfaceObject_t object, int x_bytes, int y, int z, unsigned bytes,
                      cudaSurfaceBoundaryMode outside);

} // namespace upsweep::simulator::device

namespace upsweep::simulator::cuda {

template <class T>
UPSWEEP_INLINE T sampled(const device::texels& all)
{
    using scalar = member<T>;
    constexpr unsigned count = sizeof(T) / sizeof(scalar);
    if (!all.normalized && all.element_bytes != sizeof(T))
        device::trap("a texture is read as a type of another size than its elements");
    scalar result[count] = {};
    for (unsigned i = 0; i < all.count; ++i) {
        scalar texel[count] = {};
        if (all.address[i] == nullptr) {
            for (unsigned c = 0; c < count; ++c)
                texel[c] = static_cast<scalar>(all.border[c]);
        } else if (all.normalized) {
            const unsigned bytes = all.element_bytes / count;
            for (unsigned c = 0; c < count; ++c) {
                const void* at = static_cast<const char*>(all.address[i]) + c * bytes;
                const float whole = bytes == 1 ? (all.is_signed ? *static_cast<const signed char*>(at) / 127.0f
                                                                : *static_cast<const unsigned char*>(at) / 255.0f)
                                               : (all.is_signed ? *static_cast<const short*>(at) / 32767.0f
                                                                : *static_cast<const unsigned short*>(at) / 65535.0f);
                texel[c] = static_cast<scalar>(whole < -1 ? -1.0f : whole);
            }
        } else {
            const T value = *static_cast<const T*>(all.address[i]);
            __builtin_memcpy(texel, &value, sizeof value);
        }
        for (unsigned c = 0; c < count; ++c)
            result[c] =
                all.count == 1
                    ? texel[c]
                    : static_cast<scalar>(static_cast<float>(result[c]) + all.weight[i] * static_cast<float>(texel[c]));
    }
    T whole;
    __builtin_memcpy(&whole, result, sizeof whole);
    return whole;
}

} // namespace upsweep::simulator::cuda

// Each fetch returns its value, or stores it where its first argument points.
#define UPSWEEP_FETCH(name, call, ...)                                                                                 \
    template <class T>                                                                                                 \
    UPSWEEP_INLINE T name(cudaTextureObject_t texture, __VA_ARGS__)                                                    \
    {                                                                                                                  \
        return upsweep::simulator::cuda::sampled<T>(upsweep::simulator::device::call);                                 \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    UPSWEEP_INLINE void name(T* value, cudaTextureObject_t texture, __VA_ARGS__)                                       \
    {                                                                                                                  \
        *value = upsweep::simulator::cuda::sampled<T>(upsweep::simulator::device::call);                               \
    }
UPSWEEP_FETCH(tex1Dfetch, fetch_element(texture, index), int index)
UPSWEEP_FETCH(tex1D, fetch(texture, 1, x, 0, 0, 0), float x)
UPSWEEP_FETCH(tex2D, fetch(texture, 2, x, y, 0, 0), float x, float y)
UPSWEEP_FETCH(tex3D, fetch(texture, 3, x, y, z, 0), float x, float y, float z)
UPSWEEP_FETCH(tex1DLayered, fetch(texture, 1, x, 0, 0, static_cast<unsigned>(layer)), float x, int layer)
UPSWEEP_FETCH(tex2DLayered, fetch(texture, 2, x, y, 0, static_cast<unsigned>(layer)), float x, float y, int layer)
#undef UPSWEEP_FETCH

// The x of a surface counts bytes.
#define UPSWEEP_SURFACE(name, place, ...)                                                                              \
    template <class T>                                                                                                 \
    UPSWEEP_INLINE T name##read(cudaSurfaceObject_t surface, __VA_ARGS__,                                              \
                                cudaSurfaceBoundaryMode outside = cudaBoundaryModeTrap)                                \
    {                                                                                                                  \
        const void* at = upsweep::simulator::device::surface_element(surface, place, sizeof(T), outside);              \
        return at != nullptr ? *static_cast<const T*>(at) : T{};                                                       \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    UPSWEEP_INLINE void name##read(T* value, cudaSurfaceObject_t surface, __VA_ARGS__,                                 \
                                   cudaSurfaceBoundaryMode outside = cudaBoundaryModeTrap)                             \
    {                                                                                                                  \
        const void* at = upsweep::simulator::device::surface_element(surface, place, sizeof(T), outside);              \
        *value = at != nullptr ? *static_cast<const T*>(at) : T{};                                                     \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    UPSWEEP_INLINE void name##write(T value, cudaSurfaceObject_t surface, __VA_ARGS__,                                 \
                                    cudaSurfaceBoundaryMode outside = cudaBoundaryModeTrap)                            \
    {                                                                                                                  \
        void* at = upsweep::simulator::device::surface_element(surface, place, sizeof(T), outside);                    \
        if (at != nullptr)                                                                                             \
            *static_cast<T*>(at) = value;                                                                              \
    }
#define UPSWEEP_PLACE(...) __VA_ARGS__
UPSWEEP_SURFACE(surf1D, UPSWEEP_PLACE(x, 0, 0), int x)
UPSWEEP_SURFACE(surf2D, UPSWEEP_PLACE(x, y, 0), int x, int y)
UPSWEEP_SURFACE(surf3D, UPSWEEP_PLACE(x, y, z), int x, int y, int z)
UPSWEEP_SURFACE(surf2DLayered, UPSWEEP_PLACE(x, y, layer), int x, int y, int layer)
#undef UPSWEEP_PLACE
#undef UPSWEEP_SURFACE

UPSWEEP_NOT_SIMULATED(cudaError_t, cudaMallocMipmappedArray,
                      "mipmaps are not simulated: use an array of one level (cudaMallocArray, cudaMalloc3DArray)")
UPSWEEP_NOT_SIMULATED(cudaError_t, cudaFreeMipmappedArray,
                      "mipmaps are not simulated: use an array of one level (cudaMallocArray, cudaMalloc3DArray)")
template <class T>
__attribute__((error("cube maps are not simulated: use six layers (tex2DLayered)"))) T texCubemap(cudaTextureObject_t,
                                                                                                  float, float, float);
