// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include <upsweep/gpu/shapes/runs.cuh>
#include <upsweep/verb/by_key.hpp>

#include "instantiate.cuh"

namespace upsweep::runtime::gpu {

template <class Key, class Word, class Operators>
std::uint64_t reduce_by_key_of(const cuda& target, const shape_fold& fold, const elements& keys, const elements& values,
                               const elements& keys_out, const elements& totals_out)
{
    if (keys.count == 0)
        return 0;
    return with_reduction<Word, Operators>(
        fold, [&]<class In, class Out>(const auto& op, std::type_identity<In>, std::type_identity<Out>) {
            return found_by(target, "reduce_by_key", [&](std::uint64_t* runs) {
                upsweep::reduce_by_key(target, as_input<Key>(keys), as_input<In>(values), as_output<Key>(keys_out),
                                       as_output<Out>(totals_out), runs, op);
            });
        });
}

template <class Key, class Word, class Operators>
void scan_by_key_of(const cuda& target, const shape_fold& fold, const elements& keys, const elements& values,
                    const elements& out, const scan_start& start)
{
    const std::span<const Key> of_keys = as_input<Key>(keys);
    const std::span<const Word> from = as_input<Word>(values);
    const std::span<Word> to = as_output<Word>(out);
    with_scan<Word, Operators>(fold, [&](const auto& op) {
        if (start.kind == scan_kind::inclusive)
            upsweep::inclusive_scan_by_key(target, of_keys, from, to, op);
        else if (start.init != nullptr)
            upsweep::exclusive_scan_by_key(target, of_keys, from, to, op, *static_cast<const Word*>(start.init));
        else
            upsweep::exclusive_scan_by_key(target, of_keys, from, to, op);
    });
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_REDUCE_BY_KEY_OF(Key, Word, Operators)                                                                 \
    template std::uint64_t upsweep::runtime::gpu::reduce_by_key_of<Key, Word, upsweep::runtime::gpu::Operators>(       \
        const upsweep::cuda&, const shape_fold&, const elements&, const elements&, const elements&, const elements&)
#define UPSWEEP_SCAN_BY_KEY_OF(Key, Word, Operators)                                                                   \
    template void upsweep::runtime::gpu::scan_by_key_of<Key, Word, upsweep::runtime::gpu::Operators>(                  \
        const upsweep::cuda&, const shape_fold&, const elements&, const elements&, const elements&, const scan_start&)
#define UPSWEEP_BY_KEY_OF(Key, Word, Operators)                                                                        \
    UPSWEEP_REDUCE_BY_KEY_OF(Key, Word, Operators);                                                                    \
    UPSWEEP_SCAN_BY_KEY_OF(Key, Word, Operators)
