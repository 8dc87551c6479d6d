// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/gpu/shapes/runs.cuh>
#include <upsweep/verb/by_key.hpp>

#include "instantiate.cuh"

namespace upsweep::runtime::gpu {

template <class Key, class T>
std::uint64_t reduce_by_key_of(const cuda& target, upsweep_op op, const elements& keys, const elements& values,
                               const elements& keys_out, const elements& totals_out)
{
    if (keys.count == 0)
        return 0;
    return with_reduction<T>(
        op, [&]<class Op, class In, class Out>(Op f, std::type_identity<In>, std::type_identity<Out>) {
            return found_by(target, "reduce_by_key", [&](std::uint64_t* runs) {
                upsweep::reduce_by_key(target, as_input<Key>(keys), as_input<In>(values), as_output<Key>(keys_out),
                                       as_output<Out>(totals_out), runs, f);
            });
        });
}

template <class Key, class T>
void scan_by_key_of(const cuda& target, const elements& keys, const elements& values, const elements& out)
{
    using word = scanned_as<T>;
    upsweep::inclusive_scan_by_key(target, as_input<Key>(keys), as_input<word>(values), as_output<word>(out), plus{});
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_BY_KEY_OF(Key, T)                                                                                      \
    template std::uint64_t upsweep::runtime::gpu::reduce_by_key_of<Key, T>(                                            \
        const upsweep::cuda&, upsweep_op, const elements&, const elements&, const elements&, const elements&);         \
    template void upsweep::runtime::gpu::scan_by_key_of<Key, T>(const upsweep::cuda&, const elements&,                 \
                                                                const elements&, const elements&)
