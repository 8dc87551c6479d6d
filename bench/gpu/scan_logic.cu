// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Scans by the operators of truth and of bits, of one element type, which the build names: UPSWEEP_BENCH_ELEMENT.
#include "folds.cuh"

namespace bench {

template <class T>
void measure_scans_by_logic(session& run, const std::string& type)
{
    if (!run.wants_axis("operator"))
        return;
    const auto measure = [&](const std::string& name, auto op) {
        measure_scan<T>(run, type, a_scan(name, op, "", nullptr));
    };
    measure("logical_and", up::logical_and{});
    measure("logical_or", up::logical_or{});
    if constexpr (std::integral<T>) {
        measure("bit_and", up::bit_and{});
        measure("bit_or", up::bit_or{});
        measure("bit_xor", up::bit_xor{});
    }
}

template void measure_scans_by_logic<UPSWEEP_BENCH_ELEMENT>(session& run, const std::string& type);

} // namespace bench
