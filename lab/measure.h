// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Runs the rungs of a ladder in the simulator and keeps what was counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ladder.h"
#include "upsweep/simulator/simulator.h"

namespace lab {

struct settings {
    task what;
    std::string geometry = "sm_90";
    std::uint64_t seed = 0;
    unsigned schedules = 1; // in order first, then reversed, round robin, and as many random ones as are left
};

// The time on a GPU; 0 milliseconds where the kernel was not timed.
struct gpu_time {
    unsigned n;
    double ms, gbps, share_of_roof;
    bool right;
};

struct measurement {
    const rung* of = nullptr;
    bool right = true; // under every schedule
    std::string error; // of a launch that the machine refused
    unsigned wrong_schedules = 0;
    unsigned blocks = 0; // of the first launch
    unsigned launches = 0;
    std::uint64_t steps = 0, work = 0;
    upsweep::simulator::counters counts;
    std::vector<upsweep::simulator::launch_report> reports; // of the first schedule
    std::vector<upsweep::simulator::finding> findings;      // of all schedules, each once
    std::optional<gpu_time> gpu;
    bool as_expected() const; // a right kernel without findings, or an exhibit with its fault found
};

measurement measure(const rung& which, const settings& how);
std::vector<upsweep::simulator::schedule> schedules_of(const settings& how);

std::string table_of(const std::vector<measurement>& rows);
std::string findings_of(const std::vector<measurement>& rows);

// S8: which scan wins where, from counted work and steps, by Brent's theorem (1974): work / processors + steps.
std::string brent_table(const ladder& scans);

// The source of a kernel with the counters beside each line, and then its data flow. The source lies in the folder `kernels`, or
// else where it was compiled.
std::string explain(const rung& which, const settings& how, const std::filesystem::path& kernels);
std::string data_flow(const rung& which, const task& what);

} // namespace lab
