// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace upsweep {

// Samples that belong to no bin.
struct outside {
    std::uint64_t below = 0;
    std::uint64_t above = 0;
    std::uint64_t nan = 0;

    friend bool operator==(const outside&, const outside&) = default;
};

namespace detail {

// Where a sample goes: a bin, or one of three counters behind the last bin.
using bin_index = std::uint32_t;
inline constexpr std::size_t out_of_range_bins = 3; // below, above, NaN, in this order

} // namespace detail
} // namespace upsweep
