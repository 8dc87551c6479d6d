// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The laboratory alone, for builds without the command.
#include <CLI/CLI.hpp>

#include "command.h"

int main(int argc, char** argv)
{
    CLI::App app("The Upsweep laboratory");
    lab::add_command(app);
    app.require_subcommand(1);
    CLI11_PARSE(app, argc, argv);
    return 0;
}
