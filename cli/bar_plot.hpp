// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "terminal.hpp"

namespace upsweep::cli {

// A bar that fills `share` (0 to 1) of `width` columns: eighths of a block in Unicode, whole '#' otherwise. What is
// above zero shows.
[[nodiscard]] std::string bar(double share, std::size_t width, bool unicode);

// The columns that a text takes on the screen, a character each, and the text filled up with spaces.
[[nodiscard]] std::size_t display_width(std::string_view text);
[[nodiscard]] std::string padded(std::string_view text, std::size_t width);

struct bar_row {
    std::string label;
    std::uint64_t count = 0;
};

// One line a row: label, count and bar, no wider than the screen. Ends with a line feed where there are rows.
[[nodiscard]] std::string bar_plot(const std::vector<bar_row>& rows, std::size_t columns, bool unicode);

// How many neighbouring bins share a row so that `bins` of them fit `rows` lines.
[[nodiscard]] std::uint64_t bins_per_row(std::uint64_t bins, std::size_t rows);

} // namespace upsweep::cli
