// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <upsweep/bins.hpp>
#include <upsweep/cpu/matrix_histogram.hpp>
#include <upsweep/error.hpp>
#include <upsweep/histogram.hpp>
#include <upsweep/histogram_checks.hpp>
#include <upsweep/matrix.hpp>
#include <upsweep/target.hpp>

namespace upsweep {

namespace detail {

template <class T, class Bins>
outside add_matrix_histogram(cpu target, const matrix<T>& in, const Bins& bins, std::span<std::uint64_t> counts)
{
    check_matrix("histogram", in);
    check_counters(bins, counts.size());
    return add_totals(target, counts.size(), counts, [&](std::span<std::uint64_t> totals) {
        with_slots<T>(bins, [&](const auto& slots) { cpu_engine::histogram_onto(target, in, slots, totals); });
    });
}

// Splits the slots of one histogram into its counters and what is beside them.
inline void take_slots(std::span<const std::uint64_t> totals, std::uint64_t* counts, outside& beside)
{
    const std::size_t bins = totals.size() - outside_slots;
    std::copy_n(totals.begin(), bins, counts);
    beside = {totals[bins], totals[bins + 1], totals[bins + 2]};
}

} // namespace detail

// The histogram of all elements of a matrix, a part of an image for one: as `histogram` of the elements row by row.
template <class T, class Bins>
outside histogram(cpu target, const matrix<T>& in, const Bins& bins, std::span<std::uint64_t> counts)
{
    std::vector<std::uint64_t> fresh(counts.size());
    const outside result = detail::add_matrix_histogram(target, in, bins, fresh);
    std::ranges::copy(fresh, counts.begin());
    return result;
}

// The same, added to what `counts` and `beside` hold.
template <class T, class Bins>
void histogram_accumulate(cpu target, const matrix<T>& in, const Bins& bins, std::span<std::uint64_t> counts,
                          outside& beside)
{
    detail::add(beside, detail::add_matrix_histogram(target, in, bins, counts));
}

// A histogram of each row: counts has the counters of the first row, of the second one, and so on; beside[row] counts the row's
// samples that are in no bin. Both are overwritten. One pass over the input, from millions of short rows to a few long ones.
template <class T, class Bins>
void histogram_rows(cpu target, const matrix<T>& in, const Bins& bins, std::span<std::uint64_t> counts,
                    std::span<outside> beside)
{
    detail::check_matrix("histogram_rows", in);
    detail::check_counters("histogram_rows", bins, in.rows, "rows", counts.size(), beside.size());
    const std::size_t each = detail::bin_count(bins);
    detail::with_slots<T>(bins, [&](const auto& slots) {
        cpu_engine::histogram_rows(target, in, slots, each + detail::outside_slots,
                                   [&](std::size_t row, std::span<const std::uint64_t> totals) {
                                       detail::take_slots(totals, counts.data() + row * each, beside[row]);
                                   });
    });
}

// A histogram of each channel of an image whose pixels are `channels` elements side by side: the matrix has as many columns as a
// row of pixels has elements. counts has the counters of the first channel, of the second one, and so on; beside[channel] counts
// its samples that are in no bin. Both are overwritten. One pass over the input.
template <class T, class Bins>
void histogram_channels(cpu target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                        std::span<std::uint64_t> counts, std::span<outside> beside)
{
    detail::check_channels(in, channels, bins, counts.size(), beside.size());
    const std::size_t bins_each = detail::bin_count(bins);
    const std::size_t each = bins_each + detail::outside_slots;
    std::vector<std::uint64_t> totals(channels * each);
    detail::with_slots<T>(bins, [&](const auto& slots) {
        cpu_engine::channel_histograms_onto(target, in, channels, slots, std::span(totals));
    });
    for (std::size_t c = 0; c < channels; ++c)
        detail::take_slots(std::span(totals).subspan(c * each, each), counts.data() + c * bins_each, beside[c]);
}

} // namespace upsweep

#ifdef __CUDACC__
#include <upsweep/gpu/histogram_channels.cuh>
#include <upsweep/gpu/histogram_rows.cuh>
#include <upsweep/gpu/matrix_histogram.cuh>
#endif
