// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "arguments.cuh"

UPSWEEP_ARGUMENTS_OF_LINES(std::int32_t);
UPSWEEP_ARGUMENTS_OF_LINES(std::int64_t);
UPSWEEP_ARGUMENTS_OF_LINES(std::uint64_t);
