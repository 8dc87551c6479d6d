// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "segments.cuh"

UPSWEEP_SEGMENTS_OF(float, log_sum_exp_alone);
