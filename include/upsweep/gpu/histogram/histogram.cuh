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
#include <upsweep/gpu/histogram/small.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/range.hpp>

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

namespace upsweep {

namespace detail {

template <class R, class Bins, class Counter>
void histogram_on_gpu(const cuda& target, R&& in, const Bins& bins, std::span<Counter> counts, outside* out_of_range,
                      bool accumulates)
{
    static_assert(std::same_as<Counter, std::uint64_t> || std::same_as<Counter, std::uint32_t>,
                  "counters are std::uint64_t or std::uint32_t");
    using sample = std::ranges::range_value_t<R>;
    check_counters(bins, counts.size());
    const std::size_t count = size_of(in);
    const gpu::current_device current(target.device());
    gpu::check_place(target, "histogram", first_of(in), count);
    gpu::check_place(target, "histogram", counts.data(), counts.size());
    gpu::check_place(target, "histogram", out_of_range, 1);
    const gpu::histogram_result<Counter> result{counts.data(), out_of_range, static_cast<bin_index>(counts.size()),
                                                accumulates};
    gpu::with_bin_finder<sample>(
        target, bins, [&](const auto& finder) { gpu::histogram(target, first_of(in), count, finder, result); });
}

} // namespace detail

// The same on a GPU, with the samples, the counters and *beside in memory that the GPU can reach, in order of the stream: the
// call does not wait. One pass over the input, in one kernel, or in two for each chunk where the table is large. Counters of
// 32 bits are filled modulo 2^32.
template <input_range R, class Bins, class Counter>
void histogram(const cuda& target, R&& in, const Bins& bins, std::span<Counter> counts, outside* out_of_range)
{
    detail::histogram_on_gpu(target, in, bins, counts, out_of_range, false);
}

// The same with the samples beside all bins returned: waits for the stream.
template <input_range R, class Bins, class Counter>
outside histogram(const cuda& target, R&& in, const Bins& bins, std::span<Counter> counts)
{
    auto* const out_of_range = static_cast<outside*>(target.workspace().result(sizeof(outside)));
    histogram(target, in, bins, counts, out_of_range);
    gpu::check("histogram", cudaStreamSynchronize(target.stream()));
    return *out_of_range;
}

// The same, added to what the counters and *beside hold: for samples that come in pieces. Does not wait.
template <input_range R, class Bins, class Counter>
void histogram_accumulate(const cuda& target, R&& in, const Bins& bins, std::span<Counter> counts,
                          outside* out_of_range)
{
    detail::histogram_on_gpu(target, in, bins, counts, out_of_range, true);
}

} // namespace upsweep
