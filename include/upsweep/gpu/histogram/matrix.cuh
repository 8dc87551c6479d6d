// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <upsweep/gpu/histogram/bin_finders.cuh>
#include <upsweep/gpu/histogram/block.cuh>
#include <upsweep/gpu/histogram/large.cuh>
#include <upsweep/gpu/source/matrix.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/histogram_checks.hpp>
#include <upsweep/matrix.hpp>

// One histogram of all elements of a matrix, counted as other samples are (histogram.cuh). Where its rows have gaps, what is here tells
// the kernels where the elements are.
namespace upsweep::gpu {

// Calls count(rows, how many elements, result) for the pieces of a matrix, one after the other.
template <class T, class Counter, class F>
void histogram_of_pieces(const matrix<T>& in, histogram_result<Counter> result, F count)
{
    for_each_piece(in, 1, [&](const matrix<T>& piece) {
        count(matrix_rows<T>{piece}, piece.size(), result);
        result.accumulates = true;
    });
}

template <class T, class Finder, class Counter>
void matrix_histogram(const cuda& target, const matrix<T>& in, const Finder& finder,
                      const histogram_result<Counter>& result)
{
    const auto all_bins = static_cast<bin_index>(finder.bins + detail::out_of_range_bins);
    if constexpr (is_byte<T>) {
        histogram_of_pieces(in, result, [&](const auto& rows, std::uint64_t count, const auto& to) {
            byte_histogram(target, rows, count, finder, all_bins, to);
        });
    } else {
        const std::size_t available = table_bytes(target) - words_of(finder) * sizeof(std::uint32_t);
        const auto fits = [&](std::size_t words) { return words * sizeof(std::uint32_t) <= available; };
        if constexpr (Finder::range != bin_range::many)
            if (all_bins <= block_histogram_shape::most_for_lanes && fits(lane_table::words(all_bins)))
                return histogram_of_pieces(in, result, [&](const auto& rows, std::uint64_t count, const auto& to) {
                    block_histogram<lane_table>(target, rows, count, finder, all_bins, to);
                });
        if (fits(swizzled_table::words(all_bins)))
            return histogram_of_pieces(in, result, [&](const auto& rows, std::uint64_t count, const auto& to) {
                block_histogram<swizzled_table>(target, rows, count, finder, all_bins, to);
            });
        if constexpr (Finder::range != bin_range::few)
            large_histogram(target, matrix_elements<T>(in), in.size(), finder, all_bins, available, result);
    }
}

} // namespace upsweep::gpu

namespace upsweep {

namespace detail {

template <class T, class Bins, class Counter>
void matrix_histogram_on_gpu(const cuda& target, const matrix<T>& in, const Bins& bins, std::span<Counter> counts,
                             outside* out_of_range, bool accumulates)
{
    check_matrix("histogram", in);
    if (!in.has_gaps())
        return histogram_on_gpu(target, std::span(in.data, in.size()), bins, counts, out_of_range, accumulates);
    static_assert(std::same_as<Counter, std::uint64_t> || std::same_as<Counter, std::uint32_t>,
                  "counters are std::uint64_t or std::uint32_t");
    check_counters(bins, counts.size());
    const gpu::current_device current(target.device());
    gpu::check_place(target, "histogram", in.data, in.size());
    gpu::check_place(target, "histogram", counts.data(), counts.size());
    gpu::check_place(target, "histogram", out_of_range, 1);
    const gpu::histogram_result<Counter> result{counts.data(), out_of_range, static_cast<bin_index>(counts.size()),
                                                accumulates};
    gpu::with_bin_finder<T>(target, bins,
                            [&](const auto& finder) { gpu::matrix_histogram(target, in, finder, result); });
}

} // namespace detail

// The same on a GPU, with everything in memory that it can reach, in order of the stream: the call does not wait.
template <class T, class Bins, class Counter>
void histogram(const cuda& target, const matrix<T>& in, const Bins& bins, std::span<Counter> counts,
               outside* out_of_range)
{
    detail::matrix_histogram_on_gpu(target, in, bins, counts, out_of_range, false);
}

// The same with the samples beside all bins returned: waits for the stream.
template <class T, class Bins, class Counter>
outside histogram(const cuda& target, const matrix<T>& in, const Bins& bins, std::span<Counter> counts)
{
    auto* const out_of_range = static_cast<outside*>(target.workspace().result(sizeof(outside)));
    histogram(target, in, bins, counts, out_of_range);
    gpu::check("histogram", cudaStreamSynchronize(target.stream()));
    return *out_of_range;
}

// The same, added to what the counters and *beside hold. Does not wait.
template <class T, class Bins, class Counter>
void histogram_accumulate(const cuda& target, const matrix<T>& in, const Bins& bins, std::span<Counter> counts,
                          outside* out_of_range)
{
    detail::matrix_histogram_on_gpu(target, in, bins, counts, out_of_range, true);
}

} // namespace upsweep
