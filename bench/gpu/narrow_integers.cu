// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "folds.cuh"

void bench::measure_narrow_integers(session& run)
{
    measure_sums<std::int8_t>(run, "i8");
    measure_sums<std::int16_t>(run, "i16");
}
