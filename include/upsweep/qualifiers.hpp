// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// Operators and the fold order are shared by host and device code; nvcc needs to be told, other compilers do not.
#ifdef __CUDACC__
#define UPSWEEP_HOST_DEVICE __host__ __device__
#else
#define UPSWEEP_HOST_DEVICE
#endif

// For code that must not be called: vectors then stay in registers, and no store breaks a sequence of streamed ones.
#define UPSWEEP_ALWAYS_INLINE [[gnu::always_inline]]
