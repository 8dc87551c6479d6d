// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// CUDA C++ for an ordinary compiler. This header takes the place of NVIDIA's header of the same name. Like that one, it brings
// the headers of the C library with it, on which programs rely that do not include them.
#pragma once

// By these macros, headers written for CUDA ask whether it was included, and NVIDIA's own stay out where CUDA is installed.
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __CHANNEL_DESCRIPTOR_H__
#define __DEVICE_LAUNCH_PARAMETERS_H__
#define __DEVICE_TYPES_H__
#define __DRIVER_TYPES_H__
#define __SURFACE_TYPES_H__
#define __TEXTURE_TYPES_H__
#define __VECTOR_FUNCTIONS_H__
#define __VECTOR_TYPES_H__

// C++20 puts a function named lerp beside those of the C library; programs written for C++17, as CUDA's are, have their own.
#ifndef _GLIBCXX_CMATH
#define lerp lerp_of_the_standard_library
#include <cmath>
// It comes second, because a program's own header of this name may need what the first one declares.
#include <math.h>
#undef lerp
#endif

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "upsweep/simulator/cuda/atomics.h"
#include "upsweep/simulator/cuda/launch.h"
#include "upsweep/simulator/cuda/math.h"
#include "upsweep/simulator/cuda/runtime_api.h"
#include "upsweep/simulator/cuda/textures.h"
#include "upsweep/simulator/cuda/types.h"
#include "upsweep/simulator/cuda/warp.h"
