// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Which segments, runs and recurrences a GPU folds.
#include "shapes.hpp"

#include <cstdint>
#include <span>

#include <cuda_runtime.h>

#include <upsweep/gpu/shapes/segmented.cuh>
#include <upsweep/gpu/streaming/chunk.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/verb/segmented.hpp>

#include "device.cuh"
#include "elements.cuh"
#include "shapes/kernels.hpp"

namespace upsweep::runtime::gpu {

namespace {

bool is_reduced(upsweep_op op) { return op == UPSWEEP_PLUS || op == UPSWEEP_MINIMUM || op == UPSWEEP_MAXIMUM; }

bool is_key(upsweep_dtype dtype)
{
    return dtype == UPSWEEP_I32 || dtype == UPSWEEP_U32 || dtype == UPSWEEP_I64 || dtype == UPSWEEP_U64;
}

template <class To>
__global__ void convert_kernel(typed_input<To> in, std::uint64_t count, To* to)
{
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads)
        to[i] = in[static_cast<std::ptrdiff_t>(i)];
}

bool has_bits_of(upsweep_dtype dtype, upsweep_dtype other)
{
    const bool are_integers = dtype < UPSWEEP_F16 && other < UPSWEEP_F16;
    return dtype == other || (are_integers && upsweep_dtype_size(dtype) == upsweep_dtype_size(other));
}

} // namespace

converted::converted(const device& gpu, const elements& of, upsweep_dtype to)
    : gpu_(gpu), dense_(gpu, of), elements_(dense_.get())
{
    elements_.dtype = to;
    if (has_bits_of(of.dtype, to) || of.count == 0)
        return;
    const upsweep::gpu::current_device current(gpu.target.device());
    const std::size_t bytes = of.count * elements_.bytes();
    void* copy = nullptr;
    upsweep::gpu::streaming::check_memory(cudaMallocAsync(&copy, bytes, gpu.target.stream()), "the GPU", bytes,
                                          "pass elements of a type that is not converted");
    elements_.data = static_cast<std::byte*>(copy);
    is_copy_ = true;
    const std::uint64_t blocks = (of.count + 255) / 256;
    const upsweep::gpu::grid_shape grid{static_cast<unsigned>(blocks < 65536 ? blocks : 65536), 256, 0};
    const auto convert = [&]<class To>(To) {
        upsweep::gpu::launch(gpu.target, "upsweep", convert_kernel<To>, grid,
                             typed_input<To>(dense_.get().data, of.dtype), of.count, static_cast<To*>(copy));
    };
    switch (to) {
    case UPSWEEP_I32: convert(std::int32_t{}); break;
    case UPSWEEP_F32: convert(float{}); break;
    case UPSWEEP_F64: convert(double{}); break;
    default: convert(std::uint64_t{}); break;
    }
}

converted::~converted()
{
    if (is_copy_)
        cudaFreeAsync(elements_.data, gpu_.target.stream());
}

void check_offsets(const device& gpu, const elements& offsets, std::uint64_t count)
{
    upsweep::check_offsets(gpu.target, std::span(reinterpret_cast<const std::uint64_t*>(offsets.data), offsets.count),
                           count);
}

bool reduce_segments(const device& gpu, upsweep_op op, const elements& in, const elements& offsets, const elements& out)
{
    const value_kernels* const kernels = value_kernels_of(in.dtype);
    if (kernels == nullptr || !is_reduced(op))
        return false;
    kernels->reduce_segments(gpu.target, op, in, offsets, out);
    return true;
}

bool scan_segments(const device& gpu, upsweep_op op, const elements& in, const elements& offsets, const elements& out)
{
    const value_kernels* const kernels = value_kernels_of(in.dtype);
    if (kernels == nullptr || op != UPSWEEP_PLUS || in.dtype != out.dtype)
        return false;
    kernels->scan_segments(gpu.target, in, offsets, out);
    return true;
}

found_on_gpu reduce_by_key(const device& gpu, upsweep_op op, const elements& keys, const elements& values,
                           const elements& keys_out, const elements& totals_out)
{
    const value_kernels* const kernels = value_kernels_of(values.dtype);
    if (kernels == nullptr || !is_reduced(op) || !is_key(keys.dtype))
        return {};
    const auto reduce = keys.bytes() == 4 ? kernels->reduce_by_narrow_key : kernels->reduce_by_wide_key;
    if (reduce == nullptr)
        return {};
    return {true, reduce(gpu.target, op, keys, values, keys_out, totals_out)};
}

bool scan_by_key(const device& gpu, upsweep_op op, const elements& keys, const elements& values, const elements& out)
{
    const value_kernels* const kernels = value_kernels_of(values.dtype);
    if (kernels == nullptr || op != UPSWEEP_PLUS || values.dtype != out.dtype || !is_key(keys.dtype))
        return false;
    const auto scan = keys.bytes() == 4 ? kernels->scan_by_narrow_key : kernels->scan_by_wide_key;
    if (scan == nullptr)
        return false;
    scan(gpu.target, keys, values, out);
    return true;
}

found_on_gpu encode_runs(const device& gpu, const elements& in, const elements& values_out, const elements& lengths_out)
{
    const encode_kernels encode = encode_kernels_of(in.dtype);
    if (encode == nullptr)
        return {};
    return {true, encode(gpu.target, in, values_out, lengths_out)};
}

bool decode_runs(const device& gpu, const elements& values, const elements& lengths, const elements& out)
{
    const word_kernels* const kernels = word_kernels_of(values.bytes());
    if (kernels == nullptr)
        return false;
    kernels->decode(gpu.target, values, lengths, out);
    return true;
}

found_on_gpu select(const device& gpu, const elements& in, const elements& flags, const elements& out)
{
    const word_kernels* const kernels = word_kernels_of(in.bytes());
    if (kernels == nullptr)
        return {};
    return {true, kernels->select(gpu.target, in, flags, out)};
}

bool linear_recurrence(const device& gpu, upsweep_dtype dtype, const recurrence_layout& of)
{
    const recurrence_kernels recur = recurrence_kernels_of(dtype);
    if (recur == nullptr)
        return false;
    recur(gpu.target, of);
    return true;
}

} // namespace upsweep::runtime::gpu
