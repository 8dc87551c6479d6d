// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "instantiate.cuh"

UPSWEEP_COUNT(std::uint8_t, upsweep::integer_bins);
