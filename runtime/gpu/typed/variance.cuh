// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <upsweep/gpu/reduce.cuh>

#include "../../variance.hpp"
#include "kernels.hpp"
#include "view.hpp"

namespace upsweep::runtime::gpu {

template <class T>
void variance_typed(const cuda& target, double correction, const elements& in, void* result)
{
    detail::engine<cuda, detail::verb::reduce>::fold<moments<double>>(
        target, view_of<T>(in).begin(), in.count, variance(correction), static_cast<quotient_t<T>*>(result));
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_VARIANCE_TYPED(T)                                                                                      \
    template void upsweep::runtime::gpu::variance_typed<T>(const upsweep::cuda&, double,                               \
                                                           const upsweep::runtime::elements&, void*)
