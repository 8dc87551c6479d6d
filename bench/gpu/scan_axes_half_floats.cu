// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "scan_axes.cuh"

namespace bench {

void measure_scan_axes_of_half_floats(session& run)
{
    measure_scan_axes<up::f16>(run, "f16");
    measure_scan_axes<up::bf16>(run, "bf16");
}

} // namespace bench
