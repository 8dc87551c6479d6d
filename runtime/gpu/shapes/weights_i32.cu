// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "weights.cuh"

UPSWEEP_ADD_UP_WEIGHTS(std::int32_t, float);
UPSWEEP_ADD_UP_WEIGHTS(std::int32_t, double);
UPSWEEP_ADD_UP_WEIGHTS(std::int32_t, std::int64_t);
