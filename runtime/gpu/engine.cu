// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include <cuda_runtime.h>

#include <upsweep/gpu/target/cuda.cuh>

#include "fold.hpp"

namespace upsweep::runtime::gpu {

namespace {

// How the GPU folds: the type in which it does so, and the operator, which may be another one than the caller's.
enum class folded_in { truth, u64, i64, f32, f64 };
struct fold {
    folded_in type;
    upsweep_op op;
};

fold fold_of_truth(upsweep_op op)
{
    switch (op) {
    case UPSWEEP_BIT_XOR: return {folded_in::truth, op};
    case UPSWEEP_PLUS: // A sum that is converted to bool is true where any element is.
    case UPSWEEP_MAXIMUM:
    case UPSWEEP_BIT_OR:
    case UPSWEEP_LOGICAL_OR: return {folded_in::truth, UPSWEEP_LOGICAL_OR};
    default: return {folded_in::truth, UPSWEEP_LOGICAL_AND};
    }
}

// Returns how elements are folded that have been converted to `dtype`. Integers are folded in 64 bits whatever their width,
// since all operators but minimum and maximum are the same modulo 2^k, and these are exact.
fold fold_of(upsweep_op op, upsweep_dtype dtype)
{
    const bool is_signed = dtype >= UPSWEEP_I8 && dtype <= UPSWEEP_I64;
    if (op == UPSWEEP_LOGICAL_AND || op == UPSWEEP_LOGICAL_OR || dtype == UPSWEEP_BOOL)
        return fold_of_truth(op);
    if (dtype == UPSWEEP_F64)
        return {folded_in::f64, op};
    if (dtype >= UPSWEEP_F16)
        return {folded_in::f32, op};
    return {is_signed && (op == UPSWEEP_MINIMUM || op == UPSWEEP_MAXIMUM) ? folded_in::i64 : folded_in::u64, op};
}

void check_device()
{
    int device = 0;
    int major = 0;
    int minor = 0;
    upsweep::gpu::check("upsweep", cudaGetDevice(&device));
    upsweep::gpu::check("upsweep", cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    upsweep::gpu::check("upsweep", cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    if (10 * major + minor < 75)
        throw error(error_kind::no_device, "upsweep",
                    "the GPU has the compute capability " + std::to_string(major) + '.' + std::to_string(minor) +
                        ", less than 7.5",
                    "use the target cpu");
}

// Makes a counter. f16, bf16 and f32 are compared with edges in float, all other types in double.
template <class Bins>
std::unique_ptr<any_counter> make_counter_by(const counter_request& request, const Bins& bins)
{
    check_device();
    if (request.dtype == UPSWEEP_F16 || request.dtype == UPSWEEP_BF16 || request.dtype == UPSWEEP_F32)
        return make_counter_of<float>(request, bins);
    return make_counter_of<double>(request, bins);
}

} // namespace

std::string device_name()
{
    check_device();
    int device = 0;
    cudaDeviceProp properties{};
    upsweep::gpu::check("upsweep", cudaGetDevice(&device));
    upsweep::gpu::check("upsweep", cudaGetDeviceProperties(&properties, device));
    return properties.name;
}

std::unique_ptr<any_reducer> make_reducer(const reduce_request& request)
{
    check_device();
    // Sums and products of bool are those of the integers 0 and 1.
    const bool counts = request.op == UPSWEEP_PLUS || request.op == UPSWEEP_MULTIPLIES;
    const fold how = fold_of(request.op, counts ? request.out : request.in);
    switch (how.type) {
    case folded_in::truth: return make_reducer_in<bool>(how.op, request);
    case folded_in::u64: return make_reducer_in<std::uint64_t>(how.op, request);
    case folded_in::i64: return make_reducer_in<std::int64_t>(how.op, request);
    case folded_in::f32: return make_reducer_in<float>(how.op, request);
    case folded_in::f64: break;
    }
    return make_reducer_in<double>(how.op, request);
}

std::unique_ptr<any_scanner> make_scanner(const scan_request& request)
{
    check_device();
    const fold how = fold_of(request.op, request.out);
    switch (how.type) {
    case folded_in::truth: return make_scanner_in<bool>(how.op, request);
    case folded_in::u64: return make_scanner_in<std::uint64_t>(how.op, request);
    case folded_in::i64: return make_scanner_in<std::int64_t>(how.op, request);
    case folded_in::f32: return make_scanner_in<float>(how.op, request);
    case folded_in::f64: break;
    }
    return make_scanner_in<double>(how.op, request);
}

std::unique_ptr<any_counter> make_counter(const counter_request& request, const even_bins& bins)
{
    return make_counter_by(request, bins);
}

std::unique_ptr<any_counter> make_counter(const counter_request& request, const edges& bins)
{
    return make_counter_by(request, bins);
}

std::unique_ptr<any_counter> make_byte_counter(cpu host)
{
    check_device();
    return make_counter_of<std::uint8_t>({UPSWEEP_U8, host}, integer_bins{0, 256});
}

} // namespace upsweep::runtime::gpu
