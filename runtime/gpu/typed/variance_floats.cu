// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <upsweep/types.hpp>

#include "variance.cuh"

UPSWEEP_VARIANCE_TYPED(upsweep::f16);
UPSWEEP_VARIANCE_TYPED(upsweep::bf16);
UPSWEEP_VARIANCE_TYPED(float);
UPSWEEP_VARIANCE_TYPED(double);
