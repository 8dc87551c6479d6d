// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include <upsweep/bins.hpp>
#include <upsweep/cpu/weighted_histogram.hpp>
#include <upsweep/error.hpp>
#include <upsweep/exact_sum.hpp>
#include <upsweep/range.hpp>
#include <upsweep/target.hpp>
#include <upsweep/weights.hpp>

namespace upsweep {

namespace detail {

template <class R, class W, class Bins, class Sum>
void add_weighted_histogram(cpu target, R&& in, W&& weights, const Bins& bins, std::span<Sum> sums,
                            weight_outside<Sum>& out_of_range, bool accumulates)
{
    check_counters(bins, sums.size());
    check_weights(size_of(in), size_of(weights));
    const auto put = [&](std::size_t k, const cpu_engine::thread_sum<Sum>& sum) {
        const std::size_t count = sums.size();
        Sum& to = k < count        ? sums[k]
                  : k == count     ? out_of_range.below
                  : k == count + 1 ? out_of_range.above
                                   : out_of_range.nan;
        if (accumulates)
            add_exactly(to, sum);
        to = rounded_sum<Sum>(sum);
    };
    try {
        with_bin_finder<std::ranges::range_value_t<R>>(bins, [&](const auto& slots) {
            cpu_engine::weighted_histogram<Sum>(target, first_of(in), first_of(weights), size_of(in), slots, put);
        });
    } catch (const std::bad_alloc&) {
        throw error(error_kind::out_of_memory, "weighted_histogram",
                    "no memory for the sums of " + std::to_string(sums.size()) + " bins and each thread",
                    "ask for fewer bins or fewer threads");
    }
}

} // namespace detail

// Adds up, for each bin, the weights of the samples in it: bins as for histogram, one weight a sample, one sum a bin;
// the weights of samples outside every bin, and NaN, are returned. Sums of integers are 64-bit, modulo 2^64. A sum of
// floating-point numbers is the sum of the real numbers, rounded once to nearest even, to double for doubles and to
// float otherwise: it has no error of its own and depends on neither order, threads nor device. NaN, or infinities of
// both signs, make the sum of their bin NaN; no weights at all, or zeros of any sign, make +0. One pass over the input.
// Temporary memory: for each thread a sum of 64 bits a bin, of 128 for floating-point weights (four of them up to 4096
// bins), and where such weights differ by far more than 2^60, sums of 88 (f64: 544) bytes a bin. Errors, after which
// nothing is written: what histogram refuses, and weights of another number than samples (invalid_argument), and
// out_of_memory.
template <input_range R, input_range W, class Bins, class Sum = weight_sum_t<std::ranges::range_value_t<W>>>
weight_outside<Sum> weighted_histogram(cpu target, R&& in, W&& weights, const Bins& bins,
                                       std::span<weight_sum_t<std::ranges::range_value_t<W>>> sums)
{
    weight_outside<Sum> out_of_range;
    detail::add_weighted_histogram(target, in, weights, bins, sums, out_of_range, false);
    return out_of_range;
}

// The same, added to what `sums` and `beside` hold, of which each counts as one more weight.
template <input_range R, input_range W, class Bins, class Sum = weight_sum_t<std::ranges::range_value_t<W>>>
void weighted_histogram_accumulate(cpu target, R&& in, W&& weights, const Bins& bins,
                                   std::span<weight_sum_t<std::ranges::range_value_t<W>>> sums,
                                   weight_outside<Sum>& out_of_range)
{
    detail::add_weighted_histogram(target, in, weights, bins, sums, out_of_range, true);
}

} // namespace upsweep

#ifdef __CUDACC__
#include <upsweep/gpu/histogram/weighted.cuh>
#endif
