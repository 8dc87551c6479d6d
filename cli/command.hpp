// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace upsweep::cli {

// Each subcommand is one file that defines one of these: it adds its options and the callback that runs it. A callback
// throws usage_error, failure or std::bad_alloc.
void add_reduce(CLI::App& app);
void add_scan(CLI::App& app);
void add_histogram(CLI::App& app);
void add_info(CLI::App& app);

} // namespace upsweep::cli
