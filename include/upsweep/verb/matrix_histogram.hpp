// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include <upsweep/bins.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/matrix.hpp>
#include <upsweep/outside.hpp>
#include <upsweep/verb/histogram.hpp>

// A histogram of each row or of each channel of a matrix, for every target. engine<Target, verb::histogram_rows> has
//
//     static void count(const Target&, const matrix<T>&, const Bins&, std::span<Counter> counts,
//                       std::span<outside> out_of_range, bool accumulates);
//
// and engine<Target, verb::histogram_channels> the same with the number of channels behind the matrix. They overwrite
// the counters or add to them; the numbers of all have been checked.
namespace upsweep {

namespace detail {

inline void check_places(std::string_view call, std::size_t parts, std::string_view name, std::size_t places)
{
    if (places != parts)
        throw error(error_kind::invalid_argument, call,
                    std::to_string(places) + " places for the samples beside the bins of " + std::to_string(parts) +
                        " " + std::string(name),
                    "pass one up::outside for each of the " + std::string(name));
}

// Refuses counters of which there is not one for each bin of each of `parts` histograms.
template <class Bins>
void check_counters(std::string_view call, const Bins& bins, std::size_t parts, std::string_view name,
                    std::size_t counters, std::size_t places)
{
    check_bins(bins);
    const std::size_t each = bin_count(bins);
    if (parts > std::numeric_limits<std::size_t>::max() / each || counters != parts * each)
        throw error(error_kind::invalid_argument, call,
                    std::to_string(counters) + " counters for " + std::to_string(parts) + " " + std::string(name) +
                        " of " + std::to_string(each) + " bins",
                    "pass one counter for each bin of each of the " + std::string(name));
    check_places(call, parts, name, places);
}

// How many bins all channels have, each of which has bins of its own.
template <std::ranges::range Bins>
std::size_t channel_bin_count(const Bins& bins)
{
    std::size_t all = 0;
    for (const auto& each : bins) {
        check_bins(each);
        all += bin_count(each);
    }
    return all;
}

template <class T, class Bins>
void check_channels(const matrix<T>& in, std::size_t channels, const Bins& bins, std::size_t counters,
                    std::size_t places)
{
    constexpr std::string_view call = "histogram_channels";
    check_matrix(call, in);
    if (channels == 0 || in.columns % channels != 0)
        throw error(error_kind::invalid_argument, call,
                    "a row of " + std::to_string(in.columns) + " elements is not of whole pixels of " +
                        std::to_string(channels) + " channels",
                    "count the elements of a row, of all channels, as its columns");
    if constexpr (!std::ranges::range<Bins>) {
        check_counters(call, bins, channels, "channels", counters, places);
        check_bin_count(channels * (bin_count(bins) + out_of_range_bins));
    } else {
        if (std::ranges::size(bins) != channels)
            throw error(error_kind::invalid_argument, call,
                        "bins of " + std::to_string(std::ranges::size(bins)) + " channels for " +
                            std::to_string(channels),
                        "pass bins for each channel, or the same for all");
        const std::size_t all = channel_bin_count(bins);
        if (counters != all)
            throw error(error_kind::invalid_argument, call,
                        std::to_string(counters) + " counters for " + std::to_string(all) + " bins of " +
                            std::to_string(channels) + " channels",
                        "pass one counter for each bin of each of the channels");
        check_places(call, channels, "channels", places);
        check_bin_count(all + channels * out_of_range_bins);
    }
}

template <target Target, class T, class Bins, class Counter>
void count_rows(const Target& target, const matrix<T>& in, const Bins& bins, std::span<Counter> counts,
                std::span<outside> out_of_range, bool accumulates)
{
    check_matrix("histogram_rows", in);
    check_counters("histogram_rows", bins, in.rows, "rows", counts.size(), out_of_range.size());
    engine<Target, verb::histogram_rows>::count(target, in, bins, counts, out_of_range, accumulates);
}

template <target Target, class T, class Bins, class Counter>
void count_channels(const Target& target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                    std::span<Counter> counts, std::span<outside> out_of_range, bool accumulates)
{
    check_channels(in, channels, bins, counts.size(), out_of_range.size());
    engine<Target, verb::histogram_channels>::count(target, in, channels, bins, counts, out_of_range, accumulates);
}

} // namespace detail

// A histogram of each row: `counts` has the counters of the first row, of the second one, and so on; out_of_range[row]
// counts the row's samples that are in no bin. Both are overwritten. On a GPU all three are in memory that it reaches,
// and the call does not wait.
//
// One pass over the input, from millions of short rows to a few long ones. Temporary memory on a CPU: for each thread
// two tables of a row, of 64-bit and of 32-bit counters. Errors: what histogram refuses, and out_of_range of another
// number than there are rows (invalid_argument), with nothing written; after out_of_memory some rows may have been.
template <target Target, class T, class Bins, class Counts = std::span<std::uint64_t>>
void histogram_rows(const Target& target, const matrix<T>& in, const Bins& bins, Counts&& counts,
                    std::span<outside> out_of_range)
{
    detail::count_rows(target, in, bins, detail::counters_of<Counts>(counts), out_of_range, false);
}

// The same, added to what `counts` and out_of_range hold.
template <target Target, class T, class Bins, class Counts = std::span<std::uint64_t>>
void histogram_rows_accumulate(const Target& target, const matrix<T>& in, const Bins& bins, Counts&& counts,
                               std::span<outside> out_of_range)
{
    detail::count_rows(target, in, bins, detail::counters_of<Counts>(counts), out_of_range, true);
}

// A histogram of each channel of an image whose pixels are `channels` elements side by side: the matrix has as many
// columns as a row of pixels has elements. `bins` are those of all channels, or a sized range, such as
// std::array{up::even_bins{0, 1, 100}, up::even_bins{-1, 1, 50}}, that has those of each, all of one kind. `counts` has
// the counters of the first channel, right behind them those of the second one, and so on, however many bins each has;
// out_of_range[channel] counts its samples that are in no bin. Both are overwritten. On a GPU all three are in memory
// that it reaches, and the call does not wait.
//
// One pass over the input. Temporary memory on a CPU: as of histogram with as many bins as all channels have; with bins
// of each channel's own also 256 elements a channel for each thread. Errors, after which nothing is written: what
// histogram refuses, rows that are not of whole pixels, bins or out_of_range of another number of channels
// (invalid_argument), and out_of_memory.
template <target Target, class T, class Bins, class Counts = std::span<std::uint64_t>>
void histogram_channels(const Target& target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                        Counts&& counts, std::span<outside> out_of_range)
{
    detail::count_channels(target, in, channels, bins, detail::counters_of<Counts>(counts), out_of_range, false);
}

// The same, added to what `counts` and out_of_range hold.
template <target Target, class T, class Bins, class Counts = std::span<std::uint64_t>>
void histogram_channels_accumulate(const Target& target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                                   Counts&& counts, std::span<outside> out_of_range)
{
    detail::count_channels(target, in, channels, bins, detail::counters_of<Counts>(counts), out_of_range, true);
}

} // namespace upsweep
