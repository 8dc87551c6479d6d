// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <upsweep/bins.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/lines.hpp>
#include <upsweep/outside.hpp>
#include <upsweep/verb/axis.hpp>
#include <upsweep/verb/matrix_histogram.hpp>
#include <upsweep/view.hpp>

// A histogram of each line of a view along an axis, for every target. engine<Target, verb::histogram_lines> has
//
//     static void count(const Target&, const counted_lines<T, Counter, Rank>&, const Bins&);
//
// which overwrites the counters of each line. The bins and the shapes have been checked, that the target reaches the
// memory has not. There is a line; a line may have no elements.
namespace upsweep {

namespace detail {

// Refuses counters that are not those of the view with its axis replaced by the bins.
template <class T, class Counter, std::size_t Rank, class Bins>
void check_counted_lines(const view<T, Rank>& in, axis along, const Bins& bins, const view<Counter, Rank>& counts,
                         std::size_t places)
{
    constexpr std::string_view call = "histogram";
    check_axis(call, along, Rank);
    check_bins(bins);
    std::size_t lines = 1;
    for (std::size_t k = 0; k < Rank; ++k) {
        if (counts.extent(k) != (k == along.index ? bin_count(bins) : in.extent(k)))
            throw error(error_kind::invalid_argument, call,
                        "dimension " + std::to_string(k) + " of the counters has extent " +
                            std::to_string(counts.extent(k)),
                        "give the counters the extents of the input, with as many as there are bins along the axis");
        lines *= k == along.index ? 1 : in.extent(k);
    }
    check_places(call, lines, "lines", places);
    if (lines != 0)
        check_results(call, in.begin(), in.size(), counts.begin(), counts.size());
}

} // namespace detail

// A histogram along an axis of a view: for every choice of the other indices, `counts` has the counters of the elements
// along the axis, which they take the place of: from {batch, samples, channels} along axis 1, `counts` has the extents
// {batch, bins, channels}. Strides may be negative, padded, or zero on input. out_of_range counts the samples of each
// line that are in no bin, the lines in order of the other indices, the last one fastest. Both are overwritten. Counters
// are std::uint64_t, or std::uint32_t on a GPU, which are filled modulo 2^32.
//
//     up::histogram(cpu, up::view(image, {rows, columns, 3}), up::axis{1}, up::even_bins{0, 1, 64},
//                   up::view(counts, {rows, 64, 3}), out_of_range); // of each row and channel
//
// One pass over the input, which is not copied, and one over the counters, for lines of any length and wherever they
// lie. Temporary memory on a CPU: for each thread the counters of some lines, at most 256 of them and 1 MiB where that is
// more than one. On a GPU the memory is such that it reaches, and the call does not wait. Errors, with nothing written:
// bins that histogram refuses, counters of other extents or of which two are at one place, and out_of_range of another
// number than there are lines (invalid_argument).
template <target Target, class T, std::size_t Rank, class Bins, class Counter>
void histogram(const Target& target, const view<T, Rank>& in, axis along, const Bins& bins,
               const view<Counter, Rank>& counts, std::span<outside> out_of_range)
{
    const view<const std::remove_const_t<T>, Rank> from(in);
    detail::check_counted_lines(from, along, bins, counts, out_of_range.size());
    if (!out_of_range.empty())
        detail::engine<Target, detail::verb::histogram_lines>::count(
            target, detail::counted_lines_of(from, along, counts, out_of_range), bins);
}

} // namespace upsweep
