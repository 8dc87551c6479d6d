// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "count.cuh"

UPSWEEP_COUNT_SHAPES(float);
