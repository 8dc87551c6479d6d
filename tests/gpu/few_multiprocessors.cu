// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The GPU that is simulated has few multiprocessors: they are enough for blocks to wait for one another.
#include <gtest/gtest.h>

#include "upsweep/simulator/simulator.h"

namespace {

class few_multiprocessors : public ::testing::Environment {
    void SetUp() override { upsweep::simulator::current_options().machine.sms = 3; }
};
const auto* const environment = ::testing::AddGlobalTestEnvironment(new few_multiprocessors);

} // namespace
