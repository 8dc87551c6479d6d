// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <upsweep/gpu/shapes/segments.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/device.cuh>

#include "../../variance.hpp"
#include "instantiate.cuh"

namespace upsweep::runtime::gpu {

template <class Result>
void variances_of_moments(const cuda& target, const line_layout& lines, double correction)
{
    const upsweep::gpu::current_device current(target.device());
    const auto all = lines_as<moments<double>, Result>(lines);
    const auto results = upsweep::gpu::with_axis_last(all.out);
    upsweep::gpu::reduce_segments<moments<double>>(target, all.in.data(), all.in.size(),
                                                   upsweep::gpu::equal_segments{all.length(), all.count()},
                                                   upsweep::gpu::strided_source(results.begin().elements()),
                                                   mean_and_variance{}, variance_of_line{variance(correction)});
}

template void variances_of_moments<float>(const cuda&, const line_layout&, double);
template void variances_of_moments<double>(const cuda&, const line_layout&, double);

} // namespace upsweep::runtime::gpu
