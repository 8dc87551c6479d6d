// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <map>
#include <utility>

#include "measure.h"

namespace lab {

namespace sim = upsweep::simulator;

namespace {

std::string beside(const sim::counters& c)
{
    std::string text;
    auto add = [&](const char* format, auto... values) {
        text += fmt::format("{}{}", text.empty() ? "" : ", ", fmt::format(fmt::runtime(format), values...));
    };
    if (c.global_load_accesses)
        add("{} loads in {} transactions", c.global_load_accesses, c.load_transactions);
    if (c.global_store_accesses)
        add("{} stores in {} transactions", c.global_store_accesses, c.store_transactions);
    if (c.bulk_copies)
        add("{} bulk copies in {} transactions", c.bulk_copies, c.transactions());
    if (c.shared_load_accesses + c.shared_store_accesses)
        add("{} shared", c.shared_load_accesses + c.shared_store_accesses);
    if (c.bank_conflicts)
        add("{} conflicts (worst {}-way)", c.bank_conflicts, c.worst_bank);
    if (c.atomic_accesses)
        add("{} atomics, up to {} at one address", c.atomic_accesses, c.worst_address);
    if (c.barriers)
        add("{} barriers", c.barriers);
    if (c.warp_barriers)
        add("{} syncwarps", c.warp_barriers);
    if (c.exchanges)
        add("{} exchanges", c.exchanges);
    if (c.fences)
        add("{} fences", c.fences);
    if (c.active_lanes < c.possible_lanes)
        add("{:.0f} % idle",
            100.0 * static_cast<double>(c.possible_lanes - c.active_lanes) / static_cast<double>(c.possible_lanes));
    return text;
}

// The lines that ran and the whole functions around them. A function reaches from a blank line to a closing brace.
std::pair<int, int> whole_functions(const std::vector<std::string>& source, int first, int last)
{
    while (first > 1 && !source[static_cast<std::size_t>(first) - 2].empty())
        --first;
    while (last < static_cast<int>(source.size()) && source[static_cast<std::size_t>(last) - 1] != "}")
        ++last;
    return {first, last};
}

std::string elements_of(std::uint32_t left, std::uint32_t right, unsigned n)
{
    std::string row;
    for (unsigned i = 0; i < n; ++i)
        row += fmt::format(" {}", (left >> i & 1) ? 'a' : (right >> i & 1) ? 'b' : '.');
    return row;
}

} // namespace

std::string annotated(const std::vector<sim::launch_report>& reports, const std::string& file,
                      const std::filesystem::path& source_file)
{
    std::map<int, sim::counters> lines;
    for (const auto& l : reports)
        for (const auto& line : l.lines)
            if (line.where.file == file)
                lines[line.where.line] += line.counts;
    std::ifstream in(source_file);
    std::vector<std::string> source;
    for (std::string text; std::getline(in, text);)
        source.push_back(text);
    std::string out;
    int shown = 0;
    for (auto at = lines.begin(); at != lines.end(); ++at) {
        if (source.empty()) {
            out += fmt::format("{:>5}  {}\n", at->first, beside(at->second));
            continue;
        }
        auto [first, last] = whole_functions(source, at->first, at->first);
        first = std::max(first, shown + 1);
        if (first > last)
            continue;
        if (shown != 0 && first > shown + 1)
            out += "\n";
        for (int i = first; i <= last; ++i) {
            auto counted = lines.find(i);
            out += fmt::format("{:>5}  {:<90} {}\n", i, source[static_cast<std::size_t>(i) - 1],
                               counted == lines.end() ? std::string() : fmt::format("| {}", beside(counted->second)));
        }
        shown = last;
    }
    return out;
}

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
    std::map<std::string, int> files;
    for (const auto& l : m.reports)
        for (const auto& line : l.lines)
            ++files[line.where.file];
    std::string out = fmt::format("{}  {}: {}\n{} elements, blocks of {} threads, {}\n\n", which.row, which.name,
                                  which.idea, how.what.n, how.what.block, how.geometry);
    for (const auto& [file, count] : files)
        if (file.find("/lab/") != file.npos) {
            const auto name = std::filesystem::path(file).filename();
            const auto installed = kernels / name;
            out += name.string() + "\n" +
                   annotated(m.reports, file,
                             std::filesystem::exists(installed) ? installed : std::filesystem::path(file)) +
                   "\n";
        }
    out += table_of({m}) + "\n" + findings_of({m});
    if (which.trace)
        out += data_flow(which, {16, which.row == "S1" || which.row == "R1" ? 16u
                                     : which.row[0] == 'S'                  ? (which.row == "S3" ? 16u : 8u)
                                                                            : 64u});
    return out;
}

} // namespace lab
