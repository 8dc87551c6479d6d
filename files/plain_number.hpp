// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

// Nearly all numbers are plain: perhaps a minus sign, at most 19 digits, a point among them. Such a number is a
// quotient of two integers; where its type holds both exactly, the quotient is rounded once and so agrees with a full
// parser to the bit.
namespace upsweep::files {

// The types whose numbers may be plain.
template <class T>
inline constexpr bool has_plain_numbers = std::is_floating_point_v<T> ||
                                          (std::is_integral_v<T> && !std::is_same_v<T, bool>);

// The powers of ten that a double holds exactly.
inline constexpr double power_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                          1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// The number with these digits, so many of them behind a point. False where a full parser is needed. Nothing branches
// on the sign, which a processor would guess wrongly every other time.
template <class T>
inline bool plain_value(std::uint64_t digits, std::size_t decimals, bool negative, T& value)
{
    if constexpr (std::is_floating_point_v<T>) {
        constexpr std::uint64_t largest_exact = std::uint64_t{1} << std::numeric_limits<T>::digits;
        constexpr std::size_t most_decimals = sizeof(T) == sizeof(float) ? 10 : 22;
        if (digits > largest_exact || decimals > most_decimals)
            return false;
        const T magnitude = static_cast<T>(digits) / static_cast<T>(power_of_ten[decimals]);
        value = magnitude * static_cast<T>(1 - 2 * static_cast<int>(negative));
    } else {
        constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
        if (digits > largest || (negative && std::is_unsigned_v<T>))
            return false;
        value = static_cast<T>(digits * (1 - 2 * static_cast<std::uint64_t>(negative)));
    }
    return true;
}

// Reads the number at p, one byte after the other. Returns the first byte after it, which the caller looks at, or
// nullptr where a full parser is needed. A byte that belongs to no number must follow: it stops the loops.
template <class T>
const char* parse_plain(const char* p, T& value)
{
    const auto digit_of = [](char c) { return static_cast<unsigned>(static_cast<unsigned char>(c)) - '0'; };
    const bool negative = *p == '-';
    p += negative;
    const char* const first = p;
    std::uint64_t mantissa = 0; // wraps after 19 digits, which are refused below
    unsigned digit = 0;
    for (; (digit = digit_of(*p)) < 10; ++p)
        mantissa = mantissa * 10 + digit;
    auto digits = static_cast<std::size_t>(p - first);
    std::size_t decimals = 0;
    if (std::is_floating_point_v<T> && *p == '.') {
        const char* const point = p++;
        for (; (digit = digit_of(*p)) < 10; ++p)
            mantissa = mantissa * 10 + digit;
        decimals = static_cast<std::size_t>(p - point) - 1;
        digits += decimals;
    }
    constexpr std::size_t most_digits = 19;
    if (digits == 0 || digits > most_digits || !plain_value(mantissa, decimals, negative, value))
        return nullptr;
    return p;
}

} // namespace upsweep::files
