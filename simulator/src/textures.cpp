// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Arrays, and where the fetches of textures read. The rules for coordinates are those of the CUDA Programming Guide ("Texture
// Fetching").
#include "upsweep/simulator/cuda/textures.h"

#include <algorithm>
#include <cmath>

#include "arrays.h"
#include "runtime_state.h"

using namespace upsweep::simulator;

namespace {

struct texture {
    cudaResourceDesc resource;
    cudaTextureDesc rules;
    const char* memory = nullptr;
    cudaChannelFormatDesc format{};
    std::size_t size[3] = {1, 1, 1}; // in elements
    std::size_t element_bytes = 0, pitch = 0;
    bool layered = false;
};

std::size_t bytes_of(const cudaChannelFormatDesc& format)
{
    return static_cast<std::size_t>(format.x + format.y + format.z + format.w) / 8;
}

bool describe(const cudaResourceDesc& resource, texture& made)
{
    made.resource = resource;
    switch (resource.resType) {
    case cudaResourceTypeArray: {
        const cudaArray* array = resource.res.array.array;
        if (array == nullptr)
            return false;
        made.memory = static_cast<const char*>(array->memory);
        made.format = array->format;
        made.size[0] = array->extent.width;
        made.size[1] = array->rows();
        made.size[2] = array->slices();
        made.pitch = array->pitch();
        made.layered = (array->flags & cudaArrayLayered) != 0;
        break;
    }
    case cudaResourceTypeLinear:
        made.memory = static_cast<const char*>(resource.res.linear.devPtr);
        made.format = resource.res.linear.desc;
        if (bytes_of(made.format) != 0)
            made.size[0] = resource.res.linear.sizeInBytes / bytes_of(made.format);
        break;
    case cudaResourceTypePitch2D:
        made.memory = static_cast<const char*>(resource.res.pitch2D.devPtr);
        made.format = resource.res.pitch2D.desc;
        made.size[0] = resource.res.pitch2D.width;
        made.size[1] = resource.res.pitch2D.height;
        made.pitch = resource.res.pitch2D.pitchInBytes;
        break;
    default: return false;
    }
    made.element_bytes = bytes_of(made.format);
    return made.memory != nullptr && made.element_bytes != 0;
}

const texture& of(unsigned long long object)
{
    if (object == 0)
        device::trap("the texture or surface object was not created");
    return *reinterpret_cast<const texture*>(object);
}

// An index as the addressing mode has it; -1 outside a border.
long long addressed(long long i, long long size, cudaTextureAddressMode mode)
{
    switch (mode) {
    case cudaAddressModeWrap: return (i % size + size) % size;
    case cudaAddressModeMirror: {
        const long long twice = (i % (2 * size) + 2 * size) % (2 * size);
        return twice < size ? twice : 2 * size - 1 - twice;
    }
    case cudaAddressModeBorder: return i < 0 || i >= size ? -1 : i;
    case cudaAddressModeClamp: break;
    }
    return std::clamp(i, 0ll, size - 1);
}

// One dimension of a fetch: the two neighbours, and how much of the upper one is taken.
struct axis {
    long long index[2] = {0, 0};
    float upper = 0;
};
axis neighbours(const texture& t, unsigned dimension, float coordinate)
{
    const auto size = static_cast<long long>(t.size[dimension]);
    auto mode = t.rules.addressMode[dimension];
    double at = coordinate;
    if (t.rules.normalizedCoords)
        at *= static_cast<double>(size);
    else if (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror)
        mode = cudaAddressModeClamp;
    axis found;
    if (t.rules.filterMode == cudaFilterModeLinear) {
        const double low = std::floor(at - 0.5);
        // The hardware keeps 8 bits of the fraction.
        found.upper = static_cast<float>(std::nearbyint((at - 0.5 - low) * 256) / 256);
        found.index[0] = addressed(static_cast<long long>(low), size, mode);
        found.index[1] = addressed(static_cast<long long>(low) + 1, size, mode);
    } else {
        found.index[0] = addressed(static_cast<long long>(std::floor(at)), size, mode);
    }
    return found;
}

device::texels no_texels(const texture& t)
{
    device::texels all{};
    all.element_bytes = static_cast<std::uint32_t>(t.element_bytes);
    all.normalized = t.rules.readMode == cudaReadModeNormalizedFloat && t.format.f != cudaChannelFormatKindFloat;
    all.is_signed = t.format.f == cudaChannelFormatKindSigned;
    std::copy_n(t.rules.borderColor, 4, all.border);
    return all;
}

} // namespace

device::texels device::fetch(cudaTextureObject_t object, unsigned dimensions, float x, float y, float z, unsigned layer)
{
    const texture& t = of(object);
    const float coordinates[] = {x, y, z};
    axis axes[3];
    for (unsigned d = 0; d < dimensions; ++d)
        axes[d] = neighbours(t, d, coordinates[d]);
    if (t.layered)
        axes[2].index[0] = std::min<long long>(layer, static_cast<long long>(t.size[2]) - 1);
    texels all = no_texels(t);
    const bool linear = t.rules.filterMode == cudaFilterModeLinear;
    for (unsigned corner = 0; corner < (linear ? 1u << dimensions : 1u); ++corner) {
        float weight = 1;
        long long index[3];
        for (unsigned d = 0; d < 3; ++d) {
            const unsigned side = corner >> d & 1u;
            index[d] = axes[d].index[side];
            if (linear && d < dimensions)
                weight *= side ? axes[d].upper : 1 - axes[d].upper;
        }
        if (weight == 0)
            continue;
        const bool outside = index[0] < 0 || index[1] < 0 || index[2] < 0;
        all.weight[all.count] = weight;
        all.address[all.count++] =
            outside
                ? nullptr
                : t.memory +
                      (static_cast<std::size_t>(index[2]) * t.size[1] + static_cast<std::size_t>(index[1])) * t.pitch +
                      static_cast<std::size_t>(index[0]) * t.element_bytes;
    }
    return all;
}

