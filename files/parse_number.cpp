// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <system_error>

#include <fast_float/fast_float.h>
#include <fmt/core.h>
#include <locale.h>
#include <upsweep/files.hpp>

#include "dtype.hpp"

namespace upsweep::files {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool equals_ignoring_case(std::string_view text, std::string_view lower_case)
{
    if (text.size() != lower_case.size())
        return false;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (lower(text[i]) != lower_case[i])
            return false;
    return true;
}

bool is_hex(std::string_view digits) { return digits.size() > 2 && digits[0] == '0' && lower(digits[1]) == 'x'; }

// 0x, hex digits with at most one point and at least one digit, then perhaps p and a decimal exponent.
bool is_hex_float(std::string_view digits)
{
    std::size_t i = 2;
    std::size_t mantissa_digits = 0;
    bool point = false;
    for (; i < digits.size(); ++i) {
        const char c = lower(digits[i]);
        if (is_digit(c) || (c >= 'a' && c <= 'f'))
            ++mantissa_digits;
        else if (c == '.' && !point)
            point = true;
        else
            break;
    }
    if (mantissa_digits == 0)
        return false;
    if (i == digits.size())
        return true;
    if (lower(digits[i++]) != 'p')
        return false;
    if (i < digits.size() && (digits[i] == '+' || digits[i] == '-'))
        ++i;
    if (i == digits.size())
        return false;
    for (; i < digits.size(); ++i)
        if (!is_digit(digits[i]))
            return false;
    return true;
}

template <class Float>
number_error parse_hex_float(std::string_view digits, Float& value)
{
    if (!is_hex_float(digits))
        return number_error::malformed;
    // Hex numbers are rare; the C library rounds them correctly, and tells overflow from underflow.
    static const locale_t c_locale = ::newlocale(LC_ALL_MASK, "C", nullptr);
    const std::string terminated(digits);
    if constexpr (sizeof(Float) == sizeof(float))
        value = ::strtof_l(terminated.c_str(), nullptr, c_locale);
    else
        value = ::strtod_l(terminated.c_str(), nullptr, c_locale);
    return std::isinf(value) ? number_error::out_of_range : number_error::none;
}

template <class Float>
number_error parse_float(std::string_view token, Float& value)
{
    const bool negative = !token.empty() && token[0] == '-';
    const std::string_view digits = token.substr(!token.empty() && (negative || token[0] == '+') ? 1 : 0);
    if (digits.empty())
        return number_error::malformed;

    number_error error = number_error::none;
    if (is_hex(digits)) {
        error = parse_hex_float(digits, value);
    } else if (is_digit(digits[0]) || digits[0] == '.') {
        const char* const end = digits.data() + digits.size();
        const auto result = fast_float::from_chars(digits.data(), end, value);
        if (result.ec == std::errc::invalid_argument || result.ptr != end)
            error = number_error::malformed;
        else if (std::isinf(value))
            error = number_error::out_of_range;
    } else if (equals_ignoring_case(digits, "inf") || equals_ignoring_case(digits, "infinity")) {
        value = std::numeric_limits<Float>::infinity();
    } else if (equals_ignoring_case(digits, "nan")) {
        value = std::numeric_limits<Float>::quiet_NaN();
    } else {
        error = number_error::malformed;
    }
    if (negative)
        value = -value;
    return error;
}

// Rounding to 16 bits by way of f32 would round twice. Rounding to odd on the way keeps the second rounding right: an
// f32 has more than two bits more than either 16-bit type.
float round_to_odd(double value)
{
    const auto nearest = static_cast<float>(value);
    if (std::isinf(nearest) || static_cast<double>(nearest) == value || value != value)
        return nearest;
    auto bits = std::bit_cast<std::uint32_t>(nearest);
    if (std::fabs(static_cast<double>(nearest)) > std::fabs(value))
        --bits; // truncated
    return std::bit_cast<float>(bits | 1U);
}

template <class Half>
number_error parse_half(std::string_view token, Half& value)
{
    double wide = 0;
    const number_error error = parse_float(token, wide);
    if (error != number_error::none)
        return error;
    value = Half(round_to_odd(wide));
    return std::isinf(static_cast<float>(value)) && !std::isinf(wide) ? number_error::out_of_range : number_error::none;
}

template <class Integer>
number_error parse_integer(std::string_view token, Integer& value)
{
    const bool negative = !token.empty() && token[0] == '-';
    std::string_view digits = token.substr(!token.empty() && (negative || token[0] == '+') ? 1 : 0);
    const bool hex = is_hex(digits);
    if (hex)
        digits.remove_prefix(2);

    std::uint64_t magnitude = 0;
    const char* const end = digits.data() + digits.size();
    const auto result = std::from_chars(digits.data(), end, magnitude, hex ? 16 : 10);
    if (result.ec == std::errc::invalid_argument || result.ptr != end) {
        double number = 0;
        return parse_float(token, number) == number_error::malformed ? number_error::malformed
                                                                     : number_error::not_integer;
    }
    constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<Integer>::max());
    const std::uint64_t limit = !negative ? largest : std::is_signed_v<Integer> ? largest + 1 : 0;
    if (result.ec != std::errc() || magnitude > limit)
        return number_error::out_of_range;
    value = static_cast<Integer>(negative ? 0 - magnitude : magnitude);
    return number_error::none;
}

