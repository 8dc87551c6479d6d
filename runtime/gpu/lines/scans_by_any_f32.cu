// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "instantiate.cuh"

UPSWEEP_SCAN_LINES_BY_ANY(float);
