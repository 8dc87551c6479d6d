// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
__global__ void count(int* counter) { *counter += 1; }

int main()
{
    int* counter;
    cudaMalloc(&counter, sizeof(int));
    cudaMemset(counter, 0, sizeof(int));
    count<<<2, 64>>>(counter);
    cudaDeviceSynchronize();
    cudaFree(counter);
    return 0;
}
