// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "arguments.cuh"

UPSWEEP_ARGUMENTS_OF_LINES(std::int8_t);
UPSWEEP_ARGUMENTS_OF_LINES(std::uint8_t);
UPSWEEP_ARGUMENTS_OF_LINES(std::int16_t);
UPSWEEP_ARGUMENTS_OF_LINES(std::uint16_t);
