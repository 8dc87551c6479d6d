// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <type_traits>

#include <cuda_runtime.h>

#include <upsweep/gpu/streaming/chunk.cuh>
#include <upsweep/gpu/target/device.cuh>
#include <upsweep/op.hpp>
#include <upsweep/types.hpp>

#include "call.hpp"
#include "element_type.hpp"
#include "gpu/conversion.cuh"
#include "gpu/elementwise.cuh"

using namespace upsweep;
using namespace upsweep::runtime;
using namespace upsweep::runtime::gpu;

namespace {

// -1 stands for the current device, as in the C ABI.
int number_of(int device)
{
    if (device < 0)
        upsweep::gpu::check("cudaGetDevice", cudaGetDevice(&device));
    return device;
}

// Calls f, which gives a cudaError_t, with this device as the current one.
template <class F>
upsweep_status on(int device, const char* call, F f)
{
    return guarded([&] {
        const upsweep::gpu::current_device current(number_of(device));
        upsweep::gpu::check(call, f());
    });
}

// Converts numbers to another type, and divides sums by `divisor` first where means are asked for.
template <class From>
__global__ void convert_values(const From* from, std::uint64_t count, bool divides, std::uint64_t divisor, void* to,
                               upsweep_dtype to_dtype)
{
    using number = std::conditional_t<sizeof(From) == 2, float, From>;
    using quotient = std::conditional_t<std::is_same_v<number, float>, float, double>;
    with_type(to_dtype, [&]<class To>(std::type_identity<To>) {
        if (divides)
            convert_each(from, count, static_cast<To*>(to), [divisor](const From& sum) {
                return as_result<To, plus>(static_cast<quotient>(sum) / static_cast<quotient>(divisor));
            });
        else
            convert_each(from, count, static_cast<To*>(to),
                         [](const From& element) { return as_result<To, plus>(static_cast<number>(element)); });
    });
}

} // namespace

extern "C" {

upsweep_status upsweep_python_allocate(int32_t device, void* stream, uint64_t bytes, void** memory)
{
    return guarded([&] {
        const upsweep::gpu::current_device current(number_of(device));
        upsweep::gpu::streaming::check_memory(cudaMallocAsync(memory, bytes, static_cast<cudaStream_t>(stream)),
                                              "the GPU", bytes, "free some of its memory");
    });
}

void upsweep_python_free(int32_t device, void* memory)
{
    static_cast<void>(on(device, "cudaFree", [&] { return cudaFree(memory); }));
}

upsweep_status upsweep_python_order(int32_t device, void* earlier, void* later)
{
    return on(device, "cudaStreamWaitEvent", [&] {
        cudaEvent_t event = nullptr;
        cudaError_t code = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
        if (code != cudaSuccess)
            return code;
        code = cudaEventRecord(event, static_cast<cudaStream_t>(earlier));
        if (code == cudaSuccess)
            code = cudaStreamWaitEvent(static_cast<cudaStream_t>(later), event, 0);
        cudaEventDestroy(event); // when it has happened
        return code;
    });
}

upsweep_status upsweep_python_write(int32_t device, void* stream, void* to, const void* from, uint64_t bytes)
{
    return on(device, "cudaMemcpyAsync",
              [&] { return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, static_cast<cudaStream_t>(stream)); });
}

upsweep_status upsweep_python_clear(int32_t device, void* stream, void* to, uint64_t bytes)
{
    return on(device, "cudaMemsetAsync",
              [&] { return cudaMemsetAsync(to, 0, bytes, static_cast<cudaStream_t>(stream)); });
}

upsweep_status upsweep_python_convert(int32_t device, void* stream, const void* from, upsweep_dtype from_dtype,
                                      uint64_t count, bool divides, uint64_t divisor, void* to, upsweep_dtype to_dtype)
{
    if (count == 0)
        return UPSWEEP_OK;
    return on(device, "upsweep", [&] {
        const upsweep::gpu::grid_shape grid = grid_of_conversion(count);
        const auto launch = [&]<class From>(From) {
            convert_values<<<grid.blocks, grid.threads, 0, static_cast<cudaStream_t>(stream)>>>(
                static_cast<const From*>(from), count, divides, divisor, to, to_dtype);
        };
        switch (from_dtype) {
        case UPSWEEP_I64: launch(std::int64_t{}); break;
        case UPSWEEP_U64: launch(std::uint64_t{}); break;
        case UPSWEEP_F16: launch(f16{}); break;
        case UPSWEEP_BF16: launch(bf16{}); break;
        case UPSWEEP_F32: launch(float{}); break;
        default: launch(double{}); break;
        }
        return cudaGetLastError();
    });
}

} // extern "C"
