// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "show.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "annotate.h"

namespace lab::program {

namespace {

namespace sim = upsweep::simulator;

using lines_of_files = std::map<std::string, std::map<int, sim::counters>>;

// Some compilers name files relative to the folder in which they ran, which is that of this process.
std::string whole_name(const std::string& file) { return std::filesystem::absolute(file).lexically_normal().string(); }

lines_of_files lines_by_file(const run_report& report)
{
    lines_of_files out;
    for (const kernel_report& k : report.kernels)
        for (const sim::line_report& line : k.lines)
            if (!line.where.file.empty())
                out[whole_name(line.where.file)][line.where.line] += line.counts;
    return out;
}

std::string triple(const sim::extent& e)
{
    if (e.y == 1 && e.z == 1)
        return std::to_string(e.x);
    return e.z == 1 ? fmt::format("{}x{}", e.x, e.y) : fmt::format("{}x{}x{}", e.x, e.y, e.z);
}

// Sectors of 32 bytes for each request of a warp, and in parentheses the fewest for the bytes that it asks for.
std::string sectors(std::uint64_t transactions, std::uint64_t bytes, std::uint64_t requests)
{
    if (requests == 0)
        return "-";
    const auto each = [&](double of) { return of / static_cast<double>(requests); };
    return fmt::format("{:.1f} ({:.1f})", each(static_cast<double>(transactions)),
                       std::max(1.0, each(static_cast<double>(bytes) / 32)));
}

double percent_idle(const sim::counters& c)
{
    return c.possible_lanes == 0
               ? 0
               : 100 * (1 - static_cast<double>(c.active_lanes) / static_cast<double>(c.possible_lanes));
}

std::string table_of(const std::vector<kernel_report>& kernels)
{
    std::size_t width = 6;
    for (const kernel_report& k : kernels)
        width = std::max(width, k.name.size());
    std::string out =
        fmt::format("{:<{}} {:>8} {:>11} {:>9} {:>10} {:>10} {:>13} {:>13} {:>5} {:>9} {:>6} {:>8} {:>8} {:>8}\n",
                    "kernel", width, "launches", "grid", "block", "loads", "stores", "sect/load", "sect/store", "eff%",
                    "conflicts", "idle%", "barriers", "g.atomic", "s.atomic");
    for (const kernel_report& k : kernels) {
        const sim::counters& c = k.counts;
        out += fmt::format(
            "{:<{}} {:>8} {:>11} {:>9} {:>10} {:>10} {:>13} {:>13} {:>5.0f} {:>9} {:>6.1f} {:>8} {:>8} {:>8}\n", k.name,
            width, k.launches, triple(k.grid), triple(k.block), c.global_load_accesses, c.global_store_accesses,
            sectors(c.load_transactions, c.load_bytes, c.global_loads),
            sectors(c.store_transactions, c.store_bytes, c.global_stores), 100 * c.efficiency(), c.bank_conflicts,
            percent_idle(c), c.barriers, c.global_atomic_accesses, c.shared_atomic_accesses);
    }
    return out +
           "sect/load: sectors of 32 bytes for each request of a warp, and the fewest possible; Nsight Compute calls "
           "it\n"
           "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio. conflicts:\n"
           "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum. `explain FILE --line N` has all counters of a line.\n";
}

bool has_report(const program_report& about) { return !about.runs.empty() && about.runs[0].report.has_value(); }

std::string count_of_findings(const program_report& about)
{
    const auto benign = std::count_if(about.findings.begin(), about.findings.end(),
                                      [](const seen_finding& f) { return f.found.benign; });
    const auto others = static_cast<std::ptrdiff_t>(about.findings.size()) - benign;
    std::string out = others == 0 ? "no findings" : fmt::format("{} finding{}", others, others == 1 ? "" : "s");
    if (benign != 0)
        out += fmt::format(", and {} that {} benign: the same value is written each time", benign,
                           benign == 1 ? "is" : "are");
    return out;
}

std::string findings_and_notes(const program_report& about)
{
    std::string out;
    for (const seen_finding& f : about.findings) {
        if (f.run != 0)
            out += "under the schedule \"" + f.schedule + "\": ";
        out += f.found.text() + "\n";
    }
    for (const std::string& unmet : about.unmet)
        out += unmet + "\n";
    for (const std::string& note : about.notes)
        out += "note: " + note + "\n";
    // Of a program that ended without a report, nothing is known.
    return about.findings.empty() && !has_report(about) ? out : out + count_of_findings(about) + "\n";
}

bool is_own(const program_report& about, const std::string& file)
{
    return std::any_of(about.program.own_files.begin(), about.program.own_files.end(),
                       [&](const auto& own) { return whole_name(own.string()) == file; });
}

} // namespace

std::string as_text(const program_report& about)
{
    std::string out = "\n";
    if (has_report(about)) {
        const run_report& first = *about.runs[0].report;
        for (const auto& [file, lines] : lines_by_file(first))
            if (is_own(about, file))
                out += file + "\n" + annotated(lines, file) + "\n";
        if (!first.kernels.empty())
            out += table_of(first.kernels);
        std::uint64_t launches = 0;
        for (const kernel_report& k : first.kernels)
            launches += k.launches;
        const auto count = [](std::uint64_t n, const char* what) {
            return fmt::format("{} {}{}", n, what, n == 1 ? "" : what[0] == 'l' ? "es" : "s");
        };
        out += fmt::format("\n{} of {} on a simulated {}{}\n", count(launches, "launch"),
                           count(first.kernels.size(), "kernel"), first.machine,
                           about.runs.size() > 1 ? fmt::format(", under {} schedules", about.runs.size()) : "");
    }
    return out + findings_and_notes(about);
}

std::string as_json(const program_report& about)
{
    using nlohmann::json;
    json runs = json::array(), findings = json::array();
    for (const outcome& o : about.runs)
        runs.push_back({{"schedule", o.report ? json(o.report->schedule) : json()},
                        {"status", o.status},
                        {"ended", o.report ? json(o.report->ended) : json()}});
    for (const seen_finding& f : about.findings) {
        json one = json_of(f.found);
        one["schedule"] = f.schedule;
        findings.push_back(std::move(one));
    }
    json out{{"status", about.status}, {"runs", runs},         {"findings", findings},
             {"unmet", about.unmet},   {"notes", about.notes}, {"kernels", json::array()}};
    if (has_report(about)) {
        const json first = json_of(*about.runs[0].report);
        out["kernels"] = first.at("kernels");
        out["machine"] = first.at("machine");
    }
    return out.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string line_as_text(const program_report& about, int line)
{
    if (!has_report(about))
        return findings_and_notes(about);
    std::string out;
    std::set<int> counted;
    for (const auto& [file, lines] : lines_by_file(*about.runs[0].report)) {
        if (!is_own(about, file))
            continue;
        for (const auto& [number, counts] : lines)
            counted.insert(number);
        const auto found = lines.find(line);
        if (found == lines.end())
            continue;
        const sim::counters& c = found->second;
        out += "\n" + file + "\n" + annotated({*found}, file) + "\n";
        for (const counter& one : all_counters())
            if (c.*one.member != 0)
                out += fmt::format("{:>14} {:<26} {}{}\n", c.*one.member, one.name, one.meaning,
                                   *one.nsight == '\0' ? "" : fmt::format(" ({})", one.nsight));
        if (c.global_loads != 0)
            out += fmt::format("{:>14} {:<26} sectors for each request that loads, and the fewest possible\n",
                               sectors(c.load_transactions, c.load_bytes, c.global_loads), "sectors_per_load");
        if (c.global_stores != 0)
            out += fmt::format("{:>14} {:<26} sectors for each request that stores, and the fewest possible\n",
                               sectors(c.store_transactions, c.store_bytes, c.global_stores), "sectors_per_store");
        out += fmt::format("{:>14.1f} {:<26} per cent of the bytes moved that were asked for\n", 100 * c.efficiency(),
                           "efficiency");
        out += fmt::format("{:>14.1f} {:<26} per cent of the lanes that took no part\n", percent_idle(c), "idle");
    }
    if (out.empty()) {
        std::string known;
        for (const int number : counted)
            known += (known.empty() ? "" : ", ") + std::to_string(number);
        out = fmt::format("nothing was counted at line {}; the lines with accesses, barriers or intrinsics are {}\n",
                          line, known);
    }
    std::string here;
    for (const seen_finding& f : about.findings)
        if (std::any_of(f.found.parties.begin(), f.found.parties.end(),
                        [&](const sim::party& p) { return p.where.line == line; }))
            here += f.found.text() + "\n";
    return out + (here.empty() ? "" : "\n" + here) + "\n" + count_of_findings(about) + "\n";
}

} // namespace lab::program
