// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <map>
#include <utility>

#include "annotate.h"
#include "measure.h"

namespace lab {

namespace sim = upsweep::simulator;

namespace {

std::string elements_of(std::uint32_t left, std::uint32_t right, unsigned n)
{
    std::string row;
    for (unsigned i = 0; i < n; ++i)
        row += fmt::format(" {}", (left >> i & 1) ? 'a' : (right >> i & 1) ? 'b' : '.');
    return row;
}

} // namespace

std::string data_flow(const rung& which, const task& what)
{
    if (!which.trace)
        return {};
    combinations().clear();
    {
        sim::recording quiet;
        which.trace(what);
    }
    auto steps = std::exchange(combinations(), {});
    // An operand without elements is the identity, at the end of a tile: no data flows from it.
    std::erase_if(steps, [](const combination& c) { return c.left == 0 || c.right == 0; });
    std::string out = fmt::format("Data flow for {} elements: each row is one application, of a to b\n", what.n);
    std::uint64_t interval = ~0ull;
    unsigned step = 0;
    for (const auto& c : steps) {
        if (c.interval != interval) {
            interval = c.interval;
            out += fmt::format("  step {}\n", ++step);
        }
        out +=
            fmt::format("    block {:>2} thread {:>3} {}\n", c.block, c.thread, elements_of(c.left, c.right, what.n));
    }
    return out;
}

std::string explain(const rung& which, const settings& how, const std::filesystem::path& kernels)
{
    const measurement m = measure(which, how);
    std::map<std::string, std::map<int, sim::counters>> files;
    for (const auto& l : m.reports)
        for (const auto& line : l.lines)
            files[line.where.file][line.where.line] += line.counts;
    std::string out = fmt::format("{}  {}: {}\n{} elements, blocks of {} threads, {}\n\n", which.row, which.name,
                                  which.idea, how.what.n, how.what.block, how.geometry);
    for (const auto& [file, lines] : files)
        if (file.find("/lab/") != file.npos) {
            const auto name = std::filesystem::path(file).filename();
            const auto installed = kernels / name;
            out += name.string() + "\n" +
                   annotated(lines, std::filesystem::exists(installed) ? installed : std::filesystem::path(file)) +
                   "\n";
        }
    out += table_of({m}) + "\n" + findings_of({m});
    if (which.trace)
        out += data_flow(which, {16,
                                 which.row == "S1" || which.row == "R1" ? 16u
                                 : which.row[0] == 'S'                  ? (which.row == "S3" ? 16u : 8u)
                                                                        : 64u,
                                 1, how.what.input});
    return out;
}

} // namespace lab
