// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../shapes.hpp"
#include "engine.hpp"

namespace upsweep::runtime::gpu {

// Fold lines along an axis, or take their means, and scan them inclusively, where they lie in memory of the GPU, in order of the stream.
// Return false, and do nothing, where there is no such kernel: there are sums, means, minima, maxima, and scans by plus to results of the
// elements' type, of i32, i64, f32 and f64. A line has elements.
bool reduce_lines(const device& gpu, upsweep_op op, upsweep_dtype dtype, const line_layout& lines, bool means);
bool scan_lines(const device& gpu, upsweep_op op, upsweep_dtype dtype, const line_layout& lines);

} // namespace upsweep::runtime::gpu
