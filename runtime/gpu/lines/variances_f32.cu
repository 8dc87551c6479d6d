// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "variances.cuh"

UPSWEEP_VARIANCES_OF_LINES(float);
