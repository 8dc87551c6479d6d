// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <cerrno>
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <upsweep/files.hpp>
#include <upsweep/runtime.h>

#include "failure.hpp"

namespace upsweep::cli {

namespace {

std::string name_of_subcommand(const CLI::App& app)
{
    const auto chosen = app.get_subcommands();
    return chosen.empty() ? "upsweep" : "upsweep " + chosen.front()->get_name();
}

// An empty value is what a shell makes of a variable that is not set, and means nothing anywhere.
std::string refuse_empty(const std::string& value) { return value.empty() ? "the value is empty; give one" : ""; }

// What begins like an option and is none, wherever it stands. CLI11 would rather tell what is missing than what it did
// not understand.
void refuse_unknown_option(const CLI::App& app)
{
    for (const CLI::App* const chosen : app.get_subcommands())
        for (const std::string& word : chosen->remaining())
            if (word.size() > 1 && word.front() == '-')
                throw usage_error(
                    fmt::format("{0} is no option of {1}; see {1} --help", word, name_of_subcommand(app)));
}

} // namespace

option& option::group(const std::string& name)
{
    of_->group(name);
    return *this;
}

option& option::type_name(const std::string& name)
{
    of_->type_name(name);
    return *this;
}

option& option::required()
{
    of_->required();
    return *this;
}

option& option::excludes(const option& other)
{
    of_->excludes(other.of_);
    return *this;
}

option& option::needs(const option& other)
{
    of_->needs(other.of_);
    return *this;
}

option subcommand::add_option(const std::string& names, std::string& value, const std::string& help)
{
    return option(of_->add_option(names, value, help)->check(refuse_empty));
}

option subcommand::add_option(const std::string& names, std::vector<std::string>& values, const std::string& help)
{
    return option(of_->add_option(names, values, help)->check(refuse_empty));
}

option subcommand::add_flag(const std::string& names, bool& value, const std::string& help)
{
    return option(of_->add_flag(names, value, help));
}

void subcommand::footer(const std::string& text) { of_->footer(text); }

void subcommand::callback(const std::function<void()>& run) { of_->callback(run); }

command_line::command_line()
    : app_(std::make_unique<CLI::App>(
          "Reduce, scan and histogram of files and pipes, at the speed of memory, with the same bits everywhere.",
          "upsweep"))
{
    app_->set_version_flag("--version", std::string("upsweep ") + upsweep_version());
    app_->require_subcommand(1);
    app_->get_formatter()->column_width(26);
    app_->footer("FILE is .npy, raw elements (--dtype), text, CSV (--column), or - for standard input.\n"
                 "Exit status: 0, 1 if the data or the machine failed, 2 if the command line is wrong.\n"
                 "'upsweep COMMAND --help' has examples; the manual is upsweep(1).");
}

command_line::~command_line() = default;

subcommand command_line::add_subcommand(const std::string& name, const std::string& help)
{
    return subcommand(app_->add_subcommand(name, help));
}

int command_line::run(int argc, char** argv)
{
    try {
        app_->parse(argc, argv);
        return 0;
    } catch (const CLI::RuntimeError& error) {
        return error.get_exit_code(); // the laboratory found something, and has said what
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) { // --help or --version
            const int status = app_->exit(error);
            if (!std::cout.flush())
                throw files::system_failure("standard output", "cannot be written", errno);
            return status;
        }
        if (app_->get_subcommands().empty() && !app_->remaining().empty())
            throw usage_error(app_->remaining().front() + " is no command; see upsweep --help");
        refuse_unknown_option(*app_);
        throw usage_error(fmt::format("{}; see {} --help", error.what(), name_of_subcommand(*app_)));
    }
}

} // namespace upsweep::cli
