// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What depends on __CUDA_ARCH__. Returns how many answers are wrong.
#include <cstdio>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 600
__device__ double atomicAdd(double* where, double value) { return *where += value; }
#endif

#ifdef __CUDA_ARCH__
#define SIDE 1
#else
#define SIDE 2
#endif

#ifndef __CUDA_ARCH__
static int only_on_the_host() { return 31; }
#endif
#ifdef __CUDA_ARCH__
__device__ int only_on_the_device() { return 32; }
#endif

__host__ __device__ int side() { return SIDE; }
int side_of_the_host() { return SIDE; }
__device__ int side_of_the_device() { return SIDE; }

struct both {
    int value;
    __host__ __device__ both() : value{SIDE} {}
    __host__ __device__ int side() const
    {
#if !defined(__CUDA_ARCH__)
        return 2;
#else
        return __CUDA_ARCH__ >= 700 ? 1 : 3;
#endif
    }
};

__host__ __device__ constexpr int constant()
{
#ifdef __CUDA_ARCH__
    return 7;
#else
    return 7 + 0;
#endif
}
static_assert(constant() == 7);

__global__ void ask(int* out)
{
#if __CUDA_ARCH__ >= 700
    out[0] = 70;
#endif
    out[1] = side();
    out[2] = side_of_the_device();
    out[3] = both().side();
    out[4] = both().value;
#ifdef __CUDA_ARCH__
    out[5] = only_on_the_device();
#endif
}

int main()
{
    int *device, host[6] = {}, wrong = 0;
    cudaMalloc(&device, sizeof host);
    cudaMemset(device, 0, sizeof host);
    ask<<<1, 1>>>(device);
    cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(device);
    const int expected[6] = {70, 1, 1, 1, 1, 32};
    for (int i = 0; i < 6; ++i)
        if (host[i] != expected[i])
            std::printf("out[%d] is %d\n", i, host[i]), ++wrong;
    wrong += side() != 2;
    wrong += side_of_the_host() != 2;
    wrong += both().side() != 2;
    wrong += both().value != 2 && both().value != 1; // of an initialiser, which nvcc takes from the host
#ifndef __CUDA_ARCH__
    wrong += only_on_the_host() != 31;
#endif
    return wrong;
}
