// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace upsweep::gpu {

// Division by the same number, many times: a multiplication and a correction (Granlund and Montgomery 1994).
struct divider {
    std::uint64_t divisor;
    std::uint64_t reciprocal;       // times 2^64, rounded down
    std::uint32_t small_reciprocal; // times 2^32

    divider() = default;
    explicit divider(std::uint64_t number)
        : divisor(number), reciprocal(~std::uint64_t{0} / number),
          small_reciprocal(static_cast<std::uint32_t>(~std::uint32_t{0} / number))
    {
    }

    // The product is the quotient or one less.
    __device__ std::uint64_t quotient(std::uint64_t number) const
    {
        if ((number | divisor) >> 32 == 0) {
            const auto small = static_cast<std::uint32_t>(number);
            const auto by = static_cast<std::uint32_t>(divisor);
            const std::uint32_t low = __umulhi(small, small_reciprocal);
            return small - low * by >= by ? low + 1 : low;
        }
        const std::uint64_t low = __umul64hi(number, reciprocal);
        return number - low * divisor >= divisor ? low + 1 : low;
    }
    __device__ std::uint64_t remainder(std::uint64_t number) const { return number - quotient(number) * divisor; }
};

} // namespace upsweep::gpu
