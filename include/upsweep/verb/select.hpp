// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/op.hpp>
#include <upsweep/qualifiers.hpp>
#include <upsweep/range.hpp>
#include <upsweep/verb/scan.hpp>
#include <upsweep/view.hpp>

// Select, partition and adjacent difference, for every target. engine<Target, verb::select> has
//
//     static void select(const Target&, In in, Flags flags, std::size_t count, Out out, std::size_t room, Count* selected);
//     static void partition(const Target&, In in, Flags flags, std::size_t count, Out out, Count* selected);
//     static void split(const Target&, In in, Flags flags, std::size_t count, Out selected_out, std::size_t selected_room,
//                       Rejected rejected_out, std::size_t rejected_room, Count* selected);
//
// where flags[i] is convertible to bool, and engine<Target, verb::adjacent_difference>
//
//     template <class Acc>
//     static void differences(const Target&, In in, Out out, std::size_t count, const F& f);
//
// which writes f(element, the one before it) of elements as Acc. That the arrays agree has been checked, that the target reaches the memory
// has not.
namespace upsweep {

namespace detail {

// The flags that a predicate gives.
template <class In, class Predicate>
struct predicate_flags {
    In in;
    Predicate predicate;
    UPSWEEP_HOST_DEVICE bool operator[](std::ptrdiff_t i) const { return static_cast<bool>(predicate(in[i])); }
    UPSWEEP_HOST_DEVICE friend predicate_flags operator+(const predicate_flags& flags, std::ptrdiff_t n)
    {
        return {flags.in + n, flags.predicate};
    }
};

[[noreturn]] inline void refuse_selection(std::string_view call, std::string_view what, std::size_t selected,
                                          std::size_t room)
{
    throw error(error_kind::invalid_argument, call,
                std::to_string(selected) + " elements are " + std::string(what) + ", and there is room for " +
                    std::to_string(room),
                "make room for all that may be: as many as there are elements");
}

template <class In, class Flags>
void check_flags(std::string_view call, const In& in, const Flags& flags)
{
    if (size_of(in) != size_of(flags))
        throw error(error_kind::invalid_argument, call,
                    "there are " + std::to_string(size_of(in)) + " elements and " + std::to_string(size_of(flags)) +
                        " flags",
                    "give one flag an element");
}

// What is moved to other places cannot go to where something is still to be read.
template <class In, class Out>
void check_moved(std::string_view call, In in, std::size_t count, Out out, std::size_t room)
{
    const std::size_t results = std::min(count, room);
    if constexpr (is_in_memory<In> && is_in_memory<Out>)
        if (results != 0 && overlap(footprint_of(in, count), footprint_of(out, results)))
            throw error(error_kind::invalid_argument, call, "input and output overlap", "write to an array of its own");
    if constexpr (is_view_iterator<Out>)
        if (results != 0 && overlaps_itself(footprint_of(out, results)))
            throw error(error_kind::invalid_argument, call, "strides of the output put two results at the same place",
                        "write to a view whose elements lie apart");
}

template <target Target, class In, class Flags, class Out, class Count>
void select(const Target& target, In& in, Flags flags, Out& out, Count* selected)
{
    check_moved("select", first_of(in), size_of(in), first_of(out), size_of(out));
    engine<Target, verb::select>::select(target, first_of(in), flags, size_of(in), first_of(out), size_of(out),
                                         selected);
}

template <target Target, class In, class Flags, class Out, class Count>
void partition(const Target& target, In& in, Flags flags, Out& out, Count* selected)
{
    if (size_of(out) < size_of(in))
        throw error(error_kind::invalid_argument, "partition", "the output is shorter than the input",
                    "make room for all elements");
    check_moved("partition", first_of(in), size_of(in), first_of(out), size_of(out));
    engine<Target, verb::select>::partition(target, first_of(in), flags, size_of(in), first_of(out), selected);
}

template <target Target, class In, class Flags, class Out, class Rejected, class Count>
void split(const Target& target, In& in, Flags flags, Out& out, Rejected& rejected, Count* selected)
{
    check_moved("partition", first_of(in), size_of(in), first_of(out), size_of(out));
    check_moved("partition", first_of(in), size_of(in), first_of(rejected), size_of(rejected));
    check_moved("partition", first_of(out), std::min(size_of(in), size_of(out)), first_of(rejected),
                std::min(size_of(in), size_of(rejected)));
    engine<Target, verb::select>::split(target, first_of(in), flags, size_of(in), first_of(out), size_of(out),
                                        first_of(rejected), size_of(rejected), selected);
}

// The difference of neighbours.
struct minus {
    template <class T>
    UPSWEEP_HOST_DEVICE constexpr T operator()(const T& element, const T& before) const
    {
        return difference(element, before);
    }
};

} // namespace detail

// Writes the elements for which predicate(element) is true one behind the other, in their order, and their number to *selected. The output
// lies apart from the input and needs room for all of them; if there is less, the call writes those for which there is room and throws
// (invalid_argument).
//
//     up::select(cpu, samples, [](float x) { return x > 0; }, positive, &count);
//
// It is a scan of the flags, which gives each element its place (Blelloch 1990), and one pass over the input; the time does not depend
// on how many elements are selected, but for their writing. The predicate may be called more than once for an element, on any thread.
// Temporary memory: some bytes for each 2^14 elements.
template <target Target, input_range In, class Predicate, output_range Out, std::integral Count>
    requires(!input_range<Predicate>)
void select(const Target& target, In&& in, Predicate predicate, Out&& out, Count* selected)
{
    const auto first = detail::first_of(in);
    detail::select(target, in,
                   detail::predicate_flags<std::remove_const_t<decltype(first)>, Predicate>{first, predicate}, out,
                   selected);
}

// The same by flags, one an element: it is selected if its flag, as a bool, is true.
template <target Target, input_range In, input_range Flags, output_range Out, std::integral Count>
void select(const Target& target, In&& in, Flags&& flags, Out&& out, Count* selected)
{
    detail::check_flags("select", in, flags);
    detail::check_moved("select", detail::first_of(flags), detail::size_of(flags), detail::first_of(out),
                        detail::size_of(out));
    detail::select(target, in, detail::first_of(flags), out, selected);
}

// Writes the elements for which predicate(element) is true, in their order, and behind them the others, in theirs; and the number of the
// first to *selected. The output lies apart from the input and has room for all elements. Where the others go depends on all of
// the flags: they are counted first, in a pass over the input of their own.
template <target Target, input_range In, class Predicate, output_range Out, std::integral Count>
    requires(!input_range<Predicate>)
void partition(const Target& target, In&& in, Predicate predicate, Out&& out, Count* selected)
{
    const auto first = detail::first_of(in);
    detail::partition(target, in,
                      detail::predicate_flags<std::remove_const_t<decltype(first)>, Predicate>{first, predicate}, out,
                      selected);
}
template <target Target, input_range In, input_range Flags, output_range Out, std::integral Count>
void partition(const Target& target, In&& in, Flags&& flags, Out&& out, Count* selected)
{
    detail::check_flags("partition", in, flags);
    detail::check_moved("partition", detail::first_of(flags), detail::size_of(flags), detail::first_of(out),
                        detail::size_of(out));
    detail::partition(target, in, detail::first_of(flags), out, selected);
}

// The same to two outputs, in one pass: each has room for what goes there, as that of up::select.
template <target Target, input_range In, class Predicate, output_range Out, output_range Rejected, std::integral Count>
    requires(!input_range<Predicate>)
void partition(const Target& target, In&& in, Predicate predicate, Out&& selected_out, Rejected&& rejected_out,
               Count* selected)
{
    const auto first = detail::first_of(in);
    detail::split(target, in,
                  detail::predicate_flags<std::remove_const_t<decltype(first)>, Predicate>{first, predicate},
                  selected_out, rejected_out, selected);
}
template <target Target, input_range In, input_range Flags, output_range Out, output_range Rejected,
          std::integral Count>
void partition(const Target& target, In&& in, Flags&& flags, Out&& selected_out, Rejected&& rejected_out,
               Count* selected)
{
    detail::check_flags("partition", in, flags);
    detail::check_moved("partition", detail::first_of(flags), detail::size_of(flags), detail::first_of(selected_out),
                        detail::size_of(selected_out));
    detail::check_moved("partition", detail::first_of(flags), detail::size_of(flags), detail::first_of(rejected_out),
                        detail::size_of(rejected_out));
    detail::split(target, in, detail::first_of(flags), selected_out, rejected_out, selected);
}

// Writes out[0] = in[0] and out[i] = f(in[i], in[i - 1]), by default their difference: of integers modulo 2^k, in the type in which a scan with
// these results runs (f32 for f16 and bf16), so that up::inclusive_scan of integers undoes it. `out` may be `in`; an output that is
// shorter, and spans that overlap otherwise, are refused before anything is written (invalid_argument). One operation an element, one pass
// over the input.
template <target Target, input_range In, output_range Out, class F = detail::minus>
void adjacent_difference(const Target& target, In&& in, Out&& out, F f = {})
{
    using accumulator = scan_accumulator_t<plus, std::ranges::range_value_t<Out>>;
    const std::size_t count = detail::size_of(in);
    if (detail::size_of(out) < count)
        throw error(error_kind::invalid_argument, "adjacent_difference", "the output is shorter than the input",
                    "make room for one result an element");
    detail::check_overlap("adjacent_difference", detail::first_of(in), detail::first_of(out), count);
    detail::engine<Target, detail::verb::adjacent_difference>::template differences<accumulator>(
        target, detail::first_of(in), detail::first_of(out), count, f);
}

} // namespace upsweep
