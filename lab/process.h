// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

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

// Where a program writes: to the files that are named, and else where this program does.
struct redirections {
    std::filesystem::path output = {}, error = {};
    bool output_to_error = false;
};
inline const redirections hidden{"/dev/null", "/dev/null"};

// While it lives, Ctrl-C and its kind do not end this process at once: what runs for it ends first, and temporary files are
// removed.
class patience_with_signals {
public:
    patience_with_signals();
    ~patience_with_signals();
    patience_with_signals(const patience_with_signals&) = delete;
    patience_with_signals& operator=(const patience_with_signals&) = delete;

    static int asked(); // the signal by which somebody has asked this process to end, or 0
};

// The bytes of a file. Throws std::runtime_error when it cannot be read.
std::string contents_of(const std::filesystem::path& file);

// Starts a program, and does not wait for it. Throws std::runtime_error when there is no process to be had.
pid_t start_program(const std::vector<std::string>& words, const redirections& where = {});

// What waitpid tells of a program that has ended, as a shell says it: its exit status, or 128 plus the signal that ended it.
int status_of_shell(int waited);

// Runs a program and what it starts to the end, or until somebody asks this process to end. Returns its status as a shell says
// it: 127 when it could not be run.
int run_program(const std::vector<std::string>& words, const redirections& where = {});

} // namespace lab
