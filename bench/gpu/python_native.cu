// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What bench/python_peers.py --gpu compares the Python package with: a bare launch of a kernel, and the C++ library, as functions of C.
#include <cstddef>
#include <span>

#include <cuda_runtime.h>

#include <upsweep/gpu/reduce.cuh>
#include <upsweep/gpu/scan.cuh>

namespace {

__global__ void nothing() {}

// One for all calls: its workspace is kept.
upsweep::cuda& target_of(void* stream)
{
    static upsweep::cuda target(static_cast<cudaStream_t>(stream));
    return target;
}

} // namespace

extern "C" {

void bare_launches(int count, void* stream)
{
    for (int k = 0; k < count; ++k)
        nothing<<<1, 32, 0, static_cast<cudaStream_t>(stream)>>>();
}

void native_sum(const float* in, std::size_t count, float* out, void* stream)
{
    upsweep::reduce(target_of(stream), std::span(in, count), out, upsweep::plus{});
}

void native_cumulative_sum(const float* in, std::size_t count, float* out, void* stream)
{
    upsweep::inclusive_scan(target_of(stream), std::span(in, count), std::span(out, count), upsweep::plus{});
}

} // extern "C"
