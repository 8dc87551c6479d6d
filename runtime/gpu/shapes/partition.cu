// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "moves.cuh"

UPSWEEP_PARTITION_WORDS(std::uint8_t);
UPSWEEP_PARTITION_WORDS(std::uint16_t);
UPSWEEP_PARTITION_WORDS(std::uint32_t);
UPSWEEP_PARTITION_WORDS(std::uint64_t);
