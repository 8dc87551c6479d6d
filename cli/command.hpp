// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line.hpp"

namespace upsweep::cli {

// Each subcommand is one file that defines one of these: it adds its options and the callback that runs it. A callback
// throws usage_error, failure or std::bad_alloc.
void add_reduce(command_line& line);
void add_scan(command_line& line);
void add_histogram(command_line& line);
void add_runs(command_line& line);
void add_info(command_line& line);

} // namespace upsweep::cli
