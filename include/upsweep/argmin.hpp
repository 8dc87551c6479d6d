// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// Where the least and the greatest element are, for every target.
#include <upsweep/cpu/argmin.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/argmin.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/shapes/argmin.cuh>
#include <upsweep/gpu/shapes/argmin_lines.cuh>
#endif
