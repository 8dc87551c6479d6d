// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "folds.cuh"

void bench::measure_half_floats(session& run)
{
    measure_sums<up::f16>(run, "f16");
    measure_sums<up::bf16>(run, "bf16");
}
