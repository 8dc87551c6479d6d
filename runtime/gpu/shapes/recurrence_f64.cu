// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "recurrence.cuh"

UPSWEEP_RECUR(double);
