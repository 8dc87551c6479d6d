// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace upsweep::cli {

// The command line is wrong as it stands: exit status 2.
class usage_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The data or the machine failed: exit status 1. The message is one line: where, what, and the remedy.
class failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// "FILE: what failed: the system's reason", for the value that errno had.
[[nodiscard]] failure system_failure(std::string_view name, std::string_view what, int error_number);

// Text of the user's data, fit for an error message: quoted, shortened, control characters escaped.
[[nodiscard]] std::string in_quotes(std::string_view text);

} // namespace upsweep::cli
