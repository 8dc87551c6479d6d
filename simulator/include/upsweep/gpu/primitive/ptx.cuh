// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Instructions for which CUDA C++ has no spelling, as the simulator carries them out. The include folder of the simulator
// comes first on the path of a simulated target, so that this header is found in place of the one with inline PTX. It
// declares the same names in the same order; that header says what they mean, and a test compares the two.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

namespace upsweep::gpu {

struct alignas(16) word128 {
    std::uint64_t low;
    std::uint64_t high;
};

UPSWEEP_INLINE word128 load_relaxed(const word128* from)
{
    using namespace simulator::device;
    return simulator::cuda::from_bits<word128>(atomic_load(from, sizeof *from, ordering::relaxed, scope::device));
}

UPSWEEP_INLINE void store_relaxed(word128* to, word128 word)
{
    using namespace simulator::device;
    atomic_store(to, sizeof word, simulator::cuda::to_bits(word), ordering::relaxed, scope::device);
}

UPSWEEP_INLINE std::uint64_t load_relaxed(const std::uint64_t* from)
{
    using namespace simulator::device;
    return simulator::cuda::from_bits<std::uint64_t>(atomic_load(from, sizeof *from, ordering::relaxed, scope::device));
}

UPSWEEP_INLINE void store_relaxed(std::uint64_t* to, std::uint64_t value)
{
    using namespace simulator::device;
    atomic_store(to, sizeof value, simulator::cuda::to_bits(value), ordering::relaxed, scope::device);
}

// The simulator has no caches.
UPSWEEP_INLINE void copy_once_async(void* shared, const void* global)
{
    simulator::device::pipeline_copy(shared, global, 16);
}

UPSWEEP_INLINE void copy_cached_async(void* shared, const void* global)
{
    simulator::device::pipeline_copy(shared, global, 16);
}

UPSWEEP_INLINE void copy_line_async(void* shared, const void* global)
{
    simulator::device::pipeline_copy(shared, global, 16);
}

// A hint, of which nothing can be seen but time.
UPSWEEP_INLINE void prefetch_line(const void* global) { static_cast<void>(global); }

UPSWEEP_INLINE void fence() { simulator::device::fence(simulator::device::scope::device); }

using shared_address = std::uint32_t*;
UPSWEEP_INLINE shared_address shared_address_of(std::uint32_t* words) { return words; }

template <class T>
UPSWEEP_INLINE T keep(T value)
{
    return value;
}

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

UPSWEEP_INLINE std::uint32_t fetch_add_shared(shared_address words, std::uint32_t index, std::uint32_t value)
{
    return simulator::cuda::update(
        words + index, [=](std::uint32_t old) { return old + value; }, simulator::device::scope::block);
}
UPSWEEP_INLINE void add_shared(shared_address words, std::uint32_t index, std::uint32_t value)
{
    fetch_add_shared(words, index, value);
}

// Bytes are numbered from the first one of the window.
class shared_window {
public:
    UPSWEEP_INLINE explicit shared_window(void* first) : memory_(static_cast<std::byte*>(first)) {}

    // NOLINTNEXTLINE(readability-convert-member-functions-to-static): on a GPU it depends on the window
    UPSWEEP_INLINE std::uint32_t first() const { return 0; }

    UPSWEEP_INLINE void increment(std::uint32_t at) const { increment_shared(at_byte<std::uint32_t>(at), 0); }
    UPSWEEP_INLINE std::uint32_t fetch_add(std::uint32_t at, std::uint32_t value) const
    {
        return fetch_add_shared(at_byte<std::uint32_t>(at), 0, value);
    }
    UPSWEEP_INLINE void store(std::uint32_t at, std::uint16_t value) const { *at_byte<std::uint16_t>(at) = value; }
    UPSWEEP_INLINE void store(std::uint32_t at, const uint4& value) const { *at_byte<uint4>(at) = value; }
    UPSWEEP_INLINE uint4 load(std::uint32_t at) const { return *at_byte<uint4>(at); }

private:
    template <class T>
    UPSWEEP_INLINE T* at_byte(std::uint32_t at) const
    {
        return reinterpret_cast<T*>(memory_ + at);
    }

