// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <upsweep/types.hpp>

#include "reduce.cuh"

UPSWEEP_REDUCE_TYPED(upsweep::f16);
UPSWEEP_REDUCE_TYPED(upsweep::bf16);
UPSWEEP_REDUCE_TYPED(float);
UPSWEEP_REDUCE_TYPED(double);
