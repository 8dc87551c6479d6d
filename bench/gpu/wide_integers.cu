// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "folds.cuh"

void bench::measure_wide_integers(session& run)
{
    measure_sums<std::int32_t>(run, "i32");
    measure_sums<std::int64_t>(run, "i64");
}
