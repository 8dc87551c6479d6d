// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// A program of several files: two of CUDA, one of C++, and headers in another folder.
#include "increment.cuh"
#include "part.h"

int main(int argc, char** argv)
{
    int* device = nullptr;
    int host = 0;
    cudaMalloc(&device, sizeof(int));
    cudaMemset(device, 0, sizeof(int));
    increment<<<1, 1>>>(device);
    increment_elsewhere(device);
    cudaMemcpy(&host, device, sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(device);
    return host == 1 + STEP && argc == 3 && is_option(argv[1]) && argv[2][0] == 'x' ? 0 : 9;
}
