// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// expect: memory_of_another_process.cu:10 | memory and events shared between processes are not simulated
#include <cuda_runtime.h>

int main()
{
    void* place = nullptr;
    cudaIpcMemHandle_t handle = {};
#ifndef FIXED
    cudaIpcOpenMemHandle(&place, handle, 0);
#endif
    return sizeof handle == 64 && place == nullptr;
}
