// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <upsweep/runtime.h>

#include "command.hpp"
#include "failure.hpp"
#include "report.hpp"
#include "signals.hpp"
#ifdef UPSWEEP_HAS_LAB
#include <command.h>
#endif

namespace {

constexpr int data_failed = 1;
constexpr int usage_failed = 2;

// Errors are one line, whatever a library's message or a file's name may hold.
int complain(int status, std::string message)
{
    for (char& c : message)
        if (c == '\n' || c == '\r')
            c = ' ';
    std::fputs(("upsweep: " + message + "\n").c_str(), stderr);
    return status;
}

std::string name_of_subcommand(const CLI::App& app)
{
    const auto chosen = app.get_subcommands();
    return chosen.empty() ? "upsweep" : "upsweep " + chosen.front()->get_name();
}

} // namespace

int main(int argc, char** argv)
{
    namespace cli = upsweep::cli;
    cli::install_signal_handlers();

    CLI::App app(
        "Reduce, scan and histogram of files and pipes, at the speed of memory, with the same bits everywhere.",
        "upsweep");
    app.set_version_flag("--version", std::string("upsweep ") + upsweep_version());
    app.require_subcommand(1);
    app.get_formatter()->column_width(26);
    app.footer("FILE is .npy, raw elements (--dtype), text, CSV (--column), or - for standard input.\n"
               "Exit status: 0, 1 if the data or the machine failed, 2 if the command line is wrong.\n"
               "'upsweep COMMAND --help' has examples; the manual is upsweep(1).");
    cli::add_reduce(app);
    cli::add_scan(app);
    cli::add_histogram(app);
    cli::add_info(app);
#ifdef UPSWEEP_HAS_LAB
    lab::add_command(app);
#endif

    try {
        app.parse(argc, argv);
        return 0;
    } catch (const CLI::RuntimeError& error) {
        return error.get_exit_code(); // the laboratory found something, and has said what
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() != 0 && app.get_subcommands().empty() && !app.remaining().empty())
            return complain(usage_failed, app.remaining().front() + " is no command; see upsweep --help");
        if (error.get_exit_code() != 0)
            return complain(usage_failed, fmt::format("{}; see {} --help", error.what(), name_of_subcommand(app)));
        return app.exit(error); // --help or --version
    } catch (const cli::usage_error& error) {
        return complain(usage_failed, error.what());
    } catch (const std::bad_alloc&) {
        return complain(data_failed, "out of memory; free some, or ask for fewer bins");
    } catch (const std::exception& error) {
        return complain(data_failed, error.what());
    }
}
