// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "instantiate.cuh"

UPSWEEP_COUNT(float, upsweep::even_bins);
UPSWEEP_COUNT(float, upsweep::edges);
