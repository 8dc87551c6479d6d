// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>

// Reduce, for every target. engine<Target, verb::reduce> has
//
//     template <class Acc>
//     static void fold(const Target&, In first, std::size_t count, const Op&, Result* result);
//
// which writes the fold of `count` elements in the canonical order (fold_order.hpp), accumulated in Acc and converted,
// to *result. That the fold exists has been checked, that the target reaches the memory has not.
namespace upsweep {

namespace detail {

// accumulator_t, of which the operator is known to be a monoid.
template <class Op, class T>
struct reduce_accumulator {
    using type = accumulator_t<Op, T>;
    static_assert(
        monoid_over<Op, type>,
        "the operator is not a monoid over the element type: it needs op(a, b) and an identity (see up::monoid)");
};

template <class Op>
void check_fold_exists(std::uint64_t count)
{
    if constexpr (is_extremum<Op>)
        if (count == 0)
            throw error(error_kind::invalid_argument, "reduce", "minimum and maximum of no elements do not exist",
                        "check that the input is not empty");
}

} // namespace detail

// Writes the fold in[0] (+) in[1] (+) ... (+) in[n - 1] to *result, converted to its type (integers modulo 2^k). The
// order is the canonical one, so that every target and number of threads gives the same bits. The fold of no elements
// is the operator's identity (+0.0 for a sum of floating-point numbers); minimum and maximum have none and throw.
//
// n - 1 operations and one pass over the input, which is not copied. On a GPU the elements and *result are in memory
// that it reaches, and the call does not wait: its one kernel is carried out in order of the stream.
template <target Target, input_range R, class Result, class Op>
void reduce(const Target& target, R&& in, Result* result, Op op)
{
    using accumulator = typename detail::reduce_accumulator<Op, std::ranges::range_value_t<R>>::type;
    const std::size_t count = detail::size_of(in);
    detail::check_fold_exists<Op>(count);
    detail::engine<Target, detail::verb::reduce>::template fold<accumulator>(target, detail::first_of(in), count, op,
                                                                             result);
}

// The same with the result returned, which has the type result_t<Op, T>; the call waits for it.
template <target Target, input_range R, class Op = plus>
[[nodiscard]] auto reduce(const Target& target, R&& in, Op op = {})
{
    using result = result_t<Op, std::ranges::range_value_t<R>>;
    return detail::returned<Target>::template value<result>(target, "reduce",
                                                            [&](result* to) { upsweep::reduce(target, in, to, op); });
}

} // namespace upsweep
