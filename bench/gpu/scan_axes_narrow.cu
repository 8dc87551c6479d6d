// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "scan_axes.cuh"

namespace bench {

void measure_scan_axes_of_narrow(session& run)
{
    measure_scan_axes<std::int8_t>(run, "i8");
    measure_scan_axes<std::int16_t>(run, "i16");
}

} // namespace bench
