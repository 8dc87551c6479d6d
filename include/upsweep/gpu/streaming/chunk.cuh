// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>

#include <cuda_runtime.h>

#include <upsweep/cpu/parallel.hpp>
#include <upsweep/error.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/gpu/fold/reduce.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/op.hpp>
#include <upsweep/partial.hpp>
#include <upsweep/target.hpp>

// An array of any size comes from memory of the host to the GPU in chunks, by way of page-locked memory. Several chunks
// are under way at a time: the host copies one while the bus carries another and the GPU folds a third.
namespace upsweep::gpu::streaming {

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
    gpu::check("upsweep", code);
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
    stream() { gpu::check("cudaStreamCreate", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    ~stream()
    {
        cudaStreamSynchronize(stream_); // Work that is still under way uses memory that is freed next.
        cudaStreamDestroy(stream_);
    }

    cudaStream_t get() const { return stream_; }
    void wait() const { gpu::check("cudaStreamSynchronize", cudaStreamSynchronize(stream_)); }

private:
    cudaStream_t stream_ = nullptr;
};

// Elements of type T as they lie in memory. What streams elements takes such a description, so that libupsweep can stream
// elements whose type is chosen at run time.
template <class T>
struct elements_of {
    std::size_t bytes() const { return sizeof(T); } // of one element
    const T* operator()(const std::byte* memory) const { return reinterpret_cast<const T*>(memory); }
};

// The totals of the aligned blocks that the elements of a chunk make up (docs/fold-order.md). Kernels write them to
// page-locked memory of the host.
template <class Acc>
class chunk_totals {
public:
    chunk_totals() : memory_(detail::most_aligned_blocks * sizeof(Acc)) {}

    // Starts a reduction for each block but the small ones. The first element has position `first` in the array.
    template <class In, class Op>
    void launch(const cuda& target, In in, std::uint64_t first, std::uint64_t count, const Op& op)
    {
        std::size_t k = 0;
        detail::for_each_aligned_block(first, first + count, [&](const detail::aligned_block& block) {
            if (block.level >= smallest_level)
                gpu::reduce<Acc>(target, in + static_cast<std::ptrdiff_t>(block.first() - first),
                                 std::uint64_t{1} << block.level, op, &totals()[k++]);
        });
    }

    // Pushes the totals of these blocks, and the elements of the small ones, which the host reads from `in`. The
    // reductions must have finished.
    template <class In, class Op>
    void push(fold_stack<Acc, Op>& stack, In in, std::uint64_t first, std::uint64_t count) const
    {
        std::size_t k = 0;
        detail::for_each_aligned_block(first, first + count, [&](const detail::aligned_block& block) {
            if (block.level >= smallest_level)
                stack.push(totals()[k++], block.level);
            else
                for (std::uint64_t i = block.first(); i < block.end(); ++i)
                    stack.push(convert<Acc>(in[static_cast<std::ptrdiff_t>(i - first)]), 0);
        });
    }

private:
    Acc* totals() const { return reinterpret_cast<Acc*>(memory_.data()); }

    host_memory memory_;
};

// A chunk is gathered in memory of the host, copied to memory of the GPU, and folded there, on a stream of its own.
template <class Acc>
struct chunk {
    explicit chunk(std::size_t bytes) : host(bytes), device(bytes) {}

    // Starts to copy the elements that have been gathered to the GPU, and to fold them there.
    template <class Elements, class Op>
    void send(const Elements& elements, const Op& op)
    {
        gpu::check("cudaMemcpyAsync", cudaMemcpyAsync(device.data(), host.data(), count * elements.bytes(),
                                                      cudaMemcpyHostToDevice, stream.get()));
        totals.launch(target, elements(device.data()), first, count, op);
        is_sent = true;
    }

    // Pushes the elements, whose reductions have been started, when these are done.
    template <class Elements, class Op>
    void push(fold_stack<Acc, Op>& stack, const Elements& elements) const
    {
        stream.wait();
        totals.push(stack, elements(host.data()), first, count);
    }

    host_memory host;
    device_memory device;
    chunk_totals<Acc> totals;
    streaming::stream stream;
    cuda target{stream.get()};
    std::uint64_t first = 0; // the position of the first element in the array
    std::uint64_t count = 0; // elements gathered
    bool is_sent = false;
};

// Whether elements that a pointer leads to lie in memory of the GPU, and not in the host's.
inline bool lies_on_gpu(const void* pointer)
{
    cudaPointerAttributes place{};
    gpu::check("cudaPointerGetAttributes", cudaPointerGetAttributes(&place, pointer));
    return place.type == cudaMemoryTypeDevice || place.type == cudaMemoryTypeManaged;
}

// Feeds elements of type T to a reducer or a counter, by way of chunks where they lie in memory of the host.
template <class T, class To, class In>
void feed(To& to, In first, std::size_t count)
{
    static_assert(std::is_same_v<std::iter_value_t<In>, T>, "the elements have the type of what they are fed to");
    if (count == 0)
        return;
    if constexpr (std::is_pointer_v<In>)
        if (!lies_on_gpu(first))
            return to.feed(first, count);
    to.feed_where_they_lie(first, count);
}

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

} // namespace upsweep::gpu::streaming
