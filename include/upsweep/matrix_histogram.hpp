// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/cpu/matrix_histogram.hpp>
#include <upsweep/histogram.hpp>
#include <upsweep/verb/matrix_histogram.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/histogram/channels.cuh>
#include <upsweep/gpu/histogram/rows.cuh>
#endif
