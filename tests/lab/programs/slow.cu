// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// A grid of more blocks than anyone wants to wait for.
__global__ void count(unsigned* counters)
{
    for (int i = 0; i < 64; ++i)
        counters[blockIdx.x * blockDim.x + threadIdx.x] += i;
}

int main()
{
    constexpr unsigned blocks = 65536, threads = 256;
    unsigned* counters;
    cudaMalloc(&counters, blocks * threads * sizeof(unsigned));
    cudaMemset(counters, 0, blocks * threads * sizeof(unsigned));
    count<<<blocks, threads>>>(counters);
    cudaDeviceSynchronize();
    cudaFree(counters);
}
