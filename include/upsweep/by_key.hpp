// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// Reduce and scan by key, and run lengths, for every target.
#include <upsweep/cpu/by_key.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/by_key.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/shapes/runs.cuh>
#endif
