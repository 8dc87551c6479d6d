// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace upsweep::simulator::cuda {

// The double as a float whose last bit is 1 where the double is not a float. Rounded once more, to the few bits of a half or a
// bfloat16, it gives what rounding the double would give.
constexpr float round_to_odd(double value)
{
    const float nearest = static_cast<float>(value);
    const double back = nearest;
    if (back == value || value != value)
        return nearest;
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
    const bool is_too_large = value < 0 ? back < value : back > value;
    return std::bit_cast<float>((is_too_large ? bits - 1 : bits) | 1u);
}

} // namespace upsweep::simulator::cuda
