// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <upsweep/bins.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/range.hpp>
#include <upsweep/weights.hpp>

// The weighted histogram, for every target. engine<Target, verb::weighted_histogram> has
//
//     static void add_up(const Target&, In& in, Weights& weights, const Bins&, std::span<Sum> sums,
//                        weight_outside<Sum>* out_of_range, bool accumulates);
//
// which overwrites the sums and *out_of_range, or adds to them. That there are a weight a sample and a sum a bin has
// been checked.
namespace upsweep {

namespace detail {

template <input_range Weights>
using sum_of_weights_t = weight_sum_t<std::ranges::range_value_t<Weights>>;

template <target Target, class In, class Weights, class Bins, class Sum>
void add_up_weights(const Target& target, In& in, Weights& weights, const Bins& bins, std::span<Sum> sums,
                    weight_outside<Sum>* out_of_range, bool accumulates)
{
    check_counters(bins, sums.size());
    if (size_of(in) != size_of(weights))
        throw error(error_kind::invalid_argument, "weighted_histogram",
                    std::to_string(size_of(weights)) + " weights for " + std::to_string(size_of(in)) + " samples",
                    "pass one weight a sample");
    engine<Target, verb::weighted_histogram>::add_up(target, in, weights, bins, sums, out_of_range, accumulates);
}

} // namespace detail

// Adds up, for each bin, the weights of the samples in it: bins as for histogram, one weight a sample, one sum a bin;
// the weights of samples outside every bin, and NaN, are returned. Sums of integers are 64-bit, modulo 2^64. A sum of
// floating-point numbers is the sum of the real numbers, rounded once to nearest even, to double for doubles and to
// float otherwise: it has no error of its own and depends on neither order, threads nor device. NaN, or infinities of
// both signs, make the sum of their bin NaN; no weights at all, or zeros of any sign, make +0.
//
// One pass over the input. Temporary memory on a CPU: for each thread a sum of 64 bits a bin, of 128 for floating-point
// weights (four of them up to 4096 bins), and where such weights differ by far more than 2^60, sums of 88 (f64: 544)
// bytes a bin. Errors, after which nothing is written: what histogram refuses, weights of another number than samples
// (invalid_argument), and out_of_memory.
template <target Target, input_range In, input_range Weights, class Bins, class Sum = detail::sum_of_weights_t<Weights>>
weight_outside<Sum> weighted_histogram(const Target& target, In&& in, Weights&& weights, const Bins& bins,
                                       std::span<detail::sum_of_weights_t<Weights>> sums)
{
    return detail::returned<Target>::template value<weight_outside<Sum>>(
        target, "weighted_histogram", [&](weight_outside<Sum>* out_of_range) {
            detail::add_up_weights(target, in, weights, bins, sums, out_of_range, false);
        });
}

// The same with the weights of samples outside every bin added up in *out_of_range. On a GPU everything is in memory
// that it reaches, and the call does not wait: there is one kernel for each 2^30 samples, in order of the stream.
template <target Target, input_range In, input_range Weights, class Bins, class Sum>
void weighted_histogram(const Target& target, In&& in, Weights&& weights, const Bins& bins,
                        std::span<detail::sum_of_weights_t<Weights>> sums, weight_outside<Sum>* out_of_range)
{
    detail::add_up_weights(target, in, weights, bins, sums, out_of_range, false);
}

// The same, added to what `sums` and *out_of_range hold, of which each counts as one more weight.
template <target Target, input_range In, input_range Weights, class Bins, class Sum>
void weighted_histogram_accumulate(const Target& target, In&& in, Weights&& weights, const Bins& bins,
                                   std::span<detail::sum_of_weights_t<Weights>> sums, weight_outside<Sum>* out_of_range)
{
    detail::add_up_weights(target, in, weights, bins, sums, out_of_range, true);
}

// The same for targets whose results are in memory of the host.
template <target Target, input_range In, input_range Weights, class Bins, class Sum>
    requires(detail::returned<Target>::is_in_host_memory)
void weighted_histogram_accumulate(const Target& target, In&& in, Weights&& weights, const Bins& bins,
                                   std::span<detail::sum_of_weights_t<Weights>> sums, weight_outside<Sum>& out_of_range)
{
    detail::add_up_weights(target, in, weights, bins, sums, &out_of_range, true);
}

} // namespace upsweep
