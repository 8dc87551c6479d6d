// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Measurements for machines. The library that knows JSON takes seconds to compile: json.cpp alone includes it.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "measure.h"

namespace lab {

nlohmann::json json_of(const measurement& m);
std::string json_text(const std::vector<measurement>& rows);

// Adds the time to the row that it belongs to; `line` is one that upsweep-lab-gpu writes.
void add_gpu_time(std::vector<measurement>& rows, const std::string& line);

} // namespace lab
