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

// Histograms of matrices: one of all elements, one a row, one a channel.
namespace upsweep::cpu_engine {

// Calls f(j, bin of sample j) for samples of which a table of several copies would cost more than it saves.
template <class T, class Slots, class F>
void for_each_bin(const T* in, std::size_t count, const Slots& slots, F f)
{
    std::size_t i = 0;
    for (; i + histogram_block <= count; i += histogram_block) {
        std::array<detail::bin_index, histogram_block> block;
        bins_of_block<T>(in + i, slots, block.data());
        for (std::size_t j = 0; j < histogram_block; ++j)
            f(i + j, block[j]);
    }
    for (; i < count; ++i)
        f(i, slots(load<T>(in, i)));
}

// Calls take(row, totals) for every row, with a total for each of `size` bins. Long rows are shared out among the
// threads; of shorter ones each is counted by one.
template <class T, class Slots, class Take>
void histogram_rows(const cpu& target, const matrix<T>& in, const Slots& slots, std::size_t size, Take take)
{
    if (in.columns >= 2 * histogram_grain) {
        for (std::size_t row = 0; row < in.rows; ++row) {
            std::vector<std::uint64_t> totals(size);
            histogram_onto(target, in.row(row), in.columns, slots, totals);
            take(row, std::span<const std::uint64_t>(totals));
        }
        return;
    }
    const bool is_short = in.columns < 32 * size;
    const std::size_t together = histogram_grain / (in.columns + size) + 1;
    for_each_index(target, (in.rows + together - 1) / together, [&](std::size_t piece) {
        std::vector<std::uint64_t> totals(size);
        for (std::size_t row = piece * together; row < std::min((piece + 1) * together, in.rows); ++row) {
            std::ranges::fill(totals, 0);
            if (is_short)
                for_each_bin(in.row(row), in.columns, slots, [&](std::size_t, detail::bin_index k) { ++totals[k]; });
            else
                histogram_onto(cpu{1}, in.row(row), in.columns, slots, totals);
            take(row, std::span<const std::uint64_t>(totals));
        }
    });
}

// Adds the elements to totals[channel * size of a channel + bin]: a row's elements belong to the channels in turn.
template <class T, class Slots>
void channel_histograms_onto(const cpu& target, const matrix<T>& in, std::size_t channels, const Slots& slots,
                             std::span<std::uint64_t> totals)
{
    const std::size_t each = totals.size() / channels;
    if (!in.has_gaps() && in.rows > 1)
        return channel_histograms_onto(target, matrix<T>(in.data, 1, in.size()), channels, slots, totals);
    // Where the bins of the elements begin; a block may begin at any channel.
    std::vector<detail::bin_index> firsts(histogram_block + channels);
    for (std::size_t j = 0; j < firsts.size(); ++j)
        firsts[j] = static_cast<detail::bin_index>(j % channels * each);
    for_each_piece(target, in.size(), totals, [&](private_table& table, std::size_t first, std::size_t size) {
        for_each_stretch(in, first, size, [&](std::size_t row, std::size_t column, std::size_t n) {
            const T* const from = in.row(row) + column;
            std::size_t i = 0;
            for (; i + histogram_block <= n; i += histogram_block) {
                std::array<detail::bin_index, histogram_block> block;
                bins_of_block<T>(from + i, slots, block.data());
                const detail::bin_index* const first_of = firsts.data() + (column + i) % channels;
                table.count<histogram_block>([&](std::size_t j) { return first_of[j] + block[j]; });
            }
            for (; i < n; ++i)
                table.count(firsts[(column + i) % channels] + slots(load<T>(from, i)));
        });
    });
}

// Where the elements of a channel go that has bins of its own.
template <class T>
struct channel_slots {
    std::function<void(const T* elements, std::size_t count, detail::bin_index* slots)> slots_of; // at most a block
    detail::bin_index first;
};

template <class T, class Slots>
channel_slots<T> channel_slots_of(const Slots& slots, detail::bin_index first)
{
    const auto slots_of = [slots](const T* elements, std::size_t count, detail::bin_index* block) {
        if (count == histogram_block)
            bins_of_block<T>(elements, slots, block);
        else
            for (std::size_t j = 0; j < count; ++j)
                block[j] = slots(load<T>(elements, j));
    };
    return {slots_of, first};
}

// The elements of a channel, gathered until they are a block.
template <class T>
class gathered_elements {
public:
    // Elements `begin`, `begin` + step and so on, before `end`.
    void add(private_table& table, const channel_slots<T>& channel, const T* from, std::size_t begin, std::size_t end,
             std::size_t step)
    {
        while (begin < end) {
            for (; begin < end && size_ < histogram_block; begin += step)
                elements_[size_++] = from[begin];
            if (size_ == histogram_block)
                count(table, channel);
        }
    }

