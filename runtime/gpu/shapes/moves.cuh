// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/gpu/shapes/runs.cuh>
#include <upsweep/gpu/shapes/select.cuh>
#include <upsweep/verb/by_key.hpp>
#include <upsweep/verb/select.hpp>

#include "instantiate.cuh"

namespace upsweep::runtime::gpu {

template <class T>
std::uint64_t encode_runs_of(const cuda& target, const elements& in, const elements& values_out,
                             const elements& lengths_out)
{
    if (in.count == 0)
        return 0;
    return found_by(target, "run_length_encode", [&](std::uint64_t* runs) {
        upsweep::run_length_encode(target, as_input<T>(in), as_output<T>(values_out),
                                   as_output<std::uint64_t>(lengths_out), runs);
    });
}

template <class Word>
void decode_runs_of(const cuda& target, const elements& values, const elements& lengths, const elements& out)
{
    upsweep::run_length_decode(target, as_input<Word>(values), as_input<std::uint64_t>(lengths), as_output<Word>(out));
}

template <class Word>
std::uint64_t select_of(const cuda& target, const elements& in, const elements& flags, const elements& out)
{
    if (in.count == 0)
        return 0;
    return found_by(target, "select", [&](std::uint64_t* selected) {
        upsweep::select(target, as_input<Word>(in), as_input<std::uint8_t>(flags), as_output<Word>(out), selected);
    });
}

template <class Word>
std::uint64_t partition_of(const cuda& target, const elements& in, const elements& flags, const elements& out)
{
    if (in.count == 0)
        return 0;
    return found_by(target, "partition", [&](std::uint64_t* selected) {
        upsweep::partition(target, as_input<Word>(in), as_input<std::uint8_t>(flags), as_output<Word>(out), selected);
    });
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_ENCODE_RUNS_OF(T)                                                                                      \
    template std::uint64_t upsweep::runtime::gpu::encode_runs_of<T>(const upsweep::cuda&, const elements&,             \
                                                                    const elements&, const elements&)
#define UPSWEEP_MOVE_WORDS(Word)                                                                                       \
    template void upsweep::runtime::gpu::decode_runs_of<Word>(const upsweep::cuda&, const elements&, const elements&,  \
                                                              const elements&);                                        \
    template std::uint64_t upsweep::runtime::gpu::select_of<Word>(const upsweep::cuda&, const elements&,               \
                                                                  const elements&, const elements&)
#define UPSWEEP_PARTITION_WORDS(Word)                                                                                  \
    template std::uint64_t upsweep::runtime::gpu::partition_of<Word>(const upsweep::cuda&, const elements&,            \
                                                                     const elements&, const elements&)
