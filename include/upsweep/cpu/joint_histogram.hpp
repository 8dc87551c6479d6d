// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <tuple>
#include <utility>

#include <upsweep/bins.hpp>
#include <upsweep/cpu/histogram.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/joint_bin.hpp>
#include <upsweep/outside.hpp>
#include <upsweep/range.hpp>
#include <upsweep/target.hpp>

namespace upsweep::cpu_engine {

// One dimension of a joint histogram. find_bins finds the bins of `count` samples from number `first` on, of a batch at
// most: the cost of the indirect call is shared by all samples of the batch.
struct dimension {
    std::function<void(std::size_t first, std::size_t count, detail::bin_index* bins)> find_bins;
    detail::bin_index bins;
};

template <class T, class In, class Bins>
dimension dimension_of(In in, const Bins& bins)
{
    return detail::with_bin_finder<T>(bins, [&](auto finder) {
        const auto find_bins = [in, finder](std::size_t first, std::size_t count, detail::bin_index* found) {
            if (count == histogram_batch) {
                const block_elements<histogram_batch, In> samples(in + static_cast<std::iter_difference_t<In>>(first));
                find_bins_of_batch<T>(samples.first, finder, found);
            } else {
                for (std::size_t j = 0; j < count; ++j)
                    found[j] = finder(load<T>(in, first + j));
            }
        };
        return dimension{find_bins, static_cast<detail::bin_index>(detail::bin_count(bins))};
    });
}

// Adds to `totals` the numbers of points in each bin and in the three out-of-range bins behind them.
inline void joint_histogram_onto(const cpu& target, std::size_t count, std::span<const dimension> dimensions,
                                 std::span<std::uint64_t> totals)
{
    const auto bins = static_cast<detail::bin_index>(totals.size() - detail::out_of_range_bins);
    for_each_piece(target, count, totals, [&](thread_table& table, std::size_t first, std::size_t size) {
        for (std::size_t i = 0; i < size; i += histogram_batch) {
            const std::size_t n = std::min(histogram_batch, size - i);
            std::array<detail::joint_bin, histogram_batch> points{};
            std::array<detail::bin_index, histogram_batch> found{};
            for (const dimension& each : dimensions) {
                each.find_bins(first + i, n, found.data());
                for (std::size_t j = 0; j < histogram_batch; ++j)
                    points[j].add(found[j], each.bins);
            }
            if (n == histogram_batch)
                table.count<histogram_batch>([&](std::size_t j) { return points[j].among(bins); });
            else
                for (std::size_t j = 0; j < n; ++j)
                    table.count(points[j].among(bins));
        }
    });
}

} // namespace upsweep::cpu_engine

namespace upsweep::detail {

template <>
struct engine<cpu, verb::joint_histogram> {
    template <class... Ins, class... Bins>
    static void count(const cpu& target, const std::tuple<Ins...>& in, std::size_t points,
                      const std::tuple<Bins...>& bins, std::span<std::uint64_t> counts, outside* out_of_range,
                      bool accumulates)
    {
        cpu_engine::put_counts(target, "joint_histogram", counts, out_of_range, accumulates,
                               [&](std::span<std::uint64_t> totals) {
                                   const auto dimensions = [&]<std::size_t... D>(std::index_sequence<D...>)
                                   {
                                       return std::array{cpu_engine::dimension_of<std::ranges::range_value_t<Ins>>(
                                           first_of(std::get<D>(in)), std::get<D>(bins))...};
                                   }
                                   (std::index_sequence_for<Ins...>());
                                   cpu_engine::joint_histogram_onto(
                                       target, points, std::span<const cpu_engine::dimension>(dimensions), totals);
                               });
    }
};

} // namespace upsweep::detail
