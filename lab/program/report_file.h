// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What a program that runs on the simulator leaves behind when it ends, however it ends, and what the laboratory reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "upsweep/simulator/report.h"

namespace lab::program {

// The launches of one kernel.
struct kernel_report {
    std::string name;
    std::uint64_t launches = 0;
    upsweep::simulator::extent grid, block; // of the first launch
    std::size_t dynamic_shared = 0, static_shared = 0;
    std::uint64_t blocks_run = 0,
                  blocks_total = 0; // these differ where a sample of the blocks ran, or a launch was stopped
    std::uint64_t steps = 0, work = 0;
    double seconds = 0;
    upsweep::simulator::counters counts;
    std::vector<upsweep::simulator::line_report> lines;
};

struct run_report {
    std::string schedule;
    std::string machine;
    std::string ended; // how, where it was not by main or exit
    std::vector<kernel_report> kernels;
    std::vector<upsweep::simulator::finding> findings;
};

// Joins the launches of each kernel, in the order of their first launches.
std::vector<kernel_report> by_kernel(const std::vector<upsweep::simulator::launch_report>& launches);

nlohmann::json json_of(const upsweep::simulator::counters& counts);
nlohmann::json json_of(const upsweep::simulator::finding& found);
nlohmann::json json_of(const run_report& report);
run_report report_from(const nlohmann::json& json);

void write_report(const run_report& report, const std::filesystem::path& to);
std::optional<run_report> read_report(const std::filesystem::path& from); // nothing where there is none

// A counter by the name that it has in JSON, with what Nsight Compute calls it where it has such a counter.
struct counter {
    const char* name;
    std::uint64_t upsweep::simulator::counters::*member;
    const char* meaning;
    const char* nsight;
};
const std::vector<counter>& all_counters();

} // namespace lab::program
