// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What CUB can be asked to promise about the order of operations. Toolkits before CUDA 13.1 have a CUB that cannot be asked.
#pragma once

#include <limits>
#include <vector>

#include <cub/cub.cuh>

#include "session.hpp"

namespace bench {

// CUB takes storage from the device's pool when it is asked by an environment. That costs the GPU no time as long as the pool
// keeps what is given back to it.
inline void keep_pool()
{
    cudaMemPool_t pool{};
    std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
    check(cudaDeviceGetDefaultMemPool(&pool, 0), "cudaDeviceGetDefaultMemPool");
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all), "cudaMemPoolSetAttribute");
}

// The same bits on every GPU. Without being asked, CUB's reduce promises the same bits in every run.
template <class In, class Out>
std::vector<contender> reductions_with_promise([[maybe_unused]] const In* in, [[maybe_unused]] Out* out,
                                               [[maybe_unused]] std::size_t n, [[maybe_unused]] cudaStream_t stream,
                                               [[maybe_unused]] const contender& by_default)
{
    std::vector<contender> found;
#if CUB_VERSION >= 300100
    if constexpr (std::floating_point<In>) {
        namespace execution = cuda::execution;
        keep_pool();
        found.push_back(by_default);
        found.back().call = "DeviceReduce::Reduce";
        found.back().promise = "gpu_to_gpu";
        found.back().launch = [=] {
            const cuda::std::execution::env environment{cuda::stream_ref{stream},
                                                        execution::require(execution::determinism::gpu_to_gpu)};
            check(cub::DeviceReduce::Reduce(in, out, n, cuda::std::plus<>{}, Out{}, environment), "cub");
        };
    }
#endif
    return found;
}

// The same bits in every run, for which CUB has scans of floats. Without being asked, it promises nothing.
template <class T>
std::vector<contender> scans_with_promise([[maybe_unused]] const T* in, [[maybe_unused]] T* out,
                                          [[maybe_unused]] std::size_t n, [[maybe_unused]] cudaStream_t stream,
                                          [[maybe_unused]] const contender& by_default)
{
    std::vector<contender> found;
#if CUB_VERSION >= 300600
    if constexpr (std::floating_point<T>) {
        namespace execution = cuda::execution;
        keep_pool();
        found.push_back(by_default);
        found.back().call = "DeviceScan::InclusiveScan";
        found.back().promise = "run_to_run";
        found.back().launch = [=] {
            const cuda::std::execution::env environment{cuda::stream_ref{stream},
                                                        execution::require(execution::determinism::run_to_run)};
            check(cub::DeviceScan::InclusiveScan(in, out, cuda::std::plus<>{}, n, environment), "cub");
        };
    }
#endif
    return found;
}

} // namespace bench
