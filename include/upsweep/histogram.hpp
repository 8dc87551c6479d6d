// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <upsweep/bins.hpp>
#include <upsweep/cpu/histogram.hpp>
#include <upsweep/error.hpp>
#include <upsweep/range.hpp>
#include <upsweep/target.hpp>

namespace upsweep {

namespace detail {

// Calls count(), which needs `tables` of so many 64-bit counters, and one of 32-bit counters for each thread.
template <class Count>
void with_counters(cpu target, std::string_view call, std::size_t tables, std::size_t slots, Count count)
{
    try {
        count();
    } catch (const std::bad_alloc&) {
        const std::size_t bytes =
            tables * slots * sizeof(std::uint64_t) +
            cpu_engine::private_table::bytes_for(slots) * static_cast<std::size_t>(cpu_engine::thread_count(target));
        throw error(error_kind::out_of_memory, call, "no memory for " + std::to_string(bytes) + " bytes of counters",
                    "ask for fewer bins or fewer threads");
    }
}

// Overwrites the counters, one a bin, with what count_onto(totals) counts, or adds it. Returns the samples beside them.
template <class CountOnto>
outside put_totals(cpu target, std::string_view call, std::span<std::uint64_t> counts, bool accumulates,
                   CountOnto count_onto)
{
    const std::size_t bins = counts.size();
    std::vector<std::uint64_t> totals;
    with_counters(target, call, 1, bins + out_of_range_bins, [&] {
        totals.resize(bins + out_of_range_bins);
        count_onto(std::span(totals));
    });
    for (std::size_t k = 0; k < bins; ++k)
        counts[k] = (accumulates ? counts[k] : 0) + totals[k];
    return outside{totals[bins], totals[bins + 1], totals[bins + 2]};
}

template <class R, class Bins>
outside put_histogram(cpu target, R&& in, const Bins& bins, std::span<std::uint64_t> counts, bool accumulates)
{
    using sample = std::ranges::range_value_t<R>;
    check_counters(bins, counts.size());
    return put_totals(target, "histogram", counts, accumulates, [&](std::span<std::uint64_t> totals) {
        with_bin_finder<sample>(bins, [&](const auto& slots) {
            cpu_engine::histogram_onto(target, first_of(in), size_of(in), slots, totals);
        });
    });
}

inline void add(outside& out_of_range, const outside& more)
{
    out_of_range.below += more.below;
    out_of_range.above += more.above;
    out_of_range.nan += more.nan;
}

} // namespace detail

// Counts the samples of `in` in bins: even_bins, edges, integer_bins or bins_by. counts has one element a bin and is
// overwritten; samples outside every bin, and NaN, are counted apart and returned. Counts are 64-bit and do not wrap.
// One pass over the input, which is not copied. Temporary memory: a 64-bit counter a bin, and for each thread a 32-bit
// one (four of them up to 16,384 bins, eight up to 1024); errors, after which nothing is written: no bins, or counts of
// another number (invalid_argument), and out_of_memory.
template <input_range R, class Bins>
outside histogram(cpu target, R&& in, const Bins& bins, std::span<std::uint64_t> counts)
{
    return detail::put_histogram(target, in, bins, counts, false);
}

// The same, added to what `counts` and `beside` hold: for samples that come in pieces.
template <input_range R, class Bins>
void histogram_accumulate(cpu target, R&& in, const Bins& bins, std::span<std::uint64_t> counts, outside& out_of_range)
{
    detail::add(out_of_range, detail::put_histogram(target, in, bins, counts, true));
}

} // namespace upsweep

#ifdef __CUDACC__
#include <upsweep/gpu/histogram/histogram.cuh>
#endif
