// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <upsweep/gpu/histogram/bin_finder.cuh>
#include <upsweep/gpu/histogram/edges.cuh>
#include <upsweep/gpu/histogram/even_bins.cuh>
#include <upsweep/gpu/histogram/histogram.cuh>
#include <upsweep/gpu/histogram/merge.cuh>
#include <upsweep/gpu/source/channels.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/matrix.hpp>
#include <upsweep/verb/matrix_histogram.hpp>

// The histograms of all channels of an image are counted as one histogram (histogram.cuh). Its samples are the elements
// with their channels, and its bins are those of all channels, one channel after the other. This file has its bin
// finders, its result, and how its source is read in pieces.
namespace upsweep::gpu {

// Tells where the bins of each channel begin among the bins of all channels. A channel has its bins and then its
// out-of-range bins.
struct channel_layout {
    std::uint32_t channels;
    bin_index bins_of_each;           // the bins of every channel, if bins_before is null
    const std::uint64_t* bins_before; // else: the bins before each channel, and of all, in device memory
    std::size_t bins_of_all;          // without the out-of-range bins

    bin_index all_bins() const { return static_cast<bin_index>(bins_of_all + channels * detail::out_of_range_bins); }
    // Returns how many bins the channels before this one have, without the out-of-range bins: there its counters begin.
    __device__ std::size_t before(std::uint32_t channel) const
    {
        return bins_before != nullptr ? bins_before[channel] : std::size_t{channel} * bins_of_each;
    }
    __device__ bin_index bins(std::uint32_t channel) const
    {
        return static_cast<bin_index>(before(channel + 1) - before(channel));
    }
    // Returns the first bin index of a channel.
    __device__ bin_index first(std::uint32_t channel) const
    {
        return static_cast<bin_index>(before(channel) + channel * detail::out_of_range_bins);
    }
    // Returns the channel to which a bin index belongs.
    __device__ std::uint32_t channel_of(bin_index k) const
    {
        if (bins_before == nullptr)
            return k / static_cast<bin_index>(bins_of_each + detail::out_of_range_bins);
        return last_for_which(0U, channels, [&](std::uint32_t channel) { return first(channel) <= k; });
    }
};

// Where the histograms of all channels go: the counters of one channel after those of the other.
template <class Counter>
struct channel_results {
    Counter* counts;
    outside* out_of_range;
    channel_layout layout;
    bool accumulates;

    // Puts the total of a bin. Only one thread has it.
    __device__ void put(bin_index k, std::uint64_t total) const
    {
        const std::uint32_t channel = layout.channel_of(k);
        const histogram_result<Counter> of_channel{counts + layout.before(channel), out_of_range + channel,
                                                   layout.bins(channel), accumulates};
        of_channel.put(k - layout.first(channel), total);
    }
};

// Returns the channel of a sample. Bytes of one or two channels are read as those of four, for which a kernel is
// compiled; the true channel is the remainder.
template <class T>
__device__ std::uint32_t channel_of(const channel_sample<T>& sample, std::uint32_t channels)
{
    return is_byte<T> ? sample.channel % channels : sample.channel;
}

// The bin finder of an image whose channels have the same bins.
template <class Finder>
struct common_bin_finder {
    static constexpr bin_range range = bin_range::any;

    Finder finder;
    channel_layout layout;

    template <class Function>
    struct block_function {
        Function bin_of;
        bin_index bins_of_each;
        std::uint32_t channels;

        template <class T>
        __device__ bin_index operator()(const channel_sample<T>& sample) const
        {
            return channel_of(sample, channels) * (bins_of_each + detail::out_of_range_bins) + bin_of(sample.element);
        }
    };

    bin_index all_bins() const { return layout.all_bins(); }
    constexpr std::size_t shared_bytes() const { return finder.shared_bytes(); }
    __device__ auto of_block(void* shared) const
    {
        const auto function = finder.of_block(shared);
        return block_function<std::remove_cvref_t<decltype(function)>>{function, layout.bins_of_each, layout.channels};
    }
};

// The bin finder of an image whose channels have different bins: one bin finder for each, in device memory.
template <class Finder>
struct own_bin_finders : plain_bin_finder<own_bin_finders<Finder>> {
    const Finder* finders;
    channel_layout layout;

    own_bin_finders(const Finder* first, const channel_layout& all) : finders(first), layout(all) {}

    bin_index all_bins() const { return layout.all_bins(); }

