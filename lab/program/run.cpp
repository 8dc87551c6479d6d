// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "run.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include "process.h"
#include "requirement.h"
#include "show.h"

namespace lab::program {

namespace {

namespace sim = upsweep::simulator;
using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Waits for a program, hands on the request to end, and stops it at the limit. A program that does not end soon after it was
// asked to is ended without a report.
int wait_patiently(pid_t program, std::optional<double> seconds)
{
    constexpr auto until_killed = 5s;
    const auto began = clock::now();
    std::optional<clock::time_point> deadline;
    bool limit_is_over = false;
    auto pause = 1ms;
    for (;;) {
        const int asked = patience_with_signals::asked();
        int status = 0;
        const pid_t ended = waitpid(program, &status, WNOHANG);
        if (ended == program)
            return status_of_shell(status);
        if (ended < 0 && errno != EINTR)
            return 127;
        const auto now = clock::now();
        limit_is_over = limit_is_over || (seconds && now - began >= std::chrono::duration<double>(*seconds));
        if (!deadline && (asked != 0 || limit_is_over)) {
            kill(program, asked != 0 ? asked : SIGUSR1);
            deadline = now + until_killed;
        }
        if (deadline && now >= *deadline)
            kill(program, SIGKILL);
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, 16ms);
    }
}

outcome run_once(const request& what, const std::filesystem::path& program, const std::filesystem::path& scratch,
                 const sim::schedule& schedule, bool is_first)
{
    const auto report = scratch / "report.json";
    std::filesystem::remove(report);
    setenv("UPSWEEP_LAB_GEOMETRY", what.how.geometry.c_str(), 1);
    setenv("UPSWEEP_LAB_SCHEDULE_KIND", std::to_string(static_cast<int>(schedule.kind)).c_str(), 1);
    setenv("UPSWEEP_LAB_SCHEDULE_SEED", std::to_string(schedule.seed).c_str(), 1);
    setenv("UPSWEEP_LAB_BLOCKS", std::to_string(what.blocks).c_str(), 1);
    setenv("UPSWEEP_LAB_REPORT", report.c_str(), 1);
    setenv("UPSWEEP_LAB_PROGRESS", is_first ? "1" : "0", 1);
    std::vector<std::string> command{program.string()};
    command.insert(command.end(), what.arguments.begin(), what.arguments.end());
    redirections where;
    if (!is_first)
        where = hidden; // what the program prints is the same each time
    else if (what.json)
        where.output_to_error = true;
    outcome out;
    out.status = wait_patiently(start_program(command, where), what.seconds);
    out.report = read_report(report);
    if (!out.report)
        return out;
    const auto forget = [&](sim::finding_kind kind) {
        std::erase_if(out.report->findings, [kind](const sim::finding& f) { return f.kind == kind; });
    };
    if (out.status != 0) // a program that gives up leaves its memory to the system
        forget(sim::finding_kind::leak);
    if (what.blocks != 0) // the blocks that were left out would have written it
        forget(sim::finding_kind::uninitialised_read);
    return out;
}

// Findings of one cause: the same remedy for the same lines. A variable that two threads update at one line is read after a
// write, written after a read and written after a write, and one atomic mends all of it.
std::string cause_of(const sim::finding& f)
{
    std::set<std::string> places;
    for (const sim::party& p : f.parties)
        places.insert(fmt::format("{}:{}", p.where.file, p.where.line));
    return fmt::format("{}|{}|{}|{}|{}", name_of(f.kind), f.kernel, f.remedy, f.parties.empty() ? f.message : "",
                       fmt::join(places, "|"));
}

void add_hazard(sim::finding& to, const std::string& hazard)
{
    if (!hazard.empty() && to.hazard.find(hazard) == to.hazard.npos)
        to.hazard += (to.hazard.empty() ? "" : ", ") + hazard;
}

void gather_findings(program_report& into)
{
    std::map<std::string, std::size_t> known;
    for (std::size_t run = 0; run < into.runs.size(); ++run) {
        if (!into.runs[run].report)
            continue;
        for (const sim::finding& f : into.runs[run].report->findings) {
            const auto [at, is_new] = known.try_emplace(cause_of(f), into.findings.size());
            if (is_new) {
                into.findings.push_back({f, run, into.runs[run].report->schedule});
                continue;
            }
            seen_finding& first = into.findings[at->second];
            first.found.benign = first.found.benign && f.benign;
            add_hazard(first.found, f.hazard);
            if (first.run == run)
                first.found.count += f.count;
        }
    }
}

std::string how_it_ended(int status)
{
    switch (status) {
    case 127: return "it could not be started";
    case 128 + SIGKILL: return "it did not end when it was asked to, and was killed";
    case 128 + SIGSEGV: return "a segmentation fault";
    case 128 + SIGABRT: return "abort";
    default: return status > 128 ? "signal " + std::to_string(status - 128) : "exit status " + std::to_string(status);
    }
}

void take_notes(program_report& about, const request& what)
{
    if (about.program.takes_times)
        about.notes.emplace_back("the times that the program takes are those of the simulator, not those of a GPU");
    for (std::size_t i = 0; i < about.runs.size(); ++i) {
        const outcome& o = about.runs[i];
        const std::string when =
            i == 0 || !o.report ? std::string() : " under the schedule \"" + o.report->schedule + "\"";
        if (!o.report)
            about.notes.push_back("the program ended without a report: " + how_it_ended(o.status));
        else if (!o.report->ended.empty())
            about.notes.push_back("the program was ended" + when + " by " + o.report->ended +
                                  "; this is what there was until then");
        else if (o.status != about.runs[0].status)
            about.notes.push_back(
                fmt::format("the program returns {}{}, and {} under the first", o.status, when, about.runs[0].status));
        if (o.report)
            for (const kernel_report& k : o.report->kernels)
                if (i == 0 && what.blocks != 0 && k.blocks_run < k.blocks_total)
                    about.notes.push_back(
                        fmt::format("{} of the {} blocks of {} ran, as a sample: results are not complete",
                                    k.blocks_run, k.blocks_total, k.name));
    }
}

int status_of(const program_report& about)
{
    for (const outcome& o : about.runs)
        if (o.status >= 124 && (!o.report || !o.report->ended.empty()))
            return o.status;
    for (const seen_finding& f : about.findings)
        if (!f.found.benign)
            return 1;
    if (!about.unmet.empty())
        return 1;
    for (const outcome& o : about.runs)
        if (o.status != 0)
            return o.status;
    return 0;
}

} // namespace

