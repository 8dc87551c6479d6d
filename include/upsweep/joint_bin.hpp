// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/bins.hpp>
#include <upsweep/qualifiers.hpp>

namespace upsweep::detail {

// The bin of a point, from the bins of its coordinates: the table is that of all combinations of bins, the last dimension
// varying fastest, and three bins for points beside it.
struct joint_bin {
    bin_index bin = 0;
    bin_index out_of_range = 0; // 1 below, 2 above, 3 NaN, 0 within: the greatest of any coordinate

    UPSWEEP_HOST_DEVICE constexpr void add(bin_index k, bin_index bins)
    {
        const bool inside = k < bins;
        const bin_index here = inside ? 0 : k - bins + 1;
        bin = bin * bins + (inside ? k : 0);
        out_of_range = here > out_of_range ? here : out_of_range;
    }
    UPSWEEP_HOST_DEVICE constexpr bin_index among(bin_index bins) const
    {
        return out_of_range == 0 ? bin : bins + out_of_range - 1;
    }
};

} // namespace upsweep::detail
