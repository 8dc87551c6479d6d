// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// expect: a bin function returns an integer
#include <cstdint>
#include <span>

#include <upsweep/histogram.hpp>

namespace up = upsweep;

auto count(std::span<const float> in, std::span<std::uint64_t> counts)
{
#ifdef FIXED
    const auto bin = [](float x) { return static_cast<int>(x / 10); };
#else
    const auto bin = [](float x) { return x / 10; };
#endif
    return up::histogram(up::cpu{}, in, up::bins_by(bin, 10), counts);
}
