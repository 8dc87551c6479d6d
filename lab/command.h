// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// `upsweep lab list | run | explain`.
#pragma once

namespace CLI {
class App;
}

namespace lab {

// Adds the subcommands. Running one throws CLI::RuntimeError with status 1 when a kernel was wrong or a finding was made, and
// CLI::ValidationError for what does not exist.
void add_commands(CLI::App& app);

} // namespace lab
