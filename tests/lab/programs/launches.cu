// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Launches in every spelling that nvcc takes. The program returns how many of them did not do what they should.
#include <cstdio>
#include <cstdlib>

#include "launches.cuh"

__global__ void put(int* where, int value) { where[threadIdx.x] = value; }
__global__ void also_put(int* where, int value) { where[threadIdx.x] = value + 100; }
__global__ void maybe_put(int* where, const int* from) { *where = from == nullptr ? 7 : *from; }
__global__ void put_sum(int* where, int3 parts) { *where = parts.x + parts.y + parts.z; }
__global__ void put_default(int* where, int value = 11) { *where = value; }
void __global__ put_after_type(int* where, int) { *where = 12; }
template <int Value>
__global__ void put_constant(int* where)
{
    *where = Value;
}
template <class T>
__global__ void put_as(T* where, T value)
{
    *where = value;
}
template <class... Values>
__global__ void put_all(int* where, Values... values)
{
    *where = (0 + ... + values);
}
static __global__ void __launch_bounds__(256, 2) put_bounded(int* where, const int value, int[]) { *where = value; }

namespace inner {
__global__ void put(int* where, int value) { *where = 2 * value; }
namespace {
template <class T>
struct kernels {
    static T twice(T x) { return 2 * x; }
};
} // namespace
} // namespace inner

struct choice {
    void (*kernel)(int*, int);
};

#define LAUNCH(kernel, ...) kernel<<<1, 1>>>(__VA_ARGS__)
#define CHECK(expected)                                                                                                \
    do {                                                                                                               \
        cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);                                                \
        if (host != (expected))                                                                                        \
            std::printf("line %d: %d in place of %d\n", __LINE__, host, expected), ++wrong;                            \
    } while (0)

int wrong = 0, host = 0;

int main()
{
    int* device = nullptr;
    cudaMalloc(&device, 32 * sizeof(int));
    // clang-format off
    put << <1, 32 >> > (device, 1);
    CHECK(1);
    put<<<(1 << 2) >> 2, sizeof(int) >> 2>>>(device, 24);
    CHECK(24);
    // clang-format on
    (put_constant<4>)<<<1, 1>>>(device);
    CHECK(4);
    put_constant<(3 > 2) ? 5 : 6><<<1, 1>>>(device);
    CHECK(5);
    void (*table[])(int*, int) = {put, also_put};
    table[1]<<<1, 1>>>(device, 1);
    CHECK(101);
    const choice chosen{put};
    chosen.kernel<<<1, 1>>>(device, 21);
    CHECK(21);
    const choice* pointer = &chosen;
    pointer->kernel<<<dim3(1, 1), dim3(1)>>>(device, 22);
    CHECK(22);
    auto function = also_put;
    (*function)<<<1, 1>>>(device, 23);
    CHECK(123);
    maybe_put<<<1, 1>>>(device, NULL);
    CHECK(7);
    maybe_put<<<1, 1>>>(device, 0);
    CHECK(7);
    put_sum<<<1, 1>>>(device, {1, 2, 3});
    CHECK(6);
    put_default<<<1, 1, 0, 0>>>(device);
    CHECK(11);
    put_after_type<<<1, 1>>>(device, 0);
    CHECK(12);
    put_as<<<1, 1>>>(device, 13);
    CHECK(13);
    put_all<<<1, 1>>>(device, 1, 2, 3, 4);
    CHECK(10);
    put_bounded<<<1, 1>>>(device, 14, device);
    CHECK(14);
    inner::put<<<1, 1>>>(device, 8);
    CHECK(16);
    ::inner::put<<<1, 1>>>(device, inner::kernels<int>::twice(2));
    CHECK(8);
    LAUNCH(put, device, 17);
    CHECK(17);
    if (host == 17)
        put<<<1, 1>>>(device, 18);
    else
        put<<<1, 1>>>(device, 19);
    CHECK(18);
    host == 18 ? put<<<1, 1>>>(device, 20) : put<<<1, 1>>>(device, 0);
    CHECK(20);
    launch_from_a_header(device, 25);
    CHECK(25);
    [&] { put<<<1, 1>>>(device, 26); }();
    CHECK(26);

    int value = 27;
    void* arguments[] = {&device, &value};
    cudaLaunchKernel((void*)put, dim3(1), dim3(1), arguments, 0, 0);
    CHECK(27);
    value = 28;
    void* three_arguments[] = {&device, &value, &device};
    cudaLaunchKernel((const void*)put_bounded, dim3(1), dim3(1), three_arguments, 0, 0);
    CHECK(28);
    cudaLaunchKernel(also_put, 1, 1, arguments, 0, nullptr);
    CHECK(128);
    cudaLaunchCooperativeKernel((void*)put_as<int>, 1, 1, arguments);
    CHECK(28);

    const char* text = R"(put<<<1, 1>>>(device, 0))"; // no launch, nor is this: put<<<1, 1>>>(device, 0)
    std::printf("%s, %d wrong\n", text, wrong);
    srand(time(NULL)); // nvcc includes what this needs
    cudaFree(device);
    return wrong;
}
