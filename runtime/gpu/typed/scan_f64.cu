// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "scan.cuh"

UPSWEEP_SCAN_TYPED(double);
