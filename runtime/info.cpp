// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What the C ABI tells of itself, of the machine, and of types and operators.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include <upsweep/cpu/parallel.hpp>
#include <upsweep/runtime.h>

#include "call.hpp"
#include "gpu/engine.hpp"

using namespace upsweep;
using namespace upsweep::runtime;

extern "C" {

const char* upsweep_version(void) { return UPSWEEP_VERSION; }

const char* upsweep_cpu_isa(void) { return UPSWEEP_CPU_ISA; }

int32_t upsweep_cpu_threads(void) { return cpu_engine::thread_count(cpu{}); }

const char* upsweep_gpu_name(void)
{
    thread_local std::string name;
    return guarded([] { name = gpu::device_name(); }) == UPSWEEP_OK ? name.c_str() : nullptr;
}

uint64_t upsweep_dtype_size(upsweep_dtype dtype)
{
    static constexpr std::uint64_t sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
    const auto k = static_cast<std::size_t>(dtype);
    return k < std::size(sizes) ? sizes[k] : 0;
}

const char* upsweep_dtype_name(upsweep_dtype dtype)
{
    static constexpr const char* names[] = {"bool", "i8",  "i16", "i32",  "i64", "u8", "u16",
                                            "u32",  "u64", "f16", "bf16", "f32", "f64"};
    const auto k = static_cast<std::size_t>(dtype);
    return k < std::size(names) ? names[k] : nullptr;
}

const char* upsweep_op_name(upsweep_op op)
{
    static constexpr const char* names[] = {"plus",   "multiplies", "minimum",     "maximum",    "bit_and",
                                            "bit_or", "bit_xor",    "logical_and", "logical_or", "log_sum_exp"};
    const auto k = static_cast<std::size_t>(op);
    return k < std::size(names) ? names[k] : nullptr;
}

upsweep_status upsweep_reduce_dtype(upsweep_op op, upsweep_dtype dtype, upsweep_dtype* result_dtype)
{
    return guarded([&] {
        require(result_dtype != nullptr, "reduce", "the result is a null pointer", "pass a pointer to a dtype");
        check_defined(op, dtype);
        *result_dtype = result_dtype_of(op, dtype);
    });
}

} // extern "C"
