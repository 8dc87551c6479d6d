// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "host_access.h"

#include <set>
#include <string>

#include "engine.h"
#include "host.h"
#include "memory.h"
#include "runtime_state.h"

namespace upsweep::simulator {

namespace {

// The launches of this host thread for which it has not waited.
struct pending_launches {
    bool any = false;
    std::uint32_t first = 0; // the number of the earliest of them
    std::string last_kernel;
};
thread_local pending_launches pending;

// Without a recording each instruction is told of once, because nobody counts.
void add_once(finding found)
{
    static thread_local std::set<std::uintptr_t> told;
    if (current_recording() != nullptr || told.insert(found.parties.at(0).pc).second)
        add_host_finding(std::move(found));
}

finding finding_of(finding_kind kind, std::string message, const char* did, std::uintptr_t pc)
{
    finding f;
    f.kind = kind;
    f.message = std::move(message);
    f.parties.push_back({locate(pc), {0, 0, 0}, {0, 0, 0}, did, pc});
    return f;
}

std::string made_at(const allocation& memory)
{
    const location& where = locate(memory.made_at);
    return where.line == 0 ? std::string() : ", allocated at line " + std::to_string(where.line);
}

// Whether a launch that is pending has used a word in a way that does not go with the host's access.
bool used_by_pending_launch(const allocation& memory, std::size_t offset, bool writes)
{
    if (!pending.any || memory.shadow == nullptr || offset >= memory.size)
        return false;
    const cell& word = *memory.shadow->at(offset);
    const auto is_pending = [](instant when) { return when != 0 && launch_of(when) >= pending.first; };
    return is_pending(word.write.when) || (writes && is_pending(word.read.when));
}

enum class side : std::uint8_t { host, device, both };

side side_of(const void* place)
{
    auto& memory = device_memory::instance();
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    if (memory.contains(address)) {
        const allocation* here = memory.find(address);
        // What cudaMallocHost returns is reached from both sides, too.
        return here == nullptr || here->kind != memory_kind::device ? side::both : side::device;
    }
    return memory.device_variable(address) != nullptr ? side::both : side::host; // it may be a __device__ variable
}

} // namespace

void host_access(std::uintptr_t address, bool writes, std::uintptr_t pc)
{
    if (running_engine != nullptr)
        return; // this is the simulator's own work for a kernel
    const allocation* here = device_memory::instance().find(address);
    if (here == nullptr)
        return;
    const char* const did = writes ? "writes" : "reads";
    const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(here->base);
    if (here->freed || here->kind == memory_kind::device) {
        add_once(finding_of(finding_kind::host_access,
                            (here->freed ? "memory that was freed" : "device memory") + made_at(*here) +
                                ": the host's own code cannot reach it, and on a GPU's host the program would end here",
                            did, pc));
    } else if (used_by_pending_launch(*here, offset, writes)) {
        add_once(finding_of(
            finding_kind::unsynchronised_access,
            "memory that the kernel " + pending.last_kernel + ", which may still run, uses" + made_at(*here), did, pc));
    }
}

bool check_direction(const void* to, const void* from, cudaMemcpyKind direction, std::uintptr_t caller)
{
    if (direction < cudaMemcpyHostToHost || direction >= cudaMemcpyDefault || to == nullptr || from == nullptr)
        return true;
    const bool to_device = direction == cudaMemcpyHostToDevice || direction == cudaMemcpyDeviceToDevice;
    const bool from_device = direction == cudaMemcpyDeviceToHost || direction == cudaMemcpyDeviceToDevice;
    const auto fits = [](side is, bool device) { return is == side::both || (is == side::device) == device; };
    const side target = side_of(to), source = side_of(from);
    if (fits(target, to_device) && fits(source, from_device))
        return true;
    // A variable of the program is taken for one of the host where its side has to be named.
    const auto named_side = [](side is, const void* place) {
        const bool in_program = !device_memory::instance().contains(reinterpret_cast<std::uintptr_t>(place));
        return is == side::both && in_program ? side::host : is;
    };
    const side to_side = named_side(target, to), from_side = named_side(source, from);
    const auto name = [](side is) {
        return is == side::device ? "device" : is == side::host ? "host" : "managed or pinned";
    };
    static constexpr const char* directions[] = {"cudaMemcpyHostToHost", "cudaMemcpyHostToDevice",
                                                 "cudaMemcpyDeviceToHost", "cudaMemcpyDeviceToDevice"};
    const auto right = [&] {
        if (to_side == side::both || from_side == side::both)
            return "cudaMemcpyDefault";
        return directions[(to_side == side::device ? 1 : 0) + (from_side == side::device ? 2 : 0)];
    };
    finding f = finding_of(finding_kind::wrong_direction,
                           std::string("the target, the first pointer, is ") + name(to_side) +
                               " memory, and the source, the second one, is " + name(from_side) +
                               " memory, but the direction is " + directions[direction] +
                               "; the call copies nothing and returns cudaErrorInvalidValue",
                           "copied", caller);
    f.remedy = std::string("give the copy the direction ") + right() + " at line " +
               std::to_string(f.parties[0].where.line) + ", or exchange the two pointers if it is to go the other way";
    add_host_finding(std::move(f));
    return false;
}

void synchronised() { pending.any = false; }

void launched(const std::string& kernel, std::uint32_t number)
{
    if (!pending.any)
        pending.first = number;
    pending.any = true;
    pending.last_kernel = kernel;
}

} // namespace upsweep::simulator
