// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "reduce.cuh"

UPSWEEP_REDUCE_BITS(std::uint8_t);
UPSWEEP_REDUCE_BITS(std::uint16_t);
UPSWEEP_REDUCE_BITS(std::uint32_t);
UPSWEEP_REDUCE_BITS(std::uint64_t);
