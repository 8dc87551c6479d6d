// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// expect: integer bins are for integer samples
#include <cstdint>
#include <span>

#include <upsweep/histogram.hpp>

namespace up = upsweep;

#ifdef FIXED
using sample = std::int16_t;
#else
using sample = float;
#endif

auto count(std::span<const sample> in, std::span<std::uint64_t> counts)
{
    return up::histogram(up::cpu{}, in, up::integer_bins{0, 256}, counts);
}
