// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Times of the rungs on a GPU, taken by a program of its own: real and simulated kernels do not share one.
#pragma once

#include <filesystem>

#include "measure.h"

namespace lab {

std::filesystem::path gpu_program();

// Adds the times to the rows of a ladder. Without the program, or without a GPU, there are none to add.
void add_gpu_times(std::vector<measurement>& rows, const std::filesystem::path& program, const std::string& ladder,
                   const task& what);

} // namespace lab
