// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "text.hpp"

namespace upsweep::files {

// RFC 4180: records end with LF or CRLF; a field that begins with a quote may hold delimiters, line ends and doubled
// quotes; a quote elsewhere is an ordinary character. Blank lines are no records. Every record has as many fields as
// the first one, which tells the rest of this.
struct csv_layout {
    char delimiter = ',';
    bool skip_empty = false;
    std::size_t columns = 1;
    std::size_t column = 0; // from 0
    bool header = false;
};

inline char delimiter_of(const csv_options& options) { return options.delimiter.value_or(','); }

// Throws a failure that begins with the name of the file where the column is not there.
[[nodiscard]] csv_layout find_layout(const std::string& file, std::string_view first_record,
                                     const csv_options& options);

// The length of the first record with its line end and the blank lines before it; all of `text` where it does not end.
[[nodiscard]] std::size_t first_record_length(std::string_view text, char delimiter);

// The length of the longest front of `text`, which begins where a record begins, that consists of whole records; 0
// where there is none.
[[nodiscard]] std::size_t cut_after_record(std::string_view text, char delimiter);

// Parses one field of every record; `values` has room for most_numbers(text.size()). Stops at the first error.
template <class T>
[[nodiscard]] parse_result parse_csv(std::string_view text, const csv_layout& layout, T* values);

} // namespace upsweep::files
