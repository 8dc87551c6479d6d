// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "images.cuh"

UPSWEEP_INTEGRATE(double, double);
UPSWEEP_INTEGRATE(float, double);
