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
    const auto take = [&](std::size_t row, std::span<const std::uint64_t> totals) {
        take_slots(totals, counts.data() + row * each, beside[row], accumulates);
    };
    const auto threads = static_cast<std::size_t>(cpu_engine::thread_count(target));
    with_counters(target, "histogram_rows", threads, each + outside_slots, [&] {
        with_slots<T>(bins, [&](const auto& slots) {
            cpu_engine::histogram_rows(target, in, slots, each + outside_slots, take);
        });
    });
}

// Adds to totals the slots of each channel and tells how many they are.
template <class T, class Bins>
std::vector<std::size_t> count_channels(cpu target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                                        std::span<std::uint64_t> totals)
{
    if constexpr (std::ranges::range<Bins>) {
        std::vector<std::size_t> sizes;
        std::vector<cpu_engine::channel_slots<T>> slots_of;
        slot first = 0;
        for (const auto& each : bins) {
            with_slots<T>(
                each, [&](const auto& slots) { slots_of.push_back(cpu_engine::channel_slots_of<T>(slots, first)); });
            sizes.push_back(bin_count(each) + outside_slots);
            first += static_cast<slot>(sizes.back());
        }
        cpu_engine::channel_histograms_onto(target, in, std::span<const cpu_engine::channel_slots<T>>(slots_of),
                                            totals);
        return sizes;
    } else {
        with_slots<T>(
            bins, [&](const auto& slots) { cpu_engine::channel_histograms_onto(target, in, channels, slots, totals); });
        return std::vector<std::size_t>(channels, bin_count(bins) + outside_slots);
    }
}

template <class T, class Bins>
void histogram_channels_on_cpu(cpu target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                               std::span<std::uint64_t> counts, std::span<outside> beside, bool accumulates)
{
    check_channels(in, channels, bins, counts.size(), beside.size());
    const std::size_t slots = counts.size() + channels * outside_slots;
    std::vector<std::uint64_t> totals;
    std::vector<std::size_t> sizes; // of the slots of each
    with_counters(target, "histogram_channels", 1, slots, [&] {
        totals.resize(slots);
        sizes = count_channels(target, in, channels, bins, std::span(totals));
    });
    std::span<const std::uint64_t> rest = totals;
    std::uint64_t* to = counts.data();
    for (std::size_t c = 0; c < channels; ++c) {
        take_slots(rest.first(sizes[c]), to, beside[c], accumulates);
        to += sizes[c] - outside_slots;
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
                          outside& beside)
{
    detail::add(beside, detail::put_matrix_histogram(target, in, bins, counts, true));
}

// A histogram of each row: counts has the counters of the first row, of the second one, and so on; beside[row] counts
// the row's samples that are in no bin. Both are overwritten. One pass over the input, from millions of short rows to a
// few long ones. Temporary memory: for each thread two tables of a row, of 64-bit and of 32-bit counters. Errors: what
// histogram refuses, a matrix that is none, and `beside` of another number of rows (invalid_argument), with nothing
// written; after out_of_memory some rows may have been.
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
#include <upsweep/gpu/histogram/channels.cuh>
#include <upsweep/gpu/histogram/rows.cuh>
#include <upsweep/gpu/histogram/matrix.cuh>
#endif
