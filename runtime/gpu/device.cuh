// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <upsweep/gpu/target/cuda.cuh>

#include "engine.hpp"

namespace upsweep::runtime::gpu {

class device {
public:
    // The current device, and a stream of it.
    explicit device(cudaStream_t stream) : target(stream) {}

    cuda target;
};

} // namespace upsweep::runtime::gpu
