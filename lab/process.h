// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lab {

// A folder for temporary files, which is removed with its contents when the object ends.
class scratch_folder {
public:
    scratch_folder();
    ~scratch_folder();
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;
    std::filesystem::path path;
};

enum class output { shown, hidden };

// Runs a program and returns its exit status: 127 when it could not be started, and 128 plus the signal when one ended it.
int run_program(const std::vector<std::string>& words, output what = output::shown);

} // namespace lab
