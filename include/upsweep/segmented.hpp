// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// Reduce and scan of segments of an array, for every target.
#include <upsweep/cpu/segmented.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/segmented.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/shapes/segmented.cuh>
#endif
