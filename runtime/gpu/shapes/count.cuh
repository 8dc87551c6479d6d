// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <upsweep/axis_histogram.hpp>
#include <upsweep/segmented_histogram.hpp>

#include "instantiate.cuh"

namespace upsweep::runtime::gpu {

// The axis, and the last dimensions beside it: those before them have extent 1. Strides are in so many bytes.
template <class T, std::size_t Rank, class From>
view<T, most_line_dimensions> few_dimensions_of(const view<From, Rank>& of, std::ptrdiff_t bytes)
{
    std::array<std::size_t, most_line_dimensions> extents;
    std::array<std::ptrdiff_t, most_line_dimensions> strides;
    for (std::size_t k = 0; k < most_line_dimensions; ++k) {
        const std::size_t of_view = k == 0 ? 0 : Rank - most_line_dimensions + k;
        extents[k] = of.extent(of_view);
        strides[k] = extents[k] <= 1 ? 1 : of.stride(of_view) / bytes;
    }
    return {reinterpret_cast<T*>(of.data()), extents, strides};
}

template <class T, class Bins>
void count_lines_of(const cuda& target, const counted_layout& lines, const Bins& bins)
{
    const detail::counted_lines<T, std::uint64_t, most_line_dimensions> all{
        few_dimensions_of<const T>(lines.in, sizeof(T)), few_dimensions_of<std::uint64_t>(lines.counts, 1),
        few_dimensions_of<outside>(lines.out_of_range, 1)};
    detail::engine<cuda, detail::verb::histogram_lines>::count(target, all, bins);
}

template <class T, class Bins>
void count_segments_of(const cuda& target, const elements& in, const elements& offsets, const Bins& bins,
                       const elements& counts, outside* out_of_range)
{
    segmented_histogram(target, as_input<T>(in), as_input<std::uint64_t>(offsets), bins,
                        as_output<std::uint64_t>(counts), std::span(out_of_range, offsets.count - 1));
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_COUNT_SHAPES_IN(T, Bins)                                                                               \
    template void upsweep::runtime::gpu::count_lines_of<T, Bins>(const upsweep::cuda&, const counted_layout&,          \
                                                                 const Bins&);                                         \
    template void upsweep::runtime::gpu::count_segments_of<T, Bins>(                                                   \
        const upsweep::cuda&, const elements&, const elements&, const Bins&, const elements&, upsweep::outside*)
#define UPSWEEP_COUNT_SHAPES(T)                                                                                        \
    UPSWEEP_COUNT_SHAPES_IN(T, upsweep::even_bins);                                                                    \
    UPSWEEP_COUNT_SHAPES_IN(T, upsweep::edges)
