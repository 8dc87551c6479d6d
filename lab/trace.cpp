// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// This file is compiled without instrumentation, because it runs inside kernels and is no part of them.
#include "launch.cuh"

namespace lab {

void join::note(elements a, elements b)
{
    namespace device = upsweep::simulator::device;
    if (!device::inside_kernel())
        return;
    combinations().push_back({device::barrier_interval(), blockIdx.x, threadIdx.x, a.set, b.set});
}

} // namespace lab
