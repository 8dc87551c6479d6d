// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <type_traits>

// How a verb finds what carries it out. Each verb is one public template for all targets: it checks its arguments,
// once, and calls the engine of its target. A new target declares itself with is_target and specialises engine for each
// verb that it can carry out; the verbs, their documentation and their checks stay as they are.
namespace upsweep {

// Whether a type says where to run. The headers of the targets specialise it.
template <class T>
inline constexpr bool is_target = false;

template <class T>
concept target = is_target<std::remove_cvref_t<T>>;

namespace detail {

// The verbs, as the second argument of engine.
namespace verb {
struct reduce;
struct scan;
struct reduce_lines; // along an axis
struct scan_lines;
struct reduce_segments;
struct scan_segments;
struct check_segments;
struct runs;     // of equal keys
struct argument; // of a minimum or maximum
struct argument_lines;
struct linear_recurrence;
struct images;
struct boxes; // rectangles and slices
struct select;
struct adjacent_difference;
struct reducer; // what comes in pieces
struct scanner;
struct counter;
struct histogram;
struct histogram_rows;
struct histogram_channels;
struct histogram_lines; // along an axis
struct histogram_segments;
struct joint_histogram;
struct weighted_histogram;
} // namespace verb

// What a target has to carry out a verb with: static functions, of which the header of the verb says the arguments. The
// primary template stands for the engines that a file has not included.
template <class Target, class Verb>
struct engine;

// How a verb returns a value that its engine writes to memory. This is the way of targets whose calls are done when
// they return, with results in memory of the host; a target of another kind specialises it.
template <class Target>
struct returned {
    static constexpr bool is_in_host_memory = true;

    // What write(T*) writes, when the target has done so.
    template <class T, class Write>
    static T value(const Target&, std::string_view, Write write)
    {
        T result{};
        write(&result);
        return result;
    }
};

} // namespace detail
} // namespace upsweep
