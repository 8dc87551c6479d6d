// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// Some of g++'s own functions for AVX-512 read a variable that they leave undefined on purpose, of which g++ 12 warns.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
