// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "keys.cuh"

UPSWEEP_SCAN_BY_KEY_OF(std::uint32_t, std::uint64_t, any_operator);
UPSWEEP_SCAN_BY_KEY_OF(std::uint64_t, std::uint64_t, any_operator);
