// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <upsweep/types.hpp>

#include "scan.cuh"

UPSWEEP_SCAN_WIDENED(upsweep::f16, float);
UPSWEEP_SCAN_WIDENED(upsweep::bf16, float);
UPSWEEP_SCAN_WIDENED(float, double);
