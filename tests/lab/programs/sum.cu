// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <vector>

template <int Block>
__global__ void sum_blocks(const int* in, int* out, int n)
{
    __shared__ int tile[Block];
    const int t = threadIdx.x, i = blockIdx.x * Block + t;
    tile[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = Block / 2; s > 0; s /= 2) {
        if (t < s)
            tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t == 0)
        atomicAdd(out, tile[0]);
}

template <class T>
__global__ void scale(T* data, T by)
{
    data[threadIdx.x] *= by;
}

int main()
{
    const int n = 1000;
    std::vector<int> host(n, 2);
    int *in, *out, total = 0;
    cudaMalloc(&in, n * sizeof(int));
    cudaMalloc(&out, sizeof(int));
    cudaMemcpy(in, host.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemset(out, 0, sizeof(int));
    sum_blocks<128><<<(n + 127) / 128, 128>>>(in, out, n);
    scale<<<1, 1>>>(out, 3);
    if (cudaGetLastError() != cudaSuccess)
        return 2;
    cudaMemcpy(&total, out, sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(in);
    cudaFree(out);
    std::printf("total %d\n", total);
    return total == 6000 ? 0 : 4;
}
