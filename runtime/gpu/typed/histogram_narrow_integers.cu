// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "histogram.cuh"

UPSWEEP_COUNT_TYPED(std::int8_t);
UPSWEEP_COUNT_TYPED(std::uint8_t);
UPSWEEP_COUNT_TYPED(std::int16_t);
UPSWEEP_COUNT_TYPED(std::uint16_t);
