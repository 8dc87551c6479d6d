// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "folder.h"
#include "gpu_times.h"
#include "json.h"
#include "measure.h"
#include "program/run.h"

namespace lab {

namespace {

struct choices {
    settings how;
    bool json = false;
    std::string what;
    std::string input;                      // of a ladder
    std::vector<std::string> more;          // further sources of a program, and then its arguments
    std::vector<std::string> behind_dashes; // what follows --, which are arguments, too
    program::request program;
    double seconds = 0;
    int line = 0;
};

bool is_source(const std::string& name)
{
    static constexpr std::array<std::string_view, 6> kinds{".cu", ".cpp", ".cc", ".cxx", ".c++", ".C"};
    const std::string kind = std::filesystem::path(name).extension().string();
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

void run_file(const choices& c)
{
    program::request request = c.program;
    request.what.files.emplace_back(c.what);
    auto next = c.more.begin();
    for (; next != c.more.end() && is_source(*next) && std::filesystem::exists(*next); ++next)
        request.what.files.emplace_back(*next);
    request.arguments.assign(next, c.more.end());
    request.arguments.insert(request.arguments.end(), c.behind_dashes.begin(), c.behind_dashes.end());
    request.what.geometry = c.how.geometry;
    request.how = c.how;
    request.json = c.json;
    if (c.seconds > 0)
        request.seconds = c.seconds;
    if (c.line > 0)
        request.line = c.line;
    int status = 0;
    try {
        status = program::run(request);
    } catch (const std::invalid_argument& problem) {
        throw CLI::ValidationError("--require", problem.what());
    } catch (const std::exception& problem) {
        fmt::print(stderr, "upsweep lab: {}\n", problem.what());
        status = 1;
    }
    if (status != 0)
        throw CLI::RuntimeError(status);
}

const ladder* find_ladder(const std::string& name)
{
    for (const auto& l : ladders())
        if (l.name == name)
            return &l;
    return nullptr;
}

std::string names_of_ladders()
{
    std::string names;
    for (const auto& l : ladders())
        names += (names.empty() ? "" : ", ") + l.name;
    return names;
}

// The settings for one of the ladders, which says what inputs there are.
settings settings_for(const ladder& chosen, const choices& c)
{
    settings how = c.how;
    try {
        if (!c.input.empty())
            how.what.input = chosen.input_named(c.input);
    } catch (const std::invalid_argument& problem) {
        throw CLI::ValidationError("--input", problem.what());
    }
    return how;
}

void list()
{
    for (const auto& l : ladders()) {
        fmt::print("{}: {}\n", l.name, l.title);
        for (const auto& i : l.inputs)
            fmt::print("  --input {:<28} {}\n", i.name, i.idea);
        for (const auto& r : l.rungs)
            fmt::print("  {:<4} {:<31} {}\n", r.row, r.name, r.idea);
    }
}

void run(const choices& c)
{
    if (is_source(c.what) || std::filesystem::is_regular_file(c.what))
        return run_file(c);
    const ladder* chosen = find_ladder(c.what);
    if (chosen == nullptr)
        throw CLI::ValidationError("LADDER", "there is no file and no ladder '" + c.what + "'; the ladders are " +
                                                 names_of_ladders());
    const settings how = settings_for(*chosen, c);
    std::vector<measurement> rows;
    for (const auto& r : chosen->rungs)
        rows.push_back(measure(r, how));
    add_gpu_times(rows, gpu_program(), *chosen, how.what);
    const bool good = std::all_of(rows.begin(), rows.end(), [](const auto& m) { return m.as_expected(); });
    if (c.json) {
        fmt::print("{}\n", json_text(rows));
    } else {
        fmt::print("{}: {} elements{}, blocks of {} threads, {}, {} schedule(s)\n\n{}\n{}", chosen->title, how.what.n,
                   chosen->inputs.empty() ? "" : " (" + chosen->inputs[how.what.input].name + ")", how.what.block,
                   how.geometry, how.schedules, table_of(rows), findings_of(rows));
        if (chosen->name == "scan")
            fmt::print("{}", brent_table(*chosen));
    }
    const bool found = std::any_of(rows.begin(), rows.end(), [](const auto& m) { return !m.findings.empty(); });
    if (!good || found)
        throw CLI::RuntimeError(1);
}

void explain_one(const choices& c)
{
    if (is_source(c.what) || std::filesystem::is_regular_file(c.what))
        return run_file(c);
    for (const auto& l : ladders())
        for (const auto& r : l.rungs)
            if (r.name == c.what || r.row == c.what) {
                fmt::print("{}", explain(r, settings_for(l, c), folder() / "kernels"));
                return;
            }
    throw CLI::ValidationError("KERNEL", "there is no kernel '" + c.what + "'; `upsweep lab list` names them");
}

void add_settings(CLI::App& to, choices& c)
{
    to.add_option("--size", c.how.what.n, "elements")->check(CLI::Range(2u, 1u << 26))->capture_default_str();
    to.add_option("--block", c.how.what.block, "threads in a block: a power of two, at least 64")
        ->check(CLI::IsMember({64u, 128u, 256u, 512u, 1024u}))
        ->capture_default_str();
    to.add_option("--input", c.input, "of a ladder that has several, as `list` shows them; its first one if not given");
    to.add_option("--geometry", c.how.geometry, "the machine that is played")
        ->check(CLI::IsMember(upsweep::simulator::geometry::presets()))
        ->capture_default_str();
    to.add_option("--seed", c.how.seed, "of the random schedules; 0 begins in order")->capture_default_str();
    to.add_option("--schedules", c.how.schedules, "in how many orders to run")
        ->check(CLI::Range(1u, 100000u))
        ->capture_default_str();
}

// What only a program of the user's own has.
void add_program_settings(CLI::App& to, choices& c)
{
    to.add_option("-I", c.program.what.include_folders, "a folder with headers of the program")
        ->allow_extra_args(false);
    to.add_option("-D", c.program.what.definitions, "a macro, as NAME or NAME=VALUE")->allow_extra_args(false);
    to.add_option("--time", c.seconds, "seconds after which a program is stopped and reported")
        ->check(CLI::PositiveNumber);
    to.add_option("--blocks", c.program.blocks, "run only so many blocks of each launch, as a sample")
        ->check(CLI::PositiveNumber);
}

} // namespace

void add_commands(CLI::App& app, const std::vector<std::string>& behind_dashes)
{
    app.require_subcommand(1);
    app.add_subcommand("list", "The ladders and their kernels")->callback(list);

    auto c = std::make_shared<choices>();
    c->behind_dashes = behind_dashes;
    auto* runner = app.add_subcommand("run", "Run a ladder, or a CUDA program, and report");
    runner->add_option("LADDER|FILE.cu", c->what, names_of_ladders() + ", or a CUDA source file")->required();
    runner->add_option(
        "arguments", c->more,
        "further source files (.cu, .cpp), and the arguments of the program, behind -- if they begin with -");
    add_settings(*runner, *c);
    add_program_settings(*runner, *c);
    runner
        ->add_option(
            "--require", c->program.requirements,
            "what each kernel must keep to, as in conflicts=0 or transpose:sectors_per_load<=4; else the status is 1")
        ->allow_extra_args(false);
    runner->add_flag("--json", c->json, "for machines; a program's own output goes to standard error");
    runner->callback([c] { run(*c); });

    auto* explainer = app.add_subcommand("explain", "A kernel's source with its counters, and its data flow");
    explainer
        ->add_option("KERNEL|FILE.cu", c->what, "a kernel's name or row, as `list` shows it, or a CUDA source file")
        ->required();
    explainer->add_option("arguments", c->more, "further source files, and the arguments of the program");
    add_settings(*explainer, *c);
    add_program_settings(*explainer, *c);
    explainer->add_option("--line", c->line, "of the source file: all that was counted there")
        ->check(CLI::PositiveNumber);
    explainer->callback([c] { explain_one(*c); });
}

} // namespace lab
