// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The instructions that CUDA C++ has no word for, as the simulator plays them. This folder comes first on the include
// path of a simulated target, so that it is found in place of the header of inline PTX that it shares its name with.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

namespace upsweep::gpu {

// mbarriers: 8 bytes of shared memory. A phase is complete when all arrivals and all announced bytes have come.
UPSWEEP_INLINE void mbarrier_init(std::uint64_t* barrier, std::uint32_t arrivals)
{
    simulator::device::mbarrier_init(barrier, arrivals);
}
// Between the initialisation and the barrier after which other threads, and bulk copies, use the mbarrier.
UPSWEEP_INLINE void mbarrier_init_fence() { simulator::device::proxy_fence(true); }
// One arrival, and the bytes that this phase waits for on top of it.
UPSWEEP_INLINE void mbarrier_expect(std::uint64_t* barrier, std::uint32_t bytes)
{
    simulator::device::mbarrier_arrive(barrier, bytes);
}
UPSWEEP_INLINE void mbarrier_arrive(std::uint64_t* barrier) { simulator::device::mbarrier_arrive(barrier, 0); }
// Until the phase of this parity is complete: phases count from 0, and the one before the first has parity 1.
UPSWEEP_INLINE void mbarrier_wait(const std::uint64_t* barrier, std::uint32_t parity)
{
    simulator::device::mbarrier_wait(barrier, parity);
}

// Multiples of 16 bytes between addresses that are multiples of 16; one thread issues, nobody carries it out.
UPSWEEP_INLINE void bulk_load(void* shared, const void* global, std::uint32_t bytes, std::uint64_t* barrier)
{
    simulator::device::bulk_load(shared, global, bytes, barrier);
}
UPSWEEP_INLINE void bulk_store(void* global, const void* shared, std::uint32_t bytes)
{
    simulator::device::bulk_store(global, shared, bytes);
}
// The calling thread's stores since its last commit become a group.
UPSWEEP_INLINE void bulk_commit() { simulator::device::bulk_commit(); }
// Until at most N of the calling thread's groups have not been read from shared memory; not been written.
template <int N>
UPSWEEP_INLINE void bulk_wait_read()
{
    static_assert(N >= 0 && N < 64);
    simulator::device::bulk_wait(N, true);
}
template <int N>
UPSWEEP_INLINE void bulk_wait()
{
    static_assert(N >= 0 && N < 64);
    simulator::device::bulk_wait(N, false);
}
// After ordinary writes to shared memory that a bulk copy is to see, by the thread that wrote.
UPSWEEP_INLINE void async_proxy_fence() { simulator::device::proxy_fence(false); }

// Data that is used once. The simulator has no caches.
template <class T>
UPSWEEP_INLINE T load_streaming(const T* address)
{
    return *address;
}
template <class T>
UPSWEEP_INLINE void store_streaming(T* address, T value)
{
    *address = value;
}

// Sixteen bytes that are read and written as one.
struct alignas(16) word128 {
    std::uint64_t low;
    std::uint64_t high;
};

// Copies 16 bytes into shared memory, asynchronously, as __pipeline_memcpy_async does. The simulator has no caches.
UPSWEEP_INLINE void copy_once_async(void* shared, const void* global)
{
    simulator::device::pipeline_copy(shared, global, 16);
}

// Orders what this thread has read and written before with what it reads and writes after, for all threads of the GPU.
UPSWEEP_INLINE void fence() { simulator::device::fence(simulator::device::scope::device); }

// Adds one to a word of shared memory.
using shared_address = std::uint32_t*;
UPSWEEP_INLINE shared_address shared_address_of(std::uint32_t* words) { return words; }
UPSWEEP_INLINE void increment_shared(shared_address words, std::uint32_t index)
{
    simulator::cuda::update(
        words + index, [](std::uint32_t old) { return old + 1; }, simulator::device::scope::block);
}

UPSWEEP_INLINE void increment_shared_lower(shared_address words, std::uint32_t pair)
{
    increment_shared(words, pair & 0xffffU);
}
UPSWEEP_INLINE void increment_shared_upper(shared_address words, std::uint32_t pair)
{
    increment_shared(words, pair >> 16);
}

// Adds a value to a word; the first tells what the word held.
UPSWEEP_INLINE std::uint32_t fetch_add_shared(shared_address words, std::uint32_t index, std::uint32_t value)
{
    return simulator::cuda::update(
        words + index, [=](std::uint32_t old) { return old + value; }, simulator::device::scope::block);
}
UPSWEEP_INLINE void add_shared(shared_address words, std::uint32_t index, std::uint32_t value)
{
    fetch_add_shared(words, index, value);
}

// Shared memory whose bytes have numbers of 32 bits.
class shared_window {
public:
    UPSWEEP_INLINE explicit shared_window(void* first) : memory_(static_cast<std::byte*>(first)) {}

