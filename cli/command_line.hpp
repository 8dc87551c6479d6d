// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

// Declared here, since CLI11 takes seconds to compile and command_line.cpp alone includes it.
namespace CLI { // NOLINT(readability-identifier-naming): CLI11 is called so
class App;
class Option;
} // namespace CLI

namespace upsweep::cli {

// What a command takes, and how --help shows it: the part of CLI11 that the subcommands use.
class option {
public:
    explicit option(CLI::Option* of) : of_(of) {}

    option& group(const std::string& name);     // the heading under which --help shows the option
    option& type_name(const std::string& name); // what --help shows in the place of its value
    option& required();
    option& excludes(const option& other);
    option& needs(const option& other);

private:
    CLI::Option* of_;
};

class subcommand {
public:
    explicit subcommand(CLI::App* of) : of_(of) {}

    option add_option(const std::string& names, std::string& value, const std::string& help);
    option add_option(const std::string& names, std::vector<std::string>& values, const std::string& help);
    option add_flag(const std::string& names, bool& value, const std::string& help);
    void footer(const std::string& text);
    void callback(const std::function<void()>& run);

private:
    CLI::App* of_;
};

class command_line {
public:
    command_line();
    ~command_line();
    command_line(const command_line&) = delete;
    command_line& operator=(const command_line&) = delete;

    subcommand add_subcommand(const std::string& name, const std::string& help);

    // Runs the subcommand that the arguments name and returns the exit status. Throws usage_error where they are wrong.
    int run(int argc, char** argv);

private:
    std::unique_ptr<CLI::App> app_;
};

} // namespace upsweep::cli
