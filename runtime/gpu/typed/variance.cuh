// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include <upsweep/gpu/reduce.cuh>

#include "../../variance.hpp"
#include "kernels.hpp"

namespace upsweep::runtime::gpu {

template <class T>
void variance_typed(const cuda& target, double correction, const void* in, std::size_t count, void* result)
{
    using element = const T*;
    using rounded = std::conditional_t<std::is_same_v<T, float> || sub_word_float<T>, float, double>;
    detail::engine<cuda, detail::verb::reduce>::fold<moments<double>>(
        target, static_cast<element>(in), count, variance(correction), static_cast<rounded*>(result));
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_VARIANCE_TYPED(T)                                                                                      \
    template void upsweep::runtime::gpu::variance_typed<T>(const upsweep::cuda&, double, const void*, std::size_t,     \
                                                           void*)
