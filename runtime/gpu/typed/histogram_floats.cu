// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <upsweep/types.hpp>

#include "histogram.cuh"

UPSWEEP_COUNT_TYPED(upsweep::f16);
UPSWEEP_COUNT_TYPED(upsweep::bf16);
UPSWEEP_COUNT_TYPED(float);
UPSWEEP_COUNT_TYPED(double);
