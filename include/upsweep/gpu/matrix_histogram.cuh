// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <upsweep/gpu/cuda.cuh>
#include <upsweep/gpu/histogram.cuh>
#include <upsweep/gpu/histogram_channels.cuh>
#include <upsweep/gpu/primitive/rules.cuh>
#include <upsweep/histogram_checks.hpp>
#include <upsweep/matrix.hpp>

// One histogram of all elements of a matrix: histogram.cuh for rows without gaps, else as of a single channel.
namespace upsweep {

namespace detail {

template <class T, class Bins, class Counter>
void matrix_histogram_on_gpu(const cuda& target, const matrix<T>& in, const Bins& bins, std::span<Counter> counts,
                             outside* beside, bool accumulates)
{
    check_matrix("histogram", in);
    if (!in.has_gaps())
        return histogram_on_gpu(target, std::span(in.data, in.size()), bins, counts, beside, accumulates);
    static_assert(std::same_as<Counter, std::uint64_t> || std::same_as<Counter, std::uint32_t>,
                  "counters are std::uint64_t or std::uint32_t");
    check_counters(bins, counts.size());
    const gpu::current_device current(target.device());
    gpu::check_place(target, "histogram", in.data, in.size());
    gpu::check_place(target, "histogram", counts.data(), counts.size());
    gpu::check_place(target, "histogram", beside, 1);
    gpu::histogram_channels(target, in, 1, gpu::rule_of<T>(target, bins), counts.data(), beside, accumulates);
}

} // namespace detail

// The same on a GPU, with everything in memory that it can reach, in order of the stream: the call does not wait.
template <class T, class Bins, class Counter>
void histogram(const cuda& target, const matrix<T>& in, const Bins& bins, std::span<Counter> counts, outside* beside)
{
    detail::matrix_histogram_on_gpu(target, in, bins, counts, beside, false);
}

// The same with the samples beside all bins returned: waits for the stream.
template <class T, class Bins, class Counter>
outside histogram(const cuda& target, const matrix<T>& in, const Bins& bins, std::span<Counter> counts)
{
    auto* const beside = static_cast<outside*>(target.workspace().result(sizeof(outside)));
    histogram(target, in, bins, counts, beside);
    gpu::check("histogram", cudaStreamSynchronize(target.stream()));
    return *beside;
}

// The same, added to what the counters and *beside hold. Does not wait.
template <class T, class Bins, class Counter>
void histogram_accumulate(const cuda& target, const matrix<T>& in, const Bins& bins, std::span<Counter> counts,
                          outside* beside)
{
    detail::matrix_histogram_on_gpu(target, in, bins, counts, beside, true);
}

} // namespace upsweep
