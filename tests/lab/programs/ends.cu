// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Races, and then ends as its argument says.
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <unistd.h>

__global__ void count(int* counter) { *counter += 1; }
__global__ void wait_for_ever(volatile int* flag)
{
    for (int i = 0; *flag >= 0; ++i)
        flag[1] = i & 0xffff;
}

int main(int argc, char** argv)
{
    int* counter;
    cudaMalloc(&counter, 8);
    cudaMemset(counter, 0, 8);
    count<<<2, 64>>>(counter);
    cudaDeviceSynchronize();
    std::puts("it has raced");
    std::fflush(stdout);
    const char* how = argc > 1 ? argv[1] : "return";
    if (strcmp(how, "abort") == 0)
        abort();
    assert(strcmp(how, "assert") != 0);
    if (strcmp(how, "throw") == 0)
        throw std::runtime_error("nobody catches this");
    if (strcmp(how, "fault") == 0)
        *reinterpret_cast<volatile int*>(16) = 1;
    if (strcmp(how, "divide") == 0) {
        volatile int zero = 0;
        std::printf("%d\n", 100 / zero);
    }
    if (strcmp(how, "exit") == 0)
        exit(5);
    if (strcmp(how, "_exit") == 0)
        _exit(6);
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(7);
    if (strcmp(how, "kernel") == 0)
        wait_for_ever<<<1, 1>>>(counter);
    if (strcmp(how, "host") == 0)
        for (;;)
            pause();
    if (strcmp(how, "managed") == 0) {
        int* shared_by_both;
        cudaMallocManaged(&shared_by_both, 1024);
        for (unsigned i = 0;; ++i)
            free(malloc(++shared_by_both[i % 256] % 64)); // it is in the C library for much of the time
    }
    if (strcmp(how, "leak") != 0)
        cudaFree(counter);
    return 0;
}
