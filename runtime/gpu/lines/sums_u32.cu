// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "instantiate.cuh"

UPSWEEP_SUM_LINES(std::uint32_t);
