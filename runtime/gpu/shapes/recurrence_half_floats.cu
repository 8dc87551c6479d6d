// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <upsweep/types.hpp>

#include "recurrence.cuh"

UPSWEEP_RECUR(upsweep::f16);
UPSWEEP_RECUR(upsweep::bf16);
