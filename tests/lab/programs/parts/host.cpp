// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "part.h"

#ifdef __CUDACC__
#error "this file is not CUDA"
#endif

bool is_option(const char* argument) { return argument[0] == '-'; }
