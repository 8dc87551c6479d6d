// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "roof.hpp"

#include <algorithm>

namespace bench {
namespace {

constexpr int threads = 256;

// `never` keeps the compiler from leaving the reads out.
template <int Unroll>
__global__ void __launch_bounds__(threads) read_kernel(const uint4* in, std::size_t vectors, unsigned* never)
{
    unsigned seen = 0;
    const std::size_t stride = std::size_t{gridDim.x} * threads * Unroll;
    for (std::size_t first = std::size_t{blockIdx.x} * threads * Unroll + threadIdx.x; first < vectors;
         first += stride) {
        uint4 loaded[Unroll];
#pragma unroll
        for (int k = 0; k < Unroll; ++k)
            loaded[k] = first + k * threads < vectors ? __ldcs(in + first + k * threads) : uint4{};
#pragma unroll
        for (int k = 0; k < Unroll; ++k)
            seen |= loaded[k].x ^ loaded[k].y ^ loaded[k].z ^ loaded[k].w;
    }
    if (seen == 0x9e3779b9u)
        *never = seen;
}

template <int Unroll>
__global__ void __launch_bounds__(threads) copy_kernel(const uint4* in, uint4* out, std::size_t vectors)
{
    const std::size_t stride = std::size_t{gridDim.x} * threads * Unroll;
    for (std::size_t first = std::size_t{blockIdx.x} * threads * Unroll + threadIdx.x; first < vectors;
         first += stride) {
        uint4 loaded[Unroll];
#pragma unroll
        for (int k = 0; k < Unroll; ++k)
            if (first + k * threads < vectors)
                loaded[k] = __ldcs(in + first + k * threads);
#pragma unroll
        for (int k = 0; k < Unroll; ++k)
            if (first + k * threads < vectors)
                __stcs(out + first + k * threads, loaded[k]);
    }
}

// A vector is read for each that is written while there are any, and the other way round.
__global__ void __launch_bounds__(threads)
    read_and_write_kernel(const uint4* in, std::size_t in_vectors, uint4* out, std::size_t out_vectors)
{
    const std::size_t stride = std::size_t{gridDim.x} * threads;
    uint4 seen{};
    for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < max(in_vectors, out_vectors);
         i += stride) {
        if (i < in_vectors) {
            const uint4 loaded = __ldcs(in + i);
            seen = {seen.x ^ loaded.x, seen.y ^ loaded.y, seen.z ^ loaded.z, seen.w ^ loaded.w};
        }
        if (i < out_vectors)
            __stcs(out + i, seen);
    }
}

__global__ void hold_kernel()
{
    constexpr long long cycles = 150'000; // about 80 us
    const long long start = clock64();
    while (clock64() - start < cycles)
        __nanosleep(100);
}

__device__ unsigned never_written;

// Grids that keep every processor busy from the first block to the last, and one block for every piece.
constexpr unsigned blocks_a_processor[] = {4, 8, 16, 1u << 20};

template <int Unroll>
unsigned grid_of(std::size_t vectors, unsigned each)
{
    int multiprocessors = 0;
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
    const std::size_t pieces = (vectors + threads * Unroll - 1) / (threads * Unroll);
    return static_cast<unsigned>(std::min(pieces, std::size_t{each} * static_cast<unsigned>(multiprocessors)));
}

std::string name_of(const char* what, int unroll, unsigned each)
{
    return std::string(what) + ": " + std::to_string(unroll) + " vectors a thread, " +
           (each == 1u << 20 ? "a block a piece" : std::to_string(each) + " blocks a processor");
}

template <int Unroll>
void add_reads(std::vector<contender>& roofs, cudaStream_t stream, const void* in, std::size_t bytes)
{
    const std::size_t vectors = bytes / sizeof(uint4);
    unsigned* never = nullptr;
    check(cudaGetSymbolAddress(reinterpret_cast<void**>(&never), never_written), "cudaGetSymbolAddress");
    for (const unsigned each : blocks_a_processor) {
        const unsigned grid = grid_of<Unroll>(vectors, each);
        roofs.push_back({"roof", name_of("read", Unroll, each), "", [=] {
                             read_kernel<Unroll>
                                 <<<grid, threads, 0, stream>>>(static_cast<const uint4*>(in), vectors, never);
                             check(cudaGetLastError(), "read roof");
                         }});
    }
}

template <int Unroll>
void add_copies(std::vector<contender>& roofs, cudaStream_t stream, const void* in, void* out, std::size_t bytes)
{
    const std::size_t vectors = bytes / sizeof(uint4);
    for (const unsigned each : blocks_a_processor) {
        const unsigned grid = grid_of<Unroll>(vectors, each);
        roofs.push_back({"roof", name_of("copy", Unroll, each), "", [=] {
                             copy_kernel<Unroll><<<grid, threads, 0, stream>>>(static_cast<const uint4*>(in),
                                                                               static_cast<uint4*>(out), vectors);
                             check(cudaGetLastError(), "copy roof");
                         }});
    }
}

} // namespace

std::vector<contender> read_roofs(cudaStream_t stream, const void* in, std::size_t bytes)
{
    std::vector<contender> roofs;
    add_reads<4>(roofs, stream, in, bytes);
    add_reads<8>(roofs, stream, in, bytes);
    return roofs;
}

std::vector<contender> copy_roofs(cudaStream_t stream, const void* in, void* out, std::size_t bytes)
{
    std::vector<contender> roofs;
    add_copies<2>(roofs, stream, in, out, bytes);
    add_copies<4>(roofs, stream, in, out, bytes);
    roofs.push_back({"roof", "copy: cudaMemcpyAsync", "", [=] {
                         check(cudaMemcpyAsync(out, in, bytes, cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync");
                     }});
    return roofs;
}

std::vector<contender> read_and_write_roofs(cudaStream_t stream, const void* in, std::size_t in_bytes, void* out,
                                            std::size_t out_bytes)
{
    std::vector<contender> roofs;
    const std::size_t in_vectors = in_bytes / sizeof(uint4);
    const std::size_t out_vectors = out_bytes / sizeof(uint4);
    for (const unsigned each : blocks_a_processor) {
        const unsigned grid = grid_of<1>(std::max(in_vectors, out_vectors), each);
        roofs.push_back({"roof", name_of("read and write", 1, each), "", [=] {
                             read_and_write_kernel<<<grid, threads, 0, stream>>>(
                                 static_cast<const uint4*>(in), in_vectors, static_cast<uint4*>(out), out_vectors);
                             check(cudaGetLastError(), "read and write roof");
                         }});
    }
    return roofs;
}

void hold(cudaStream_t stream)
{
    hold_kernel<<<1, 1, 0, stream>>>();
    check(cudaGetLastError(), "hold");
}

} // namespace bench
