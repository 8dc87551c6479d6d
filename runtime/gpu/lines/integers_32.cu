// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "instantiate.cuh"

UPSWEEP_SUM_LINES(std::int32_t);
UPSWEEP_EXTREMA_OF_LINES(std::int32_t);
UPSWEEP_SCAN_SUMS_OF_LINES(std::uint32_t);
