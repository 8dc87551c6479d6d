// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/cpu/weighted_histogram.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/weighted_histogram.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/histogram/weighted.cuh>
#endif
