// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The compilers' own atomics (std::atomic and the __atomic builtins) in instrumented code. They are real atomics in host
// code, and simulated ones of system scope inside a kernel.
#include <cstring>

#include "engine.h"

namespace upsweep::simulator {
namespace {

device::ordering ordering_of(int order)
{
    switch (order) {
    case __ATOMIC_RELAXED: return device::ordering::relaxed;
    case __ATOMIC_CONSUME:
    case __ATOMIC_ACQUIRE: return device::ordering::acquire;
    case __ATOMIC_RELEASE: return device::ordering::release;
    case __ATOMIC_ACQ_REL: return device::ordering::acq_rel;
    default: return device::ordering::seq_cst;
    }
}

// Lets the scheduler choose when the operation happens, if a kernel runs. The operation follows before any other one does.
void enter(const volatile void* address, std::size_t size, int order, bool writes, void* pc)
{
    lane* self = running_lane;
    if (self == nullptr)
        return;
    request what;
    what.kind = request_kind::atomic;
    what.address = reinterpret_cast<std::uintptr_t>(address);
    what.size = static_cast<std::uint32_t>(size);
    what.order = ordering_of(order);
    what.scope = device::scope::system;
    what.writes = writes;
    what.pc = reinterpret_cast<std::uintptr_t>(pc);
    if (running_engine->on_stack_of(*self, what.address))
        return;
    running_engine->begin_atomic(*self, what);
    running_engine->end_atomic(*self, what, writes);
}

} // namespace
} // namespace upsweep::simulator

using upsweep::simulator::enter;
#define CALLER __builtin_return_address(0)
#define FETCH(bits, name)                                                                                              \
    type##bits __tsan_atomic##bits##_fetch_##name(volatile type##bits* p, type##bits v, int order)                     \
    {                                                                                                                  \
        enter(p, bits / 8, order, true, CALLER);                                                                       \
        return __atomic_fetch_##name(p, v, __ATOMIC_SEQ_CST);                                                          \
    }
#define ATOMICS(bits)                                                                                                  \
    type##bits __tsan_atomic##bits##_load(const volatile type##bits* p, int order)                                     \
    {                                                                                                                  \
        enter(p, bits / 8, order, false, CALLER);                                                                      \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                                   \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile type##bits* p, type##bits v, int order)                                  \
    {                                                                                                                  \
        enter(p, bits / 8, order, true, CALLER);                                                                       \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                                      \
    }                                                                                                                  \
    type##bits __tsan_atomic##bits##_exchange(volatile type##bits* p, type##bits v, int order)                         \
    {                                                                                                                  \
        enter(p, bits / 8, order, true, CALLER);                                                                       \
        return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                                            \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type##bits* p, type##bits* expected, type##bits v,      \
                                                      int order, int)                                                  \
    {                                                                                                                  \
        enter(p, bits / 8, order, true, CALLER);                                                                       \
        return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                 \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type##bits* p, type##bits* expected, type##bits v,        \
                                                    int order, int)                                                    \
    {                                                                                                                  \
        enter(p, bits / 8, order, true, CALLER);                                                                       \
        return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                 \
    }                                                                                                                  \
    type##bits __tsan_atomic##bits##_compare_exchange_val(volatile type##bits* p, type##bits expected, type##bits v,   \
                                                          int order, int)                                              \
    {                                                                                                                  \
        enter(p, bits / 8, order, true, CALLER);                                                                       \
        __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                       \
        return expected;                                                                                               \
    }                                                                                                                  \
    FETCH(bits, add) FETCH(bits, sub) FETCH(bits, and) FETCH(bits, or) FETCH(bits, xor) FETCH(bits, nand)

using type8 = std::uint8_t;
using type16 = std::uint16_t;
using type32 = std::uint32_t;
using type64 = std::uint64_t;

extern "C" {
ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)

void __tsan_atomic_thread_fence(int)
{
    if (upsweep::simulator::running_lane != nullptr)
        upsweep::simulator::device::fence(upsweep::simulator::device::scope::system);
    else
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int) {}
}
