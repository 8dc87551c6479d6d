// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <upsweep/qualifiers.hpp>
#include <upsweep/runtime.h>
#include <upsweep/types.hpp>

namespace upsweep::runtime {

// Calls f(std::type_identity<T>{}) with the C++ type T that the dtype stands for, on the host or on a GPU. The dtype
// must be one of the enumeration.
template <class F>
UPSWEEP_HOST_DEVICE decltype(auto) with_type(upsweep_dtype dtype, F&& f)
{
    switch (dtype) {
    case UPSWEEP_BOOL: return f(std::type_identity<bool>{});
    case UPSWEEP_I8: return f(std::type_identity<std::int8_t>{});
    case UPSWEEP_I16: return f(std::type_identity<std::int16_t>{});
    case UPSWEEP_I32: return f(std::type_identity<std::int32_t>{});
    case UPSWEEP_I64: return f(std::type_identity<std::int64_t>{});
    case UPSWEEP_U8: return f(std::type_identity<std::uint8_t>{});
    case UPSWEEP_U16: return f(std::type_identity<std::uint16_t>{});
    case UPSWEEP_U32: return f(std::type_identity<std::uint32_t>{});
    case UPSWEEP_U64: return f(std::type_identity<std::uint64_t>{});
    case UPSWEEP_F16: return f(std::type_identity<f16>{});
    case UPSWEEP_BF16: return f(std::type_identity<bf16>{});
    case UPSWEEP_F32: return f(std::type_identity<float>{});
    case UPSWEEP_F64: break;
    }
    return f(std::type_identity<double>{});
}

} // namespace upsweep::runtime
