// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "segments.h"
#include "upsweep/simulator/simulator.h"

namespace upsweep::simulator {

namespace {

void* map_lazily(std::size_t bytes)
{
    void* place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED)
        throw std::bad_alloc();
    // Most of a large array is accessed sooner or later, and a page fault costs more than to check the accesses to its page.
    constexpr std::size_t large = std::size_t{4} << 20;
    if (bytes >= large)
        madvise(place, bytes, MADV_HUGEPAGE);
    return place;
}

std::size_t cell_bytes(std::size_t bytes, unsigned shift) { return ((bytes >> shift) + 2) * sizeof(cell); }

} // namespace

shadow::shadow(std::size_t size, bool init)
    : bytes(size), all_initialised(init), cells(static_cast<cell*>(map_lazily(cell_bytes(size, 2))))
{
}

shadow::~shadow() { munmap(cells, cell_bytes(bytes, shift)); }

void shadow::split_words()
{
    auto* split = static_cast<cell*>(map_lazily(cell_bytes(bytes, 0)));
    for (std::size_t i = 0; i < bytes; ++i) {
        const cell& old = cells[i >> 2];
        if (old.write.when == 0 && old.read.when == 0 && old.write.flags == 0)
            continue;
        split[i] = old;
        if ((old.read.flags & stamp_many) != 0 && (i & 3) != 0) { // each byte has a list of its own
            const auto own = new_list();
            readers[own] = readers[old.read.thread];
            split[i].read.thread = own;
        }
    }
    munmap(cells, cell_bytes(bytes, shift));
    cells = split;
    shift = 0;
}

std::uint32_t shadow::new_list()
{
    if (unused_readers.empty()) {
        readers.emplace_back().groups.reserve(2);
        return static_cast<std::uint32_t>(readers.size() - 1);
    }
    const auto index = unused_readers.back();
    unused_readers.pop_back();
    return index;
}

void shadow::forget()
{
    if (touched_begin < touched_end)
        std::fill(at(touched_begin), at(touched_end - 1) + 1, cell{});
    touched_begin = ~std::size_t{0};
    touched_end = 0;
    unused_readers.clear();
    for (std::uint32_t i = 0; i < readers.size(); ++i)
        drop_list(i);
}

void shadow::initialise(std::size_t offset, std::size_t count)
{
    if (all_initialised || count == 0)
        return;
    if (count == bytes) { // without a look at gigabytes of cells
        all_initialised = true;
        return;
    }
    touch(offset, count);
    if (shift != 0 && ((offset | count) & 3) != 0 && offset + count != bytes)
        split_words();
    for (std::size_t i = offset >> shift, end = (offset + count - 1) >> shift; i <= end; ++i)
        cells[i].write.flags = cells[i].write.flags | stamp_initialised;
}

void shadow::copy_initialised(const shadow& from, std::size_t source, std::size_t target, std::size_t count)
{
    if (from.all_initialised)
        return initialise(target, count);
    if (all_initialised)
        return;
    if (shift != 0 && (from.shift == 0 || ((source | target | count) & 3) != 0))
        split_words();
    for (std::size_t i = 0; i < count; i += std::size_t{1} << shift) {
        auto& flags = cells[(target + i) >> shift].write;
        flags.flags = from.initialised(source + i) ? flags.flags | stamp_initialised : flags.flags & ~stamp_initialised;
    }
}

device_memory& device_memory::instance()
{
    static auto& memory = *new device_memory; // it outlives all that frees memory while the program exits
    return memory;
}

constinit std::uintptr_t device_memory_begins = nowhere;

device_memory::device_memory() : arena_(static_cast<std::uint8_t*>(map_lazily(reserved)))
{
    device_memory_begins = reinterpret_cast<std::uintptr_t>(arena_);
}

void* device_memory::allocate(std::size_t bytes, std::uintptr_t caller, memory_kind kind)
{
    std::lock_guard lock(mutex_);
    const std::size_t room = (bytes + 2 * guard - 1) / guard * guard;
    if (bytes > current_options().machine.memory_bytes - std::min(current_options().machine.memory_bytes, in_use_) ||
        next_ + room > reserved)
        return nullptr;
    auto made = std::make_unique<allocation>();
    made->base = arena_ + next_;
    made->size = bytes;
    made->serial = serial_++;
    made->made_at = caller;
    made->kind = kind;
    made->shadow = std::make_unique<shadow>(bytes, kind == memory_kind::host || kind == memory_kind::managed);
    next_ += room;
    in_use_ += bytes;
    void* base = made->base;
    allocations_.emplace(reinterpret_cast<std::uintptr_t>(base), std::move(made));
    return base;
}

