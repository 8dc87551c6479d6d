// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "moves.cuh"

UPSWEEP_ENCODE_RUNS_OF(std::uint32_t);
UPSWEEP_ENCODE_RUNS_OF(std::uint64_t);
UPSWEEP_ENCODE_RUNS_OF(float);
UPSWEEP_ENCODE_RUNS_OF(double);
UPSWEEP_MOVE_WORDS(std::uint8_t);
UPSWEEP_MOVE_WORDS(std::uint16_t);
UPSWEEP_MOVE_WORDS(std::uint32_t);
UPSWEEP_MOVE_WORDS(std::uint64_t);
