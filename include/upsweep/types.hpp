// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <upsweep/qualifiers.hpp>

// The 16-bit floating-point element types. They are storage: every fold accumulates them in float and rounds once, to
// nearest even, when a result is written. The conversions are free of branches so that loops over them vectorise.
namespace upsweep {

namespace detail {

#ifdef __CUDA_ARCH__
// A GPU has instructions for these conversions, whose results differ only in the payload of a NaN.
__device__ inline float device_float_of_f16(std::uint16_t half)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
    return value;
}
__device__ inline std::uint16_t device_f16_of_float(float value)
{
    std::uint16_t half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
}
#if __CUDA_ARCH__ >= 800
__device__ inline std::uint16_t device_bf16_of_float(float value)
{
    std::uint16_t upper_half;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(upper_half) : "f"(value));
    return upper_half;
}
#endif
#endif

UPSWEEP_HOST_DEVICE constexpr float float_of_f16(std::uint16_t half)
{
#ifdef __CUDA_ARCH__
    if (!std::is_constant_evaluated())
        return device_float_of_f16(half);
#endif
    // The bits of the half, in place, are those of a float that is too small by 2^112: the biases of the exponents
    // differ by 112. The multiplication puts it right, denormals included.
    const std::uint32_t magnitude = static_cast<std::uint32_t>(half & 0x7fffU) << 13;
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
    const std::uint32_t special = magnitude | 0x7f800000U;
    const bool is_special = magnitude >= 0x0f800000U; // infinity or NaN
    return std::bit_cast<float>((is_special ? special : std::bit_cast<std::uint32_t>(scaled)) | sign);
}

UPSWEEP_HOST_DEVICE constexpr std::uint16_t f16_of_float(float value)
{
#ifdef __CUDA_ARCH__
    if (!std::is_constant_evaluated())
        return device_f16_of_float(value);
#endif
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits & 0x80000000U;
    const std::uint32_t magnitude = bits ^ sign;

    // A normal result: the exponent's bias is changed, and adding just under half a unit, and the lowest bit that is
    // kept, rounds to nearest even.
    const std::uint32_t normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
    // A denormal result: the addition of 0.5 shifts the mantissa to its place and rounds it, as the hardware rounds
    // every sum.
    const std::uint32_t tiny = magnitude < 0x38800000U ? magnitude : 0U;
    const std::uint32_t denormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(tiny) + 0.5F) - 0x3f000000U;

    std::uint32_t half = magnitude < 0x38800000U ? denormal : normal;
    half = magnitude >= 0x47800000U ? 0x7c00U : half; // 65536 and above, infinity
    half = magnitude > 0x7f800000U ? 0x7e00U : half;  // NaN
    return static_cast<std::uint16_t>(half | (sign >> 16));
}

UPSWEEP_HOST_DEVICE constexpr float float_of_bf16(std::uint16_t upper_half)
{
    return std::bit_cast<float>(static_cast<std::uint32_t>(upper_half) << 16);
}

UPSWEEP_HOST_DEVICE constexpr std::uint16_t bf16_of_float(float value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if (!std::is_constant_evaluated())
        return device_bf16_of_float(value);
#endif
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
    return static_cast<std::uint16_t>(is_nan ? (bits >> 16) | 0x40U : rounded);
}

} // namespace detail

// IEEE 754 binary16: 11 significant bits, up to 65504.
struct f16 {
    std::uint16_t bits = 0;

    f16() = default;
    UPSWEEP_HOST_DEVICE constexpr f16(float value) : bits(detail::f16_of_float(value)) {}
    UPSWEEP_HOST_DEVICE constexpr operator float() const { return detail::float_of_f16(bits); }

    static constexpr f16 from_bits(std::uint16_t bits)
    {
        f16 result;
        result.bits = bits;
        return result;
    }
};

// The upper half of a binary32: 8 significant bits, the range of a float.
struct bf16 {
    std::uint16_t bits = 0;

    bf16() = default;
    UPSWEEP_HOST_DEVICE constexpr bf16(float value) : bits(detail::bf16_of_float(value)) {}
    UPSWEEP_HOST_DEVICE constexpr operator float() const { return detail::float_of_bf16(bits); }

    static constexpr bf16 from_bits(std::uint16_t bits)
    {
        bf16 result;
        result.bits = bits;
        return result;
    }
};

template <class T>
concept sub_word_float = std::same_as<T, f16> || std::same_as<T, bf16>;

// Converts a value to the type in which an operator sees it, and a fold to the type of a result.
template <class Accumulator, class T>
UPSWEEP_HOST_DEVICE constexpr Accumulator convert(const T& value)
{
    if constexpr (std::same_as<Accumulator, T>)
        return value;
    else if constexpr (sub_word_float<T>)
        return static_cast<Accumulator>(static_cast<float>(value));
    else if constexpr (sub_word_float<Accumulator>)
        return Accumulator(static_cast<float>(value));
    else if constexpr (std::same_as<Accumulator, bool>)
        return value != T{}; // NaN is true
    else
        return static_cast<Accumulator>(value);
}

} // namespace upsweep
