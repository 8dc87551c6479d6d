// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <upsweep/runtime.h>
#include <upsweep/types.hpp>

#include "../runtime/element_type.hpp"

namespace upsweep::cli {

// "f32" and "float32", "i8" and "int8", "bool", ...
[[nodiscard]] std::optional<upsweep_dtype> dtype_of_name(std::string_view name);

// Every name that a user may give, for an error message.
inline constexpr std::string_view dtype_names = "bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64";

inline bool is_floating(upsweep_dtype dtype) { return dtype >= UPSWEEP_F16 && dtype <= UPSWEEP_F64; }

using runtime::with_type;

// Room for one value of any dtype.
union scalar {
    std::uint64_t u64;
    double f64;
    unsigned char bytes[8];
};

// The shortest decimal digits that read back as the same value of its type; "inf", "-inf", "nan", "true", "false".
void append_value(std::string& text, bool value);
void append_value(std::string& text, std::int64_t value);
void append_value(std::string& text, std::uint64_t value);
void append_value(std::string& text, f16 value);
void append_value(std::string& text, bf16 value);
void append_value(std::string& text, float value);
void append_value(std::string& text, double value);

template <class T>
    requires(std::is_integral_v<T> && sizeof(T) < 8 && !std::is_same_v<T, bool>)
void append_value(std::string& text, T value)
{
    append_value(text, static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(value));
}

[[nodiscard]] std::string value_text(upsweep_dtype dtype, const void* value);

} // namespace upsweep::cli