device_memory::free_result device_memory::release(void* base)
{
    std::lock_guard lock(mutex_);
    auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(base));
    if (found == allocations_.end())
        return free_result::unknown;
    allocation& gone = *found->second;
    if (gone.freed)
        return free_result::twice;
    gone.freed = true;
    gone.shadow.reset();
    in_use_ -= gone.size;
    // The pages go back to the host. The address is not used again, so that a late access is still known for what it is.
    auto first = (reinterpret_cast<std::uintptr_t>(base) + 4095) & ~std::uintptr_t{4095};
    auto last = (reinterpret_cast<std::uintptr_t>(base) + gone.size) & ~std::uintptr_t{4095};
    if (last > first)
        madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
    return free_result::freed;
}

allocation* device_memory::find(std::uintptr_t address)
{
    std::lock_guard lock(mutex_);
    auto above = allocations_.upper_bound(address);
    if (above == allocations_.begin())
        return nullptr;
    return std::prev(above)->second.get();
}

allocation* device_memory::first_after(std::uintptr_t address)
{
    std::lock_guard lock(mutex_);
    const auto above = allocations_.upper_bound(address);
    return above == allocations_.end() ? nullptr : above->second.get();
}

allocation* device_memory::device_variable(std::uintptr_t address)
{
    std::lock_guard lock(mutex_);
    auto above = variables_.upper_bound(address);
    if (above != variables_.begin()) {
        allocation& near = *std::prev(above)->second;
        if (address - reinterpret_cast<std::uintptr_t>(near.base) < near.size)
            return &near;
    }
    const segment around = loaded_segment(address);
    if (around.begin == around.end)
        return nullptr;
    const std::uintptr_t begin = around.begin & ~std::uintptr_t{15};
    auto made = std::make_unique<allocation>();
    made->base = reinterpret_cast<std::uint8_t*>(begin);
    made->size = around.end - begin;
    made->device_variable = true;
    made->shadow = std::make_unique<shadow>(made->size, true);
    return variables_.emplace(begin, std::move(made)).first->second.get();
}

// Registered ranges stand among the device variables, which lie outside the arena, too.
bool device_memory::add_host_range(void* base, std::size_t bytes)
{
    const auto begin = reinterpret_cast<std::uintptr_t>(base);
    std::lock_guard lock(mutex_);
    for (const auto& [address, range] : variables_)
        if (!range->device_variable && address < begin + bytes && begin < address + range->size)
            return false;
    auto made = std::make_unique<allocation>();
    made->base = static_cast<std::uint8_t*>(base);
    made->size = bytes;
    made->kind = memory_kind::host;
    made->shadow = std::make_unique<shadow>(bytes, true);
    variables_[begin] = std::move(made);
    return true;
}

bool device_memory::remove_host_range(void* base)
{
    std::lock_guard lock(mutex_);
    auto found = variables_.find(reinterpret_cast<std::uintptr_t>(base));
    if (found == variables_.end() || found->second->device_variable)
        return false;
    variables_.erase(found);
    return true;
}

const allocation* device_memory::host_range(std::uintptr_t address)
{
    std::lock_guard lock(mutex_);
    auto above = variables_.upper_bound(address);
    if (above == variables_.begin())
        return nullptr;
    const allocation& near = *std::prev(above)->second;
    return !near.device_variable && address - reinterpret_cast<std::uintptr_t>(near.base) < near.size ? &near : nullptr;
}

void device_memory::host_wrote(void* base, std::size_t bytes)
{
    if (!contains(reinterpret_cast<std::uintptr_t>(base)))
        return;
    allocation* target = find(reinterpret_cast<std::uintptr_t>(base));
    if (target == nullptr || target->freed)
        return;
    target->shadow->initialise(static_cast<std::uint8_t*>(base) - target->base, bytes);
}

void device_memory::host_copied(void* to, const void* from, std::size_t bytes)
{
    const auto source = reinterpret_cast<std::uintptr_t>(from), target = reinterpret_cast<std::uintptr_t>(to);
    if (!contains(target))
        return;
    allocation* here = find(target);
    if (here == nullptr || here->freed)
        return;
    allocation* there = contains(source) ? find(source) : nullptr;
    const std::size_t offset = static_cast<std::uint8_t*>(to) - here->base;
    if (there == nullptr || there->freed)
        here->shadow->initialise(offset, bytes);
    else
        here->shadow->copy_initialised(*there->shadow, source - reinterpret_cast<std::uintptr_t>(there->base), offset,
                                       bytes);
}

std::vector<const allocation*> device_memory::leaked_since(std::uint64_t serial)
{
    std::lock_guard lock(mutex_);
    std::vector<const allocation*> leaks;
    for (const auto& [base, made] : allocations_)
        if (!made->freed && made->serial >= serial)
            leaks.push_back(made.get());
    return leaks;
}

} // namespace upsweep::simulator
