// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <upsweep/runtime.h>

#include "dtype.hpp"

namespace upsweep::cli {

enum class number_error : std::uint8_t {
    none,
    malformed,    // no number, or something after it
    out_of_range, // too large for the type: 1e400, 300 as u8
    not_integer,  // a number, but the type has integers only
};

// Reads a number that fills `token` exactly, whatever the locale: decimal with or without fraction and exponent, hex
// (0x1f, and 0x1.8p3 for floating types), inf, infinity, nan, with an optional sign; for bool 0, 1, true and false.
// Rounds to nearest even; what is too small for the type becomes a denormal or zero, what is too large is an error.
// f16 and bf16 are rounded from the nearest f64, as NumPy does.
template <class T>
[[nodiscard]] number_error parse_number(std::string_view token, T& value);

extern template number_error parse_number(std::string_view, bool&);
extern template number_error parse_number(std::string_view, std::int8_t&);
extern template number_error parse_number(std::string_view, std::int16_t&);
extern template number_error parse_number(std::string_view, std::int32_t&);
extern template number_error parse_number(std::string_view, std::int64_t&);
extern template number_error parse_number(std::string_view, std::uint8_t&);
extern template number_error parse_number(std::string_view, std::uint16_t&);
extern template number_error parse_number(std::string_view, std::uint32_t&);
extern template number_error parse_number(std::string_view, std::uint64_t&);
extern template number_error parse_number(std::string_view, f16&);
extern template number_error parse_number(std::string_view, bf16&);
extern template number_error parse_number(std::string_view, float&);
extern template number_error parse_number(std::string_view, double&);

// What is wrong with the token, and the remedy.
[[nodiscard]] std::string number_error_text(number_error error, std::string_view token, upsweep_dtype dtype);

} // namespace upsweep::cli
