// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "scan_axes.cuh"

namespace bench {

void measure_scan_axes_of_integers(session& run)
{
    measure_scan_axes<std::int32_t>(run, "i32");
    measure_scan_axes<std::int64_t>(run, "i64");
}

} // namespace bench
