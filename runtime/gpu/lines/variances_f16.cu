// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <upsweep/types.hpp>

#include "variances.cuh"

UPSWEEP_VARIANCES_OF_LINES(upsweep::f16);
