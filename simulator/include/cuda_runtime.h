// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// CUDA C++ for an ordinary compiler. This header takes the place of NVIDIA's header of the same name.
#pragma once

// By these macros, headers written for CUDA ask whether it was included.
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __DRIVER_TYPES_H__

#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "upsweep/simulator/cuda/atomics.h"
#include "upsweep/simulator/cuda/launch.h"
#include "upsweep/simulator/cuda/math.h"
#include "upsweep/simulator/cuda/runtime_api.h"
#include "upsweep/simulator/cuda/types.h"
#include "upsweep/simulator/cuda/warp.h"
