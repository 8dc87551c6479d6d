// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// Integral images and what is asked of them, for every target.
#include <upsweep/cpu/image.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/image.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/shapes/axis.cuh>
#include <upsweep/gpu/shapes/image.cuh>
#endif
