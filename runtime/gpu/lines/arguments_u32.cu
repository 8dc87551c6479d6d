// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "arguments.cuh"

UPSWEEP_ARGUMENTS_OF_LINES(std::uint32_t);
