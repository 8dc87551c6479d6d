// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/runtime.h>
#include <upsweep/target.hpp>

#include "array.hpp"
#include "shapes.hpp"

namespace upsweep::runtime {

// Whether a reduction of elements of one type may have results of another one, to which the elements are converted first: sums and products in f32 and
// f64.
bool is_converted_first(upsweep_op op, upsweep_dtype in, upsweep_dtype out);

// Reduces such lines on the CPU: some elements at a time, whose converted values stay in the caches.
void reduce_converted_lines(const cpu& host, upsweep_op op, upsweep_dtype in, upsweep_dtype out,
                            const line_layout& lines);

} // namespace upsweep::runtime
