// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// Select, partition and adjacent difference, for every target.
#include <upsweep/cpu/select.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/select.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/shapes/differences.cuh>
#include <upsweep/gpu/shapes/select.cuh>
#endif
