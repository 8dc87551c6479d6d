// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "scan.cuh"

UPSWEEP_SCAN_TYPED(std::int32_t);
UPSWEEP_SCAN_TYPED(std::uint32_t);
