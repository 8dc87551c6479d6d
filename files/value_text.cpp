// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include <fast_float/fast_float.h>
#include <fmt/format.h>
#include <oneapi/tbb/parallel_for.h>
#include <upsweep/files.hpp>

#include "dtype.hpp"

namespace upsweep::files {

namespace {

// Of each type the shorter name comes first.
constexpr std::pair<std::string_view, upsweep_dtype> names[] = {
    {"bool", UPSWEEP_BOOL},     {"i8", UPSWEEP_I8},   {"int8", UPSWEEP_I8},     {"i16", UPSWEEP_I16},
    {"int16", UPSWEEP_I16},     {"i32", UPSWEEP_I32}, {"int32", UPSWEEP_I32},   {"i64", UPSWEEP_I64},
    {"int64", UPSWEEP_I64},     {"u8", UPSWEEP_U8},   {"uint8", UPSWEEP_U8},    {"u16", UPSWEEP_U16},
    {"uint16", UPSWEEP_U16},    {"u32", UPSWEEP_U32}, {"uint32", UPSWEEP_U32},  {"u64", UPSWEEP_U64},
    {"uint64", UPSWEEP_U64},    {"f16", UPSWEEP_F16}, {"float16", UPSWEEP_F16}, {"bf16", UPSWEEP_BF16},
    {"bfloat16", UPSWEEP_BF16}, {"f32", UPSWEEP_F32}, {"float32", UPSWEEP_F32}, {"f64", UPSWEEP_F64},
    {"float64", UPSWEEP_F64},
};

template <class Float>
void append_float(std::string& text, Float value)
{
    if (std::isnan(value))
        text += "nan"; // the sign of a NaN is nobody's business
    else
        fmt::format_to(std::back_inserter(text), "{}", value);
}

// The 16-bit types have no formatter: the fewest digits that round to the same 16 bits are found by trying.
template <class Half>
void append_half(std::string& text, Half value)
{
    const float wide = value;
    if (!std::isfinite(wide) || wide == 0)
        return append_float(text, wide);
    constexpr int digits_enough_for_float = 9;
    for (int digits = 1; digits <= digits_enough_for_float; ++digits) {
        const std::string candidate = fmt::format("{:.{}g}", wide, digits);
        float read_back = 0;
        fast_float::from_chars(candidate.data(), candidate.data() + candidate.size(), read_back);
        if (Half(read_back).bits == value.bits) {
            text += candidate;
            return;
        }
    }
}

} // namespace

std::optional<upsweep_dtype> dtype_of_name(std::string_view name)
{
    for (const auto& [known, dtype] : names)
        if (known == name)
            return dtype;
    return std::nullopt;
}

std::string_view dtype_name(upsweep_dtype dtype)
{
    return std::find_if(std::begin(names), std::end(names), [&](const auto& name) { return name.second == dtype; })
        ->first;
}

void append_value(std::string& text, bool value) { text += value ? "true" : "false"; }
void append_value(std::string& text, std::int64_t value) { text += fmt::format_int(value).c_str(); }
void append_value(std::string& text, std::uint64_t value) { text += fmt::format_int(value).c_str(); }
void append_value(std::string& text, f16 value) { append_half(text, value); }
void append_value(std::string& text, bf16 value) { append_half(text, value); }
void append_value(std::string& text, float value) { append_float(text, value); }
void append_value(std::string& text, double value) { append_float(text, value); }

std::string value_text(upsweep_dtype dtype, const void* value)
{
    return with_type(dtype, [&]<class T>(std::type_identity<T>) {
        T typed;
        std::memcpy(&typed, value, sizeof typed);
        std::string text;
        append_value(text, typed);
        return text;
    });
}

std::vector<std::string> write_slices(std::uint64_t count, const slice_writer& append)
{
    constexpr std::uint64_t slice = 8192;
    std::vector<std::string> texts((count + slice - 1) / slice);
    oneapi::tbb::parallel_for(std::size_t{0}, texts.size(), [&](std::size_t t) {
        append(texts[t], t * slice, std::min<std::uint64_t>(count, (t + 1) * slice));
    });
    return texts;
}

} // namespace upsweep::files
