// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <upsweep/types.hpp>

#include "narrow_extrema.cuh"

UPSWEEP_NARROW_EXTREMA_OF_LINES(upsweep::f16);
