// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "half_float_extrema.cuh"

UPSWEEP_EXTREMA_OF_HALF_FLOATS(upsweep::f16);
