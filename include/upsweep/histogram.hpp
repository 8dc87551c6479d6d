// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/cpu/histogram.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/histogram.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/histogram/histogram.cuh>
#endif
