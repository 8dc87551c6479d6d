// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace upsweep::cli {

struct screen {
    std::size_t columns = 80;
    std::size_t rows = 24;
};

[[nodiscard]] bool is_terminal(int descriptor);

// The size of the terminal behind a descriptor. COLUMNS and LINES in the environment have the last word.
[[nodiscard]] screen screen_of(int descriptor);

// Whether the user's locale (LC_ALL, LC_CTYPE, LANG) can show the block elements of Unicode.
[[nodiscard]] bool locale_is_utf8();

} // namespace upsweep::cli
