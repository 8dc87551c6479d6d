// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <ranges>
#include <string>
#include <string_view>
#include <tuple>

#include <upsweep/bins.hpp>
#include <upsweep/error.hpp>
#include <upsweep/matrix.hpp>
#include <upsweep/range.hpp>

// What histograms of several inputs, of rows and of channels refuse, on every target.
namespace upsweep::detail {

inline void check_besides(std::string_view call, std::size_t parts, std::string_view name, std::size_t besides)
{
    if (besides != parts)
        throw error(error_kind::invalid_argument, call,
                    std::to_string(besides) + " places for the samples beside the bins of " + std::to_string(parts) +
                        " " + std::string(name),
                    "pass one up::outside for each of the " + std::string(name));
}

// Refuses counters of which there is not one for each bin of each of `parts` histograms.
template <class Bins>
void check_counters(std::string_view call, const Bins& bins, std::size_t parts, std::string_view name,
                    std::size_t counters, std::size_t besides)
{
    check_bins(bins);
    const std::size_t each = bin_count(bins);
    if (parts > std::numeric_limits<std::size_t>::max() / each || counters != parts * each)
        throw error(error_kind::invalid_argument, call,
                    std::to_string(counters) + " counters for " + std::to_string(parts) + " " + std::string(name) +
                        " of " + std::to_string(each) + " bins",
                    "pass one counter for each bin of each of the " + std::string(name));
    check_besides(call, parts, name, besides);
}

// The bins of all channels, of which each has its own.
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
                    std::size_t besides)
{
    constexpr std::string_view call = "histogram_channels";
    check_matrix(call, in);
    if (channels == 0 || in.columns % channels != 0)
        throw error(error_kind::invalid_argument, call,
                    "a row of " + std::to_string(in.columns) + " elements is not of whole pixels of " +
                        std::to_string(channels) + " channels",
                    "count the elements of a row, of all channels, as its columns");
    if constexpr (!std::ranges::range<Bins>) {
        check_counters(call, bins, channels, "channels", counters, besides);
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
        check_besides(call, channels, "channels", besides);
        check_bin_count(all + channels * out_of_range_bins);
    }
}

// Refuses inputs of different lengths, bins that are none, and counters of which there is not one for each combination of bins.
// Returns how many samples there are.
template <class... Rs, class... Bins>
std::size_t check_joint(const std::tuple<Rs...>& in, const std::tuple<Bins...>& bins, std::size_t counters)
{
    static_assert(sizeof...(Rs) == sizeof...(Bins) && sizeof...(Rs) > 0, "a joint histogram has bins for each input");
    constexpr std::string_view call = "joint_histogram";
    const std::array<std::size_t, sizeof...(Rs)> sizes =
        std::apply([](const auto&... each) { return std::array{size_of(each)...}; }, in);
    for (std::size_t d = 1; d < sizes.size(); ++d)
        if (sizes[d] != sizes[0])
            throw error(error_kind::invalid_argument, call,
                        "input " + std::to_string(d) + " has " + std::to_string(sizes[d]) + " samples, input 0 has " +
                            std::to_string(sizes[0]),
                        "pass as many samples for each dimension");
    std::apply([](const auto&... each) { (check_bins(each), ...); }, bins);
    constexpr std::size_t most = std::numeric_limits<bin_index>::max() - out_of_range_bins;
    std::size_t product = 1;
    std::string shape;
    const auto multiply = [&](std::size_t count) {
        shape += (shape.empty() ? "" : " x ") + std::to_string(count);
        product = product > most / count ? 0 : product * count; // 0 where it is too large, which it then remains
    };
    std::apply([&](const auto&... each) { (multiply(bin_count(each)), ...); }, bins);
    if (product == 0)
        throw error(error_kind::invalid_argument, call, shape + " bins are more than 2^32 - 4",
                    "ask for fewer bins in a dimension");
    if (product != counters)
        throw error(error_kind::invalid_argument, call, std::to_string(counters) + " counters for " + shape + " bins",
                    "pass one counter for each combination of bins");
    return sizes[0];
}

} // namespace upsweep::detail
