// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// Host and device code share the operators and the fold order. nvcc must be told which functions are compiled for both;
// other compilers need not be.
#ifdef __CUDACC__
#define UPSWEEP_HOST_DEVICE __host__ __device__
#else
#define UPSWEEP_HOST_DEVICE
#endif

// Functions marked with it are inlined even where the compiler would rather call them: vectors stay in registers, and
// no ordinary store comes between streamed ones.
#define UPSWEEP_ALWAYS_INLINE [[gnu::always_inline]]

// Functions marked with it are called even where the compiler would rather inline them. They have several callers, each of which would have to be compiled
// with all of them in it, and a call costs nothing beside their work, or is made once a line.
#define UPSWEEP_NEVER_INLINE [[gnu::noinline]]
