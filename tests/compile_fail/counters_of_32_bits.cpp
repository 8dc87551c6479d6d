// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// expect: histogram | span
#include <cstdint>
#include <vector>

#include <upsweep/histogram.hpp>

namespace up = upsweep;

#ifdef FIXED
using counter = std::uint64_t;
#else
using counter = std::uint32_t; // could wrap
#endif

auto count(const std::vector<float>& in, std::vector<counter>& counts)
{
    return up::histogram(up::cpu{}, in, up::even_bins{0, 1, 10}, counts);
}
