// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "segments.cuh"

UPSWEEP_REDUCE_SEGMENTS_OF(float, any_operator);
