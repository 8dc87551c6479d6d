// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
__global__ void put(int* where) { *where = 1; }

int not_to_be_shown() { return 0; }

int main()
{
    int* where;
    cudaMalloc(&where, 4);
    put<<<1, 1>>>(where);
    cudaFree(where);
}
