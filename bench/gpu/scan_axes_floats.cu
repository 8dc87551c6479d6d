// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "scan_axes.cuh"

namespace bench {

void measure_scan_axes_of_floats(session& run)
{
    measure_scan_axes<float>(run, "f32");
    measure_scan_axes<double>(run, "f64");
}

} // namespace bench
