// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "instantiate.cuh"

UPSWEEP_SUM_LINES(std::uint64_t);
UPSWEEP_EXTREMA_OF_LINES(std::int64_t);
UPSWEEP_SCAN_SUMS_OF_LINES(std::uint64_t);