int run(const request& what)
{
    std::vector<requirement> requirements;
    for (const std::string& text : what.requirements)
        requirements.emplace_back(text);

    program_report about;
    {
        const patience_with_signals until_the_end;
        const scratch_folder scratch;
        const auto program = scratch.path / "program";
        const auto stop_if_asked = [] {
            if (patience_with_signals::asked() != 0)
                throw std::runtime_error("stopped before the program ran");
        };
        try {
            about.program = build(what.what, scratch.path, program);
        } catch (const std::exception&) {
            stop_if_asked(); // the compiler was interrupted, too
            throw;
        }
        stop_if_asked();
        for (const sim::schedule& schedule : schedules_of(what.how)) {
            about.runs.push_back(run_once(what, program, scratch.path, schedule, about.runs.empty()));
            if (patience_with_signals::asked() != 0 || !about.runs.back().report)
                break;
        }
    }
    gather_findings(about);
    take_notes(about, what);
    if (about.runs[0].report)
        for (const requirement& r : requirements)
            for (std::string& unmet : r.unmet_by(about.runs[0].report->kernels))
                about.unmet.push_back(std::move(unmet));
    about.status = status_of(about);
    const std::string text = what.json ? as_json(about) : what.line ? line_as_text(about, *what.line) : as_text(about);
    fmt::print("{}", text);
    std::fflush(stdout);
    return about.status;
}

} // namespace lab::program
