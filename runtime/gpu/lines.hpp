// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "../shapes.hpp"
#include "engine.hpp"

namespace upsweep::runtime::gpu {

// The dimensions of the views that kernels of lines take, the axis among them: more would take longer to compile, and to find elements in.
// Arrays of three dimensions have no more, and those without gaps two beside the axis.
inline constexpr std::size_t most_line_dimensions = 3;

// Fold lines along an axis, or take their means, and scan them inclusively, where they lie in memory of the GPU, in order of the stream.
// Return false, and do nothing, where there is no such kernel: there are sums, means, minima, maxima, and scans by plus to results of the
// elements' type, of i32, i64, f32 and f64. A line has elements.
bool reduce_lines(const device& gpu, upsweep_op op, upsweep_dtype dtype, const line_layout& lines, bool means);
bool scan_lines(const device& gpu, upsweep_op op, upsweep_dtype dtype, const line_layout& lines);

// Writes, as i64, the position of the first element that precedes all others in each line, of elements of a type that is searched
// (searched_dtype). Returns false, and does nothing, where the lines take more than three dimensions to tell: those of an array without
// gaps take no more, if their results have none. A line has elements.
bool find_arguments(const device& gpu, upsweep_op op, upsweep_dtype dtype, const line_layout& lines);

} // namespace upsweep::runtime::gpu
