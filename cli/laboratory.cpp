// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "laboratory.hpp"

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <unistd.h>
#include <upsweep/files.hpp>

namespace upsweep::cli {

void add_laboratory(command_line& line)
{
    line.add_subcommand("lab", "Textbook kernels on a simulated GPU: run, count, check, explain");
}

bool is_for_laboratory(int argc, char** argv) { return argc > 1 && std::string_view(argv[1]) == "lab"; }

void become_laboratory(char** argv)
{
    std::error_code unknown;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path() / "upsweep-lab";
    ::execv(program.c_str(), argv + 1); // its name for itself is the word `lab`
    throw files::system_failure(program.string(),
                                "build the laboratory with ./dev build, or install it: it cannot be run", errno);
}

} // namespace upsweep::cli
