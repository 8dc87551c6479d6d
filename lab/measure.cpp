// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "measure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace lab {

namespace sim = upsweep::simulator;

std::vector<combination>& combinations()
{
    static thread_local std::vector<combination> seen;
    return seen;
}

std::vector<sim::schedule> schedules_of(const settings& how)
{
    using order = sim::schedule::order;
    std::vector<sim::schedule> all{{order::in_order, 0, 0}, {order::reversed, 0, 0}, {order::round_robin, 0, 0}};
    if (how.seed != 0)
        all[0] = sim::schedule::random(how.seed);
    all.resize(std::min<std::size_t>(all.size(), how.schedules));
    for (unsigned i = 3; i < how.schedules; ++i)
        all.push_back(i % 4 == 3 ? sim::schedule::lanes_apart(how.seed + i) : sim::schedule::random(how.seed + i));
    return all;
}

bool measurement::as_expected() const
{
    if (of->fault.empty())
        return right && findings.empty() && error.empty() && (!gpu || gpu->right);
    return std::any_of(findings.begin(), findings.end(), [&](const auto& f) { return name_of(f.kind) == of->fault; });
}

measurement measure(const rung& which, const settings& how)
{
    measurement out;
    out.of = &which;
    std::set<std::string> known;
    bool first = true;
    for (const auto& schedule : schedules_of(how)) {
        sim::options opts;
        opts.machine = sim::geometry::preset(how.geometry);
        opts.schedule = schedule;
        sim::with_options with(opts);
        sim::recording recorded;
        try {
            if (!which.run(how.what))
                ++out.wrong_schedules;
        } catch (const std::exception& problem) {
            out.error = problem.what();
            out.right = false;
        }
        for (auto& f : recorded.findings()) {
            std::string place = name_of(f.kind);
            for (const auto& p : f.parties)
                place += fmt::format("|{}:{}", p.where.file, p.where.line);
            if (known.insert(place).second)
                out.findings.push_back(f);
        }
        if (!first)
            continue;
        first = false;
        out.reports = recorded.launches();
        out.launches = static_cast<unsigned>(out.reports.size());
        for (const auto& l : out.reports) {
            if (out.blocks == 0)
                out.blocks = static_cast<unsigned>(l.grid.count());
            out.steps += l.steps;
            out.work += l.work;
            out.counts += l.total;
        }
    }
    out.right = out.right && out.wrong_schedules == 0;
    return out;
}

namespace {

std::string short_number(double v)
{
    if (v < 100000)
        return fmt::format("{:.0f}", v);
    return v < 1e8 ? fmt::format("{:.0f}k", v / 1e3) : fmt::format("{:.0f}M", v / 1e6);
}

std::string beside(const std::optional<gpu_time>& gpu)
{
    if (!gpu)
        return fmt::format("{:>8} {:>6}  ", "-", "-");
    if (!gpu->right)
        return fmt::format("{:>8} {:>6}  ", "wrong", "-");
    return fmt::format("{:>8.4f} {:>6.1f}  ", gpu->ms, 100 * gpu->share_of_roof);
}

double idle_percent(const sim::counters& c)
{
    return c.possible_lanes == 0
               ? 0
               : 100.0 * static_cast<double>(c.possible_lanes - c.active_lanes) / static_cast<double>(c.possible_lanes);
}

} // namespace

std::string table_of(const std::vector<measurement>& rows)
{
    const bool timed = std::any_of(rows.begin(), rows.end(), [](const auto& m) { return m.gpu.has_value(); });
    std::string out =
        fmt::format("{:<4} {:<31} {:<6} {:>7} {:>8} {:>8} {:>8} {:>8} {:>5} {:>9} {:>6} {:>8} {:>8} {:>8}  {}{}\n",
                    "row", "kernel", "answer", "steps", "work", "loads", "stores", "trans", "eff%", "conflicts",
                    "idle%", "barriers", "g.atomic", "s.atomic", timed ? "  GPU ms  roof%  " : "", "findings");
    for (const auto& m : rows) {
        const auto& c = m.counts;
        std::string found;
        for (const auto& f : m.findings)
            found += (found.empty() ? "" : ", ") + std::string(name_of(f.kind));
        out += fmt::format(
            "{:<4} {:<31} {:<6} {:>7} {:>8} {:>8} {:>8} {:>8} {:>5.0f} {:>9} {:>6.1f} {:>8} {:>8} {:>8}  {}{}\n",
            m.of->row, m.of->name,
            !m.error.empty() ? "error"
            : m.right        ? "right"
                             : "wrong",
            m.steps == 0 ? "-" : short_number(double(m.steps)), m.work == 0 ? "-" : short_number(double(m.work)),
            short_number(double(c.global_load_accesses)), short_number(double(c.global_store_accesses)),
            short_number(double(c.transactions())), 100 * c.efficiency(), short_number(double(c.bank_conflicts)),
            idle_percent(c), short_number(double(c.barriers)), short_number(double(c.global_atomic_accesses)),
            short_number(double(c.shared_atomic_accesses)), timed ? beside(m.gpu) : "",
            m.error.empty() ? (found.empty() ? "none" : found) : m.error);
    }
    return out;
}

std::string findings_of(const std::vector<measurement>& rows)
{
    std::string out;
    for (const auto& m : rows)
        for (const auto& f : m.findings)
            out += f.text() + "\n";
    return out;
}

std::string brent_table(const ladder& scans)
{
    struct place {
        const char* name;
        double n, processors;
    };
    constexpr place places[] = {{"512 elements, 512 processors", 512, 512},
                                {"2^20 elements, 512 processors", 1048576, 512},
                                {"2^17 elements, 1 processor", 131072, 1}};
    std::string out = "S8: work / processors + steps (Brent), from the counted costs\n";
    for (const auto& p : places) {
        const rung* best = nullptr;
        double least = INFINITY;
        std::string line = fmt::format("  {:<30}", p.name);
        for (const auto& r : scans.rungs) {
            if (!r.expected.work)
                continue;
            const double time = r.expected.work(p.n) / p.processors + r.expected.steps(p.n);
            line += fmt::format("  {} {}", r.name, short_number(time));
            if (time < least)
                least = time, best = &r;
        }
        out += line + "  -> " + best->name + "\n";
    }
    return out;
}

} // namespace lab
