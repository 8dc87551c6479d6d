// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lab {

// A folder for temporary files; it goes with its contents.
class scratch_folder {
public:
    scratch_folder();
    ~scratch_folder();
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;
    std::filesystem::path path;
};

enum class output { shown, hidden };

// Its exit status; 127 when it could not be started, 128 and the signal when one ended it.
int run_program(const std::vector<std::string>& words, output what = output::shown);

} // namespace lab
