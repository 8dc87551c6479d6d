// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "upsweep/simulator/device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "engine.h"

namespace upsweep::simulator {

// These are const to kernels. They are defined without const, because the scheduler sets them.
__thread device::index3 builtin_thread_index, builtin_block_index, builtin_block_extent, builtin_grid_extent;

void engine::set_builtins(const block& b)
{
    if (&b == builtins_of_)
        return;
    const auto of = [](const extent& e) { return device::index3{e.x, e.y, e.z}; };
    builtins_of_ = &b;
    builtin_block_index = b.index;
    builtin_block_extent = of(launch_.block);
    builtin_grid_extent = of(launch_.grid);
}

void* builtin_address(std::size_t which)
{
    switch (which) {
    case 0: return &builtin_thread_index;
    case 1: return &builtin_block_index;
    case 2: return &builtin_block_extent;
    default: return &builtin_grid_extent;
    }
}

void* engine::shared_address(lane& self, const void* image, std::size_t size, std::uintptr_t pc)
{
    std::uint8_t* base = self.of->of->shared;
    if (image == nullptr)
        return base;
    if (image == asked_last_.image)
        return base + asked_last_.offset;
    silent_hooks silence;
    for (const auto& v : shared_layout_)
        if (v.image == image) {
            asked_last_ = v;
            return base + v.offset;
        }
    const std::size_t guard = device_memory::guard, room = (size + 2 * guard - 1) / guard * guard;
    std::size_t used = size;
    for (const auto& v : shared_layout_)
        used += v.size;
    finding_facts facts;
    facts.what = {memory_space::shared, image, nullptr, 0, size, size};
    const auto refuse_launch = [&](const std::string& why) {
        report(finding_kind::failed_launch, self, pc, "asks for", why, nullptr, facts);
        stop("too much shared memory");
        abandon(self);
    };
    const auto& machine = options_.machine;
    if (used > machine.shared_per_block) {
        facts.why = cause::too_much_static_shared;
        refuse_launch(std::to_string(used) + " bytes of static shared memory; the compiler allows a kernel " +
                      std::to_string(machine.shared_per_block));
    }
    if (launch_.dynamic_shared + used > machine.shared_opt_in || shared_next_ + room > shared_capacity_) {
        facts.why = cause::too_much_shared;
        refuse_launch(std::to_string(launch_.dynamic_shared + used) +
                      " bytes of shared memory; a block of this machine has " + std::to_string(machine.shared_opt_in));
    }
    shared_layout_.push_back({image, shared_next_, size});
    shared_next_ += room;
    return base + shared_layout_.back().offset;
}

void* engine::map_shared(lane& self, const void* address, unsigned rank)
{
    const block& own = *self.of->of;
    const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(own.shared);
    silent_hooks silence;
    block* other = rank < cluster_size_ ? block_of(own.linear / cluster_size_ * cluster_size_ + rank) : nullptr;
    if (offset >= shared_capacity_ || other == nullptr)
        return nullptr;
    return other->shared + offset;
}

namespace device {

namespace {

lane& self() { return *running_lane; }

index3 of(const extent& e) { return {e.x, e.y, e.z}; }

request at(request_kind kind, void* pc)
{
    request what;
    what.kind = kind;
    what.pc = reinterpret_cast<std::uintptr_t>(pc);
    return what;
}

// The same, written where the scheduler reads it, for the most frequent requests.
request& now_pending(request_kind kind, void* pc)
{
    request& what = self().pending;
    what = {};
    what.kind = kind;
    what.pc = reinterpret_cast<std::uintptr_t>(pc);
    return what;
}

// Outside a kernel a CUDA index has no value. A program that asks for one is told so and stopped.
[[noreturn]] void not_in_a_kernel()
{
    std::fputs("upsweep simulator: a device function was called outside a kernel\n", stderr);
    std::abort();
}

} // namespace

#define CALLER __builtin_return_address(0)

index3 cluster_extent() { return running_lane ? of(running_engine->launch().cluster) : (not_in_a_kernel(), index3{}); }
unsigned warp_width() { return current_options().machine.warp_width; }
unsigned generation() { return static_cast<unsigned>(current_options().machine.major); }
unsigned lane_index() { return running_lane ? self().index - self().of->first : (not_in_a_kernel(), 0u); }
bool inside_kernel() { return running_lane != nullptr; }

exchanged exchange_lanes(exchange what, unsigned mask, std::uint64_t value, int operand, int width)
{
    request& r = now_pending(request_kind::exchange, CALLER);
    r.exchange = what;
    r.mask = mask;
    r.value = value;
    r.operand = operand;
    r.width = width;
    running_engine->wait();
    return self().result;
}

void warp_barrier(unsigned mask)
{
    auto r = at(request_kind::warp_barrier, CALLER);
    r.mask = mask;
    running_engine->wait_at(self(), r);
}

unsigned active_mask()
{
    running_engine->wait_at(self(), at(request_kind::fence, CALLER));
    return self().pending.mask;
}

int barrier(barrier_level level, barrier_vote vote, int predicate)
{
    if (level == barrier_level::block && vote == barrier_vote::none && predicate == 0) {
        running_engine->wait_at(self(), request_kind::barrier, 0, 0, reinterpret_cast<std::uintptr_t>(CALLER));
        return 0;
    }
    request& r = now_pending(request_kind::barrier, CALLER);
    r.level = level;
    r.vote = vote;
    r.operand = predicate;
    running_engine->wait();
    return self().result.predicate;
}

void fence(scope reach)
{
    auto r = at(request_kind::fence, CALLER);
    r.size = 1;
    running_engine->wait_at(self(), r);
    running_engine->fence(self(), reach);
}

namespace {

request atomic_request(const void* address, std::size_t size, ordering order, scope reach, bool writes, void* pc)
{
    auto r = at(request_kind::atomic, pc);
    r.address = reinterpret_cast<std::uintptr_t>(address);
    r.size = static_cast<std::uint32_t>(size);
    r.order = order;
    r.scope = reach;
    r.writes = writes;
    return r;
}

void check_alignment(const request& r)
{
    if (r.address % r.size == 0)
        return;
    lane& who = self();
    silent_hooks silence;
    running_engine->report(finding_kind::misaligned, who, r.pc, "accesses",
                           "an atomic of " + std::to_string(r.size) +
                               " bytes at an address that is not a multiple of its size");
}

} // namespace

bits atomic_begin(const void* address, std::size_t size, ordering order, scope reach, bool writes)
{
    bits old = 0;
    if (running_lane != nullptr && size != 0) {
        auto r = atomic_request(address, size, order, reach, writes, CALLER);
        check_alignment(r);
        running_engine->begin_atomic(self(), r);
    }
    std::memcpy(&old, address, size);
    return old;
}

void atomic_end(void* address, std::size_t size, bits value, bool writes)
{
    const bool changed = writes && std::memcmp(address, &value, size) != 0;
    if (writes)
        std::memcpy(address, &value, size);
    if (running_lane != nullptr)
        running_engine->end_atomic(self(), self().pending, changed);
}

[[noreturn]] void failed_assertion(const char* what, void* pc);

namespace {

void plain_atomic(const void* address, std::size_t size, ordering order, scope reach, bool writes, void* pc)
{
    auto r = atomic_request(address, size, order, reach, writes, pc);
    r.plain = true;
    check_alignment(r);
    running_engine->begin_atomic(self(), r);
}

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

} // namespace

bits atomic_load(const void* address, std::size_t size, ordering order, scope reach)
{
    if (running_lane != nullptr) {
        plain_atomic(address, size, order, reach, false, CALLER);
        running_engine->note_poll(self(), self().pending, false);
    }
    bits value = 0;
    std::memcpy(&value, address, size);
    return value;
}

void atomic_store(void* address, std::size_t size, bits value, ordering order, scope reach)
{
    if (running_lane != nullptr)
        plain_atomic(address, size, order, reach, true, CALLER);
    const bool changed = std::memcmp(address, &value, size) != 0;
    std::memcpy(address, &value, size);
    if (running_lane != nullptr)
        running_engine->end_atomic(self(), self().pending, changed);
}

void mbarrier_init(void* barrier, unsigned arrivals)
{
    auto r = at(request_kind::write, CALLER);
    r.address = number(barrier);
    r.size = 8;
    running_engine->wait_at(self(), r);
    running_engine->mbarrier_init(self(), r.address, arrivals, r.pc);
}

unsigned mbarrier_arrive(void* barrier, unsigned bytes)
{
    running_engine->wait_at(self(), atomic_request(barrier, 8, ordering::release, scope::block, false, CALLER));
    return running_engine->mbarrier_arrive(self(), number(barrier), bytes, number(CALLER));
}

void mbarrier_wait(const void* barrier, unsigned parity)
{
    auto r = at(request_kind::mbarrier_wait, CALLER);
    r.address = number(barrier);
    r.size = 8;
    r.operand = static_cast<int>(parity & 1);
    running_engine->mbarrier_at(self(), *self().of->of, r.address, r.pc, "waits for an mbarrier");
    running_engine->wait_at(self(), r);
    running_engine->mbarrier_passed(self(), r.address);
}

void named_barrier(unsigned id, unsigned threads)
{
    running_engine->wait_at(self(), at(request_kind::fence, CALLER));
    auto r = at(request_kind::mbarrier_wait, CALLER);
    r.address = id;
    r.operand = static_cast<int>(running_engine->named_arrive(self(), id, threads, r.pc));
    running_engine->wait_at(self(), r);
    running_engine->mbarrier_passed(self(), id);
}

void bulk_load(void* shared, const void* global, unsigned bytes, void* barrier)
{
    running_engine->wait_at(self(), at(request_kind::fence, CALLER));
    running_engine->bulk_load(self(), number(shared), number(global), bytes, number(barrier), number(CALLER));
}

void bulk_store(void* global, const void* shared, unsigned bytes)
{
    running_engine->wait_at(self(), at(request_kind::fence, CALLER));
    running_engine->bulk_store(self(), number(global), number(shared), bytes, number(CALLER));
}

void bulk_commit() { running_engine->bulk_commit(self()); }

void bulk_wait(unsigned groups_pending, bool only_reads)
{
    auto r = at(request_kind::bulk_wait, CALLER);
    r.operand = static_cast<int>(groups_pending);
    r.value = only_reads;
    running_engine->wait_at(self(), r);
    running_engine->bulk_passed(self(), groups_pending, only_reads);
}

void proxy_fence(bool global_too)
{
    running_engine->wait_at(self(), at(request_kind::fence, CALLER));
    running_engine->proxy_fence(self(), global_too);
}

void transfer(void* shared, bits value, void* barrier)
{
    auto r = at(request_kind::transfer, CALLER);
    r.address = number(shared);
    r.size = sizeof value;
    running_engine->wait_at(self(), r);
    running_engine->transfer(self(), r.address, value, number(barrier), r.pc);
}

void pipeline_copy(void* shared, const void* global, unsigned bytes)
{
    auto r = at(request_kind::read, CALLER);
    r.address = number(global);
    r.size = bytes;
    r.copied_to = number(shared);
    running_engine->wait_at(self(), r);
    running_engine->pipeline_copy(self(), r.copied_to, r.address, bytes, r.pc);
}

void pipeline_commit() { running_engine->pipeline_commit(self()); }

void pipeline_wait(unsigned groups_pending)
{
    running_engine->wait_at(self(), at(request_kind::fence, CALLER));
    running_engine->pipeline_wait(self(), groups_pending);
}

void cluster_arrive()
{
    running_engine->wait_at(self(), at(request_kind::fence, CALLER));
    running_engine->cluster_arrive(self(), number(CALLER));
}

void cluster_wait()
{
    if (self().cluster_arrivals == self().cluster_waits) {
        lane& who = self();
        silent_hooks silence;
        running_engine->refuse(who, finding_kind::barrier_divergence, number(CALLER), "waits for its cluster",
                               "a thread waits at the cluster's barrier without having arrived");
    }
    running_engine->wait_at(self(), at(request_kind::cluster_wait, CALLER));
    running_engine->cluster_passed(self());
}

unsigned cluster_rank()
{
    if (running_lane == nullptr)
        not_in_a_kernel();
    return static_cast<unsigned>(self().of->of->linear % running_engine->launch().cluster.count());
}

void nanosleep(unsigned) { running_engine->wait_at(self(), at(request_kind::other, CALLER)); }

std::uint64_t clock()
{
    static thread_local std::uint64_t ticks = 0;
    return ticks += 4;
}

void* map_shared(const void* address, unsigned block_of_cluster)
{
    return running_engine->map_shared(self(), address, block_of_cluster);
}

bool is_shared(const void* address) { return running_engine->holds_shared(reinterpret_cast<std::uintptr_t>(address)); }

bool is_global(const void* address)
{
    auto& memory = device_memory::instance();
    return !is_shared(address) &&
           (memory.contains(number(address)) || memory.device_variable(number(address)) != nullptr);
}
void* shared_base() { return running_engine->shared_address(self(), nullptr, 0, number(CALLER)); }

std::size_t dynamic_shared_bytes() { return running_engine->launch().dynamic_shared; }

void trap(const char* why)
{
    if (running_lane == nullptr)
        not_in_a_kernel();
    lane& who = self();
    silent_hooks silence;
    finding_facts facts;
    facts.why = cause::trap;
    running_engine->report(finding_kind::failed_launch, who, reinterpret_cast<std::uintptr_t>(CALLER),
                           "stops the kernel", why, nullptr, facts);
    running_engine->stop("a thread stopped the kernel");
    running_engine->abandon(who);
}

void refuse_launch()
{
    lane& who = self();
    silent_hooks silence;
    running_engine->refuse(who, finding_kind::launch_in_kernel, number(CALLER), "launches a kernel",
                           "dynamic parallelism is not simulated");
}

[[noreturn]] void missing_return(void* pc)
{
    lane& who = self();
    silent_hooks silence;
    running_engine->refuse(who, finding_kind::failed_launch, number(pc), "stops the kernel",
                           "a function ends without the value that it should return; give it a return statement");
}

void failed_assertion(const char* what, void* pc)
{
    lane& who = self();
    silent_hooks silence;
    running_engine->refuse(who, finding_kind::assertion, number(pc), "asserts",
                           "'" + std::string(what) + "' does not hold");
}

std::uint64_t barrier_interval() { return running_lane != nullptr ? running_lane->of->of->epoch - 1 : 0; }

void applied_operator()
{
    if (running_lane != nullptr)
        running_lane->applied_operator();
}

} // namespace device
} // namespace upsweep::simulator

