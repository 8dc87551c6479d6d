// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>
#include <upsweep/verb/reduce.hpp>
#include <upsweep/verb/scan.hpp>
#include <upsweep/view.hpp>

// Reduce and scan of segments of an array, for every target. engine<Target, verb::reduce_segments> has
//
//     template <class Acc>
//     static void fold(const Target&, In first, std::size_t count, std::span<const Offset> offsets, Out results, const Op&);
//
// which writes the fold of each segment of an array of `count` elements, accumulated in Acc, and engine<Target, verb::scan_segments>
//
//     template <scan_kind Kind, class Acc>
//     static void scan(const Target&, In from, std::size_t count, std::span<const Offset> offsets, Out to, const Op&,
//                     const Acc* init);
//
// engine<Target, verb::check_segments> has
//
//     static std::optional<std::size_t> first_wrong(const Target&, std::span<const Offset> offsets, std::size_t count);
//
// which looks for an offset that is less than the one before it, or more than `count`.
namespace upsweep {

// Where segments begin and end: a span, a vector or an array of integers of 32 or 64 bits.
template <class R>
concept segment_offsets = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::integral<std::ranges::range_value_t<R>> &&
    (sizeof(std::ranges::range_value_t<R>) == 4 || sizeof(std::ranges::range_value_t<R>) == 8);

namespace detail {

// The offsets, which name one segment less.
template <segment_offsets R>
std::span<const std::ranges::range_value_t<R>> offsets_of_segments(std::string_view call, R&& offsets)
{
    if (std::ranges::size(offsets) == 0)
        throw error(error_kind::invalid_argument, call, "there are no offsets",
                    "give one offset more than there are segments: 0, ..., the number of elements");
    return {std::ranges::data(offsets), std::ranges::size(offsets)};
}

} // namespace detail

// Checks what segmented calls take on trust, since looking at all offsets first would cost them a pass: that offsets ascend,
// and that the last of them is at most `count`. Throws invalid_argument and names the first that is wrong.
template <target Target, segment_offsets Offsets>
void check_offsets(const Target& target, Offsets&& offsets, std::size_t count)
{
    const auto all = detail::offsets_of_segments("check_offsets", offsets);
    if (const auto wrong = detail::engine<Target, detail::verb::check_segments>::first_wrong(target, all, count))
        throw error(error_kind::invalid_argument, "check_offsets",
                    "offset " + std::to_string(*wrong) + " of " + std::to_string(all.size()) +
                        " is less than the one before it, or beyond the " + std::to_string(count) + " elements",
                    "offsets ascend from 0 or more to at most the number of elements");
}

// Folds each segment of an array: segment k has the elements from offsets[k] to before offsets[k + 1], and its result, out[k], has the
// bits of up::reduce over them alone. Offsets ascend; segments may be empty, whose result is the operator's identity (+0.0
// for a sum of floating-point numbers; minimum and maximum of no elements are +-infinity, or the type's limits). Elements before the
// first offset and from the last one on are in no segment.
//
//     const std::vector<std::int64_t> offsets{0, 3, 3, 7};
//     up::segmented_reduce(cpu, values, offsets, sums, up::plus{}); // of three elements, of none, of four
//
// One operation an element, one pass over the elements and the offsets; the time depends on the number of both, and not on
// how long each segment is. Offsets that descend or lead beyond the array are not noticed: see up::check_offsets.
template <target Target, input_range In, segment_offsets Offsets, output_range Out, class Op>
void segmented_reduce(const Target& target, In&& in, Offsets&& offsets, Out&& out, Op op)
{
    using accumulator = typename detail::reduce_accumulator<Op, std::ranges::range_value_t<In>>::type;
    const auto all = detail::offsets_of_segments("segmented_reduce", offsets);
    if (detail::size_of(out) < all.size() - 1)
        throw error(error_kind::invalid_argument, "segmented_reduce", "the output has fewer elements than segments",
                    "make room for one result a segment");
    detail::engine<Target, detail::verb::reduce_segments>::template fold<accumulator>(
        target, detail::first_of(in), detail::size_of(in), all, detail::first_of(out), op);
}

namespace detail {

template <scan_kind Kind, target Target, class In, class Offsets, class Out, class Op, class Init>
void scan_segments(const Target& target, In& in, const Offsets& offsets, Out& out, const Op& op, const Init& init)
{
    using accumulator = typename monoid_scan_accumulator<Op, std::ranges::range_value_t<Out>>::type;
    const auto all = offsets_of_segments("segmented_scan", offsets);
    const std::size_t count = count_of_scan(in, out);
    engine<Target, verb::scan_segments>::template scan<Kind, accumulator>(target, first_of(in), count, all,
                                                                          first_of(out), op, init);
}

} // namespace detail

// Scans each segment of an array: out[i] has the bits of up::inclusive_scan over the segment of element i alone. `out` may be
// `in`. What is in no segment is not written.
template <target Target, input_range In, segment_offsets Offsets, output_range Out, class Op>
void segmented_inclusive_scan(const Target& target, In&& in, Offsets&& offsets, Out&& out, Op op)
{
    detail::scan_segments<scan_kind::inclusive>(target, in, offsets, out, op, nullptr);
}

// The same shifted by one within each segment, which begins with the identity (+0.0 for a sum of floating-point numbers).
template <target Target, input_range In, segment_offsets Offsets, output_range Out, class Op>
void segmented_exclusive_scan(const Target& target, In&& in, Offsets&& offsets, Out&& out, Op op)
{
    detail::scan_segments<scan_kind::exclusive>(target, in, offsets, out, op, nullptr);
}

// The same with init at the beginning of each segment, and init (+) each result.
template <target Target, input_range In, segment_offsets Offsets, output_range Out, class Op, class Init>
void segmented_exclusive_scan(const Target& target, In&& in, Offsets&& offsets, Out&& out, Op op, const Init& init)
{
    using accumulator = typename detail::monoid_scan_accumulator<Op, std::ranges::range_value_t<Out>>::type;
    const auto first = convert<accumulator>(init);
    detail::scan_segments<scan_kind::exclusive>(target, in, offsets, out, op, &first);
}

} // namespace upsweep
