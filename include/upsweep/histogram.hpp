// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <upsweep/bins.hpp>
#include <upsweep/cpu/histogram.hpp>
#include <upsweep/error.hpp>
#include <upsweep/range.hpp>
#include <upsweep/target.hpp>

namespace upsweep {

namespace detail {

// Adds to the counters, of which there are `bins`, what count_onto(totals) counts, and returns the samples beside them.
template <class CountOnto>
outside add_totals(cpu target, std::size_t bins, std::span<std::uint64_t> counts, CountOnto count_onto)
{
    const std::size_t size = bins + outside_slots;
    std::vector<std::uint64_t> totals;
    try {
        totals.resize(size);
        count_onto(std::span(totals));
    } catch (const std::bad_alloc&) {
        const std::size_t bytes =
            size * sizeof(std::uint64_t) +
            cpu_engine::private_table::bytes_for(size) * static_cast<std::size_t>(cpu_engine::thread_count(target));
        throw error(error_kind::out_of_memory, "histogram",
                    "no memory for " + std::to_string(bytes) + " bytes of counters",
                    "ask for fewer bins or fewer threads");
    }
    for (std::size_t k = 0; k < bins; ++k)
        counts[k] += totals[k];
    return outside{totals[bins], totals[bins + 1], totals[bins + 2]};
}

template <class R, class Bins>
outside add_histogram(cpu target, R&& in, const Bins& bins, std::span<std::uint64_t> counts)
{
    using sample = std::ranges::range_value_t<R>;
    check_counters(bins, counts.size());
    return add_totals(target, counts.size(), counts, [&](std::span<std::uint64_t> totals) {
        with_slots<sample>(bins, [&](const auto& slots) {
            cpu_engine::histogram_onto(target, first_of(in), size_of(in), slots, totals);
        });
    });
}

inline void add(outside& beside, const outside& more)
{
    beside.below += more.below;
    beside.above += more.above;
    beside.nan += more.nan;
}

} // namespace detail

// Counts the samples of `in` in bins: even_bins, edges, integer_bins or bins_by. counts has one element a bin and is
// overwritten; samples outside every bin, and NaN, are counted apart and returned. Counts are 64-bit and do not wrap.
// One pass over the input, which is not copied; memory: one table of 32-bit counters a thread.
template <input_range R, class Bins>
outside histogram(cpu target, R&& in, const Bins& bins, std::span<std::uint64_t> counts)
{
    std::vector<std::uint64_t> fresh(counts.size());
    const outside result = detail::add_histogram(target, in, bins, fresh);
    std::ranges::copy(fresh, counts.begin());
    return result;
}

// The same, added to what `counts` and `beside` hold: for samples that come in pieces.
template <input_range R, class Bins>
void histogram_accumulate(cpu target, R&& in, const Bins& bins, std::span<std::uint64_t> counts, outside& beside)
{
    detail::add(beside, detail::add_histogram(target, in, bins, counts));
}

} // namespace upsweep

#ifdef __CUDACC__
#include <upsweep/gpu/histogram.cuh>
#endif
