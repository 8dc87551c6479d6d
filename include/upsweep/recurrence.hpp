// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// Linear recurrences along an axis and their gradients, for every target.
#include <upsweep/cpu/recurrence.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/recurrence.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/shapes/recurrence.cuh>
#endif
