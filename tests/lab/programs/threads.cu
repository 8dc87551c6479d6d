// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Two host threads, each with launches of its own.
#include <thread>

__global__ void first(int* counter) { atomicAdd(counter, 1); }
__global__ void second(int* counter) { *counter += 1; } // a race

int main()
{
    std::thread a([] {
        int* counter;
        cudaMalloc(&counter, sizeof(int));
        cudaMemset(counter, 0, sizeof(int));
        first<<<4, 64>>>(counter);
        cudaFree(counter);
    });
    std::thread b([] {
        int* counter;
        cudaMalloc(&counter, sizeof(int));
        cudaMemset(counter, 0, sizeof(int));
        second<<<4, 64>>>(counter);
        cudaFree(counter);
    });
    a.join();
    b.join();
}
