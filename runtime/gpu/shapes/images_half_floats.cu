// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <upsweep/types.hpp>

#include "images.cuh"

UPSWEEP_INTEGRATE(upsweep::f16, upsweep::f16);
UPSWEEP_INTEGRATE(upsweep::bf16, upsweep::bf16);
