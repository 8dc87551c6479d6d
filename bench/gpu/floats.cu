// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "folds.cuh"

void bench::measure_floats(session& run)
{
    measure_sums<float>(run, "f32");
    measure_sums<double>(run, "f64");
}
