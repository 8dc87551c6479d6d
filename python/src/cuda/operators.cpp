// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "operators.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include <cuda_runtime.h>

#include "array.hpp"
#include "call.hpp"
#include "context.hpp"
#include "gpu/device.cuh"
#include "operators/folds.hpp"

using namespace upsweep;
using namespace upsweep::runtime;

namespace {

// Told by upsweep_python_reduce_by and upsweep_python_scan_by.
struct kernel_is_missing {
    const char* name;
};

} // namespace

// Host threads that fold at once share it.
struct upsweep_python_operator final : upsweep::gpu::loaded_kernels {
    kernel& in_place_of(const void* stub) override
    {
        const char* const name = python::name_of_kernel(stub);
        const std::lock_guard lock(mutex_);
        const auto found = kernels_.find(name);
        if (found == kernels_.end())
            throw kernel_is_missing{name};
        return found->second;
    }

    void load(const char* name, const void* cubin)
    {
        cudaLibrary_t library = nullptr;
        cudaKernel_t loaded = nullptr;
        upsweep::gpu::check("cudaLibraryLoadData",
                            cudaLibraryLoadData(&library, cubin, nullptr, nullptr, 0, nullptr, nullptr, 0));
        upsweep::gpu::check("cudaLibraryGetKernel", cudaLibraryGetKernel(&loaded, library, name));
        const std::lock_guard lock(mutex_);
        // Another thread may have loaded it meanwhile, and launch it now: then that one stays.
        kernels_.try_emplace(name, kernel{loaded, {}});
    }

private:
    std::mutex mutex_;
    std::unordered_map<std::string, kernel> kernels_; // which stay where they are when others come
};

namespace {

python::operator_folds folds_of(std::size_t bytes)
{
    switch (bytes) {
    case 1: return python::folds_by_operator<std::uint8_t>();
    case 2: return python::folds_by_operator<std::uint16_t>();
    case 4: return python::folds_by_operator<std::uint32_t>();
    default: return python::folds_by_operator<std::uint64_t>();
    }
}

// Calls fold(folds, target, in, lines, out), with arrays that have no gaps.
template <class Fold>
upsweep_status fold_by(const char* call, upsweep_context* context, upsweep_python_operator& op, const upsweep_array* in,
                       const std::uint64_t* extents, const upsweep_array* out, const char** missing, Fold fold)
{
    *missing = nullptr;
    return guarded([&] {
        const execution where = execution_of(context);
        const in_use taken(where);
        const elements from = checked_elements(call, "the input", in);
        const elements to = checked_elements(call, "the output", out);
        require(where.lies_on_gpu(call, from) && where.lies_on_gpu(call, to), call, "an array does not lie on the GPU",
                "bring both there");
        check_output(call, from, to);
        const runtime::gpu::without_gaps input(*where.gpu, from);
        const runtime::gpu::without_gaps output(*where.gpu, to);
        const cuda target(where.gpu->target, op);
        try {
            fold(folds_of(from.bytes()), target, input.get().data, python::lines{extents[0], extents[1], extents[2]},
                 output.get().data);
        } catch (const kernel_is_missing& kernel) {
            *missing = kernel.name;
            return;
        }
        output.write_back();
    });
}

} // namespace

extern "C" {

upsweep_status upsweep_python_operator_create(upsweep_python_operator** created)
{
    return guarded([&] { *created = new upsweep_python_operator; });
}

upsweep_status upsweep_python_operator_load(upsweep_python_operator* of, const char* kernel, const void* cubin)
{
    return guarded([&] { of->load(kernel, cubin); });
}

upsweep_status upsweep_python_compute_capability(int32_t device, int32_t* capability)
{
    return guarded([&] {
        int major = 0;
        int minor = 0;
        if (device < 0)
            upsweep::gpu::check("cudaGetDevice", cudaGetDevice(&device));
        upsweep::gpu::check("cudaDeviceGetAttribute",
                            cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
        upsweep::gpu::check("cudaDeviceGetAttribute",
                            cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
        *capability = 10 * major + minor;
    });
}

int32_t upsweep_python_cuda_version(void) { return CUDART_VERSION; }

upsweep_status upsweep_python_reduce_by(upsweep_context* context, upsweep_python_operator* op, const upsweep_array* in,
                                        const uint64_t extents[3], const upsweep_array* out, const void* identity,
                                        const char** missing)
{
    return fold_by("reduce", context, *op, in, extents, out, missing,
                   [&](const python::operator_folds& folds, const cuda& target, const void* from,
                       const python::lines& of, void* to) { folds.reduce(target, from, of, to, identity); });
}

upsweep_status upsweep_python_scan_by(upsweep_context* context, upsweep_python_operator* op, bool exclusive,
                                      const upsweep_array* in, const uint64_t extents[3], const upsweep_array* out,
                                      const void* identity, const void* init, const char** missing)
{
    const scan_kind kind = exclusive ? scan_kind::exclusive : scan_kind::inclusive;
    return fold_by("scan", context, *op, in, extents, out, missing,
                   [&](const python::operator_folds& folds, const cuda& target, const void* from,
                       const python::lines& of, void* to) { folds.scan(target, kind, from, of, to, identity, init); });
}

} // extern "C"
