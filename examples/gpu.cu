// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The same calls on a GPU, with the same bits:
//   nvcc -std=c++20 -arch=native --expt-relaxed-constexpr --fmad=false -Iinclude examples/gpu.cu -ltbb
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include <upsweep/upsweep.hpp>

namespace up = upsweep;

int main()
{
    std::vector<float> wave(100'000);
    for (std::size_t i = 0; i < wave.size(); ++i)
        wave[i] = std::sin(static_cast<float>(i));

    float* on_gpu = nullptr;
    if (cudaMalloc(&on_gpu, wave.size() * sizeof(float)) != cudaSuccess)
        return 1;
    cudaMemcpy(on_gpu, wave.data(), wave.size() * sizeof(float), cudaMemcpyHostToDevice);
    const std::span<float> there(on_gpu, wave.size());

    const up::cuda gpu; // the default stream of the current device; up::cuda{stream} for another
    const float sum = up::reduce(gpu, there, up::plus{});
    up::inclusive_scan(gpu, there, there, up::plus{}); // in place, in order of the stream

    float last = 0;
    cudaMemcpy(&last, on_gpu + wave.size() - 1, sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(on_gpu);

    std::printf("the sum of the CPU: %s\n", sum == up::reduce(up::cpu{}, wave, up::plus{}) ? "yes" : "no");
    std::printf("the last of the running sums: %s\n", sum == last ? "yes" : "no");
}

// Prints:
// the sum of the CPU: yes
// the last of the running sums: yes
