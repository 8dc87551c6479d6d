// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The functions that compiled code calls before each load and store, and for the addresses of shared variables. Outside a
// kernel a hook returns at once. Inside one, it passes over accesses to the thread's own stack, which stands for registers
// and local memory.
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "engine.h"
#include "host_access.h"

namespace upsweep::simulator {

constinit thread_local lane* running_lane __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local engine* running_engine __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

[[gnu::always_inline]] inline void access(request_kind kind, const void* where, std::uint32_t size, bool is_volatile,
                                          void* pc)
{
    lane* self = running_lane;
    const auto address = reinterpret_cast<std::uintptr_t>(where);
    if (self == nullptr) {
        if (address - device_memory_begins < device_memory_bytes) [[unlikely]]
            host_access(address, kind == request_kind::write, reinterpret_cast<std::uintptr_t>(pc));
        return;
    }
    if (running_engine->on_stack_of(*self, address) || running_engine->is_builtin(address))
        return;
    if (!is_volatile)
        return running_engine->wait_at(*self, kind, size, address, reinterpret_cast<std::uintptr_t>(pc));
    request& what = self->pending;
    what = {};
    what.kind = kind;
    what.is_volatile = true;
    what.size = size;
    what.address = address;
    what.pc = reinterpret_cast<std::uintptr_t>(pc);
    running_engine->wait();
    what.scope = device::scope::system;
    if (kind == request_kind::read) {
        running_engine->take_from_flag(*self, what);
        running_engine->note_poll(*self, what, false);
    } else {
        running_engine->leave_at_flag(*self, what);
    }
}

// The thread_local variables of a host thread, in a translation unit in which the assembler's stand-in has redirected all of
// them to the simulator.
void* host_thread_copy(const void* key, const void* initial, std::size_t size)
{
    static thread_local std::unordered_map<const void*, void*> copies;
    void*& copy = copies[key];
    if (copy == nullptr) {
        copy = std::aligned_alloc(64, (size + 127) / 64 * 64);
        if (initial != nullptr)
            std::memcpy(copy, initial, size);
        else
            std::memset(copy, 0, size);
    }
    return copy;
}

} // namespace
} // namespace upsweep::simulator

namespace sim = upsweep::simulator;

#define CALLER __builtin_return_address(0)
#define HOOKS_OF_SIZE(bytes)                                                                                           \
    void __tsan_read##bytes(void* p) { sim::access(sim::request_kind::read, p, bytes, false, CALLER); }                \
    void __tsan_write##bytes(void* p) { sim::access(sim::request_kind::write, p, bytes, false, CALLER); }              \
    void __tsan_unaligned_read##bytes(void* p) { sim::access(sim::request_kind::read, p, bytes, false, CALLER); }      \
    void __tsan_unaligned_write##bytes(void* p) { sim::access(sim::request_kind::write, p, bytes, false, CALLER); }    \
    void __tsan_volatile_read##bytes(void* p) { sim::access(sim::request_kind::read, p, bytes, true, CALLER); }        \
    void __tsan_volatile_write##bytes(void* p) { sim::access(sim::request_kind::write, p, bytes, true, CALLER); }      \
    void __tsan_unaligned_volatile_read##bytes(void* p)                                                                \
    {                                                                                                                  \
        sim::access(sim::request_kind::read, p, bytes, true, CALLER);                                                  \
    }                                                                                                                  \
    void __tsan_unaligned_volatile_write##bytes(void* p)                                                               \
    {                                                                                                                  \
        sim::access(sim::request_kind::write, p, bytes, true, CALLER);                                                 \
    }                                                                                                                  \
    void __tsan_read_write##bytes(void* p)                                                                             \
    {                                                                                                                  \
        sim::access(sim::request_kind::read, p, bytes, false, CALLER);                                                 \
        sim::access(sim::request_kind::write, p, bytes, false, CALLER);                                                \
    }

