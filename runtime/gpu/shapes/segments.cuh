// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/gpu/shapes/segmented.cuh>
#include <upsweep/verb/segmented.hpp>

#include "instantiate.cuh"

namespace upsweep::runtime::gpu {

template <class T>
void reduce_segments_of(const cuda& target, upsweep_op op, const elements& in, const elements& offsets,
                        const elements& out)
{
    with_reduction<T>(op, [&]<class Op, class In, class Out>(Op f, std::type_identity<In>, std::type_identity<Out>) {
        upsweep::segmented_reduce(target, as_input<In>(in), as_input<std::uint64_t>(offsets), as_output<Out>(out), f);
    });
}

template <class T>
void scan_segments_of(const cuda& target, const elements& in, const elements& offsets, const elements& out)
{
    using word = scanned_as<T>;
    upsweep::segmented_inclusive_scan(target, as_input<word>(in), as_input<std::uint64_t>(offsets),
                                      as_output<word>(out), plus{});
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_SEGMENTS_OF(T)                                                                                         \
    template void upsweep::runtime::gpu::reduce_segments_of<T>(const upsweep::cuda&, upsweep_op, const elements&,      \
                                                               const elements&, const elements&);                      \
    template void upsweep::runtime::gpu::scan_segments_of<T>(const upsweep::cuda&, const elements&, const elements&,   \
                                                             const elements&)
