// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <upsweep/types.hpp>

#include "kernels.hpp"

namespace upsweep::runtime::gpu {

namespace {

// Bits of integers are those of unsigned words, and so is truth.
template <class T>
constexpr typed_kernels make_kernels()
{
    if constexpr (std::integral<T>) {
        using word = std::make_unsigned_t<T>;
        scan_kernel of_products = nullptr;
        if constexpr (sizeof(T) == 8) // modulo 2^64 they are those of unsigned integers
            of_products = scan_products<word>;
        return {reduce_typed<T>,           reduce_bits<word>,     reduce_truth<word>, scan_typed<T>,
                count_typed<T, even_bins>, count_typed<T, edges>, variance_typed<T>,  of_products};
    } else {
        return {
            reduce_typed<T>,       nullptr,           reduce_truth<T>,  scan_typed<T>,      count_typed<T, even_bins>,
            count_typed<T, edges>, variance_typed<T>, scan_products<T>, scan_log_sum_exp<T>};
    }
}
template <class T>
inline constexpr typed_kernels kernels = make_kernels<T>();

// Reductions of truths are those of the bytes 0 and 1.
template <>
inline constexpr typed_kernels kernels<bool>{
    reduce_typed<std::uint8_t>,  reduce_bits<std::uint8_t>, reduce_truth<std::uint8_t>, nullptr, nullptr, nullptr,
    variance_typed<std::uint8_t>};

} // namespace

const typed_kernels* typed_kernels_of(upsweep_dtype dtype)
{
    switch (dtype) {
    case UPSWEEP_BOOL: return &kernels<bool>;
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

scan_kernel widened_sums_of(upsweep_dtype in, upsweep_dtype out)
{
    if (out == UPSWEEP_F32)
        return in == UPSWEEP_F16 ? scan_widened<f16, float> : in == UPSWEEP_BF16 ? scan_widened<bf16, float> : nullptr;
    if (out == UPSWEEP_F64)
        return in == UPSWEEP_F32 ? scan_widened<float, double> : nullptr;
    if (out != UPSWEEP_I64 && out != UPSWEEP_U64)
        return nullptr;
    switch (in) {
    case UPSWEEP_BOOL: // truths are the bytes 0 and 1
    case UPSWEEP_U8: return scan_widened<std::uint8_t, std::uint64_t>;
    case UPSWEEP_I8: return scan_widened<std::int8_t, std::uint64_t>;
    case UPSWEEP_I16: return scan_widened<std::int16_t, std::uint64_t>;
    case UPSWEEP_U16: return scan_widened<std::uint16_t, std::uint64_t>;
    case UPSWEEP_I32: return scan_widened<std::int32_t, std::uint64_t>;
    case UPSWEEP_U32: return scan_widened<std::uint32_t, std::uint64_t>;
    default: return nullptr;
    }
}

} // namespace upsweep::runtime::gpu
