// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/bins.hpp>
#include <upsweep/qualifiers.hpp>

namespace upsweep::detail {

// Computes the bin of a point from the bins of its coordinates, which are added one after the other. The bins of points
// are all combinations of the coordinates' bins, the last dimension varying fastest, and three out-of-range bins behind
// them.
struct joint_bin {
    bin_index bin = 0;          // of a point in a bin; of others it means nothing
    bin_index out_of_range = 0; // the greatest of any coordinate: 0 in a bin, 1 below, 2 above, 3 NaN

    // Adds a coordinate that is in bin k of a dimension with so many bins.
    UPSWEEP_HOST_DEVICE constexpr void add(bin_index k, bin_index bins)
    {
        const bin_index here = (k < bins ? bins - 1 : k) - (bins - 1);
        bin = bin * bins + k;
        out_of_range = here > out_of_range ? here : out_of_range;
    }
    // The number of the point's bin, where there are so many combinations.
    UPSWEEP_HOST_DEVICE constexpr bin_index among(bin_index bins) const
    {
        return out_of_range == 0 ? bin : bins + out_of_range - 1;
    }
};

} // namespace upsweep::detail
