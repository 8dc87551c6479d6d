// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Code that is right, and looks like races: an atomic of doubles as CUDA's guide makes it, and types with constructors in shared
// memory.
#include <cuda_fp16.h>

__device__ double add(double* where, double value)
{
    unsigned long long* bits = reinterpret_cast<unsigned long long*>(where);
    unsigned long long old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}

// The same, with other words read between the guess and the atomic.
__device__ void raise_to(int* most, const int* candidate)
{
    int guess;
    do {
        guess = *most;
        if (*candidate <= guess)
            break;
    } while (atomicCAS(most, guess, *candidate) != guess);
}

__global__ void maximum(int* most)
{
    __shared__ int candidates[64];
    candidates[threadIdx.x] = blockIdx.x * 64 + threadIdx.x;
    __syncthreads();
    raise_to(most, &candidates[threadIdx.x]);
}

__global__ void sum(double* total, const half2* in)
{
    __shared__ half2 tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    const half2 mine = tile[63 - threadIdx.x];
    add(total, __low2float(mine) + __high2float(mine));
}

int main()
{
    constexpr int threads = 64, blocks = 4;
    half2 host[threads];
    for (int i = 0; i < threads; ++i)
        host[i] = __floats2half2_rn(float(i), 1.0f);
    half2* in;
    double *total, result = 0;
    int *most, largest = -1;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&total, sizeof(double));
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemcpy(total, &result, sizeof(double), cudaMemcpyHostToDevice);
    sum<<<blocks, threads>>>(total, in);
    cudaMemcpy(&result, total, sizeof(double), cudaMemcpyDeviceToHost);
    cudaMalloc(&most, sizeof(int));
    cudaMemcpy(most, &largest, sizeof(int), cudaMemcpyHostToDevice);
    maximum<<<blocks, threads>>>(most);
    cudaMemcpy(&largest, most, sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(most);
    cudaFree(in);
    cudaFree(total);
    return result == blocks * (63 * 64 / 2 + 64) && largest == blocks * threads - 1 ? 0 : 9;
}
