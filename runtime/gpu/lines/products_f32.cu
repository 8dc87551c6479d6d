// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "instantiate.cuh"

UPSWEEP_PRODUCTS_OF_LINES(float);
