// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The heap from which kernels allocate by malloc and new.
#pragma once

#include <cstddef>

namespace upsweep::simulator {

std::size_t& device_heap_limit(); // cudaLimitMallocHeapSize

} // namespace upsweep::simulator
