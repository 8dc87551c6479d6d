// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <upsweep/gpu/shapes/segmented.cuh>
#include <upsweep/verb/segmented.hpp>

#include "instantiate.cuh"

namespace upsweep::runtime::gpu {

template <class Word, class Operators>
void reduce_segments_of(const cuda& target, const shape_fold& fold, const elements& in, const elements& offsets,
                        const elements& out)
{
    with_reduction<Word, Operators>(fold, [&]<class In, class Out>(const auto& op, std::type_identity<In>,
                                                                   std::type_identity<Out>) {
        upsweep::segmented_reduce(target, as_input<In>(in), as_input<std::uint64_t>(offsets), as_output<Out>(out), op);
    });
}

template <class Word, class Operators>
void scan_segments_of(const cuda& target, const shape_fold& fold, const elements& in, const elements& offsets,
                      const elements& out)
{
    with_scan<Word, Operators>(fold, [&](const auto& op) {
        upsweep::segmented_inclusive_scan(target, as_input<Word>(in), as_input<std::uint64_t>(offsets),
                                          as_output<Word>(out), op);
    });
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_REDUCE_SEGMENTS_OF(Word, Operators)                                                                    \
    template void upsweep::runtime::gpu::reduce_segments_of<Word, upsweep::runtime::gpu::Operators>(                   \
        const upsweep::cuda&, const shape_fold&, const elements&, const elements&, const elements&)
#define UPSWEEP_SCAN_SEGMENTS_OF(Word, Operators)                                                                      \
    template void upsweep::runtime::gpu::scan_segments_of<Word, upsweep::runtime::gpu::Operators>(                     \
        const upsweep::cuda&, const shape_fold&, const elements&, const elements&, const elements&)
#define UPSWEEP_SEGMENTS_OF(Word, Operators)                                                                           \
    UPSWEEP_REDUCE_SEGMENTS_OF(Word, Operators);                                                                       \
    UPSWEEP_SCAN_SEGMENTS_OF(Word, Operators)
