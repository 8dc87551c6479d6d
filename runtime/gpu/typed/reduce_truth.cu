// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <upsweep/types.hpp>

#include "reduce.cuh"

UPSWEEP_REDUCE_TRUTH(std::uint8_t);
UPSWEEP_REDUCE_TRUTH(std::uint16_t);
UPSWEEP_REDUCE_TRUTH(std::uint32_t);
UPSWEEP_REDUCE_TRUTH(std::uint64_t);
UPSWEEP_REDUCE_TRUTH(upsweep::f16);
UPSWEEP_REDUCE_TRUTH(upsweep::bf16);
UPSWEEP_REDUCE_TRUTH(float);
UPSWEEP_REDUCE_TRUTH(double);
