// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <upsweep/bins.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/matrix.hpp>
#include <upsweep/outside.hpp>
#include <upsweep/range.hpp>

// The histogram, for every target. engine<Target, verb::histogram> has
//
//     static void count(const Target&, In& in, const Bins&, std::span<Counter> counts, outside* out_of_range,
//                       bool accumulates);
//
// which overwrites the counters and *out_of_range, or adds to them. The input is a range or a matrix; that there is one
// counter a bin has been checked, that the target reaches the memory has not.
namespace upsweep {

namespace detail {

// What a histogram counts: the elements of a range or of a matrix.
template <class In>
concept countable = input_range<In> || is_matrix<std::remove_cvref_t<In>>;

// The caller's counters as a span: what becomes a span of 64-bit counters, as a vector does, or one of 32-bit counters.
template <class Counts>
auto counters_of(std::remove_reference_t<Counts>& counts)
{
    using wide = std::span<std::uint64_t>;
    using narrow = std::span<std::uint32_t>;
    static_assert(std::convertible_to<Counts, wide> || std::convertible_to<Counts, narrow>,
                  "counters are a std::span of std::uint64_t or, on a GPU, of std::uint32_t");
    if constexpr (std::convertible_to<Counts, wide>)
        return wide(counts);
    else
        return narrow(counts);
}

template <target Target, class In, class Bins, class Counter>
void count(const Target& target, In& in, const Bins& bins, std::span<Counter> counts, outside* out_of_range,
           bool accumulates)
{
    if constexpr (is_matrix<std::remove_const_t<In>>)
        check_matrix("histogram", in);
    check_counters(bins, counts.size());
    engine<Target, verb::histogram>::count(target, in, bins, counts, out_of_range, accumulates);
}

} // namespace detail

// Counts the samples of `in`, a range or a matrix (a part of an image, for one), in bins: even_bins, edges,
// integer_bins or bins_by. `counts` has one element a bin and is overwritten; samples outside every bin, and NaN, are
// counted apart and returned. Counters are std::uint64_t, or std::uint32_t on a GPU, which are filled modulo 2^32.
//
// One pass over the input, which is not copied. Temporary memory on a CPU: a 64-bit counter a bin, and for each thread
// a 32-bit one (four of them up to 16,384 bins, eight up to 1024); on a GPU see docs/histogram.md. Errors, after which
// nothing is written: no bins, counts of another number, a matrix whose rows overlap or misalign elements
// (invalid_argument), and out_of_memory.
template <target Target, detail::countable In, class Bins, class Counts = std::span<std::uint64_t>>
outside histogram(const Target& target, In&& in, const Bins& bins, Counts&& counts)
{
    return detail::returned<Target>::template value<outside>(target, "histogram", [&](outside* out_of_range) {
        detail::count(target, in, bins, detail::counters_of<Counts>(counts), out_of_range, false);
    });
}

// The same with the samples outside every bin counted in *out_of_range. On a GPU the samples, the counters and
// *out_of_range are in memory that it reaches, and the call does not wait: the kernels are carried out in order of the
// stream.
template <target Target, detail::countable In, class Bins, class Counts = std::span<std::uint64_t>>
void histogram(const Target& target, In&& in, const Bins& bins, Counts&& counts, outside* out_of_range)
{
    detail::count(target, in, bins, detail::counters_of<Counts>(counts), out_of_range, false);
}

// The same, added to what `counts` and *out_of_range hold: for samples that come in pieces.
template <target Target, detail::countable In, class Bins, class Counts = std::span<std::uint64_t>>
void histogram_accumulate(const Target& target, In&& in, const Bins& bins, Counts&& counts, outside* out_of_range)
{
    detail::count(target, in, bins, detail::counters_of<Counts>(counts), out_of_range, true);
}

// The same for targets whose results are in memory of the host.
template <target Target, detail::countable In, class Bins, class Counts = std::span<std::uint64_t>>
    requires(detail::returned<Target>::is_in_host_memory)
void histogram_accumulate(const Target& target, In&& in, const Bins& bins, Counts&& counts, outside& out_of_range)
{
    detail::count(target, in, bins, detail::counters_of<Counts>(counts), &out_of_range, true);
}

} // namespace upsweep
