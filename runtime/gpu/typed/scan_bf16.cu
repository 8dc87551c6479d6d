// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <upsweep/types.hpp>

#include "scan.cuh"

UPSWEEP_SCAN_TYPED(upsweep::bf16);
