// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "run.h"

namespace lab::program {

std::string as_text(const program_report& about);
std::string as_json(const program_report& about);
// One source line with all that was counted there, by the names of Nsight Compute where it has them.
std::string line_as_text(const program_report& about, int line);

} // namespace lab::program
