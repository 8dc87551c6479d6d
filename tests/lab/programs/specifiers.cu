// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Variables of host threads beside variables of blocks, and specifiers in the places where nvcc takes them.
static thread_local int own = 3;
static __thread bool flag;
thread_local static int table[4];
namespace {
thread_local int hidden = 5;
}

__noinline__ __device__ int nine() { return 9; }

__global__ void ask(int* out)
{
    // clang-format off
    __shared__ alignas(16) char raw[64];
    // clang-format on
    __shared__ __align__(8) int sum;
    if (threadIdx.x == 0) {
        sum = nine();
        raw[0] = 1;
        *out = sum + static_cast<int>(reinterpret_cast<unsigned long long>(raw) % 16) + raw[0];
    }
}

int main()
{
    static thread_local int local = 0;
    ++own, flag = true, table[1] = 7, ++hidden, ++local;
    int *device, host = 0;
    cudaMalloc(&device, sizeof(int));
    ask<<<1, 32>>>(device);
    cudaMemcpy(&host, device, sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(device);
    return own == 4 && flag && table[1] == 7 && hidden == 6 && local == 1 && host == 10 ? 0 : 9;
}
