// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include <upsweep/runtime.h>
#include <upsweep/target.hpp>

namespace upsweep::runtime {

// Images one behind the other: the dimensions are the number of the image, the row and the column. Strides are in elements.
struct image_layout {
    const void* in;
    void* out;
    std::array<std::size_t, 3> extents;
    std::array<std::ptrdiff_t, 3> in_strides;
    std::array<std::ptrdiff_t, 3> out_strides;
};

// Writes integral images in one pass on the CPU. Returns false, and does nothing, for images and types of which that does not work, or two scans take
// less time. There is an element.
bool integrate_images(const cpu& host, upsweep_dtype in, upsweep_dtype out, const image_layout& of);

} // namespace upsweep::runtime
