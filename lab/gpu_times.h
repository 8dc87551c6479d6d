// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Times of the rungs on a GPU. A program of its own takes them, because real and simulated kernels cannot share one.
#pragma once

#include <filesystem>

#include "measure.h"

namespace lab {

std::filesystem::path gpu_program();

// Adds the times to the rows of a ladder. Without that program, or without a GPU, it adds none.
void add_gpu_times(std::vector<measurement>& rows, const std::filesystem::path& program, const ladder& of,
                   const task& what);

} // namespace lab
