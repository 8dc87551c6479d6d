// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace upsweep::cli {

namespace detail {

// The powers of ten that a double holds exactly.
inline constexpr double power_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                          1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline unsigned digit_of(char c) { return static_cast<unsigned>(static_cast<unsigned char>(c)) - '0'; }

} // namespace detail

// The types whose numbers are mostly of the plain kind.
template <class T>
inline constexpr bool has_plain_numbers =
    std::is_floating_point_v<T> || (std::is_integral_v<T> && !std::is_same_v<T, bool>);

// Reads the number at p where it is of the plain kind: perhaps a minus sign, at most 19 digits, a point among them if T
// is floating. A quotient of two integers that T holds exactly is rounded once, and so agrees with a full parser to the
// bit. Returns the first byte after it, which the caller looks at, or nullptr where a full parser is needed. A byte that
// belongs to no number must follow somewhere: it stops the loops.
template <class T>
const char* parse_plain(const char* p, T& value)
{
    constexpr bool floating = std::is_floating_point_v<T>;
    const bool negative = *p == '-';
    p += negative;
    const char* const first = p;
    std::uint64_t mantissa = 0;
    unsigned digit = 0;
    for (; (digit = detail::digit_of(*p)) < 10; ++p)
        mantissa = mantissa * 10 + digit; // wraps after 19 digits, which the check below refuses
    auto digits = static_cast<std::size_t>(p - first);
    std::size_t decimals = 0;
    if constexpr (floating) {
        if (*p == '.') {
            const char* const point = p++;
            for (; (digit = detail::digit_of(*p)) < 10; ++p)
                mantissa = mantissa * 10 + digit;
            decimals = static_cast<std::size_t>(p - point) - 1;
            digits += decimals;
        }
    }
    constexpr std::size_t most_digits = 19;
    if (digits == 0 || digits > most_digits) return nullptr;
    if constexpr (floating) {
        constexpr std::uint64_t largest_exact = std::uint64_t{1} << std::numeric_limits<T>::digits;
        constexpr std::size_t most_decimals = sizeof(T) == sizeof(float) ? 10 : 22;
        if (mantissa > largest_exact || decimals > most_decimals) return nullptr;
        const T magnitude = static_cast<T>(mantissa) / static_cast<T>(detail::power_of_ten[decimals]);
        value = negative ? -magnitude : magnitude;
    } else {
        constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
        if (mantissa > largest || (negative && std::is_unsigned_v<T>)) return nullptr;
        value = static_cast<T>(negative ? 0 - mantissa : mantissa);
    }
    return p;
}

} // namespace upsweep::cli
