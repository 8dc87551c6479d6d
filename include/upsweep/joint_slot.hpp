// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/bins.hpp>
#include <upsweep/qualifiers.hpp>

namespace upsweep::detail {

// The slot of a point, from the slots of its coordinates: the table is that of all combinations of bins, the last dimension
// varying fastest, and three slots for points beside it.
struct joint_slot {
    slot bin = 0;
    slot beside = 0; // 1 below, 2 above, 3 NaN, 0 within: the greatest of any coordinate

    UPSWEEP_HOST_DEVICE constexpr void add(slot k, slot bins)
    {
        const bool inside = k < bins;
        const slot here = inside ? 0 : k - bins + 1;
        bin = bin * bins + (inside ? k : 0);
        beside = here > beside ? here : beside;
    }
    UPSWEEP_HOST_DEVICE constexpr slot among(slot bins) const { return beside == 0 ? bin : bins + beside - 1; }
};

} // namespace upsweep::detail
