// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "keys.cuh"

UPSWEEP_BY_KEY_OF(std::uint32_t, double, log_sum_exp_alone);
UPSWEEP_BY_KEY_OF(std::uint64_t, double, log_sum_exp_alone);
