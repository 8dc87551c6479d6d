// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "arguments.cuh"

UPSWEEP_ARGUMENTS_OF_LINES(float);
UPSWEEP_ARGUMENTS_OF_LINES(double);
