// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
__device__ int twice(int x)
{
    if (x > 0)
        return 2 * x;
}

__global__ void put(int* where, int x) { *where = twice(x); }

int main()
{
    int* where;
    cudaMalloc(&where, sizeof(int));
    put<<<1, 1>>>(where, -1);
    cudaFree(where);
}
