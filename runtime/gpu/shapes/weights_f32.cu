// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "weights.cuh"

UPSWEEP_ADD_UP_WEIGHTS(float, float);
UPSWEEP_ADD_UP_WEIGHTS(float, double);
UPSWEEP_ADD_UP_WEIGHTS(float, std::int64_t);
