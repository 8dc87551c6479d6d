// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "segments.cuh"

UPSWEEP_REDUCE_SEGMENTS_OF(std::uint64_t, any_operator);
