// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace upsweep::simulator {

// A part of the program, or of a library that it loaded, as it lies in memory: its code, say, or its variables.
struct segment {
    std::uintptr_t begin = 0, end = 0;
};

// The segment that holds an address, or an empty one.
segment loaded_segment(std::uintptr_t address);

} // namespace upsweep::simulator
