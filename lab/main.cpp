// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The laboratory as a program, which `upsweep lab` runs.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "command.h"

int main(int argc, char** argv)
{
    CLI::App app("Textbook kernels on a simulated GPU: run, count, check, explain", "upsweep lab");
    // What stands behind -- is for the learner's program, and not for CLI11.
    char** const dashes = std::find_if(argv, argv + argc, [](const char* a) { return std::strcmp(a, "--") == 0; });
    const std::vector<std::string> behind_dashes(std::min(dashes + 1, argv + argc), argv + argc);
    lab::add_commands(app, behind_dashes);
    try {
        app.parse(static_cast<int>(dashes - argv), argv);
        return 0;
    } catch (const CLI::RuntimeError& error) {
        return error.get_exit_code(); // a finding, which has been reported
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0)
            return app.exit(error); // --help
        fmt::print(stderr, "upsweep: {}; see upsweep lab --help\n", error.what());
        return 2;
    }
}