// This function takes the place of the C library's, so that a failed assertion in a kernel is a finding.
extern "C" void __assert_fail(const char* what, const char* file, unsigned line, const char* function) noexcept
{
    if (upsweep::simulator::device::inside_kernel())
        upsweep::simulator::device::failed_assertion(what, CALLER);
    std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, what);
    std::abort();
}

// With -fsanitize=alignment the compilers call these functions for a misaligned address.
namespace {

struct alignment_check {
    const char* file;
    std::uint32_t line, column;
    const void* type;
    unsigned char log_alignment, kind;
};

struct function_end {
    const char* file;
    std::uint32_t line, column;
};

void misaligned(const alignment_check& check, std::uintptr_t address, void* pc)
{
    using namespace upsweep::simulator;
    if (running_lane == nullptr)
        return;
    lane& self = *running_lane;
    silent_hooks silence;
    running_engine->report(finding_kind::misaligned, self, reinterpret_cast<std::uintptr_t>(pc), "accesses",
                           "an address " + std::to_string(address % (1u << check.log_alignment)) +
                               " bytes off the alignment of its type (" + std::to_string(1u << check.log_alignment) +
                               ")");
}

} // namespace

extern "C" {
void __ubsan_handle_type_mismatch_v1(const alignment_check* check, std::uintptr_t address)
{
    misaligned(*check, address, CALLER);
}
void __ubsan_handle_type_mismatch_v1_abort(const alignment_check* check, std::uintptr_t address)
{
    misaligned(*check, address, CALLER);
}
// With -fsanitize=return they call this one where a function ends without the value that it should return.
[[noreturn]] void __ubsan_handle_missing_return(const function_end* where)
{
    using namespace upsweep::simulator;
    if (running_lane != nullptr)
        device::missing_return(CALLER);
    std::fprintf(stderr, "%s:%u: a function ends without the value that it should return\n", where->file, where->line);
    std::abort();
}
void __ubsan_handle_alignment_assumption(const void*, std::uintptr_t, std::uintptr_t, std::uintptr_t) {}
}
