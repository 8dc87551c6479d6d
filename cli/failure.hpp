// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include <upsweep/files.hpp>

namespace upsweep::cli {

// The command line is wrong as it stands: exit status 2.
class usage_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The data or the machine failed: exit status 1, as for a files::failure. The message is one line: where, what, and the
// remedy.
class failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// What the files have to say, with the remedy in the words of the command line.
[[nodiscard]] std::string message_of(const files::failure& error);
[[nodiscard]] std::string message_of(const files::problem& problem);

} // namespace upsweep::cli
