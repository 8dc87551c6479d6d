// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>
#include <upsweep/verb/reduce.hpp>
#include <upsweep/verb/scan.hpp>
#include <upsweep/view.hpp>

// Runs of equal keys, for every target. engine<Target, verb::runs> has
//
//     static void encode(const Target&, In in, std::size_t count, Values to, Lengths lengths, std::size_t room, Runs* runs);
//     static void decode(const Target&, Values values, Lengths lengths, std::size_t runs, Out out, std::size_t room);
//     template <class Acc>
//     static void reduce(const Target&, Keys keys, Values values, std::size_t count, KeysOut keys_out, Totals totals,
//                        std::size_t room, Runs* runs, const Op&);
//     template <scan_kind Kind, class Acc>
//     static void scan(const Target&, Keys keys, Values values, std::size_t count, Out out, const Op&, const Acc* init);
//
// That the arrays agree has been checked, that the target reaches the memory has not.
namespace upsweep {

namespace detail {

[[noreturn]] inline void refuse_runs(std::string_view call, std::size_t runs, std::size_t room)
{
    throw error(error_kind::invalid_argument, call,
                "there are " + std::to_string(runs) + " runs, and room for " + std::to_string(room),
                "make room for one result a run: there are at most as many runs as elements");
}

template <class Keys, class Values>
std::size_t count_of_pairs(std::string_view call, const Keys& keys, const Values& values)
{
    if (size_of(keys) != size_of(values))
        throw error(error_kind::invalid_argument, call,
                    "there are " + std::to_string(size_of(keys)) + " keys and " + std::to_string(size_of(values)) +
                        " values",
                    "give one key a value");
    return size_of(keys);
}

} // namespace detail

// A run is a stretch of elements of which each is == to the one before it. So -0.0 and +0.0 are one run, and each NaN is a run of
// its own. What is written of a run's elements is the first.

// Writes the first element of each run to values_out, how many elements it has to lengths_out, and the number of runs to
// *runs. The outputs need room for all runs, of which there are at most as many as elements, and lie apart from the input; if there
// are more, the call writes those for which there is room and throws (invalid_argument). On a GPU, whose calls do not wait, *runs
// lies in its memory and tells how many there are; nothing is thrown.
//
// One pass over the input, and one write a run; a GPU reads the first elements of runs a second time. Temporary memory: on a GPU a bit for
// each element, and some bytes for each 2^10.
template <target Target, input_range In, output_range Values, output_range Lengths, std::integral Runs>
void run_length_encode(const Target& target, In&& in, Values&& values_out, Lengths&& lengths_out, Runs* runs)
{
    const std::size_t room = std::min(detail::size_of(values_out), detail::size_of(lengths_out));
    detail::engine<Target, detail::verb::runs>::encode(target, detail::first_of(in), detail::size_of(in),
                                                       detail::first_of(values_out), detail::first_of(lengths_out),
                                                       room, runs);
}

// Writes values[k] lengths[k] times, one run behind the other: what run_length_encode was given. Lengths are not negative; an output
// without room for all elements is refused before anything is written (invalid_argument). On a GPU both are taken on trust: elements for
// which there is no room are not written.
//
// One pass over the lengths for their sum, and one write an element. Temporary memory: 8 bytes a run.
template <target Target, input_range Values, input_range Lengths, output_range Out>
void run_length_decode(const Target& target, Values&& values, Lengths&& lengths, Out&& out)
{
    const std::size_t runs = detail::count_of_pairs("run_length_decode", values, lengths);
    detail::engine<Target, detail::verb::runs>::decode(target, detail::first_of(values), detail::first_of(lengths),
                                                       runs, detail::first_of(out), detail::size_of(out));
}

// Folds the values of each run of equal keys: writes the run's first key to keys_out, the fold of its values to totals_out, with
// the bits of up::reduce over them alone, and the number of runs to *runs. Room for the outputs as for run_length_encode.
//
// One operation a value, one pass over the keys and one over the values. Temporary memory: 128 KiB a thread; on a GPU some bytes for each 2^10 keys, or, of
// values so large that 2048 of them do not fit into shared memory, 4 bytes and a bit a key (8 from 2^32 on), which the target keeps.
template <target Target, input_range Keys, input_range Values, output_range KeysOut, output_range Totals,
          std::integral Runs, class Op>
void reduce_by_key(const Target& target, Keys&& keys, Values&& values, KeysOut&& keys_out, Totals&& totals_out,
                   Runs* runs, Op op)
{
    using accumulator = typename detail::reduce_accumulator<Op, std::ranges::range_value_t<Values>>::type;
    const std::size_t count = detail::count_of_pairs("reduce_by_key", keys, values);
    const std::size_t room = std::min(detail::size_of(keys_out), detail::size_of(totals_out));
    detail::engine<Target, detail::verb::runs>::template reduce<accumulator>(
        target, detail::first_of(keys), detail::first_of(values), count, detail::first_of(keys_out),
        detail::first_of(totals_out), room, runs, op);
}

namespace detail {

template <scan_kind Kind, target Target, class Keys, class Values, class Out, class Op, class Init>
void scan_by_key(const Target& target, Keys& keys, Values& values, Out& out, const Op& op, const Init& init)
{
    using accumulator = typename monoid_scan_accumulator<Op, std::ranges::range_value_t<Out>>::type;
    const std::size_t count = count_of_pairs("scan_by_key", keys, values);
    (void)count_of_scan(values, out);
    engine<Target, verb::runs>::template scan<Kind, accumulator>(target, first_of(keys), first_of(values), count,
                                                                 first_of(out), op, init);
}

} // namespace detail

// Scans the values of each run of equal keys: out[i] has the bits of up::inclusive_scan over the values of the run of element i
// alone. `out` may be `values`, and must not overlap the keys.
template <target Target, input_range Keys, input_range Values, output_range Out, class Op>
void inclusive_scan_by_key(const Target& target, Keys&& keys, Values&& values, Out&& out, Op op)
{
    detail::scan_by_key<scan_kind::inclusive>(target, keys, values, out, op, nullptr);
}

// The same shifted by one within each run, which begins with the identity (+0.0 for a sum of floating-point numbers).
template <target Target, input_range Keys, input_range Values, output_range Out, class Op>
void exclusive_scan_by_key(const Target& target, Keys&& keys, Values&& values, Out&& out, Op op)
{
    detail::scan_by_key<scan_kind::exclusive>(target, keys, values, out, op, nullptr);
}

// The same with init at the beginning of each run, and init (+) each result.
template <target Target, input_range Keys, input_range Values, output_range Out, class Op, class Init>
void exclusive_scan_by_key(const Target& target, Keys&& keys, Values&& values, Out&& out, Op op, const Init& init)
{
    using accumulator = typename detail::monoid_scan_accumulator<Op, std::ranges::range_value_t<Out>>::type;
    const auto first = convert<accumulator>(init);
    detail::scan_by_key<scan_kind::exclusive>(target, keys, values, out, op, &first);
}

} // namespace upsweep
