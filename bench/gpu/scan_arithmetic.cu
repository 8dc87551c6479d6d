// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Sums, products and extrema as scans, of one element type, which the build names: UPSWEEP_BENCH_ELEMENT.
#include "folds.cuh"

namespace bench {

template <class T>
void measure_scans_by_arithmetic(session& run, const std::string& type)
{
    if (!run.wants_axis("operator"))
        return;
    const auto measure = [&](const std::string& name, auto op) {
        measure_scan<T>(run, type, a_scan(name, op, "", nullptr));
    };
    measure("sum", up::plus{});
    measure("product", up::multiplies{});
    measure("minimum", up::minimum{});
    measure("maximum", up::maximum{});
}

template void measure_scans_by_arithmetic<UPSWEEP_BENCH_ELEMENT>(session& run, const std::string& type);

} // namespace bench
