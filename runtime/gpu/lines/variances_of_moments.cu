// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <upsweep/gpu/shapes/walked_pieces.cuh>
#include <upsweep/gpu/target/device.cuh>

#include "../../variance.hpp"
#include "instantiate.cuh"

namespace upsweep::runtime::gpu {

// Moments are few beside the elements that they are of: the same kernels fold many short lines of them and a long one.
template <class Result>
void variances_of_moments(const cuda& target, const line_layout& lines, double correction)
{
    const upsweep::gpu::current_device current(target.device());
    upsweep::gpu::reduce_walked_pieces<moments<double>>(target, "variance", lines_as<moments<double>, Result>(lines),
                                                        mean_and_variance{}, variance_of_line{variance(correction)});
}

template void variances_of_moments<float>(const cuda&, const line_layout&, double);
template void variances_of_moments<double>(const cuda&, const line_layout&, double);

} // namespace upsweep::runtime::gpu
