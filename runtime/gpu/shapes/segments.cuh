// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <upsweep/gpu/shapes/segmented.cuh>
#include <upsweep/verb/segmented.hpp>

#include "../any_op.hpp"
#include "instantiate.cuh"

namespace upsweep::runtime::gpu {

template <class Word>
void reduce_segments_of(const cuda& target, const shape_fold& fold, const elements& in, const elements& offsets,
                        const elements& out)
{
    const auto bounds = as_input<std::uint64_t>(offsets);
    using summed = summed_as<Word>;
    if (fold.op == UPSWEEP_PLUS)
        upsweep::segmented_reduce(target, as_input<summed>(in), bounds, as_output<accumulator_t<plus, summed>>(out),
                                  plus{});
    else
        upsweep::segmented_reduce(target, as_input<Word>(in), bounds, as_output<Word>(out), make_any_op<Word>(fold));
}

template <class Word>
void scan_segments_of(const cuda& target, const shape_fold& fold, const elements& in, const elements& offsets,
                      const elements& out)
{
    const auto bounds = as_input<std::uint64_t>(offsets);
    if (fold.op == UPSWEEP_PLUS)
        upsweep::segmented_inclusive_scan(target, as_input<Word>(in), bounds, as_output<Word>(out), plus{});
    else
        upsweep::segmented_inclusive_scan(target, as_input<Word>(in), bounds, as_output<Word>(out),
                                          make_any_op<Word>(fold));
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_SEGMENTS_OF(Word)                                                                                      \
    template void upsweep::runtime::gpu::reduce_segments_of<Word>(const upsweep::cuda&, const shape_fold&,             \
                                                                  const elements&, const elements&, const elements&);  \
    template void upsweep::runtime::gpu::scan_segments_of<Word>(const upsweep::cuda&, const shape_fold&,               \
                                                                const elements&, const elements&, const elements&)
