// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <upsweep/gpu/reduce.cuh>

#include "kernels.hpp"

namespace upsweep::runtime::gpu {

template <class T>
void reduce_typed(const cuda& target, upsweep_op op, const void* in, std::size_t count, void* result)
{
    const auto with = [&]<class Op>(Op f) {
        upsweep::reduce(target, std::span(static_cast<const T*>(in), count), static_cast<result_t<Op, T>*>(result), f);
    };
    switch (op) {
    case UPSWEEP_MINIMUM: return with(minimum{});
    case UPSWEEP_MAXIMUM: return with(maximum{});
    default: return with(plus{});
    }
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_REDUCE_TYPED(T)                                                                                        \
    template void upsweep::runtime::gpu::reduce_typed<T>(const upsweep::cuda&, upsweep_op, const void*, std::size_t,   \
                                                         void*)
