// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <upsweep/weighted_histogram.hpp>

#include "instantiate.cuh"

namespace upsweep::runtime::gpu {

template <class T, class Weight, class Bins>
void add_up_weights_of(const cuda& target, const elements& in, const elements& weights, const Bins& bins,
                       const elements& sums, const elements& out_of_range)
{
    using beside = weight_outside<Weight>;
    static_assert(sizeof(beside) == 3 * sizeof(Weight), "they are three numbers");
    weighted_histogram(target, as_input<T>(in), as_input<Weight>(weights), bins, as_output<Weight>(sums),
                       reinterpret_cast<beside*>(out_of_range.data));
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_ADD_UP_WEIGHTS_IN(T, Weight, Bins)                                                                     \
    template void upsweep::runtime::gpu::add_up_weights_of<T, Weight, Bins>(                                           \
        const upsweep::cuda&, const elements&, const elements&, const Bins&, const elements&, const elements&)
#define UPSWEEP_ADD_UP_WEIGHTS(T, Weight)                                                                              \
    UPSWEEP_ADD_UP_WEIGHTS_IN(T, Weight, upsweep::even_bins);                                                          \
    UPSWEEP_ADD_UP_WEIGHTS_IN(T, Weight, upsweep::edges)
