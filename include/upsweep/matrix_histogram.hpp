// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ranges>
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

// Splits the slots of one histogram into its counters and what is beside them, and adds them there or overwrites.
inline void take_slots(std::span<const std::uint64_t> totals, std::uint64_t* counts, outside& beside, bool accumulates)
{
    const std::size_t bins = totals.size() - outside_slots;
    if (!accumulates) {
        std::fill_n(counts, bins, 0);
        beside = {};
    }
    std::transform(totals.begin(), totals.begin() + static_cast<std::ptrdiff_t>(bins), counts, counts, std::plus());
    add(beside, {totals[bins], totals[bins + 1], totals[bins + 2]});
}

template <class T, class Bins>
void histogram_rows_on_cpu(cpu target, const matrix<T>& in, const Bins& bins, std::span<std::uint64_t> counts,
                           std::span<outside> beside, bool accumulates)
{
    check_matrix("histogram_rows", in);
    check_counters("histogram_rows", bins, in.rows, "rows", counts.size(), beside.size());
    const std::size_t each = bin_count(bins);
    with_slots<T>(bins, [&](const auto& slots) {
        cpu_engine::histogram_rows(target, in, slots, each + outside_slots,
                                   [&](std::size_t row, std::span<const std::uint64_t> totals) {
                                       take_slots(totals, counts.data() + row * each, beside[row], accumulates);
                                   });
    });
}

template <class T, class Bins>
void histogram_channels_on_cpu(cpu target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                               std::span<std::uint64_t> counts, std::span<outside> beside, bool accumulates)
{
    check_channels(in, channels, bins, counts.size(), beside.size());
    std::vector<std::uint64_t> totals(counts.size() + channels * outside_slots);
    std::vector<std::size_t> sizes(channels); // of the slots of each
    if constexpr (std::ranges::range<Bins>) {
        std::vector<cpu_engine::channel_slots<T>> slots_of;
        slot first = 0;
        for (const auto& each : bins) {
            with_slots<T>(each, [&](auto slots) {
                slots_of.push_back(
                    {[slots](const T* elements, slot* block) { cpu_engine::slots_of_block<T>(elements, slots, block); },
                     first});
            });
            sizes[slots_of.size() - 1] = bin_count(each) + outside_slots;
            first += static_cast<slot>(bin_count(each) + outside_slots);
        }
        cpu_engine::channel_histograms_onto(target, in, std::span<const cpu_engine::channel_slots<T>>(slots_of),
                                            std::span(totals));
    } else {
        std::ranges::fill(sizes, bin_count(bins) + outside_slots);
        with_slots<T>(bins, [&](const auto& slots) {
            cpu_engine::channel_histograms_onto(target, in, channels, slots, std::span(totals));
        });
    }
    std::span<const std::uint64_t> rest = totals;
    std::uint64_t* to = counts.data();
    for (std::size_t c = 0; c < channels; ++c) {
        take_slots(rest.first(sizes[c]), to, beside[c], accumulates);
        to += sizes[c] - outside_slots;
        rest = rest.subspan(sizes[c]);
    }
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
    detail::histogram_rows_on_cpu(target, in, bins, counts, beside, false);
}

// The same, added to what `counts` and `beside` hold.
template <class T, class Bins>
void histogram_rows_accumulate(cpu target, const matrix<T>& in, const Bins& bins, std::span<std::uint64_t> counts,
                               std::span<outside> beside)
{
    detail::histogram_rows_on_cpu(target, in, bins, counts, beside, true);
}

// A histogram of each channel of an image whose pixels are `channels` elements side by side: the matrix has as many columns as a
// row of pixels has elements. counts has the counters of the first channel, of the second one, and so on; beside[channel] counts
// its samples that are in no bin. Both are overwritten. One pass over the input. `bins` are those of all channels, or a range, such
// as std::array{up::even_bins{0, 1, 100}, up::even_bins{-1, 1, 50}}, that has those of each, of one kind.
template <class T, class Bins>
void histogram_channels(cpu target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                        std::span<std::uint64_t> counts, std::span<outside> beside)
{
    detail::histogram_channels_on_cpu(target, in, channels, bins, counts, beside, false);
}

// The same, added to what `counts` and `beside` hold.
template <class T, class Bins>
void histogram_channels_accumulate(cpu target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                                   std::span<std::uint64_t> counts, std::span<outside> beside)
{
    detail::histogram_channels_on_cpu(target, in, channels, bins, counts, beside, true);
}

} // namespace upsweep

#ifdef __CUDACC__
#include <upsweep/gpu/histogram_channels.cuh>
#include <upsweep/gpu/histogram_rows.cuh>
#include <upsweep/gpu/matrix_histogram.cuh>
#endif
