// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include <upsweep/bins.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/outside.hpp>
#include <upsweep/range.hpp>
#include <upsweep/verb/histogram.hpp>

// The joint histogram, for every target. engine<Target, verb::joint_histogram> has
//
//     static void count(const Target&, const std::tuple<Ins...>& in, std::size_t points, const std::tuple<Bins...>&,
//                       std::span<Counter> counts, outside* out_of_range, bool accumulates);
//
// which overwrites the counters and *out_of_range, or adds to them. That all inputs have as many elements as there are
// points, and that there is a counter for each combination of bins, has been checked.
namespace upsweep {

namespace detail {

// Refuses inputs of different lengths, bins that make no sense, and counters of which there is not one for each
// combination of bins. Returns how many points there are.
template <class... Ins, class... Bins>
std::size_t check_joint(const std::tuple<Ins...>& in, const std::tuple<Bins...>& bins, std::size_t counters)
{
    static_assert(sizeof...(Ins) == sizeof...(Bins) && sizeof...(Ins) > 0, "a joint histogram has bins for each input");
    constexpr std::string_view call = "joint_histogram";
    const std::array<std::size_t, sizeof...(Ins)> sizes =
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

template <target Target, class... Ins, class... Bins, class Counter>
void count_joint(const Target& target, const std::tuple<Ins...>& in, const std::tuple<Bins...>& bins,
                 std::span<Counter> counts, outside* out_of_range, bool accumulates)
{
    const std::size_t points = check_joint(in, bins, counts.size());
    engine<Target, verb::joint_histogram>::count(target, in, points, bins, counts, out_of_range, accumulates);
}

} // namespace detail

// Counts the points whose coordinates are the elements of several inputs: joint_histogram(target, std::tuple{xs, ys},
// std::tuple{bins_x, bins_y}, counts) counts (xs[i], ys[i]) for all i. The bins of each dimension are of any kind;
// `counts` has one element for each combination, the last dimension varying fastest, and is overwritten. A point of
// which a coordinate is in no bin is counted once, apart: as NaN if one is NaN, else as above if one is above its bins,
// else as below.
//
// One pass over each input. Where two inputs are bytes, a GPU calls bin functions for all 256 values. Errors and
// temporary memory: as of histogram with as many bins; inputs of different lengths are invalid_argument.
template <target Target, class... Ins, class... Bins, class Counts = std::span<std::uint64_t>>
outside joint_histogram(const Target& target, const std::tuple<Ins...>& in, const std::tuple<Bins...>& bins,
                        Counts&& counts)
{
    return detail::returned<Target>::template value<outside>(target, "joint_histogram", [&](outside* out_of_range) {
        detail::count_joint(target, in, bins, detail::counters_of<Counts>(counts), out_of_range, false);
    });
}

// The same with the points in no bin counted in *out_of_range. On a GPU everything is in memory that it reaches, and
// the call does not wait: the kernels are carried out in order of the stream.
template <target Target, class... Ins, class... Bins, class Counts = std::span<std::uint64_t>>
void joint_histogram(const Target& target, const std::tuple<Ins...>& in, const std::tuple<Bins...>& bins,
                     Counts&& counts, outside* out_of_range)
{
    detail::count_joint(target, in, bins, detail::counters_of<Counts>(counts), out_of_range, false);
}

// The same, added to what `counts` and *out_of_range hold: for points that come in pieces.
template <target Target, class... Ins, class... Bins, class Counts = std::span<std::uint64_t>>
void joint_histogram_accumulate(const Target& target, const std::tuple<Ins...>& in, const std::tuple<Bins...>& bins,
                                Counts&& counts, outside* out_of_range)
{
    detail::count_joint(target, in, bins, detail::counters_of<Counts>(counts), out_of_range, true);
}

// The same for targets whose results are in memory of the host.
template <target Target, class... Ins, class... Bins, class Counts = std::span<std::uint64_t>>
    requires(detail::returned<Target>::is_in_host_memory)
void joint_histogram_accumulate(const Target& target, const std::tuple<Ins...>& in, const std::tuple<Bins...>& bins,
                                Counts&& counts, outside& out_of_range)
{
    detail::count_joint(target, in, bins, detail::counters_of<Counts>(counts), &out_of_range, true);
}

} // namespace upsweep
