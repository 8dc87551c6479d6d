// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <upsweep/types.hpp>

#include "instantiate.cuh"

UPSWEEP_SUM_LINES(upsweep::bf16);
UPSWEEP_SCAN_SUMS_OF_LINES(upsweep::bf16);
