// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
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
                      const elements& out, const scan_start& start)
{
    const std::span<const Word> from = as_input<Word>(in);
    const std::span<Word> to = as_output<Word>(out);
    const std::span<const std::uint64_t> bounds = as_input<std::uint64_t>(offsets);
    with_scan<Word, Operators>(fold, [&](const auto& op) {
        if (start.kind == scan_kind::inclusive)
            upsweep::segmented_inclusive_scan(target, from, bounds, to, op);
        else if (start.init != nullptr)
            upsweep::segmented_exclusive_scan(target, from, bounds, to, op, *static_cast<const Word*>(start.init));
        else
            upsweep::segmented_exclusive_scan(target, from, bounds, to, op);
    });
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_REDUCE_SEGMENTS_OF(Word, Operators)                                                                    \
    template void upsweep::runtime::gpu::reduce_segments_of<Word, upsweep::runtime::gpu::Operators>(                   \
        const upsweep::cuda&, const shape_fold&, const elements&, const elements&, const elements&)
#define UPSWEEP_SCAN_SEGMENTS_OF(Word, Operators)                                                                      \
    template void upsweep::runtime::gpu::scan_segments_of<Word, upsweep::runtime::gpu::Operators>(                     \
        const upsweep::cuda&, const shape_fold&, const elements&, const elements&, const elements&, const scan_start&)
#define UPSWEEP_SEGMENTS_OF(Word, Operators)                                                                           \
    UPSWEEP_REDUCE_SEGMENTS_OF(Word, Operators);                                                                       \
    UPSWEEP_SCAN_SEGMENTS_OF(Word, Operators)
