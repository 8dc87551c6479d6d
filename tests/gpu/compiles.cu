// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Compiled for every generation of GPUs, not run.
#include <cstdint>
#include <span>

#include <upsweep/upsweep.hpp>

namespace up = upsweep;

void fold(const up::cuda& gpu, std::span<const float> in, float* sum, std::span<const std::int32_t> counts,
          std::span<std::int32_t> ends)
{
    up::reduce(gpu, in, sum, up::plus{});
    up::inclusive_scan(gpu, counts, ends);
}

void count(const up::cuda& gpu, std::span<const float> in, std::span<std::uint64_t> counts, up::outside* beside)
{
    up::histogram(gpu, in, up::even_bins{0, 1, counts.size()}, counts, beside);
}

void add_up(const up::cuda& gpu, std::span<const float> in, std::span<const double> weights, std::span<double> sums,
            up::weight_outside<double>* beside)
{
    up::weighted_histogram(gpu, in, weights, up::even_bins{0, 1, sums.size()}, sums, beside);
}
