// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <upsweep/bins.hpp>
#include <upsweep/cpu/joint_histogram.hpp>
#include <upsweep/error.hpp>
#include <upsweep/histogram.hpp>
#include <upsweep/histogram_checks.hpp>
#include <upsweep/joint_bin.hpp>
#include <upsweep/range.hpp>
#include <upsweep/target.hpp>

namespace upsweep {

namespace detail {

template <class... Rs, class... Bins>
outside put_joint_histogram(cpu target, const std::tuple<Rs...>& in, const std::tuple<Bins...>& bins,
                            std::span<std::uint64_t> counts, bool accumulates)
{
    const std::size_t count = check_joint(in, bins, counts.size());
    return put_totals(target, "joint_histogram", counts, accumulates, [&](std::span<std::uint64_t> totals) {
        const auto dimensions = [&]<std::size_t... D>(std::index_sequence<D...>)
        {
            return std::array{
                cpu_engine::dimension_of<std::ranges::range_value_t<std::tuple_element_t<D, std::tuple<Rs...>>>>(
                    first_of(std::get<D>(in)), std::get<D>(bins))...};
        }
        (std::index_sequence_for<Rs...>());
        cpu_engine::joint_histogram_onto(target, count, std::span<const cpu_engine::dimension>(dimensions), totals);
    });
}

} // namespace detail

// Counts the points whose coordinates are the elements of several inputs: joint_histogram(target, std::tuple{xs, ys},
// std::tuple{bins_x, bins_y}, counts) counts (xs[i], ys[i]) for all i. The bins of each dimension are of any kind;
// counts has one element for each combination, the last dimension varying fastest, and is overwritten. A point of which
// a coordinate is in no bin is counted once, apart: as NaN if one is NaN, else as above if one is above its bins, else
// as below. One pass over each input. Errors and temporary memory: as of histogram with as many bins; inputs of
// different lengths are invalid_argument.
template <class... Rs, class... Bins>
outside joint_histogram(cpu target, const std::tuple<Rs...>& in, const std::tuple<Bins...>& bins,
                        std::span<std::uint64_t> counts)
{
    return detail::put_joint_histogram(target, in, bins, counts, false);
}

// The same, added to what `counts` and `beside` hold: for samples that come in pieces.
template <class... Rs, class... Bins>
void joint_histogram_accumulate(cpu target, const std::tuple<Rs...>& in, const std::tuple<Bins...>& bins,
                                std::span<std::uint64_t> counts, outside& out_of_range)
{
    detail::add(out_of_range, detail::put_joint_histogram(target, in, bins, counts, true));
}

} // namespace upsweep

#ifdef __CUDACC__
#include <upsweep/gpu/histogram/joint.cuh>
#endif
