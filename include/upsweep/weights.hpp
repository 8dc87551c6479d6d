// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace upsweep {

// The type in which weights of type W are summed: a 64-bit integer for integers, modulo 2^64, double for double, and
// float for f16, bf16 and float.
template <class W>
using weight_sum_t =
    std::conditional_t<std::is_integral_v<W>, std::conditional_t<std::is_signed_v<W>, std::int64_t, std::uint64_t>,
                       std::conditional_t<std::same_as<W, double>, double, float>>;

// The sums of the weights of samples that are in no bin: below the first one, above the last one, or NaN.
template <class Sum>
struct weight_outside {
    Sum below{};
    Sum above{};
    Sum nan{};

    friend bool operator==(const weight_outside&, const weight_outside&) = default;
};

} // namespace upsweep
