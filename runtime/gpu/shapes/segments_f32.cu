// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "segments.cuh"

UPSWEEP_SEGMENTS_OF(float, any_operator);
