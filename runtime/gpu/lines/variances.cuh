// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../../variance.hpp"
#include "instantiate.cuh"

// The files variances_*.cu include it, and no others.
namespace upsweep::runtime::gpu {

template <class T>
void variances_of_lines(const cuda& target, const line_layout& lines, double correction)
{
    detail::engine<cuda, detail::verb::reduce_lines>::fold<moments<double>>(
        target, lines_as<T, quotient_t<T>>(lines), mean_and_variance{}, variance_of_line{variance(correction)});
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_VARIANCES_OF_LINES(T)                                                                                  \
    template void upsweep::runtime::gpu::variances_of_lines<T>(const upsweep::cuda&, const line_layout&, double)