    UPSWEEP_INLINE std::uint32_t first() const { return 0; }

    UPSWEEP_INLINE void increment(std::uint32_t at) const { increment_shared(at_byte<std::uint32_t>(at), 0); }
    UPSWEEP_INLINE std::uint32_t fetch_add(std::uint32_t at, std::uint32_t value) const
    {
        return fetch_add_shared(at_byte<std::uint32_t>(at), 0, value);
    }
    template <class T>
    UPSWEEP_INLINE void store(std::uint32_t at, const T& value) const
    {
        *at_byte<T>(at) = value;
    }
    UPSWEEP_INLINE uint4 load(std::uint32_t at) const { return *at_byte<uint4>(at); }

private:
    template <class T>
    UPSWEEP_INLINE T* at_byte(std::uint32_t at) const
    {
        return reinterpret_cast<T*>(memory_ + at);
    }

    std::byte* memory_;
};

// Barrier number `id` of a block, for so many of its threads: whole warps, which may stand at different places.
UPSWEEP_INLINE void named_barrier(int id, int threads)
{
    simulator::device::named_barrier(static_cast<unsigned>(id), static_cast<unsigned>(threads));
}

// Indivisible, between all threads of the device.
template <class T>
UPSWEEP_INLINE T load_relaxed(const T* address)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);
    using namespace simulator::device;
    return simulator::cuda::from_bits<T>(atomic_load(address, sizeof(T), ordering::relaxed, scope::device));
}
template <class T>
UPSWEEP_INLINE void store_relaxed(T* address, T value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);
    using namespace simulator::device;
    atomic_store(address, sizeof(T), simulator::cuda::to_bits(value), ordering::relaxed, scope::device);
}
template <class T>
UPSWEEP_INLINE T load_acquire(const T* address)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    using namespace simulator::device;
    return simulator::cuda::from_bits<T>(atomic_load(address, sizeof(T), ordering::acquire, scope::device));
}
template <class T>
UPSWEEP_INLINE void store_release(T* address, T value)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    using namespace simulator::device;
    atomic_store(address, sizeof(T), simulator::cuda::to_bits(value), ordering::release, scope::device);
}
UPSWEEP_INLINE std::uint32_t atomic_add_acq_rel(std::uint32_t* address, std::uint32_t value)
{
    using namespace simulator;
    return cuda::update(
        address, [=](std::uint32_t old) { return old + value; }, device::scope::device, device::ordering::acq_rel);
}

UPSWEEP_INLINE std::uint32_t cluster_rank() { return simulator::device::cluster_rank(); }
UPSWEEP_INLINE std::uint32_t cluster_size()
{
    const auto extent = simulator::device::cluster_extent();
    return extent.x * extent.y * extent.z;
}
// The same variable in the shared memory of another block of the cluster.
template <class T>
UPSWEEP_INLINE T* cluster_map(T* shared, std::uint32_t rank)
{
    return static_cast<T*>(simulator::device::map_shared(shared, rank));
}
UPSWEEP_INLINE void cluster_arrive() { simulator::device::cluster_arrive(); }
UPSWEEP_INLINE void cluster_wait() { simulator::device::cluster_wait(); }

// The sign of each of two integers, in all bits of a half of a word.
UPSWEEP_INLINE std::uint32_t signs(std::uint32_t lower, std::uint32_t upper)
{
    return (lower >> 31) * 0xffffU | (upper >> 31) * 0xffff0000U;
}

// Transfers of 16 bytes into the shared memory of another block of the cluster. A barrier holds how many bytes came.
UPSWEEP_INLINE shared_address cluster_address(shared_address words, std::uint32_t rank)
{
    return cluster_map(words, rank);
}
UPSWEEP_INLINE std::uint64_t* transfer_barrier(shared_address barriers, std::uint32_t index)
{
    return reinterpret_cast<std::uint64_t*>(barriers) + index;
}
UPSWEEP_INLINE void init_transfers(shared_address barriers, std::uint32_t index)
{
    *transfer_barrier(barriers, index) = 0;
}
UPSWEEP_INLINE void transfer(shared_address words, std::uint32_t index, uint4 value, shared_address barriers,
                             std::uint32_t barrier)
{
    reinterpret_cast<uint4*>(words)[index] = value;
    simulator::cuda::update(
        transfer_barrier(barriers, barrier), [](std::uint64_t old) { return old + sizeof(uint4); },
        simulator::device::scope::device, simulator::device::ordering::release);
}
UPSWEEP_INLINE void wait_for_transfers(shared_address barriers, std::uint32_t index, std::uint32_t bytes,
                                       std::uint32_t turn)
{
    while (load_acquire(transfer_barrier(barriers, index)) < (std::uint64_t{turn} + 1) * bytes) {
    }
}

} // namespace upsweep::gpu