    std::byte* memory_;
};

UPSWEEP_INLINE void cluster_arrive() { simulator::device::cluster_arrive(); }
UPSWEEP_INLINE void cluster_wait() { simulator::device::cluster_wait(); }

template <class T>
UPSWEEP_INLINE T* cluster_map(T* shared, std::uint32_t rank)
{
    return static_cast<T*>(simulator::device::map_shared(shared, rank));
}

UPSWEEP_INLINE std::uint32_t signs(std::uint32_t lower, std::uint32_t upper)
{
    return (lower >> 31) * 0xffffU | (upper >> 31) * 0xffff0000U;
}

UPSWEEP_INLINE bool has_mbarriers() { return simulator::device::generation() >= 9; }
UPSWEEP_INLINE void mbarrier_init(std::uint64_t* barrier, std::uint32_t arrivals)
{
    simulator::device::mbarrier_init(barrier, arrivals);
}
// To the simulator, the initialisation is an ordinary write to shared memory, and this is the fence that such a write needs.
UPSWEEP_INLINE void mbarrier_init_fence() { simulator::device::proxy_fence(false); }
UPSWEEP_INLINE void mbarrier_expect(std::uint64_t* barrier, std::uint32_t bytes)
{
    simulator::device::mbarrier_arrive(barrier, bytes);
}
UPSWEEP_INLINE void mbarrier_arrive(std::uint64_t* barrier) { simulator::device::mbarrier_arrive(barrier, 0); }
UPSWEEP_INLINE void mbarrier_wait(const std::uint64_t* barrier, std::uint32_t parity)
{
    simulator::device::mbarrier_wait(barrier, parity);
}

UPSWEEP_INLINE void bulk_load(void* shared, const void* global, std::uint32_t bytes, std::uint64_t* barrier)
{
    simulator::device::bulk_load(shared, global, bytes, barrier);
}
UPSWEEP_INLINE void bulk_store(void* global, const void* shared, std::uint32_t bytes)
{
    simulator::device::bulk_store(global, shared, bytes);
}
UPSWEEP_INLINE void bulk_commit() { simulator::device::bulk_commit(); }
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
UPSWEEP_INLINE void async_proxy_fence() { simulator::device::proxy_fence(false); }
UPSWEEP_INLINE void async_proxy_fence_of_all_memory() { simulator::device::proxy_fence(true); }

UPSWEEP_INLINE shared_address cluster_address(shared_address words, std::uint32_t rank)
{
    return cluster_map(words, rank);
}

UPSWEEP_INLINE void init_transfers(shared_address barriers, std::uint32_t index)
{
    mbarrier_init(reinterpret_cast<std::uint64_t*>(barriers) + index, 1);
    mbarrier_init_fence();
}
UPSWEEP_INLINE void transfer(shared_address words, std::uint32_t index, uint4 value, shared_address barriers,
                             std::uint32_t barrier)
{
    simulator::device::transfer(reinterpret_cast<uint4*>(words) + index, simulator::cuda::to_bits(value),
                                reinterpret_cast<std::uint64_t*>(barriers) + barrier);
}
UPSWEEP_INLINE void wait_for_transfers(shared_address barriers, std::uint32_t index, std::uint32_t bytes,
                                       std::uint32_t turn)
{
    auto* const barrier = reinterpret_cast<std::uint64_t*>(barriers) + index;
    if (threadIdx.x % 32 == 0)
        mbarrier_expect(barrier, bytes);
    mbarrier_wait(barrier, turn % 2);
}

UPSWEEP_INLINE void named_barrier(int id, int threads)
{
    simulator::device::named_barrier(static_cast<unsigned>(id), static_cast<unsigned>(threads));
}

} // namespace upsweep::gpu