extern "C" {

HOOKS_OF_SIZE(1)
HOOKS_OF_SIZE(2)
HOOKS_OF_SIZE(4)
HOOKS_OF_SIZE(8)
HOOKS_OF_SIZE(16)

void __tsan_read_range(void* p, unsigned long size)
{
    sim::access(sim::request_kind::read, p, static_cast<std::uint32_t>(size), false, CALLER);
}
void __tsan_write_range(void* p, unsigned long size)
{
    sim::access(sim::request_kind::write, p, static_cast<std::uint32_t>(size), false, CALLER);
}

void* upsweep_simulator_memcpy(void* to, const void* from, std::size_t size)
{
    sim::access(sim::request_kind::read, from, static_cast<std::uint32_t>(size), false, CALLER);
    sim::access(sim::request_kind::write, to, static_cast<std::uint32_t>(size), false, CALLER);
    return std::memcpy(to, from, size);
}
void* upsweep_simulator_memmove(void* to, const void* from, std::size_t size)
{
    sim::access(sim::request_kind::read, from, static_cast<std::uint32_t>(size), false, CALLER);
    sim::access(sim::request_kind::write, to, static_cast<std::uint32_t>(size), false, CALLER);
    return std::memmove(to, from, size);
}
void* upsweep_simulator_memset(void* to, int value, std::size_t size)
{
    sim::access(sim::request_kind::write, to, static_cast<std::uint32_t>(size), false, CALLER);
    return std::memset(to, value, size);
}

void __tsan_func_entry(void*)
{
    sim::lane* self = sim::running_lane;
    if (self == nullptr)
        return;
    ++self->depth;
    const auto here = reinterpret_cast<std::uint8_t*>(__builtin_frame_address(0));
    if (here < self->stack + 8192) { // the simulator's own calls need what is left
        self->overflowed = true;
        sim::running_engine->abandon(*self);
    }
}
void __tsan_func_exit()
{
    if (sim::lane* self = sim::running_lane)
        --self->depth;
}

void __tsan_init() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_ignore_thread_begin() {}
void __tsan_ignore_thread_end() {}

void* upsweep_simulator_shared_address(const void* image, std::size_t size)
{
    sim::lane* self = sim::running_lane;
    return self == nullptr
               ? sim::host_thread_copy(image, image, size)
               : sim::running_engine->shared_address(*self, image, size, reinterpret_cast<std::uintptr_t>(CALLER));
}

// Variables of a block are not constructed, in CUDA: to a thread of a grid, each guard says that its variable is. The guard lies at
// the far end of the thread's stack, where hooks are silent.
void* upsweep_simulator_guard_address(const void* image, std::size_t size)
{
    sim::lane* self = sim::running_lane;
    if (self == nullptr)
        return sim::host_thread_copy(image, image, size);
    *reinterpret_cast<std::uint64_t*>(self->stack) = 1;
    return self->stack;
}

// The same for clang, which asks in another form.
struct emulated_tls {
    std::size_t size, alignment;
    std::size_t builtin; // 1 to 4 for the variables below, which the simulator defines
    const void* initial;
};
emulated_tls emulated_thread_index asm("__emutls_v.threadIdx") = {12, 4, 1, nullptr};
emulated_tls emulated_block_index asm("__emutls_v.blockIdx") = {12, 4, 2, nullptr};
emulated_tls emulated_block_extent asm("__emutls_v.blockDim") = {12, 4, 3, nullptr};
emulated_tls emulated_grid_extent asm("__emutls_v.gridDim") = {12, 4, 4, nullptr};

// The function is hidden, because libgcc has one of this name, too, and a program would lend its own to the libraries that it
// loads. Each link unit must ask the simulator that it was linked with: where a process has two simulators, neither knows
// the blocks of the other.
__attribute__((visibility("hidden"))) void* __emutls_get_address(const emulated_tls* variable)
{
    if (variable != nullptr && variable->builtin - 1 < 4)
        return sim::builtin_address(variable->builtin - 1);
    sim::lane* self = sim::running_lane;
    const std::size_t size = variable == nullptr ? 0 : variable->size;
    return self == nullptr
               ? sim::host_thread_copy(variable, variable->initial, size)
               : sim::running_engine->shared_address(*self, variable, size, reinterpret_cast<std::uintptr_t>(CALLER));
}

} // extern "C"
