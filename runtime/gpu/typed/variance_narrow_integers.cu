// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "variance.cuh"

UPSWEEP_VARIANCE_TYPED(std::int8_t);
UPSWEEP_VARIANCE_TYPED(std::uint8_t);
UPSWEEP_VARIANCE_TYPED(std::int16_t);
UPSWEEP_VARIANCE_TYPED(std::uint16_t);
