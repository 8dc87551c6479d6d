// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

// How long segments are: one number, or a mix of numbers.
const std::vector<std::string>& segment_lengths();

// Where n elements are cut into segments of such lengths, from zero to n.
std::vector<std::int64_t> offsets_of(std::size_t n, const std::string& lengths);

// How many of the segments end within the first so many elements.
std::size_t segments_within(std::size_t elements, const std::vector<std::int64_t>& offsets);

} // namespace bench
