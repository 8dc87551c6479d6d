// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// This file is linked into a learner's program. It sets the machine and the schedule before main, and reports after it.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>

#include "json.h"
#include "measure.h"

namespace {

namespace sim = upsweep::simulator;

std::string setting(const char* name, const char* otherwise)
{
    const char* value = std::getenv(name);
    return value != nullptr ? value : otherwise;
}

class reporter {
public:
    reporter()
    {
        lab::settings how;
        how.geometry = setting("UPSWEEP_LAB_GEOMETRY", "sm_90");
        how.seed = std::stoull(setting("UPSWEEP_LAB_SEED", "0"));
        const auto number = std::stoul(setting("UPSWEEP_LAB_SCHEDULE", "0"));
        how.schedules = static_cast<unsigned>(number) + 1;
        sim::current_options().machine = sim::geometry::preset(how.geometry);
        sim::current_options().schedule = lab::schedules_of(how).at(number);
        quiet_ = number > 0;
    }

    ~reporter()
    {
        std::fflush(stdout);
        lab::rung program{"", "program", "", {}, {}, {}, {}};
        lab::measurement all;
        all.of = &program;
        all.findings = recorded_.findings();
        all.reports = recorded_.launches();
        for (const auto& l : all.reports)
            all.counts += l.total;
        if (setting("UPSWEEP_LAB_JSON", "0") == "1")
            fmt::print("{}\n", lab::json_text(all));
        else
            print(all);
        std::fflush(stdout);
        if (!all.findings.empty())
            _exit(1); // whatever main returned
    }

private:
    void print(const lab::measurement& all) const
    {
        if (!quiet_) {
            const auto source = setting("UPSWEEP_LAB_SOURCE", "");
            fmt::print("\n{}", lab::annotated(all.reports, source, source));
            std::set<std::string> kernels;
            for (const auto& l : all.reports)
                kernels.insert(l.kernel);
            fmt::print("\n{} launches of {} kernels on a simulated {}\n", all.reports.size(), kernels.size(),
                       sim::current_options().machine.name);
        }
        if (!all.findings.empty())
            fmt::print("under the schedule \"{}\":\n{}", sim::current_options().schedule.name(),
                       lab::findings_of({all}));
        else if (!quiet_)
            fmt::print("no findings\n");
    }

    sim::recording recorded_;
    bool quiet_ = false;
};

reporter at_exit;

} // namespace
