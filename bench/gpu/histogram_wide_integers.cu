// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "even_histograms.cuh"

void bench::measure_histograms_of_wide_integers(session& run)
{
    measure_even_histogram<std::int64_t>(run, "i64");
    measure_integer_histogram<std::int32_t>(run, "i32");
}
