// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <upsweep/types.hpp>

#include "kernels.hpp"

namespace upsweep::runtime::gpu {

namespace {

template <class T>
inline constexpr typed_kernels kernels{reduce_typed<T>, scan_typed<T>, count_typed<T, even_bins>,
                                       count_typed<T, edges>};

} // namespace

const typed_kernels* typed_kernels_of(upsweep_dtype dtype)
{
    switch (dtype) {
    case UPSWEEP_BOOL: break;
    case UPSWEEP_I8: return &kernels<std::int8_t>;
    case UPSWEEP_I16: return &kernels<std::int16_t>;
    case UPSWEEP_I32: return &kernels<std::int32_t>;
    case UPSWEEP_I64: return &kernels<std::int64_t>;
    case UPSWEEP_U8: return &kernels<std::uint8_t>;
    case UPSWEEP_U16: return &kernels<std::uint16_t>;
    case UPSWEEP_U32: return &kernels<std::uint32_t>;
    case UPSWEEP_U64: return &kernels<std::uint64_t>;
    case UPSWEEP_F16: return &kernels<f16>;
    case UPSWEEP_BF16: return &kernels<bf16>;
    case UPSWEEP_F32: return &kernels<float>;
    case UPSWEEP_F64: return &kernels<double>;
    }
    return nullptr;
}

} // namespace upsweep::runtime::gpu