number_error parse_bool(std::string_view token, bool& value)
{
    const bool yes = token == "1" || equals_ignoring_case(token, "true");
    const bool no = token == "0" || equals_ignoring_case(token, "false");
    value = yes;
    return yes || no ? number_error::none : number_error::malformed;
}

} // namespace

template <class T>
number_error parse_number(std::string_view token, T& value)
{
    if constexpr (std::is_same_v<T, bool>)
        return parse_bool(token, value);
    else if constexpr (std::is_integral_v<T>)
        return parse_integer(token, value);
    else if constexpr (std::is_floating_point_v<T>)
        return parse_float(token, value);
    else
        return parse_half(token, value);
}

template number_error parse_number(std::string_view, bool&);
template number_error parse_number(std::string_view, std::int8_t&);
template number_error parse_number(std::string_view, std::int16_t&);
template number_error parse_number(std::string_view, std::int32_t&);
template number_error parse_number(std::string_view, std::int64_t&);
template number_error parse_number(std::string_view, std::uint8_t&);
template number_error parse_number(std::string_view, std::uint16_t&);
template number_error parse_number(std::string_view, std::uint32_t&);
template number_error parse_number(std::string_view, std::uint64_t&);
template number_error parse_number(std::string_view, f16&);
template number_error parse_number(std::string_view, bf16&);
template number_error parse_number(std::string_view, float&);
template number_error parse_number(std::string_view, double&);

problem number_problem(number_error error, std::string_view token, upsweep_dtype dtype)
{
    switch (error) {
    case number_error::out_of_range:
        if (dtype == UPSWEEP_F64)
            return {fmt::format("{} does not fit f64; write inf if infinity is meant", in_quotes(token))};
        return {fmt::format("{} does not fit {}", in_quotes(token), dtype_name(dtype)), remedy::widen_dtype};
    case number_error::not_integer:
        return {fmt::format("{} is not an integer", in_quotes(token)), remedy::floating_dtype};
    default: break;
    }
    if (dtype == UPSWEEP_BOOL)
        return {fmt::format("{} is not a bool; write 0, 1, true or false", in_quotes(token))};
    // 1,234 and 1_234: what most often spoils a column of numbers.
    bool grouped = token.size() > 3;
    for (const char c : token)
        grouped = grouped && (is_digit(c) || c == ',' || c == '_' || c == '\'' || c == '-' || c == '+' || c == '.');
    const bool separated = grouped && token.find_first_of(",_'") != std::string_view::npos;
    return {fmt::format("{} is not a number", in_quotes(token)),
            separated ? remedy::drop_separators : remedy::give_column};
}

} // namespace upsweep::files
