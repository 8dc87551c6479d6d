// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line.hpp"

namespace upsweep::cli {

// `upsweep lab` is the program upsweep-lab beside this one. It brings the simulator along, which folding files does not
// need.
void add_laboratory(command_line& line);

// Whether the arguments are those of `upsweep lab`.
[[nodiscard]] bool is_for_laboratory(int argc, char** argv);

// Becomes the laboratory's program; throws a failure where there is none.
[[noreturn]] void become_laboratory(char** argv);

} // namespace upsweep::cli
