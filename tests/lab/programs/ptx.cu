// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Instructions that programs write by hand. Returns how many answers are wrong.
#include <cstdio>

__device__ unsigned lane()
{
    unsigned value;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(value));
    return value;
}
__device__ __forceinline__ unsigned bits(unsigned from, unsigned at, unsigned length)
{
    unsigned value;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(value) : "r"(from), "r"(at), "r"(length));
    return value;
}
__device__ int load(const int* from)
{
    int value;
    asm volatile("ld.global.nc.s32 %0, [%1];\n" : "=r"(value) : "l"(from));
    return value;
}
__device__ void never() { asm volatile("griddepcontrol.wait;"); }

__global__ void ask(int* out, const int* in, int go)
{
    const unsigned t = threadIdx.x;
    out[t] = lane() == t % 32 && bits(0xabcd, 4, 8) == 0xbc && load(in + t) == in[t];
    asm volatile("membar.gl;" ::: "memory");
    asm volatile("" ::: "memory");
    float root;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(16.0f));
    int product;
    asm("{mad.lo.s32 %0, %1, %2, %3;}" : "=r"(product) : "r"(3), "r"(4), "r"(5));
    if (root != 4 || product != 17)
        out[t] = 0;
    if (go)
        never();
}

int main(int argc, char**)
{
    int *out, *in, host[64], wrong = 0;
    cudaMalloc(&out, sizeof host);
    cudaMalloc(&in, sizeof host);
    for (int i = 0; i < 64; ++i)
        host[i] = i * i;
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    ask<<<1, 64>>>(out, in, argc > 1);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (const int right : host)
        wrong += right != 1;
    cudaFree(out);
    cudaFree(in);
    return wrong;
}
