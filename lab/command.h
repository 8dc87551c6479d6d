// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The subcommands of `upsweep lab`: list, run and explain.
#pragma once

#include <string>
#include <vector>

namespace CLI { // NOLINT(readability-identifier-naming): CLI11 is called so
class App;
}

namespace lab {

// Adds the subcommands. Running one throws CLI::RuntimeError with status 1 when a kernel was wrong or the simulator found
// something, and CLI::ValidationError for a ladder, a kernel or a machine that does not exist.
void add_commands(CLI::App& app, const std::vector<std::string>& behind_dashes);

} // namespace lab
