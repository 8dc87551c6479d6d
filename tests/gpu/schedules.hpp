// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../samples.hpp"
#include "upsweep/simulator/simulator.h"

// Schedules of the simulator, under which kernels must be right and without a finding, and what they cost.
namespace upsweep::test {

inline std::vector<simulator::schedule> schedules(unsigned count)
{
    std::vector<simulator::schedule> all{{simulator::schedule::order::in_order, 0, 0},
                                         {simulator::schedule::order::reversed, 0, 0},
                                         {simulator::schedule::order::round_robin, 0, 0}};
    for (unsigned i = 0; i < count; ++i)
        all.push_back(i % 4 == 3 ? simulator::schedule::lanes_apart(seed() + i)
                                 : simulator::schedule::random(seed() + i));
    return all;
}

// One block after the other comes last, and first.
inline std::vector<simulator::schedule> unfair_schedules(unsigned blocks)
{
    std::vector<simulator::schedule> all;
    for (unsigned block = 0; block < blocks; ++block) {
        all.push_back(simulator::schedule::stall(block));
        all.push_back(simulator::schedule::starve_others(block));
    }
    return all;
}

// Fails for what the simulator has found, but for memory that the library keeps for later calls.
inline void expect_nothing_found(const simulator::recording& recorded)
{
    for (const simulator::finding& found : recorded.findings())
        if (found.kind != simulator::finding_kind::leak)
            ADD_FAILURE() << found.text();
}

// Runs f() under each schedule and reports what the simulator finds.
template <class F>
void under_schedules(const std::vector<simulator::schedule>& schedules, F f)
{
    for (const simulator::schedule& schedule : schedules) {
        SCOPED_TRACE(schedule.name() + ", seed " + std::to_string(schedule.seed));
        simulator::options options = simulator::current_options();
        options.schedule = schedule;
        const simulator::with_options with(options);
        const simulator::recording recorded;
        f();
        for (const auto& finding : recorded.findings())
            ADD_FAILURE() << finding.text();
        if (::testing::Test::HasFailure())
            return;
    }
}

// Of the largest launch of f().
template <class F>
unsigned blocks_of(F f)
{
    const simulator::recording recorded;
    f();
    unsigned blocks = 0;
    for (const auto& launch : recorded.launches())
        blocks = std::max(blocks, launch.grid.x);
    return blocks;
}

template <class F>
simulator::counters counted(F f)
{
    const simulator::recording recorded;
    f();
    for (const auto& finding : recorded.findings())
        ADD_FAILURE() << finding.text();
    return recorded.launches().back().total;
}

} // namespace upsweep::test
