// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <upsweep/gpu/histogram.cuh>

#include "kernels.hpp"

namespace upsweep::runtime::gpu {

template <class T, class Bins>
void count_typed(const cuda& target, const Bins& bins, const void* in, std::size_t count,
                 std::span<std::uint64_t> counts, outside* out_of_range)
{
    histogram_accumulate(target, std::span(static_cast<const T*>(in), count), bins, counts, out_of_range);
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_COUNT_TYPED_IN(T, Bins)                                                                                \
    template void upsweep::runtime::gpu::count_typed<T, Bins>(                                                         \
        const upsweep::cuda&, const Bins&, const void*, std::size_t, std::span<std::uint64_t>, upsweep::outside*)
#define UPSWEEP_COUNT_TYPED(T)                                                                                         \
    UPSWEEP_COUNT_TYPED_IN(T, upsweep::even_bins);                                                                     \
    UPSWEEP_COUNT_TYPED_IN(T, upsweep::edges)
