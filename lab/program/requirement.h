// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "report_file.h"

namespace lab::program {

// What a teacher asks of each kernel, or of the kernels of one name: "conflicts=0", "transpose:sectors_per_load<=4".
class requirement {
public:
    explicit requirement(const std::string& text); // throws std::invalid_argument, which lists the names
    // What each kernel has instead, one line a kernel that does not meet it; also when there is no such kernel.
    std::vector<std::string> unmet_by(const std::vector<kernel_report>& kernels) const;

private:
    std::string text_, kernel_, name_, comparison_;
    double limit_ = 0;
};

} // namespace lab::program