    void count(private_table& table, const channel_slots<T>& channel)
    {
        std::array<detail::bin_index, histogram_block> block;
        channel.slots_of(elements_.data(), size_, block.data());
        if (size_ == histogram_block)
            table.count<histogram_block>([&](std::size_t j) { return channel.first + block[j]; });
        else
            for (std::size_t j = 0; j < size_; ++j)
                table.count(channel.first + block[j]);
        size_ = 0;
    }

private:
    std::array<T, histogram_block> elements_;
    std::size_t size_ = 0;
};

// The same with a bin finder for each channel. Rows, however short, are read while they are in the cache.
template <class T>
void channel_histograms_onto(const cpu& target, const matrix<T>& in, std::span<const channel_slots<T>> channels,
                             std::span<std::uint64_t> totals)
{
    if (!in.has_gaps() && in.rows > 1)
        return channel_histograms_onto(target, matrix<T>(in.data, 1, in.size()), channels, totals);
    const std::size_t count = channels.size();
    for_each_piece(target, in.size(), totals, [&](private_table& table, std::size_t first, std::size_t size) {
        std::vector<gathered_elements<T>> gathered(count);
        for_each_stretch(in, first, size, [&](std::size_t row, std::size_t column, std::size_t n) {
            const T* const from = in.row(row) + column;
            const std::size_t channel_of_first = column % count;
            for (std::size_t i = 0; i < n; i += histogram_block * count) {
                const std::size_t end = std::min(i + histogram_block * count, n);
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

// Adds to totals the bins of each channel and tells how many they are.
template <class T, class Bins>
std::vector<std::size_t> count_channels(const cpu& target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                                        std::span<std::uint64_t> totals)
{
    if constexpr (std::ranges::range<Bins>) {
        std::vector<std::size_t> sizes;
        std::vector<channel_slots<T>> slots_of;
        detail::bin_index first = 0;
        for (const auto& each : bins) {
            detail::with_bin_finder<T>(
                each, [&](const auto& slots) { slots_of.push_back(channel_slots_of<T>(slots, first)); });
            sizes.push_back(detail::bin_count(each) + detail::out_of_range_bins);
            first += static_cast<detail::bin_index>(sizes.back());
        }
        channel_histograms_onto(target, in, std::span<const channel_slots<T>>(slots_of), totals);
        return sizes;
    } else {
        detail::with_bin_finder<T>(
            bins, [&](const auto& slots) { channel_histograms_onto(target, in, channels, slots, totals); });
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
            with_bin_finder<T>(bins, [&](const auto& slots) {
                cpu_engine::histogram_rows(target, in, slots, each + out_of_range_bins, put);
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
        const std::size_t slots = counts.size() + channels * out_of_range_bins;
        std::vector<std::uint64_t> totals;
        std::vector<std::size_t> sizes; // of the bins of each
        cpu_engine::with_counters(target, "histogram_channels", 1, slots, [&] {
            totals.resize(slots);
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
