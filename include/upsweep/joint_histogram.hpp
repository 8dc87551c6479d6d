// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/cpu/joint_histogram.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/joint_histogram.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/histogram/joint.cuh>
#endif
