// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <upsweep/types.hpp>

#include "instantiate.cuh"

UPSWEEP_PRODUCTS_OF_LINES(upsweep::f16);
UPSWEEP_PRODUCTS_OF_LINES(upsweep::bf16);
