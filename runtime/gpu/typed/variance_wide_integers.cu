// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "variance.cuh"

UPSWEEP_VARIANCE_TYPED(std::int32_t);
UPSWEEP_VARIANCE_TYPED(std::uint32_t);
UPSWEEP_VARIANCE_TYPED(std::int64_t);
UPSWEEP_VARIANCE_TYPED(std::uint64_t);
