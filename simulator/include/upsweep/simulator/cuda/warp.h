// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Barriers, fences, and the intrinsics by which the lanes of a warp exchange values.
#pragma once

#include <cstring>
#include <type_traits>

#include "upsweep/simulator/cuda/types.h"

#define UPSWEEP_INLINE inline __attribute__((always_inline))

UPSWEEP_INLINE void __syncthreads()
{
    using namespace upsweep::simulator::device;
    barrier(barrier_level::block, barrier_vote::none, 0);
}
UPSWEEP_INLINE int __syncthreads_count(int predicate)
{
    using namespace upsweep::simulator::device;
    return barrier(barrier_level::block, barrier_vote::count, predicate);
}
UPSWEEP_INLINE int __syncthreads_and(int predicate)
{
    using namespace upsweep::simulator::device;
    return barrier(barrier_level::block, barrier_vote::all, predicate);
}
UPSWEEP_INLINE int __syncthreads_or(int predicate)
{
    using namespace upsweep::simulator::device;
    return barrier(barrier_level::block, barrier_vote::any, predicate);
}
UPSWEEP_INLINE void __syncwarp(unsigned mask = 0xffffffffu) { upsweep::simulator::device::warp_barrier(mask); }
UPSWEEP_INLINE void __threadfence_block()
{
    upsweep::simulator::device::fence(upsweep::simulator::device::scope::block);
}
UPSWEEP_INLINE void __threadfence() { upsweep::simulator::device::fence(upsweep::simulator::device::scope::device); }
UPSWEEP_INLINE void __threadfence_system()
{
    upsweep::simulator::device::fence(upsweep::simulator::device::scope::system);
}
UPSWEEP_INLINE unsigned __activemask() { return upsweep::simulator::device::active_mask(); }
UPSWEEP_INLINE void __nanosleep(unsigned nanoseconds) { upsweep::simulator::device::nanosleep(nanoseconds); }
UPSWEEP_INLINE long long clock64() { return static_cast<long long>(upsweep::simulator::device::clock()); }
UPSWEEP_INLINE int clock32() { return static_cast<int>(upsweep::simulator::device::clock()); }
UPSWEEP_INLINE void __trap() { upsweep::simulator::device::trap("__trap() was called"); }
UPSWEEP_INLINE void __brkpt() { upsweep::simulator::device::trap("__brkpt() was called"); }
inline void __prof_trigger(int) {}

// In which memory an address lies.
inline unsigned __isShared(const void* address) { return upsweep::simulator::device::is_shared(address); }
inline unsigned __isGlobal(const void* address) { return upsweep::simulator::device::is_global(address); }
inline unsigned __isLocal(const void* address) { return !__isShared(address) && !__isGlobal(address); }
// An address in shared memory as PTX has it: a number of bytes in the memory of the block.
inline std::size_t __cvta_generic_to_shared(const void* address)
{
    return static_cast<std::size_t>(static_cast<const char*>(address) -
                                    static_cast<const char*>(upsweep::simulator::device::shared_base()));
}
inline void* __cvta_shared_to_generic(std::size_t address)
{
    return static_cast<char*>(upsweep::simulator::device::shared_base()) + address;
}
inline std::size_t __cvta_generic_to_global(const void* address) { return reinterpret_cast<std::size_t>(address); }
inline void* __cvta_global_to_generic(std::size_t address) { return reinterpret_cast<void*>(address); }

namespace upsweep::simulator::cuda {

template <class T>
UPSWEEP_INLINE std::uint64_t to_word(T value)
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "the lanes of a warp exchange up to 8 bytes");
    std::uint64_t word = 0;
    __builtin_memcpy(&word, &value, sizeof(T));
    return word;
}

template <class T>
UPSWEEP_INLINE T from_word(std::uint64_t word)
{
    T value;
    __builtin_memcpy(&value, &word, sizeof(T));
    return value;
}

