// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// expect: driver.cu:8 | the CUDA driver's API is not simulated: use the runtime's
#include <cuda.h>

int main()
{
#ifndef FIXED
    return cuInit(0) == CUDA_SUCCESS;
#endif
}
