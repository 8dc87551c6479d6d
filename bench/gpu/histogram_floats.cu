// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "even_histograms.cuh"

void bench::measure_histograms_of_floats(session& run)
{
    measure_even_histogram<float>(run, "f32");
    measure_even_histogram<double>(run, "f64");
}
