// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lab {

// kernel<<<grid, block, ...>>>(arguments) is nvcc's own syntax; everything else is C++. Returns the source with each launch
// rewritten where it stands, so that lines keep their numbers. Throws std::invalid_argument, which names the line, for a
// launch that does not end.
std::string rewrite_launches(const std::string& source);

} // namespace lab
