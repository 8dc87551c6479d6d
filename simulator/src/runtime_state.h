// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The errors that the runtime keeps for a thread of the host, and whether the program has asked for those of its launches.
#pragma once

#include "upsweep/simulator/cuda/runtime_api.h"
#include "upsweep/simulator/report.h"

namespace upsweep::simulator {

cudaError_t failed(cudaError_t error); // keeps it as the last error, and returns it
void entered_runtime(); // every call of the runtime begins with it, except those that ask for the last error
void add_host_finding(finding found);

} // namespace upsweep::simulator
