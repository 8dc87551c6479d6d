// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <upsweep/bins.hpp>
#include <upsweep/lines.hpp>
#include <upsweep/outside.hpp>
#include <upsweep/runtime.h>

#include "../dimensions.hpp"
#include "engine.hpp"

// Histograms of lines along an axis and of segments, and sums of weights in bins, where all lies in memory of the GPU, in order of the
// stream. Results are overwritten. Bins are even_bins or edges, and have been checked.
namespace upsweep::runtime::gpu {

// The lines of an array along an axis, with their counters; the strides of the samples are in bytes.
using counted_layout = detail::counted_lines<std::byte, std::uint64_t, detail::iterator_rank<most_of_caller>>;

// The type in which kernels take samples that are counted, or weighed: their own, or one in which they are in the same bins.
upsweep_dtype counted_as(upsweep_dtype dtype);
upsweep_dtype weighed_as(upsweep_dtype dtype);

// Samples have a type that counted_as tells. Returns false, and does nothing, where the lines take more than three dimensions to tell:
// those of an array without gaps take no more, if their counters have none.
template <class Bins>
bool count_lines(const device& gpu, upsweep_dtype dtype, const counted_layout& lines, const Bins& bins);

// Arrays are without gaps, and offsets of 64 bits.
template <class Bins>
void count_segments(const device& gpu, const elements& in, const elements& offsets, const Bins& bins,
                    const elements& counts, outside* out_of_range);

// Samples have a type that weighed_as tells; weights, sums and the three sums of what is in no bin have one type: f32, f64 or an integer of 64 bits.
template <class Bins>
void add_up_weights(const device& gpu, const elements& in, const elements& weights, const Bins& bins,
                    const elements& sums, const elements& out_of_range);

} // namespace upsweep::runtime::gpu

// What an engine instantiates, in the namespace of these functions.
#define UPSWEEP_HISTOGRAMS_IN(Bins)                                                                                    \
    template bool count_lines<Bins>(const device&, upsweep_dtype, const counted_layout&, const Bins&);                 \
    template void count_segments<Bins>(const device&, const elements&, const elements&, const Bins&, const elements&,  \
                                       outside*);                                                                      \
    template void add_up_weights<Bins>(const device&, const elements&, const elements&, const Bins&, const elements&,  \
                                       const elements&)
