// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <upsweep/runtime.h>

namespace upsweep::cli {

// "1,234,567", for people.
[[nodiscard]] std::string grouped(std::uint64_t number);
// "1.23 GB", in powers of 1000.
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);
// "1.23 ms".
[[nodiscard]] std::string seconds_text(double seconds);

// What a command did: how much, how long.
struct measurement {
    std::uint64_t count = 0;                             // elements
    std::uint64_t bytes = 0;                             // read from the input, and written where an output was
    std::optional<std::uint64_t> missing = std::nullopt; // records without a value, of tables
    double seconds = 0;
};

// "1.23 GB/s", with more digits for what is slow.
[[nodiscard]] std::string rate_text(const measurement& done);

class stopwatch {
public:
    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Two columns, the names padded to one width. In the values, which may be names of files, control characters are
// escaped.
[[nodiscard]] std::string table(const std::vector<std::pair<std::string, std::string>>& rows);

// A JSON object as it is written down, key after key. The library that knows JSON takes seconds to compile, so
// report.cpp alone includes it.
class json_object {
public:
    void add(std::string_view key, const char* value);
    void add(std::string_view key, const std::string& value);
    void add(std::string_view key, bool value);
    void add(std::string_view key, std::uint64_t value);
    void add(std::string_view key, double value);
    void add(std::string_view key, const std::vector<std::string>& values);
    void add(std::string_view key, const std::vector<std::uint64_t>& values);
    void add(std::string_view key, const std::vector<double>& values);
    void add(std::string_view key, const std::vector<float>& values);
    // An integer of any length.
    void add_digits(std::string_view key, const std::string& digits);
    // A number, true or false; "nan", "inf" and "-inf", which JSON's numbers lack, as strings.
    void add(std::string_view key, upsweep_dtype dtype, const void* value);
    // The keys that all commands share.
    void add(const measurement& done);

    std::string text() const { return '{' + members_ + '}'; }
    const std::string& members() const { return members_; }

private:
    void add_literal(std::string_view key, const std::string& literal);
    template <class Value>
    void add_member(std::string_view key, const Value& value);

    std::string members_;
};

// Writes all of it to standard output; a failure (a full disk, say) is an error like any other.
void print(std::string_view text);

} // namespace upsweep::cli
