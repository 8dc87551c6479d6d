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

template <class R, class Bins>
outside add_histogram(cpu target, R&& in, const Bins& bins, std::span<std::uint64_t> counts)
{
    using sample = std::ranges::range_value_t<R>;
    check_counters(bins, counts.size());
    const std::size_t size = bin_count(bins) + outside_slots;
    std::vector<std::uint64_t> totals;
    try {
        totals.resize(size);
        with_slots<sample>(bins, [&](const auto& slots) {
            cpu_engine::histogram_onto(target, first_of(in), size_of(in), slots, totals);
        });
    } catch (const std::bad_alloc&) {
        const std::size_t bytes =
            size * sizeof(std::uint64_t) +
            cpu_engine::private_table::bytes_for(size) * static_cast<std::size_t>(cpu_engine::thread_count(target));
        throw error(error_kind::out_of_memory, "histogram",
                    "no memory for " + std::to_string(bytes) + " bytes of counters",
                    "ask for fewer bins or fewer threads");
    }
    for (std::size_t k = 0; k < counts.size(); ++k)
        counts[k] += totals[k];
    return outside{totals[size - 3], totals[size - 2], totals[size - 1]};
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
    const outside more = detail::add_histogram(target, in, bins, counts);
    beside.below += more.below;
    beside.above += more.above;
    beside.nan += more.nan;
}

} // namespace upsweep

#ifdef __CUDACC__
#include <upsweep/gpu/histogram.cuh>
#endif
