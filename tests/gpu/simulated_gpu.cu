// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The GPU that is simulated. Tests whose results are right fail, too, where the simulator finds a race, or a read of memory that was never written or lies
// outside of an array.
#include <optional>

#include <gtest/gtest.h>

#include "schedules.hpp"
#include "upsweep/simulator/simulator.h"

namespace {

namespace simulator = upsweep::simulator;

// Few multiprocessors are enough for blocks to wait for one another.
class few_multiprocessors : public ::testing::Environment {
    void SetUp() override { simulator::current_options().machine.sms = 3; }
};
const auto* const environment = ::testing::AddGlobalTestEnvironment(new few_multiprocessors);

// Every test fails in which the simulator finds something, but for what a test records by itself.
class findings_are_failures : public ::testing::EmptyTestEventListener {
    void OnTestStart(const ::testing::TestInfo&) override
    {
        recorded_.emplace();
        recorded_->share_with_new_threads();
    }
    void OnTestEnd(const ::testing::TestInfo&) override
    {
        upsweep::test::expect_nothing_found(*recorded_);
        recorded_.reset();
    }

    std::optional<simulator::recording> recorded_;
};
const bool is_listening = [] {
    ::testing::UnitTest::GetInstance()->listeners().Append(new findings_are_failures);
    return true;
}();

} // namespace
