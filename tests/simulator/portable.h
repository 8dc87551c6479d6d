// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// For tests whose kernels and calls nvcc compiles, too: everything here is in CUDA itself.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#ifdef __CUDACC_SIMULATED__
#include "upsweep/simulator/simulator.h"
#endif

// Runs a kernel to its end. Under the simulator a finding is a failure.
template <class... Parameters, class... Arguments>
void run_on_device(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared, Arguments... arguments)
{
    const auto launch = [&](Parameters... converted) {
        void* addresses[] = {static_cast<void*>(&converted)..., nullptr};
        return cudaLaunchKernel(kernel, grid, block, addresses, shared, cudaStream_t(nullptr));
    };
#ifdef __CUDACC_SIMULATED__
    upsweep::simulator::recording here;
#endif
    EXPECT_EQ(launch(arguments...), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
#ifdef __CUDACC_SIMULATED__
    for (const auto& report : here.launches())
        for (const auto& found : report.findings)
            ADD_FAILURE() << found.text();
#endif
}

// What a kernel writes into an array of so many values.
template <class T, class... Parameters, class... Arguments>
std::vector<T> results_of(std::size_t count, dim3 grid, dim3 block, void (*kernel)(Parameters...),
                          Arguments... arguments)
{
    T* results = nullptr;
    EXPECT_EQ(cudaMalloc(&results, count * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemset(results, 0, count * sizeof(T)), cudaSuccess);
    run_on_device(kernel, grid, block, 0, results, arguments...);
    std::vector<T> values(count);
    EXPECT_EQ(cudaMemcpy(values.data(), results, count * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(cudaFree(results), cudaSuccess);
    return values;
}
