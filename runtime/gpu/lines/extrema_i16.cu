// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "instantiate.cuh"

UPSWEEP_EXTREMA_OF_LINES(std::int16_t);
