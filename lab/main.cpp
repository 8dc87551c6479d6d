// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The laboratory as a program, which `upsweep lab` runs.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <cstdio>

#include "command.h"

int main(int argc, char** argv)
{
    CLI::App app("Textbook kernels on a simulated GPU: run, count, check, explain", "upsweep lab");
    lab::add_commands(app);
    try {
        app.parse(argc, argv);
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
