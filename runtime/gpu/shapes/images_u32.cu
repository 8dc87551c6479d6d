// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "images.cuh"

UPSWEEP_INTEGRATE(std::uint32_t, std::uint32_t);
UPSWEEP_INTEGRATE(std::uint8_t, std::uint32_t);
