// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "even_histograms.cuh"

void bench::measure_histograms_of_integers(session& run)
{
    measure_even_histogram<std::uint8_t>(run, "u8");
    measure_even_histogram<std::int32_t>(run, "i32");
}
