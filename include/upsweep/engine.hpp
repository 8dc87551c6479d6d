// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

// How a verb finds what carries it out. Each verb is one public template for all targets: it checks its arguments, once, and
// calls the engine of its target. A new target declares itself with is_target and specialises engine for each verb that it can
// carry out; the verbs, their documentation and their checks stay as they are.
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
struct histogram;
struct histogram_rows;
struct histogram_channels;
struct joint_histogram;
struct weighted_histogram;
} // namespace verb

// What a target has to carry out a verb with: static functions, of which the header of the verb says the arguments. The
// primary template stands for the engines that a file has not included.
template <class Target, class Verb>
struct engine;

} // namespace detail
} // namespace upsweep
