// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "instantiate.cuh"

UPSWEEP_RUNNING_LOG_SUM_EXP_OF_LINES(float);
