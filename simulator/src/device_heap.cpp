// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Functions of the C library that mean something else in a kernel: malloc and new allocate device memory, and clock counts the
// simulated cycles. The assembler redirects the program's calls to the functions here (see simulator/assembler); on the host
// they do what they always do.
#include "device_heap.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <new>

#include "engine.h"
#include "runtime_state.h"

namespace upsweep::simulator {

std::size_t& device_heap_limit()
{
    static std::size_t limit = std::size_t{8} << 20;
    return limit;
}

namespace {

std::atomic<std::size_t> heap_in_use = 0;

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// Null when the heap is full, as on a GPU.
void* allocate_in_kernel(std::size_t bytes, void* caller)
{
    silent_hooks silence;
    if (heap_in_use + bytes > device_heap_limit())
        return nullptr;
    void* place = device_memory::instance().allocate(bytes == 0 ? 1 : bytes, number(caller), memory_kind::device_heap);
    if (place != nullptr)
        heap_in_use += bytes;
    return place;
}

void report_invalid_free(lane* self, void* caller, bool from_heap)
{
    const char* why = from_heap
                          ? "the memory was freed before, or the address is inside an allocation"
                          : "the memory was allocated by the CUDA runtime, which frees it (cudaFree, cudaFreeHost)";
    if (self != nullptr)
        return running_engine->report(finding_kind::invalid_free, *self, number(caller), "frees", why);
    finding f;
    f.kind = finding_kind::invalid_free;
    f.message = why;
    f.parties.push_back({locate(number(caller)), {0, 0, 0}, {0, 0, 0}, "freed", number(caller)});
    add_host_finding(std::move(f));
}

// Whether the address was one of device memory, so that the host's heap knows nothing of it.
bool free_in_kernel(void* place, void* caller)
{
    auto& memory = device_memory::instance();
    if (place == nullptr || !memory.contains(number(place)))
        return false;
    lane* self = running_lane;
    silent_hooks silence;
    const allocation* here = memory.find(number(place));
    const std::size_t bytes = here != nullptr ? here->size : 0;
    const bool from_heap = here != nullptr && here->kind == memory_kind::device_heap;
    if (from_heap && memory.release(place) == device_memory::free_result::freed)
        heap_in_use -= bytes;
    else
        report_invalid_free(self, caller, from_heap);
    return true;
}

} // namespace
} // namespace upsweep::simulator

using namespace upsweep::simulator;

#define CALLER __builtin_return_address(0)

extern "C" {

void* upsweep_simulator_malloc(std::size_t bytes)
{
    return device::inside_kernel() ? allocate_in_kernel(bytes, CALLER) : std::malloc(bytes);
}
void upsweep_simulator_free(void* place)
{
    if (!free_in_kernel(place, CALLER))
        std::free(place);
}
// The operators of C++ by the names of its ABI, to which the assembler's stand-in adds the prefix.
// NOLINTBEGIN(readability-identifier-naming)
void* upsweep_simulator__Znwm(std::size_t bytes) // operator new
{
    return device::inside_kernel() ? allocate_in_kernel(bytes, CALLER) : ::operator new(bytes);
}
void* upsweep_simulator__Znam(std::size_t bytes) // operator new[]
{
    return device::inside_kernel() ? allocate_in_kernel(bytes, CALLER) : ::operator new[](bytes);
}
void upsweep_simulator__ZdlPv(void* place) // operator delete
{
    if (!free_in_kernel(place, CALLER))
        ::operator delete(place);
}
void upsweep_simulator__ZdlPvm(void* place, std::size_t)
{
    if (!free_in_kernel(place, CALLER))
        ::operator delete(place);
}
void upsweep_simulator__ZdaPv(void* place) // operator delete[]
{
    if (!free_in_kernel(place, CALLER))
        ::operator delete[](place);
}
void upsweep_simulator__ZdaPvm(void* place, std::size_t)
{
    if (!free_in_kernel(place, CALLER))
        ::operator delete[](place);
}
// NOLINTEND(readability-identifier-naming)
std::clock_t upsweep_simulator_clock()
{
    return device::inside_kernel() ? static_cast<std::clock_t>(device::clock()) : std::clock();
}

} // extern "C"
