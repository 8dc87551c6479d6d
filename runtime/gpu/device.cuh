// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

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

// Memory for a copy that a call makes, in order of its stream, from a pool that keeps what calls have used, up to a sixteenth of the GPU's memory: to
// get as much from the driver takes several times as long as to convert elements. What to do if there is none is told by `remedy`.
std::byte* allocate_copy(const device& gpu, std::size_t bytes, const char* remedy);
void free_copy(const device& gpu, std::byte* copy);

// Writes elements without gaps as those of type `to`, one behind the other, in order of the stream. Returns false, and does nothing, where elements of that
// type have fewer than 4 bytes.
bool convert_to(const device& gpu, const elements& of, upsweep_dtype to, std::byte* out);

} // namespace upsweep::runtime::gpu
