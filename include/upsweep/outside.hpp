// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace upsweep {

// How many samples are in no bin: below the first one, above the last one, or NaN.
struct outside {
    std::uint64_t below = 0;
    std::uint64_t above = 0;
    std::uint64_t nan = 0;

    friend bool operator==(const outside&, const outside&) = default;

    outside& operator+=(const outside& more)
    {
        below += more.below;
        above += more.above;
        nan += more.nan;
        return *this;
    }
};

namespace detail {

// The number of a bin. Engines count samples in no bin as well, in three out-of-range bins behind the last bin.
using bin_index = std::uint32_t;
inline constexpr std::size_t out_of_range_bins = 3; // for samples below, above and NaN, in this order

} // namespace detail
} // namespace upsweep
