// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// Reduce and scan along an axis of a view, for every target.
#include <upsweep/cpu/axis.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/axis.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/shapes/axis.cuh>
#endif
