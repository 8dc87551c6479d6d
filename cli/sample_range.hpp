// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inputs.hpp"

namespace upsweep::cli {

struct sample_range {
    double lo = 0;
    double hi = 1;
};

// Whether samples are compared with edges of f32.
inline bool is_narrow_float(upsweep_dtype dtype)
{
    return dtype == UPSWEEP_F16 || dtype == UPSWEEP_BF16 || dtype == UPSWEEP_F32;
}

// The least and the greatest sample, NaN passed over: NumPy's bounds, half a unit to either side where all samples are
// equal. Reads everything once. Throws a failure where there are no samples, or infinite ones, or where half a unit is
// lost in rounding.
[[nodiscard]] sample_range find_sample_range(const inputs& in);

} // namespace upsweep::cli
