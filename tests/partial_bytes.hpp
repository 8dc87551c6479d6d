// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace upsweep::test {

// The bytes of a partial with totals of type T as they are written again once they have been read: NaN of any pattern of bits is
// read, and the quiet one without payload is written (docs/fold-order.md).
template <class T>
std::vector<std::byte> with_one_nan(std::span<const std::byte> bytes)
{
    constexpr std::size_t header = 24, total = 16, block = total + (sizeof(T) + 7) / 8 * 8;
    std::vector<std::byte> expected(bytes.begin(), bytes.end());
    if constexpr (std::is_floating_point_v<T>)
        for (std::size_t at = header + total; at + sizeof(T) <= expected.size(); at += block) {
            T value = 0;
            std::memcpy(&value, &expected[at], sizeof value);
            if (std::isnan(value))
                value = std::numeric_limits<T>::quiet_NaN();
            std::memcpy(&expected[at], &value, sizeof value);
        }
    return expected;
}

} // namespace upsweep::test
