// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// expect: shuffle_without_a_mask.cu:10 | __shfl_down has no mask: call __shfl_down_sync, whose first argument is the mask
#include <cuda_runtime.h>

__global__ void fold(int* out)
{
#ifdef FIXED
    out[threadIdx.x] += __shfl_down_sync(0xffffffff, out[threadIdx.x], 16);
#else
    out[threadIdx.x] += __shfl_down(out[threadIdx.x], 16);
#endif
}
