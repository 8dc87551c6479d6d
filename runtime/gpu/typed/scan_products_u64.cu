// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "scan.cuh"

UPSWEEP_SCAN_PRODUCTS(std::uint64_t);
