// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <upsweep/types.hpp>

#include "arguments.cuh"

UPSWEEP_ARGUMENTS_OF_LINES(upsweep::f16);
UPSWEEP_ARGUMENTS_OF_LINES(upsweep::bf16);
