// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "keys.cuh"

UPSWEEP_REDUCE_BY_KEY_OF(std::uint32_t, double, any_operator);
UPSWEEP_REDUCE_BY_KEY_OF(std::uint64_t, double, any_operator);
