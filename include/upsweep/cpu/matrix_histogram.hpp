// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <upsweep/bins.hpp>
#include <upsweep/cpu/histogram.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/matrix.hpp>
#include <upsweep/outside.hpp>
#include <upsweep/target.hpp>

// Histograms of each row and of each channel of a matrix, on the cores of a CPU.
namespace upsweep::cpu_engine {

// Calls f(j, bin of sample j). This is for so few samples that clearing and adding up the copies of a thread_table
// would cost more than they save.
template <class T, class Finder, class F>
void for_each_bin(const T* in, std::size_t count, const Finder& finder, F f)
{
    std::size_t i = 0;
    for (; i + histogram_batch <= count; i += histogram_batch) {
        std::array<detail::bin_index, histogram_batch> bins;
        find_bins_of_batch<T>(in + i, finder, bins.data());
        for (std::size_t j = 0; j < histogram_batch; ++j)
            f(i + j, bins[j]);
    }
    for (; i < count; ++i)
        f(i, finder(load<T>(in, i)));
}

// Calls put(row, totals) for every row, with a total for each of `all_bins`. All threads share a long row; a shorter
// row is counted by one thread, which takes so many of them at a time that it has about a grain of work.
template <class T, class Finder, class Put>
void histogram_rows(const cpu& target, const matrix<T>& in, const Finder& finder, std::size_t all_bins, Put put)
{
    if (in.columns >= 2 * histogram_grain) {
        for (std::size_t row = 0; row < in.rows; ++row) {
            std::vector<std::uint64_t> totals(all_bins);
            histogram_onto(target, in.row(row), in.columns, finder, totals);
            put(row, std::span<const std::uint64_t>(totals));
        }
        return;
    }
    const bool is_short = in.columns < 32 * all_bins;
    const std::size_t rows_at_a_time = histogram_grain / (in.columns + all_bins) + 1;
    for_each_index(target, (in.rows + rows_at_a_time - 1) / rows_at_a_time, [&](std::size_t piece) {
        std::vector<std::uint64_t> totals(all_bins);
        for (std::size_t row = piece * rows_at_a_time; row < std::min((piece + 1) * rows_at_a_time, in.rows); ++row) {
            std::ranges::fill(totals, 0);
            if (is_short)
                for_each_bin(in.row(row), in.columns, finder, [&](std::size_t, detail::bin_index k) { ++totals[k]; });
            else
                histogram_onto(cpu{1}, in.row(row), in.columns, finder, totals);
            put(row, std::span<const std::uint64_t>(totals));
        }
    });
}

// Adds each element to totals[channel * all bins of a channel + bin]. The elements of a row belong to the channels in
// turn.
template <class T, class Finder>
void channel_histograms_onto(const cpu& target, const matrix<T>& in, std::size_t channels, const Finder& finder,
                             std::span<std::uint64_t> totals)
{
    const std::size_t each = totals.size() / channels;
    if (!in.has_gaps() && in.rows > 1)
        return channel_histograms_onto(target, matrix<T>(in.data, 1, in.size()), channels, finder, totals);
    // The number of the first bin of element j's channel, for a batch that begins at channel 0; one that begins at
    // channel c reads the numbers from element c on.
    std::vector<detail::bin_index> firsts(histogram_batch + channels);
    for (std::size_t j = 0; j < firsts.size(); ++j)
        firsts[j] = static_cast<detail::bin_index>(j % channels * each);
    for_each_piece(target, in.size(), totals, [&](thread_table& table, std::size_t first, std::size_t size) {
        for_each_stretch(in, first, size, [&](std::size_t row, std::size_t column, std::size_t n) {
            const T* const from = in.row(row) + column;
            std::size_t i = 0;
            for (; i + histogram_batch <= n; i += histogram_batch) {
                std::array<detail::bin_index, histogram_batch> bins;
                find_bins_of_batch<T>(from + i, finder, bins.data());
                const detail::bin_index* const first_of = firsts.data() + (column + i) % channels;
                table.count<histogram_batch>([&](std::size_t j) { return first_of[j] + bins[j]; });
            }
            for (; i < n; ++i)
                table.count(firsts[(column + i) % channels] + finder(load<T>(from, i)));
        });
    });
}

// The bins of a channel, where each channel has bins of its own. find_bins finds those of at most a batch of elements,
// counted from the channel's first bin, whose number in the table of all channels is `first`.
template <class T>
struct channel_bins {
    std::function<void(const T* elements, std::size_t count, detail::bin_index* bins)> find_bins;
    detail::bin_index first;
};

template <class T, class Finder>
channel_bins<T> channel_bins_of(const Finder& finder, detail::bin_index first)
{
    const auto find_bins = [finder](const T* elements, std::size_t count, detail::bin_index* bins) {
        if (count == histogram_batch)
            find_bins_of_batch<T>(elements, finder, bins);
        else
            for (std::size_t j = 0; j < count; ++j)
                bins[j] = finder(load<T>(elements, j));
    };
    return {find_bins, first};
}

// Gathers the elements of one channel, which lie apart, into batches, and counts each batch when it is full.
template <class T>
class gathered_elements {
public:
    // Adds the elements number `begin`, `begin` + step and so on that come before `end`.
    void add(thread_table& table, const channel_bins<T>& channel, const T* from, std::size_t begin, std::size_t end,
             std::size_t step)
    {
        while (begin < end) {
            for (; begin < end && size_ < histogram_batch; begin += step)
                elements_[size_++] = from[begin];
            if (size_ == histogram_batch)
                count(table, channel);
        }
    }

