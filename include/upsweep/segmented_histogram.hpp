// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/cpu/segmented_histogram.hpp>
#include <upsweep/segmented.hpp>
#include <upsweep/verb/segmented_histogram.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/histogram/segments.cuh>
#endif
