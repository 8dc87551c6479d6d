// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What the CUDA runtime of the simulator keeps for each thread of the host.
#pragma once

#include <optional>

#include "sites.h"
#include "upsweep/simulator/simulator.h"

namespace upsweep::simulator {

recording* current_recording();
// A launch that could not run, if nobody has asked for its error yet.
std::optional<finding> unchecked_launch();
void forget_unchecked_launch();

} // namespace upsweep::simulator