device::texels device::fetch_element(cudaTextureObject_t object, int index)
{
    const texture& t = of(object);
    texels all = no_texels(t);
    all.count = 1;
    if (index >= 0 && static_cast<std::size_t>(index) < t.size[0])
        all.address[0] = t.memory + static_cast<std::size_t>(index) * t.element_bytes;
    return all;
}

void* device::surface_element(cudaSurfaceObject_t object, int x_bytes, int y, int z, unsigned bytes,
                              cudaSurfaceBoundaryMode outside)
{
    const texture& t = of(object);
    const long long row = static_cast<long long>(t.size[0] * t.element_bytes), rows = static_cast<long long>(t.size[1]),
                    slices = static_cast<long long>(t.size[2]);
    long long x = x_bytes, line = y, slice = z;
    if (x < 0 || x + bytes > row || line < 0 || line >= rows || slice < 0 || slice >= slices) {
        if (outside == cudaBoundaryModeZero)
            return nullptr;
        if (outside == cudaBoundaryModeTrap)
            trap("a surface is accessed outside");
        x = std::clamp(x, 0ll, row - bytes);
        line = std::clamp(line, 0ll, rows - 1);
        slice = std::clamp(slice, 0ll, slices - 1);
    }
    return const_cast<char*>(t.memory) + (slice * rows + line) * row + x;
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind)
{
    return {x, y, z, w, kind};
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                              unsigned flags)
{
    if (array == nullptr || format == nullptr || bytes_of(*format) == 0 || extent.width == 0)
        return failed(cudaErrorInvalidValue);
    auto* made = new cudaArray{*format, extent, flags, bytes_of(*format), nullptr};
    *array = nullptr;
    if (auto error = cudaMalloc(&made->memory, made->pitch() * made->rows() * made->slices()); error != cudaSuccess) {
        delete made;
        return error;
    }
    *array = made;
    return cudaSuccess;
}
cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, std::size_t width,
                            std::size_t height, unsigned flags)
{
    return cudaMalloc3DArray(array, format, {width, height, 0}, flags);
}
cudaError_t cudaFreeArray(cudaArray_t array)
{
    if (array == nullptr)
        return cudaSuccess;
    const cudaError_t result = cudaFree(array->memory);
    delete array;
    return result;
}
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags, cudaArray_t array)
{
    if (array == nullptr)
        return failed(cudaErrorInvalidResourceHandle);
    if (format != nullptr)
        *format = array->format;
    if (extent != nullptr)
        *extent = array->extent;
    if (flags != nullptr)
        *flags = array->flags;
    return cudaSuccess;
}

cudaError_t cudaMemcpyToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                              cudaMemcpyKind kind)
{
    return to == nullptr ? failed(cudaErrorInvalidValue) : cudaMemcpy(to->at(x, y), from, bytes, kind);
}
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, std::size_t x, std::size_t y, std::size_t bytes,
                                cudaMemcpyKind kind)
{
    return from == nullptr ? failed(cudaErrorInvalidValue) : cudaMemcpy(to, from->at(x, y), bytes, kind);
}
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                                std::size_t width, std::size_t height, cudaMemcpyKind kind)
{
    if (to == nullptr || x + width > to->pitch() || y + height > to->rows())
        return failed(cudaErrorInvalidValue);
    return cudaMemcpy2D(to->at(x, y), to->pitch(), from, pitch, width, height, kind);
}
cudaError_t cudaMemcpy2DFromArray(void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x, std::size_t y,
                                  std::size_t width, std::size_t height, cudaMemcpyKind kind)
{
    if (from == nullptr || x + width > from->pitch() || y + height > from->rows())
        return failed(cudaErrorInvalidValue);
    return cudaMemcpy2D(to, pitch, from->at(x, y), from->pitch(), width, height, kind);
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* rules, const cudaResourceViewDesc*)
{
    texture made{};
    if (object == nullptr || resource == nullptr || rules == nullptr || !describe(*resource, made))
        return failed(cudaErrorInvalidValue);
    made.rules = *rules;
    if (made.rules.filterMode == cudaFilterModeLinear && made.format.f != cudaChannelFormatKindFloat &&
        made.rules.readMode != cudaReadModeNormalizedFloat)
        return failed(cudaErrorInvalidFilterSetting);
    *object = reinterpret_cast<cudaTextureObject_t>(new texture(made));
    return cudaSuccess;
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object)
{
    delete reinterpret_cast<texture*>(object);
    return cudaSuccess;
}
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t object)
{
    *resource = reinterpret_cast<const texture*>(object)->resource;
    return cudaSuccess;
}
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* rules, cudaTextureObject_t object)
{
    *rules = reinterpret_cast<const texture*>(object)->rules;
    return cudaSuccess;
}
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource)
{
    cudaTextureDesc rules{};
    return cudaCreateTextureObject(object, resource, &rules, nullptr);
}
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) { return cudaDestroyTextureObject(object); }
