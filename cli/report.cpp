// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <upsweep/files.hpp>

#include "../runtime/element_type.hpp"

namespace upsweep::cli {

namespace {

std::string scaled(double value, double step, const std::vector<std::string>& units)
{
    std::size_t unit = 0;
    while (unit + 1 < units.size() && value >= 999.5) {
        value /= step;
        ++unit;
    }
    // Three significant digits.
    return fmt::format("{:.{}f} {}", value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, units[unit]);
}

// The fewest digits that tell the value of its type: 0.1 of an f32, which as an f64 has 17. A floating-point number
// shows that it is one, and keeps the sign of its zero: 5.0, -0.0.
template <class Float>
std::string json_number(Float finite)
{
    std::string text;
    files::append_value(text, finite);
    return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

} // namespace

std::string grouped(std::uint64_t number)
{
    const std::string digits = std::to_string(number);
    std::string text;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % 3 == 0)
            text += ',';
        text += digits[i];
    }
    return text;
}

std::string bytes_text(std::uint64_t bytes)
{
    if (bytes < 1000)
        return fmt::format("{} B", bytes);
    return scaled(static_cast<double>(bytes) / 1000, 1000, {"kB", "MB", "GB", "TB", "PB", "EB"});
}

std::string seconds_text(double seconds)
{
    if (seconds >= 1)
        return fmt::format("{:.2f} s", seconds);
    return scaled(seconds * 1e9, 1000, {"ns", "us", "ms"});
}

std::string rate_text(const measurement& done)
{
    const double rate = done.seconds > 0 ? static_cast<double>(done.bytes) / done.seconds / 1e9 : 0;
    return fmt::format("{:.{}f} GB/s", rate, rate < 0.1 ? 5 : 2);
}

std::string table(const std::vector<std::pair<std::string, std::string>>& rows)
{
    std::size_t width = 0;
    for (const auto& [name, value] : rows)
        width = std::max(width, name.size());
    std::string text;
    for (const auto& [name, value] : rows)
        text += fmt::format("{:<{}}  {}\n", name, width, files::escaped(value));
    return text;
}

void json_object::add_literal(std::string_view key, const std::string& literal)
{
    if (!members_.empty())
        members_ += ',';
    members_ += nlohmann::json(key).dump() + ':' + literal;
}

template <class Value>
void json_object::add_member(std::string_view key, const Value& value)
{
    // JSON is UTF-8. A byte of a file's name that is not becomes U+FFFD.
    add_literal(key, nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void json_object::add_digits(std::string_view key, const std::string& digits) { add_literal(key, digits); }

void json_object::add(std::string_view key, const char* value) { add_member(key, value); }
void json_object::add(std::string_view key, const std::string& value) { add_member(key, value); }
void json_object::add(std::string_view key, bool value) { add_member(key, value); }
void json_object::add(std::string_view key, std::uint64_t value) { add_member(key, value); }
void json_object::add(std::string_view key, double value) { add_member(key, value); }
void json_object::add(std::string_view key, const std::vector<std::string>& values) { add_member(key, values); }
void json_object::add(std::string_view key, const std::vector<std::uint64_t>& values) { add_member(key, values); }
void json_object::add(std::string_view key, const std::vector<double>& values) { add_member(key, values); }

void json_object::add(std::string_view key, const std::vector<float>& values)
{
    std::string literal;
    for (const float value : values)
        literal += (literal.empty() ? '[' : ',') + json_number(value);
    add_literal(key, literal.empty() ? "[]" : literal + ']');
}

void json_object::add(std::string_view key, upsweep_dtype dtype, const void* value)
{
    runtime::with_type(dtype, [&]<class T>(std::type_identity<T>) {
        T typed;
        std::memcpy(&typed, value, sizeof typed);
        if constexpr (std::is_same_v<T, bool>)
            add(key, typed);
        else if constexpr (std::is_signed_v<T> && std::is_integral_v<T>)
            add_member(key, std::int64_t{typed});
        else if constexpr (std::is_integral_v<T>)
            add(key, std::uint64_t{typed});
        else if (!std::isfinite(convert<double>(typed)))
            add(key, files::value_text(dtype, value));
        else
            add_literal(key, json_number(typed));
    });
}

void json_object::add(const measurement& done)
{
    if (done.missing)
        add("missing", *done.missing);
    add("seconds", done.seconds);
    add("bytes", done.bytes);
    add("gbps", done.seconds > 0 ? static_cast<double>(done.bytes) / done.seconds / 1e9 : 0.0);
}

void print(std::string_view text)
{
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw files::system_failure("standard output", "cannot be written", errno);
}

} // namespace upsweep::cli