    template <class T>
    __device__ bin_index operator()(const channel_sample<T>& sample) const
    {
        const std::uint32_t channel = channel_of(sample, layout.channels);
        return layout.first(channel) + finders[channel].of_block(nullptr)(sample.element);
    }
};

// Returns the bin finder of all channels, ready for a kernel.
template <class T, class Bins>
    requires(!std::ranges::range<Bins>)
auto channel_finder_of(const cuda& target, const Bins& bins, std::size_t channels)
{
    const std::size_t count = detail::bin_count(bins);
    const channel_layout layout{static_cast<std::uint32_t>(channels), static_cast<bin_index>(count), nullptr,
                                channels * count};
    const auto finder = any_bin_finder_on<T>(target, bins, bytes_beside(target, layout.all_bins()));
    return common_bin_finder<std::remove_const_t<decltype(finder)>>{finder, layout};
}

// Does the same where each channel has bins of its own.
template <class T, std::ranges::range Bins>
auto channel_finder_of(const cuda& target, const Bins& bins, std::size_t channels)
{
    using finder = decltype(any_bin_finder<T>(*std::ranges::begin(bins), std::declval<threshold_list&>()));
    static_assert(alignof(finder) <= alignof(std::uint64_t));
    threshold_list list(0);
    std::vector<finder> finders;
    std::vector<std::uint64_t> before{0};
    for (const auto& each : bins) {
        finders.push_back(any_bin_finder<T>(each, list));
        before.push_back(before.back() + detail::bin_count(each));
    }
    // The bin finders must know where the thresholds will be before they are appended to the list themselves: one
    // upload carries the thresholds, the bin finders and the numbers of bins.
    const std::size_t finder_words =
        (finders.size() * sizeof(finder) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
    const std::uint64_t* const there = upload_place(target, list.words().size() + finder_words + before.size());
    for (finder& each : finders)
        each.place(there);
    const std::size_t first_finder = list.append(finders);
    const std::size_t first_before = list.append(before);
    upload(target, list);
    return own_bin_finders<finder>(
        reinterpret_cast<const finder*>(there + first_finder),
        channel_layout{static_cast<std::uint32_t>(channels), 0, there + first_before, before.back()});
}

// Calls f for the pieces of an image. There are kernels for exactly three and four channels of bytes, where a table has
// a copy of the counters for each lane or for every four; in all other cases one kernel serves any number of channels.
template <class T, class Result, class Table, class F>
void for_each_piece(const channel_source<T>& in, std::uint64_t, Result result, std::type_identity<Table>, F f)
{
    const auto channels = static_cast<std::uint32_t>(in.channels.divisor);
    for_each_piece(in.elements.in, channels, [&](const matrix<T>& piece) {
        const auto count = [&]<int Channels>(std::integral_constant<int, Channels>) {
            f(channel_rows<T, Channels>{piece, channels}, piece.size(), result);
        };
        constexpr bool are_few_channels = std::same_as<Table, lane_table> || std::same_as<Table, table_of_four>;
        if constexpr (is_byte<T> && are_few_channels) {
            if (channels == 3)
                count(std::integral_constant<int, 3>{});
            else if (channels == 4)
                count(std::integral_constant<int, 4>{});
            else
                count(std::integral_constant<int, 0>{});
        } else {
            count(std::integral_constant<int, 0>{});
        }
        result.accumulates = true;
    });
}

template <class T, class Bins, class Counter>
void histogram_channels(const cuda& target, const matrix<T>& pixels, std::size_t channels, const Bins& bins,
                        Counter* counts, outside* out_of_range, bool accumulates)
{
    const matrix<T> in = pixels.has_gaps() ? pixels : matrix<T>(pixels.data, 1, pixels.size());
    const auto finder = channel_finder_of<T>(target, bins, channels);
    const channel_results<Counter> result{counts, out_of_range, finder.layout, accumulates};
    const std::size_t counted = is_byte<T> && (channels == 1 || channels == 2) ? 4 : channels;
    histogram(target, channel_source<T>(in, counted), in.size(), finder, result);
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::histogram_channels> {
    template <class T, class Bins, class Counter>
    static void count(const cuda& target, const matrix<T>& in, std::size_t channels, const Bins& bins,
                      std::span<Counter> counts, std::span<outside> out_of_range, bool accumulates)
    {
        constexpr std::string_view call = "histogram_channels";
        const gpu::current_device current(target.device());
        gpu::check_place(target, call, in.data, in.size());
        gpu::check_place(target, call, counts.data(), counts.size());
        gpu::check_place(target, call, out_of_range.data(), out_of_range.size());
        gpu::histogram_channels(target, in, channels, bins, counts.data(), out_of_range.data(), accumulates);
    }
};

} // namespace upsweep::detail
