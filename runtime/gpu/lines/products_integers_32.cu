// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "instantiate.cuh"

UPSWEEP_PRODUCTS_OF_LINES(std::int32_t);
UPSWEEP_PRODUCTS_OF_LINES(std::uint32_t);
