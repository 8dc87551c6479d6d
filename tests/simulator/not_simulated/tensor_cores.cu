// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// expect: tensor cores (nvcuda::wmma) are not simulated
#ifndef FIXED
#include <mma.h>
#endif
#include <cuda_runtime.h>

int main() { return cudaDeviceSynchronize(); }
