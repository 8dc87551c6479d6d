// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Fails unless whoever makes a target of CUDA learns, where there is no driver or no GPU, that this is the reason.
#include <cstdio>

#include <upsweep/gpu/target/cuda.cuh>

int main()
{
    try {
        const upsweep::cuda gpu;
    } catch (const upsweep::error& e) {
        std::puts(e.what());
        return e.kind() == upsweep::error_kind::no_device ? 0 : 1;
    }
    int devices = 0;
    return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0 ? 0 : 1;
}
