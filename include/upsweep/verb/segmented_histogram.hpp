// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <upsweep/bins.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/outside.hpp>
#include <upsweep/range.hpp>
#include <upsweep/verb/histogram.hpp>
#include <upsweep/verb/matrix_histogram.hpp>
#include <upsweep/verb/segmented.hpp>

// A histogram of each segment of an array, for every target. engine<Target, verb::histogram_segments> has
//
//     static void count(const Target&, In first, std::size_t count, std::span<const Offset> offsets, const Bins&,
//                       std::span<Counter> counts, std::span<outside> out_of_range);
//
// which overwrites the counters. The bins and the numbers of all have been checked.
namespace upsweep {

// A histogram of each segment of an array: segment k has the elements from offsets[k] to before offsets[k + 1], as for
// segmented_reduce, and its counters are the k-th of `counts`, one for each bin; out_of_range[k] counts its samples that
// are in no bin. Both are overwritten. Counters are std::uint64_t, or std::uint32_t on a GPU, which are filled modulo
// 2^32.
//
//     const std::vector<std::int64_t> offsets{0, 3, 3, 7};
//     up::segmented_histogram(cpu, values, offsets, up::even_bins{0, 1, 4}, counts /* 3 x 4 */, out_of_range /* 3 */);
//
// One pass over the elements, the offsets and the counters; the time depends on the numbers of these, and not on how
// long each segment is. Temporary memory on a CPU: a table of counters for each thread. Offsets that descend or lead
// beyond the array are not noticed: see up::check_offsets. On a GPU the memory is such that it reaches, and the call does
// not wait. Errors, with nothing written: bins that histogram refuses, other numbers of counters or places than there
// are bins and segments (invalid_argument).
template <target Target, input_range In, segment_offsets Offsets, class Bins, class Counts = std::span<std::uint64_t>>
void segmented_histogram(const Target& target, In&& in, Offsets&& offsets, const Bins& bins, Counts&& counts,
                         std::span<outside> out_of_range)
{
    constexpr std::string_view call = "segmented_histogram";
    const auto all = detail::offsets_of_segments(call, offsets);
    const auto counters = detail::counters_of<Counts>(counts);
    detail::check_counters(call, bins, all.size() - 1, "segments", counters.size(), out_of_range.size());
    if (all.size() > 1)
        detail::engine<Target, detail::verb::histogram_segments>::count(
            target, detail::first_of(in), detail::size_of(in), all, bins, counters, out_of_range);
}

} // namespace upsweep
