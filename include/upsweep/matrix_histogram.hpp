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
outside put_matrix_histogram(cpu target, const matrix<T>& in, const Bins& bins, std::span<std::uint64_t> counts,
                             bool accumulates)
{
    check_matrix("histogram", in);
    check_counters(bins, counts.size());
    return put_totals(target, "histogram", counts, accumulates, [&](std::span<std::uint64_t> totals) {
        with_bin_finder<T>(bins, [&](const auto& slots) { cpu_engine::histogram_onto(target, in, slots, totals); });
    });
}

// Splits the bins of one histogram into its counters and what is beside them, and adds them there or overwrites.
inline void take_counters(std::span<const std::uint64_t> totals, std::uint64_t* counts, outside& out_of_range,
                          bool accumulates)
{
    const std::size_t bins = totals.size() - out_of_range_bins;
    if (!accumulates) {
        std::fill_n(counts, bins, 0);
        out_of_range = {};
    }
    std::transform(totals.begin(), totals.begin() + static_cast<std::ptrdiff_t>(bins), counts, counts, std::plus());
    add(out_of_range, {totals[bins], totals[bins + 1], totals[bins + 2]});
}

template <class T, class Bins>
void histogram_rows_on_cpu(cpu target, const matrix<T>& in, const Bins& bins, std::span<std::uint64_t> counts,
                           std::span<outside> out_of_range, bool accumulates)
{
    check_matrix("histogram_rows", in);
    check_counters("histogram_rows", bins, in.rows, "rows", counts.size(), out_of_range.size());
    const std::size_t each = bin_count(bins);
    const auto take = [&](std::size_t row, std::span<const std::uint64_t> totals) {
        take_counters(totals, counts.data() + row * each, out_of_range[row], accumulates);
    };
    const auto threads = static_cast<std::size_t>(cpu_engine::thread_count(target));
    with_counters(target, "histogram_rows", threads, each + out_of_range_bins, [&] {
        with_bin_finder<T>(bins, [&](const auto& slots) {
            cpu_engine::histogram_rows(target, in, slots, each + out_of_range_bins, take);
        });
    });
}

// Adds to totals the bins of each channel and tells how many they are.
template <class T, class Bins>
std::vector<std::size_t> count_channels(cpu target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                                        std::span<std::uint64_t> totals)
{
    if constexpr (std::ranges::range<Bins>) {
        std::vector<std::size_t> sizes;
        std::vector<cpu_engine::channel_slots<T>> slots_of;
        bin_index first = 0;
        for (const auto& each : bins) {
            with_bin_finder<T>(
                each, [&](const auto& slots) { slots_of.push_back(cpu_engine::channel_slots_of<T>(slots, first)); });
            sizes.push_back(bin_count(each) + out_of_range_bins);
            first += static_cast<bin_index>(sizes.back());
        }
        cpu_engine::channel_histograms_onto(target, in, std::span<const cpu_engine::channel_slots<T>>(slots_of),
                                            totals);
        return sizes;
    } else {
        with_bin_finder<T>(
            bins, [&](const auto& slots) { cpu_engine::channel_histograms_onto(target, in, channels, slots, totals); });
        return std::vector<std::size_t>(channels, bin_count(bins) + out_of_range_bins);
    }
}

template <class T, class Bins>
void histogram_channels_on_cpu(cpu target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                               std::span<std::uint64_t> counts, std::span<outside> out_of_range, bool accumulates)
{
    check_channels(in, channels, bins, counts.size(), out_of_range.size());
    const std::size_t slots = counts.size() + channels * out_of_range_bins;
    std::vector<std::uint64_t> totals;
    std::vector<std::size_t> sizes; // of the bins of each
    with_counters(target, "histogram_channels", 1, slots, [&] {
        totals.resize(slots);
        sizes = count_channels(target, in, channels, bins, std::span(totals));
    });
    std::span<const std::uint64_t> rest = totals;
    std::uint64_t* to = counts.data();
    for (std::size_t c = 0; c < channels; ++c) {
        take_counters(rest.first(sizes[c]), to, out_of_range[c], accumulates);
        to += sizes[c] - out_of_range_bins;
        rest = rest.subspan(sizes[c]);
    }
}

} // namespace detail

// The histogram of all elements of a matrix, a part of an image for one: as `histogram` of the elements row by row,
// with the same temporary memory and errors; a matrix that is none is invalid_argument.
template <class T, class Bins>
outside histogram(cpu target, const matrix<T>& in, const Bins& bins, std::span<std::uint64_t> counts)
{
    return detail::put_matrix_histogram(target, in, bins, counts, false);
}

// The same, added to what `counts` and `beside` hold.
template <class T, class Bins>
void histogram_accumulate(cpu target, const matrix<T>& in, const Bins& bins, std::span<std::uint64_t> counts,
                          outside& out_of_range)
{
    detail::add(out_of_range, detail::put_matrix_histogram(target, in, bins, counts, true));
}

// A histogram of each row: counts has the counters of the first row, of the second one, and so on; beside[row] counts
// the row's samples that are in no bin. Both are overwritten. One pass over the input, from millions of short rows to a
// few long ones. Temporary memory: for each thread two tables of a row, of 64-bit and of 32-bit counters. Errors: what
// histogram refuses, a matrix that is none, and `beside` of another number of rows (invalid_argument), with nothing
// written; after out_of_memory some rows may have been.
template <class T, class Bins>
void histogram_rows(cpu target, const matrix<T>& in, const Bins& bins, std::span<std::uint64_t> counts,
                    std::span<outside> out_of_range)
{
    detail::histogram_rows_on_cpu(target, in, bins, counts, out_of_range, false);
}

// The same, added to what `counts` and `beside` hold.
template <class T, class Bins>
void histogram_rows_accumulate(cpu target, const matrix<T>& in, const Bins& bins, std::span<std::uint64_t> counts,
                               std::span<outside> out_of_range)
{
    detail::histogram_rows_on_cpu(target, in, bins, counts, out_of_range, true);
}

// A histogram of each channel of an image whose pixels are `channels` elements side by side: the matrix has as many
// columns as a row of pixels has elements. `bins` are those of all channels, or a sized range, such as
// std::array{up::even_bins{0, 1, 100}, up::even_bins{-1, 1, 50}}, that has those of each, of one kind. counts has the
// counters of the first channel, right behind them those of the second one, and so on, however many bins each has;
// beside[channel] counts its samples that are in no bin. Both are overwritten. One pass over the input. Temporary
// memory: as of histogram with as many bins as all channels have; with bins of each channel's own also 256 elements a
// channel for each thread. Errors, after which nothing is written: what histogram refuses, rows that are not of whole
// pixels, bins or `beside` of another number of channels (invalid_argument), and out_of_memory.
template <class T, class Bins>
void histogram_channels(cpu target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                        std::span<std::uint64_t> counts, std::span<outside> out_of_range)
{
    detail::histogram_channels_on_cpu(target, in, channels, bins, counts, out_of_range, false);
}

// The same, added to what `counts` and `beside` hold.
template <class T, class Bins>
void histogram_channels_accumulate(cpu target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                                   std::span<std::uint64_t> counts, std::span<outside> out_of_range)
{
    detail::histogram_channels_on_cpu(target, in, channels, bins, counts, out_of_range, true);
}

} // namespace upsweep

#ifdef __CUDACC__
#include <upsweep/gpu/histogram/channels.cuh>
#include <upsweep/gpu/histogram/matrix.cuh>
#include <upsweep/gpu/histogram/rows.cuh>
#endif
