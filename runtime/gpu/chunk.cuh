// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <cuda_runtime.h>

#include <upsweep/cpu/parallel.hpp>
#include <upsweep/upsweep.hpp>

#include "elements.cuh"

// An array comes to the GPU in chunks, by way of page-locked memory. Several chunks are under way at a time: the host
// copies one while the bus carries another and the GPU folds a third.
namespace upsweep::runtime::gpu {

inline constexpr int chunks_under_way = 3;
inline constexpr std::uint64_t default_memory = std::uint64_t{64} << 20;
// The GPU folds aligned blocks of at least 2^smallest_level elements. Less is not worth a launch: the host folds it, to
// the same bits.
inline constexpr int smallest_level = 10;

// Returns how many elements a chunk has, a power of two, where each takes element_bytes and all chunks together at most
// `memory` bytes of the GPU.
inline std::uint64_t chunk_elements(std::uint64_t memory, std::uint64_t element_bytes)
{
    const std::uint64_t least = chunks_under_way * element_bytes << smallest_level;
    if (memory < least)
        throw error(error_kind::invalid_argument, "upsweep",
                    std::to_string(memory) + " bytes of the GPU's memory are too few",
                    "allow at least " + std::to_string(least));
    return std::bit_floor(memory / (chunks_under_way * element_bytes));
}

inline void check_is_new(bool is_new)
{
    if (!is_new)
        throw error(error_kind::invalid_argument, "upsweep",
                    "the GPU's memory is limited after the first elements were fed", "limit it before");
}

inline void check_memory(cudaError_t code, const char* whose, std::size_t bytes, const char* remedy)
{
    if (code == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        throw error(error_kind::out_of_memory, "upsweep",
                    std::string(whose) + " has no " + std::to_string(bytes) + " bytes left", remedy);
    }
    upsweep::gpu::check("upsweep", code);
}

inline constexpr const char* remedy_for_chunks = "free some, or allow the GPU engine less memory";

// Owns memory of the GPU.
class device_memory {
public:
    explicit device_memory(std::size_t bytes, const char* remedy = remedy_for_chunks)
    {
        check_memory(cudaMalloc(&data_, bytes), "the GPU", bytes, remedy);
    }
    device_memory(const device_memory&) = delete;
    device_memory& operator=(const device_memory&) = delete;
    ~device_memory() { cudaFree(data_); }

    std::byte* data() const { return static_cast<std::byte*>(data_); }

private:
    void* data_ = nullptr;
};

// Owns page-locked memory of the host, which the GPU reads and writes without the CPU.
class host_memory {
public:
    explicit host_memory(std::size_t bytes)
    {
        check_memory(cudaMallocHost(&data_, bytes), "the host", bytes, remedy_for_chunks);
    }
    host_memory(const host_memory&) = delete;
    host_memory& operator=(const host_memory&) = delete;
    ~host_memory() { cudaFreeHost(data_); }

    std::byte* data() const { return static_cast<std::byte*>(data_); }

private:
    void* data_ = nullptr;
};

class stream {
public:
    stream() { upsweep::gpu::check("cudaStreamCreate", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    ~stream()
    {
        cudaStreamSynchronize(stream_); // Work that is still under way uses memory that is freed next.
        cudaStreamDestroy(stream_);
    }

    cudaStream_t get() const { return stream_; }
    void wait() const { upsweep::gpu::check("cudaStreamSynchronize", cudaStreamSynchronize(stream_)); }

private:
    cudaStream_t stream_ = nullptr;
};

// The totals of the aligned blocks into which the binary digits of its length cut a chunk (docs/fold-order.md). Kernels
// write them to page-locked memory of the host.
template <class Acc>
class chunk_totals {
public:
    chunk_totals() : memory_(64 * sizeof(Acc)) {}

    // Starts a reduction for each aligned block of the first `count` elements, except for a rest of less than the
    // smallest block.
    template <class Op>
    void launch(const cuda& target, const typed_input<Acc>& in, std::uint64_t count, const Op& op)
    {
        for_each_block(count, [&](std::uint64_t first, int level) {
            upsweep::gpu::reduce<Acc>(target, in + static_cast<std::ptrdiff_t>(first), std::uint64_t{1} << level, op,
                                      &totals()[level]);
        });
    }

    // Pushes the totals of these blocks and then the elements of the rest, which the host reads from `in`. The
    // reductions must have finished.
    template <class Op>
    void push(fold_stack<Acc, Op>& stack, const typed_input<Acc>& in, std::uint64_t count) const
    {
        for_each_block(count, [&](std::uint64_t, int level) { stack.push(totals()[level], level); });
        for (std::uint64_t i = count >> smallest_level << smallest_level; i < count; ++i)
            stack.push(in[static_cast<std::ptrdiff_t>(i)], 0);
    }

private:
    Acc* totals() const { return reinterpret_cast<Acc*>(memory_.data()); }

    template <class F>
    static void for_each_block(std::uint64_t count, F f)
    {
        std::uint64_t first = 0;
        for (int level = static_cast<int>(std::bit_width(count)) - 1; level >= smallest_level; --level)
            if ((count >> level & 1) != 0)
                f(std::exchange(first, first + (std::uint64_t{1} << level)), level);
    }

    host_memory memory_;
};

// A chunk is gathered in memory of the host, copied to memory of the GPU, and folded there, on a stream of its own.
template <class Acc>
struct chunk {
    explicit chunk(std::size_t bytes) : host(bytes), device(bytes) {}

    // Starts to copy the `bytes` that have been gathered to the GPU, where they are the elements `there`, and to fold
    // them.
    template <class Op>
    void send(std::size_t bytes, const typed_input<Acc>& there, const Op& op)
    {
        upsweep::gpu::check("cudaMemcpyAsync",
                            cudaMemcpyAsync(device.data(), host.data(), bytes, cudaMemcpyHostToDevice, stream.get()));
        totals.launch(target, there, count, op);
    }

    host_memory host;
    device_memory device;
    chunk_totals<Acc> totals;
    gpu::stream stream;
    cuda target{stream.get()};
    std::uint64_t count = 0; // elements gathered
};

// Copies bytes as memcpy does, by all threads of the host.
inline void copy(const cpu& host, void* to, const void* from, std::size_t bytes)
{
    constexpr std::size_t part = std::size_t{1} << 20;
    if (bytes <= part) {
        std::memcpy(to, from, bytes);
        return;
    }
    cpu_engine::for_each_index(host, (bytes + part - 1) / part, [&](std::size_t k) {
        std::memcpy(static_cast<std::byte*>(to) + k * part, static_cast<const std::byte*>(from) + k * part,
                    std::min(part, bytes - k * part));
    });
}

} // namespace upsweep::runtime::gpu
