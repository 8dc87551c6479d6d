// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include <upsweep/op.hpp>
#include <upsweep/types.hpp>

// The numbers that stand for element types and operators where a C++ type cannot: in the bytes of a partial
// (docs/fold-order.md) and in the C ABI. Files keep them, so that none of them ever changes.
namespace upsweep::detail {

// A type of the user, or an operator of the user, has this number.
inline constexpr std::uint8_t number_of_users = 255;

// 0 bool, 1 to 4 signed and 5 to 8 unsigned integers of 8 to 64 bits, 9 f16, 10 bf16, 11 f32, 12 f64.
template <class T>
constexpr std::uint8_t type_number()
{
    if constexpr (std::same_as<T, bool>)
        return 0;
    else if constexpr (std::integral<T>)
        return static_cast<std::uint8_t>((std::signed_integral<T> ? 1 : 5) + std::countr_zero(sizeof(T)));
    else if constexpr (std::same_as<T, f16>)
        return 9;
    else if constexpr (std::same_as<T, bf16>)
        return 10;
    else if constexpr (std::same_as<T, float>)
        return 11;
    else if constexpr (std::same_as<T, double>)
        return 12;
    else
        return number_of_users;
}

template <class Op>
inline constexpr std::uint8_t operator_number = number_of_users;
template <>
inline constexpr std::uint8_t operator_number<plus> = 0;
template <>
inline constexpr std::uint8_t operator_number<multiplies> = 1;
template <>
inline constexpr std::uint8_t operator_number<minimum> = 2;
template <>
inline constexpr std::uint8_t operator_number<maximum> = 3;
template <>
inline constexpr std::uint8_t operator_number<bit_and> = 4;
template <>
inline constexpr std::uint8_t operator_number<bit_or> = 5;
template <>
inline constexpr std::uint8_t operator_number<bit_xor> = 6;
template <>
inline constexpr std::uint8_t operator_number<logical_and> = 7;
template <>
inline constexpr std::uint8_t operator_number<logical_or> = 8;

} // namespace upsweep::detail
