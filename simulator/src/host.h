// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What the host shim keeps for each host thread.
#pragma once

#include <optional>

#include "sites.h"
#include "upsweep/simulator/simulator.h"

namespace upsweep::simulator {

recording* current_recording();
// A launch that could not run and whose error nobody has asked for yet.
std::optional<finding> unchecked_launch();
void forget_unchecked_launch();

} // namespace upsweep::simulator
