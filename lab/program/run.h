// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "build.h"
#include "measure.h"
#include "report_file.h"

namespace lab::program {

struct request {
    sources what;
    std::vector<std::string> arguments;    // of the program
    settings how;                          // the machine and the schedules
    std::optional<double> seconds;         // after which the program is stopped and reported
    std::uint64_t blocks = 0;              // of each launch, as a sample; 0 for all
    std::vector<std::string> requirements; // such as conflicts=0
    std::optional<int> line;               // which to explain
    bool json = false;
};

// One run of a program, under one schedule.
struct outcome {
    int status = 0;                   // as a shell tells it: 128 and more for the signal that ended it
    std::optional<run_report> report; // nothing when it ended without
};

// A finding with the schedule under which it was seen first.
struct seen_finding {
    upsweep::simulator::finding found; // with the number of times in that run
    std::size_t run = 0;
    std::string schedule;
};

// Everything about a program, as it is printed.
struct program_report {
    built program;
    std::vector<outcome> runs;          // the first schedule comes first
    std::vector<seen_finding> findings; // of all runs, each once
    std::vector<std::string> unmet;     // requirements, with what there is instead
    std::vector<std::string> notes;
    int status = 0;
};

// Builds and runs a program under each schedule, prints the report, and returns the exit status: that of a signal or limit
// that ended the program, else 1 when there is a finding or an unmet requirement, else the program's own. Throws
// std::runtime_error when the program cannot be built, and std::invalid_argument for a requirement that is none.
int run(const request& what);

} // namespace lab::program
