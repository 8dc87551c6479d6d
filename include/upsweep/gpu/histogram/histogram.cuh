// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
#include <type_traits>

#include <upsweep/bins.hpp>
#include <upsweep/gpu/histogram/bin_finders.cuh>
#include <upsweep/gpu/histogram/block.cuh>
#include <upsweep/gpu/histogram/counters.cuh>
#include <upsweep/gpu/histogram/large.cuh>
#include <upsweep/gpu/histogram/matrix.cuh>
#include <upsweep/gpu/histogram/small.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/range.hpp>
#include <upsweep/verb/histogram.hpp>

// How a histogram is counted depends on how many samples and bins it has: few samples by a kernel without a loop
// (small_histogram.cuh), few bins in a table a block (block_histogram.cuh), others by large_histogram.cuh.
namespace upsweep::gpu {

template <class It, class Finder, class Counter>
void histogram(const cuda& target, It in, std::uint64_t count, const Finder& finder,
               const histogram_result<Counter>& result)
{
    using sample = std::iter_value_t<It>;
    const auto all_bins = static_cast<bin_index>(finder.bins + detail::out_of_range_bins);
    const std::size_t available = table_bytes(target) - words_of(finder) * sizeof(std::uint32_t);
    const auto fits = [&](std::size_t words) { return words * sizeof(std::uint32_t) <= available; };
    if constexpr (Finder::range != bin_range::many && can_be_small<It>)
        if (all_bins <= block_histogram_shape::most_to_add_once && is_small(target, in, count) &&
            fits(words_of_tables<copied_table, sample>(all_bins, true)))
            return small_histogram(target, in, count, finder, all_bins, result);
    if constexpr (is_byte<sample>) {
        byte_histogram(target, in, count, finder, all_bins, result);
    } else {
        if constexpr (Finder::range != bin_range::many)
            if (all_bins <= block_histogram_shape::most_for_lanes && fits(lane_table::words(all_bins)))
                return block_histogram<lane_table>(target, in, count, finder, all_bins, result);
        if (fits(swizzled_table::words(all_bins)))
            return block_histogram<swizzled_table>(target, in, count, finder, all_bins, result);
        if constexpr (Finder::range != bin_range::few)
            large_histogram(target, in, count, finder, all_bins, available, result);
    }
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::histogram> {
    template <class In, class Bins, class Counter>
    static void count(const cuda& target, In& in, const Bins& bins, std::span<Counter> counts, outside* out_of_range,
                      bool accumulates)
    {
        constexpr std::string_view call = "histogram";
        const gpu::current_device current(target.device());
        gpu::check_place(target, call, counts.data(), counts.size());
        gpu::check_place(target, call, out_of_range, 1);
        const gpu::histogram_result<Counter> result{counts.data(), out_of_range, static_cast<bin_index>(counts.size()),
                                                    accumulates};
        if constexpr (is_matrix<std::remove_const_t<In>>) {
            if (in.has_gaps())
                count_matrix(target, in, bins, result);
            else
                count_elements(target, in.data, in.size(), bins, result);
        } else {
            gpu::with_source(first_of(in),
                             [&](const auto& source) { count_elements(target, source, size_of(in), bins, result); });
        }
    }

private:
    template <class It, class Bins, class Counter>
    static void count_elements(const cuda& target, It in, std::size_t count, const Bins& bins,
                               const gpu::histogram_result<Counter>& result)
    {
        gpu::check_place(target, "histogram", in, count);
        gpu::with_bin_finder<std::iter_value_t<It>>(
            target, bins, [&](const auto& finder) { gpu::histogram(target, in, count, finder, result); });
    }
    template <class T, class Bins, class Counter>
    static void count_matrix(const cuda& target, const matrix<T>& in, const Bins& bins,
                             const gpu::histogram_result<Counter>& result)
    {
        gpu::check_place(target, "histogram", in.data, in.size());
        gpu::with_bin_finder<T>(target, bins,
                                [&](const auto& finder) { gpu::matrix_histogram(target, in, finder, result); });
    }
};

} // namespace upsweep::detail
