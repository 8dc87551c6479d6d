// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/gpu/shapes/recurrence.cuh>
#include <upsweep/verb/recurrence.hpp>
#include <upsweep/view.hpp>

#include "instantiate.cuh"

namespace upsweep::runtime::gpu {

template <class T>
void recur(const cuda& target, const recurrence_layout& of)
{
    constexpr upsweep::axis along{0};
    const direction begin = of.is_backward ? backward : forward;
    const view<const T, 3> a(static_cast<const T*>(of.a), of.extents, of.a_strides);
    const view<const T, 3> b(static_cast<const T*>(of.b), of.extents, of.b_strides);
    const view<T, 3> out(static_cast<T*>(of.out), of.extents, of.out_strides);
    if (of.h0 == nullptr)
        return upsweep::linear_recurrence(target, a, b, out, T{}, along, begin);
    const std::array<std::size_t, 3> of_states{1, of.extents[1], of.extents[2]};
    const view<const T, 3> h0(static_cast<const T*>(of.h0), of_states, of.h0_strides);
    upsweep::linear_recurrence(target, a, b, out, h0, along, begin);
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_RECUR(T) template void upsweep::runtime::gpu::recur<T>(const upsweep::cuda&, const recurrence_layout&)
