// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text.hpp"

namespace upsweep::files {

// RFC 4180: records end with LF or CRLF; a field that begins with a quote may hold delimiters, line ends and doubled
// quotes; a quote elsewhere is an ordinary character. Blank lines and comments are no records. Every record has as many
// fields as the first one, which tells the rest of this.
//
// Where runs of spaces separate the fields, as programs print tables for people, quotes are ordinary characters, and a record may
// have more fields than the first one, or fewer as long as it has the column.
struct csv_layout {
    char delimiter = ',';
    std::size_t columns = 1;
    std::size_t column = 0; // from 0
    bool header = false;
    std::string name; // of the column, where there is a header
    std::string comment;
    char decimal = '.';
    bool may_be_missing = true;
    std::vector<std::string> missing; // in small letters

    bool is_missing(std::string_view token) const;
};

// The length of the first `lines` lines; all of `text` where it has fewer.
[[nodiscard]] std::size_t length_of_lines(std::string_view text, std::uint64_t lines);

// What separates the fields of the table at the front of `text`, whose last line may be cut off. `text` begins after the lines that
// are skipped.
[[nodiscard]] char find_delimiter(std::string_view text, const csv_options& options);

// The layout of the table, which begins at `text`. Throws a failure that begins with the name of the file where the column is
// not there, or where it cannot be told whether the first record names the columns. `line` is the number of the first line.
[[nodiscard]] csv_layout find_layout(const std::string& file, std::string_view text, std::uint64_t line,
                                     const csv_options& options);

// The length of the first record with its line end and what stands before it and is none; all of `text` where it does
// not end.
[[nodiscard]] std::size_t first_record_length(std::string_view text, const csv_layout& layout);

// The length of the longest front of `text`, which begins where a record begins, that consists of whole records; 0
// where there is none.
[[nodiscard]] std::size_t cut_after_record(std::string_view text, const csv_layout& layout);

// Parses one field of every record; `values` has room for most_numbers(text.size()). Stops at the first error.
template <class T>
[[nodiscard]] parse_result parse_csv(std::string_view text, const csv_layout& layout, T* values);

} // namespace upsweep::files
