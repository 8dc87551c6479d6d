// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <upsweep/gpu/shapes/walked_pieces.cuh>
#include <upsweep/gpu/target/device.cuh>

#include "../../variance.hpp"
#include "instantiate.cuh"

namespace upsweep::runtime::gpu {

template <class Result>
void variances_of_moments(const cuda& target, const line_layout& lines, double correction)
{
    const upsweep::gpu::current_device current(target.device());
    constexpr std::uint64_t very_long = std::uint64_t{1}
                                        << 20; // so that lanes that have a piece each keep the memory busy
    const auto all = lines_as<moments<double>, Result>(lines);
    const variance_of_line finish{variance(correction)};
    if (all.count() < upsweep::gpu::lanes && all.length() >= very_long)
        upsweep::gpu::reduce_walked_pieces<moments<double>>(target, "variance", all, mean_and_variance{}, finish);
    else
        upsweep::gpu::reduce_lines_of_totals(target, "variance", all, mean_and_variance{}, finish);
}

template void variances_of_moments<float>(const cuda&, const line_layout&, double);
template void variances_of_moments<double>(const cuda&, const line_layout&, double);

} // namespace upsweep::runtime::gpu
