// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "scan.cuh"

UPSWEEP_SCAN_WIDENED(std::int8_t, std::uint64_t);
UPSWEEP_SCAN_WIDENED(std::uint8_t, std::uint64_t);
