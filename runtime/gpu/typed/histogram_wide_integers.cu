// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "histogram.cuh"

UPSWEEP_COUNT_TYPED(std::int32_t);
UPSWEEP_COUNT_TYPED(std::uint32_t);
UPSWEEP_COUNT_TYPED(std::int64_t);
UPSWEEP_COUNT_TYPED(std::uint64_t);
