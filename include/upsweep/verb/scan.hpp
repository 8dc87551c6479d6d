// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>
#include <upsweep/view.hpp>

// Scans, for every target. engine<Target, verb::scan> has
//
//     template <scan_kind Kind, class Acc>
//     static void scan(const Target&, In from, Out to, std::size_t count, const Op&, const Acc* init);
//
// which writes `count` results, accumulated in Acc and converted; where init is not null, every result of an exclusive
// scan is *init (+) what it would be without. That the spans agree has been checked, that the target reaches the memory
// has not.
namespace upsweep {

namespace detail {

// scan_accumulator_t, of which the operator is known to be a monoid.
template <class Op, class Out>
struct monoid_scan_accumulator {
    using type = scan_accumulator_t<Op, Out>;
    static_assert(
        monoid_over<Op, type>,
        "the operator is not a monoid over the result type: it needs op(a, b) and an identity (see up::monoid)");
};

// How many results a scan writes. The output must have room for them, and be the input or apart from it.
template <input_range In, output_range Out>
std::size_t count_of_scan(In& in, Out& out)
{
    const std::size_t count = size_of(in);
    if (size_of(out) < count)
        throw error(error_kind::invalid_argument, "scan", "the output is shorter than the input",
                    "make room for one result an element");
    check_overlap("scan", first_of(in), first_of(out), count);
    return count;
}

template <scan_kind Kind, target Target, class In, class Out, class Op, class Init>
void scan(const Target& target, In& in, Out& out, const Op& op, const Init& init)
{
    using accumulator = typename monoid_scan_accumulator<Op, std::ranges::range_value_t<Out>>::type;
    const std::size_t count = count_of_scan(in, out);
    engine<Target, verb::scan>::template scan<Kind, accumulator>(target, first_of(in), first_of(out), count, op, init);
}

} // namespace detail

// Writes out[i] = in[0] (+) ... (+) in[i] in the canonical order: out[i] has the bits of reduce over the first i + 1
// elements, in the accumulator of the result type, for every target and number of threads. `out` may be `in`; an output
// that is shorter than the input, and spans that overlap otherwise, are refused before anything is written
// (invalid_argument).
//
// Below 3 n operations and one pass over the input. Temporary memory on a CPU: an aligned block a thread, some
// kilobytes; on a GPU: 16 bytes for some ten kilobytes of the input. On a GPU the elements and results are in memory
// that it reaches, and the call does not wait: its one kernel is carried out in order of the stream.
template <target Target, input_range In, output_range Out, class Op = plus>
void inclusive_scan(const Target& target, In&& in, Out&& out, Op op = {})
{
    detail::scan<scan_kind::inclusive>(target, in, out, op, nullptr);
}

// Writes out[0] = identity (+0.0 for a sum of floating-point numbers) and out[i] = in[0] (+) ... (+) in[i - 1]: the
// inclusive scan shifted by one, to the bit.
template <target Target, input_range In, output_range Out, class Op = plus>
void exclusive_scan(const Target& target, In&& in, Out&& out, Op op = {})
{
    detail::scan<scan_kind::exclusive>(target, in, out, op, nullptr);
}

// The same with out[0] = init and out[i] = init (+) (in[0] (+) ... (+) in[i - 1]).
template <target Target, input_range In, output_range Out, class Op, class Init>
void exclusive_scan(const Target& target, In&& in, Out&& out, Op op, const Init& init)
{
    using accumulator = typename detail::monoid_scan_accumulator<Op, std::ranges::range_value_t<Out>>::type;
    const auto first = convert<accumulator>(init);
    detail::scan<scan_kind::exclusive>(target, in, out, op, &first);
}

} // namespace upsweep
