// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>

#include "device.cuh"

namespace upsweep::test {

// From -1 to a little beyond `end`; floats by quarters.
template <class T>
host_array<T> samples_around(std::mt19937_64& random, std::size_t n, std::size_t end)
{
    host_array<T> samples(n);
    for (T& sample : samples) {
        const auto quarters = static_cast<std::int64_t>(random() % (4 * end + 16)) - 4;
        if constexpr (std::is_integral_v<T>)
            sample = static_cast<T>(quarters / 4);
        else
            sample = static_cast<T>(quarters) / 4;
    }
    return samples;
}

} // namespace upsweep::test