template <class T>
UPSWEEP_INLINE T shuffle(device::exchange how, unsigned mask, T value, int operand, int width)
{
    if constexpr (sizeof(T) <= 8) {
        return from_word<T>(device::exchange_lanes(how, mask, to_word(value), operand, width).value);
    } else { // piece by piece, as on the hardware
        std::uint64_t words[(sizeof(T) + 7) / 8] = {};
        __builtin_memcpy(words, &value, sizeof(T));
        for (auto& word : words)
            word = device::exchange_lanes(how, mask, word, operand, width).value;
        __builtin_memcpy(&value, words, sizeof(T));
        return value;
    }
}

} // namespace upsweep::simulator::cuda

template <class T>
UPSWEEP_INLINE T __shfl_sync(unsigned mask, T value, int lane, int width = warpSize)
{
    return upsweep::simulator::cuda::shuffle(upsweep::simulator::device::exchange::shuffle_index, mask, value, lane,
                                             width);
}
template <class T>
UPSWEEP_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize)
{
    return upsweep::simulator::cuda::shuffle(upsweep::simulator::device::exchange::shuffle_up, mask, value,
                                             static_cast<int>(delta), width);
}
template <class T>
UPSWEEP_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize)
{
    return upsweep::simulator::cuda::shuffle(upsweep::simulator::device::exchange::shuffle_down, mask, value,
                                             static_cast<int>(delta), width);
}
template <class T>
UPSWEEP_INLINE T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize)
{
    return upsweep::simulator::cuda::shuffle(upsweep::simulator::device::exchange::shuffle_xor, mask, value, lanes,
                                             width);
}

UPSWEEP_INLINE unsigned __ballot_sync(unsigned mask, int predicate)
{
    using namespace upsweep::simulator::device;
    return static_cast<unsigned>(exchange_lanes(exchange::ballot, mask, predicate != 0, 0, 32).value);
}
UPSWEEP_INLINE int __all_sync(unsigned mask, int predicate)
{
    using namespace upsweep::simulator::device;
    return static_cast<int>(exchange_lanes(exchange::all, mask, predicate != 0, 0, 32).value);
}
UPSWEEP_INLINE int __any_sync(unsigned mask, int predicate)
{
    using namespace upsweep::simulator::device;
    return static_cast<int>(exchange_lanes(exchange::any, mask, predicate != 0, 0, 32).value);
}
template <class T>
UPSWEEP_INLINE unsigned __match_any_sync(unsigned mask, T value)
{
    using namespace upsweep::simulator;
    return static_cast<unsigned>(
        device::exchange_lanes(device::exchange::match_any, mask, upsweep::simulator::cuda::to_word(value), 0, 32)
            .value);
}
template <class T>
UPSWEEP_INLINE unsigned __match_all_sync(unsigned mask, T value, int* predicate)
{
    using namespace upsweep::simulator;
    auto result =
        device::exchange_lanes(device::exchange::match_all, mask, upsweep::simulator::cuda::to_word(value), 0, 32);
    *predicate = result.predicate;
    return static_cast<unsigned>(result.value);
}

#define UPSWEEP_WARP_REDUCE(name, type, how)                                                                           \
    UPSWEEP_INLINE type name(unsigned mask, type value)                                                                \
    {                                                                                                                  \
        using namespace upsweep::simulator::device;                                                                    \
        return static_cast<type>(exchange_lanes(exchange::how, mask, static_cast<unsigned>(value), 0, 32).value);      \
    }
UPSWEEP_WARP_REDUCE(__reduce_add_sync, unsigned, add_unsigned)
UPSWEEP_WARP_REDUCE(__reduce_add_sync, int, add_unsigned)
UPSWEEP_WARP_REDUCE(__reduce_min_sync, unsigned, min_unsigned)
UPSWEEP_WARP_REDUCE(__reduce_min_sync, int, min_signed)
UPSWEEP_WARP_REDUCE(__reduce_max_sync, unsigned, max_unsigned)
UPSWEEP_WARP_REDUCE(__reduce_max_sync, int, max_signed)
UPSWEEP_WARP_REDUCE(__reduce_and_sync, unsigned, bit_and)
UPSWEEP_WARP_REDUCE(__reduce_or_sync, unsigned, bit_or)
UPSWEEP_WARP_REDUCE(__reduce_xor_sync, unsigned, bit_xor)
#undef UPSWEEP_WARP_REDUCE
