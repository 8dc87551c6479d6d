// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The atomic functions of CUDA. They are relaxed, and of device scope unless their name says otherwise.
#pragma once

#include <algorithm>
#include <type_traits>

#include "upsweep/simulator/cuda/warp.h"

namespace upsweep::simulator::cuda {

template <class T>
UPSWEEP_INLINE device::bits to_bits(T value)
{
    device::bits all = 0;
    __builtin_memcpy(&all, &value, sizeof(T));
    return all;
}

template <class T>
UPSWEEP_INLINE T from_bits(device::bits all)
{
    T value;
    __builtin_memcpy(&value, &all, sizeof(T));
    return value;
}

template <class T, class F>
UPSWEEP_INLINE T update(T* p, F next, device::scope reach, device::ordering order = device::ordering::relaxed)
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16);
    const T old = from_bits<T>(device::atomic_begin(p, sizeof(T), order, reach, true));
    device::atomic_end(p, sizeof(T), to_bits<T>(next(old)), true);
    return old;
}

} // namespace upsweep::simulator::cuda

#define UPSWEEP_ATOMIC(name, reach, ...)                                                                               \
    template <class T>                                                                                                 \
    UPSWEEP_INLINE T name(T* address, std::type_identity_t<T> value)                                                   \
    {                                                                                                                  \
        return upsweep::simulator::cuda::update(                                                                       \
            address,                                                                                                   \
            [=](T old) -> T {                                                                                          \
                (void)old;                                                                                             \
                return static_cast<T>(__VA_ARGS__);                                                                    \
            },                                                                                                         \
            upsweep::simulator::device::scope::reach);                                                                 \
    }
#define UPSWEEP_ATOMIC_SCOPES(name, ...)                                                                               \
    UPSWEEP_ATOMIC(name, device, __VA_ARGS__)                                                                          \
    UPSWEEP_ATOMIC(name##_block, block, __VA_ARGS__)                                                                   \
    UPSWEEP_ATOMIC(name##_system, system, __VA_ARGS__)
UPSWEEP_ATOMIC_SCOPES(atomicAdd, old + value)
UPSWEEP_ATOMIC_SCOPES(atomicSub, old - value)
UPSWEEP_ATOMIC_SCOPES(atomicExch, value)
UPSWEEP_ATOMIC_SCOPES(atomicMin, value < old ? value : old)
UPSWEEP_ATOMIC_SCOPES(atomicMax, old < value ? value : old)
UPSWEEP_ATOMIC_SCOPES(atomicInc, old >= value ? 0 : old + 1)
UPSWEEP_ATOMIC_SCOPES(atomicDec, old == 0 || old > value ? value : old - 1)
UPSWEEP_ATOMIC_SCOPES(atomicAnd, old& value)
UPSWEEP_ATOMIC_SCOPES(atomicOr, old | value)
UPSWEEP_ATOMIC_SCOPES(atomicXor, old ^ value)
#undef UPSWEEP_ATOMIC_SCOPES
#undef UPSWEEP_ATOMIC

#define UPSWEEP_ATOMIC_CAS(name, reach)                                                                                \
    template <class T>                                                                                                 \
    UPSWEEP_INLINE T name(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> desired)               \
    {                                                                                                                  \
        return upsweep::simulator::cuda::update(                                                                       \
            address, [=](T old) -> T { return old == expected ? desired : old; },                                      \
            upsweep::simulator::device::scope::reach);                                                                 \
    }
UPSWEEP_ATOMIC_CAS(atomicCAS, device)
UPSWEEP_ATOMIC_CAS(atomicCAS_block, block)
UPSWEEP_ATOMIC_CAS(atomicCAS_system, system)
#undef UPSWEEP_ATOMIC_CAS

// Vectors of floats are added member by member (sm_90).
#define UPSWEEP_ATOMIC_VECTOR(type, ...)                                                                               \
    UPSWEEP_INLINE type atomicAdd(type* address, type value)                                                           \
    {                                                                                                                  \
        return upsweep::simulator::cuda::update(                                                                       \
            address, [=](type old) -> type { return __VA_ARGS__; }, upsweep::simulator::device::scope::device);        \
    }
UPSWEEP_ATOMIC_VECTOR(float2, {old.x + value.x, old.y + value.y})
UPSWEEP_ATOMIC_VECTOR(float4, {old.x + value.x, old.y + value.y, old.z + value.z, old.w + value.w})
#undef UPSWEEP_ATOMIC_VECTOR
