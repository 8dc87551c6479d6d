// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "measure.h"

namespace lab {

// Compiles a CUDA program for the simulator, runs it, and prints a report. Returns the program's exit status, or 1 when the
// simulator found something. Throws std::runtime_error when the program does not compile.
int run_file(const std::string& file, const settings& how, bool json, const std::vector<std::string>& arguments);

} // namespace lab