    // Counts what has been gathered so far.
    void count(thread_table& table, const channel_bins<T>& channel)
    {
        std::array<detail::bin_index, histogram_batch> bins;
        channel.find_bins(elements_.data(), size_, bins.data());
        if (size_ == histogram_batch)
            table.count<histogram_batch>([&](std::size_t j) { return channel.first + bins[j]; });
        else
            for (std::size_t j = 0; j < size_; ++j)
                table.count(channel.first + bins[j]);
        size_ = 0;
    }

private:
    std::array<T, histogram_batch> elements_;
    std::size_t size_ = 0;
};

// The same with bins of its own for each channel. The elements of `count` batches are read once for each channel, one
// after the other, so that they are in the cache all but the first time.
template <class T>
void channel_histograms_onto(const cpu& target, const matrix<T>& in, std::span<const channel_bins<T>> channels,
                             std::span<std::uint64_t> totals)
{
    if (!in.has_gaps() && in.rows > 1)
        return channel_histograms_onto(target, matrix<T>(in.data, 1, in.size()), channels, totals);
    const std::size_t count = channels.size();
    for_each_piece(target, in.size(), totals, [&](thread_table& table, std::size_t first, std::size_t size) {
        std::vector<gathered_elements<T>> gathered(count);
        for_each_stretch(in, first, size, [&](std::size_t row, std::size_t column, std::size_t n) {
            const T* const from = in.row(row) + column;
            const std::size_t channel_of_first = column % count;
            for (std::size_t i = 0; i < n; i += histogram_batch * count) {
                const std::size_t end = std::min(i + histogram_batch * count, n);
                for (std::size_t k = 0; k < count && i + k < end; ++k) {
                    const std::size_t c =
                        channel_of_first + k < count ? channel_of_first + k : channel_of_first + k - count;
                    gathered[c].add(table, channels[c], from, i + k, end, count);
                }
            }
        });
        for (std::size_t c = 0; c < count; ++c)
            gathered[c].count(table, channels[c]);
    });
}

// Adds to `totals`, which hold the bins of the channels one channel behind the other, and returns how many bins each
// channel has, the out-of-range bins among them.
template <class T, class Bins>
std::vector<std::size_t> count_channels(const cpu& target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                                        std::span<std::uint64_t> totals)
{
    if constexpr (std::ranges::range<Bins>) {
        std::vector<std::size_t> sizes;
        std::vector<channel_bins<T>> all_channels;
        detail::bin_index first = 0;
        for (const auto& each : bins) {
            detail::with_bin_finder<T>(
                each, [&](const auto& finder) { all_channels.push_back(channel_bins_of<T>(finder, first)); });
            sizes.push_back(detail::bin_count(each) + detail::out_of_range_bins);
            first += static_cast<detail::bin_index>(sizes.back());
        }
        channel_histograms_onto(target, in, std::span<const channel_bins<T>>(all_channels), totals);
        return sizes;
    } else {
        detail::with_bin_finder<T>(
            bins, [&](const auto& finder) { channel_histograms_onto(target, in, channels, finder, totals); });
        return std::vector<std::size_t>(channels, detail::bin_count(bins) + detail::out_of_range_bins);
    }
}

} // namespace upsweep::cpu_engine

namespace upsweep::detail {

template <>
struct engine<cpu, verb::histogram_rows> {
    template <class T, class Bins>
    static void count(const cpu& target, const matrix<T>& in, const Bins& bins, std::span<std::uint64_t> counts,
                      std::span<outside> out_of_range, bool accumulates)
    {
        const std::size_t each = bin_count(bins);
        const auto put = [&](std::size_t row, std::span<const std::uint64_t> totals) {
            cpu_engine::put_totals(totals, counts.data() + row * each, out_of_range[row], accumulates);
        };
        const auto threads = static_cast<std::size_t>(cpu_engine::thread_count(target));
        cpu_engine::with_counters(target, "histogram_rows", threads, each + out_of_range_bins, [&] {
            with_bin_finder<T>(bins, [&](const auto& finder) {
                cpu_engine::histogram_rows(target, in, finder, each + out_of_range_bins, put);
            });
        });
    }
};

template <>
struct engine<cpu, verb::histogram_channels> {
    template <class T, class Bins>
    static void count(const cpu& target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                      std::span<std::uint64_t> counts, std::span<outside> out_of_range, bool accumulates)
    {
        const std::size_t all_bins = counts.size() + channels * out_of_range_bins;
        std::vector<std::uint64_t> totals;
        std::vector<std::size_t> sizes; // how many bins each channel has
        cpu_engine::with_counters(target, "histogram_channels", 1, all_bins, [&] {
            totals.resize(all_bins);
            sizes = cpu_engine::count_channels(target, in, channels, bins, std::span(totals));
        });
        std::span<const std::uint64_t> rest = totals;
        std::uint64_t* to = counts.data();
        for (std::size_t c = 0; c < channels; ++c) {
            cpu_engine::put_totals(rest.first(sizes[c]), to, out_of_range[c], accumulates);
            to += sizes[c] - out_of_range_bins;
            rest = rest.subspan(sizes[c]);
        }
    }
};

} // namespace upsweep::detail
