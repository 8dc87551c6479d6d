// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/cpu/axis_histogram.hpp>
#include <upsweep/matrix_histogram.hpp>
#include <upsweep/verb/axis_histogram.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/histogram/lines.cuh>
#endif
