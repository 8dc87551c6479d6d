// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace upsweep::files {

// Whether an array of this shape has its elements in the same order in both conventions: at most one extent above one.
[[nodiscard]] bool is_contiguous_in_c_order(const std::vector<std::uint64_t>& shape);

// Copies `count` elements of a Fortran-ordered array, from the `first` one on, to `out`; both are counted in C order,
// the last index running fastest. Rows (everything under one first index) that are copied together are read in runs.
void gather_in_c_order(const char* elements, std::size_t element_bytes, const std::vector<std::uint64_t>& shape,
                       std::uint64_t first, std::uint64_t count, char* out);

} // namespace upsweep::files
