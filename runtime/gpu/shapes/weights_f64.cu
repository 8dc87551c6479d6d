// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "weights.cuh"

UPSWEEP_ADD_UP_WEIGHTS(double, float);
UPSWEEP_ADD_UP_WEIGHTS(double, double);
UPSWEEP_ADD_UP_WEIGHTS(double, std::int64_t);
