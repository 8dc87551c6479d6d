// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/gpu/shapes/image_bands.cuh>
#include <upsweep/view.hpp>

#include "instantiate.cuh"

namespace upsweep::runtime::gpu {

template <class T, class Sum>
bool integrate(const cuda& target, const image_layout& of)
{
    const view<const T, 3> in(static_cast<const T*>(of.in), of.extents, of.in_strides);
    const view<Sum, 3> out(static_cast<Sum*>(of.out), of.extents, of.out_strides);
    if (!upsweep::gpu::are_bands(in, out))
        return false;
    const upsweep::gpu::current_device current(target.device());
    return upsweep::gpu::scan_bands<upsweep::gpu::unlifted>(target, "integral_image", in, out);
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_INTEGRATE(T, Sum)                                                                                      \
    template bool upsweep::runtime::gpu::integrate<T, Sum>(const upsweep::cuda&, const image_layout&)
