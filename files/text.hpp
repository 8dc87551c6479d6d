// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <upsweep/files.hpp>

namespace upsweep::files {

// What became of a chunk of text.
struct parse_result {
    std::uint64_t count = 0;     // values written
    std::uint64_t missing = 0;   // records of a table without a value
    std::uint64_t new_lines = 0; // in the text, up to the error
    number_error error = number_error::none;
    std::string_view token; // what the error is about, a part of the text
    problem other;          // an error that is not about one number
};

inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

[[nodiscard]] std::uint64_t count_new_lines(std::string_view text);

// The length of the longest front of `text` that ends with white space; 0 where there is none.
[[nodiscard]] std::size_t cut_after_space(std::string_view text);

// The most numbers that a text of so many bytes can hold.
inline std::size_t most_numbers(std::size_t bytes) { return bytes / 2 + 1; }

// Parses numbers separated by white space; `values` has room for most_numbers(text.size()). Stops at the first error.
template <class T>
[[nodiscard]] parse_result parse_text(std::string_view text, T* values);

} // namespace upsweep::files
