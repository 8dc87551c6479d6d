// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Errors of the host thread, as the runtime keeps them, and whether a failed launch was ever looked at.
#pragma once

#include "upsweep/simulator/cuda/runtime_api.h"
#include "upsweep/simulator/report.h"

namespace upsweep::simulator {

cudaError_t failed(cudaError_t error); // remembers it as the last error
void entered_runtime();                // a call other than the queries of the last error
void add_host_finding(finding found);

} // namespace upsweep::simulator
