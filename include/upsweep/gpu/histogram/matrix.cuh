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
