// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "upsweep/simulator/simulator.h"

namespace upsweep::simulator {

namespace {

void* map_lazily(std::size_t bytes)
{
    void* place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED)
        throw std::bad_alloc();
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
        if (old.write.when != 0 || old.read.when != 0 || old.write.flags != 0)
            split[i] = old;
    }
    munmap(cells, cell_bytes(bytes, shift));
    cells = split;
    shift = 0;
}

void shadow::forget(std::size_t used)
{
    std::fill_n(cells, std::min(used, bytes) >> shift, cell{});
    readers.clear();
    unused_readers.clear();
}

void shadow::initialise(std::size_t offset, std::size_t count)
{
    if (all_initialised || count == 0)
        return;
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
    static device_memory memory;
    return memory;
}

device_memory::device_memory() : arena_(static_cast<std::uint8_t*>(map_lazily(reserved))) {}

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
    made->shadow = std::make_unique<shadow>(bytes, kind != memory_kind::device);
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

allocation* device_memory::device_variable(std::uintptr_t address)
{
    std::lock_guard lock(mutex_);
    auto above = variables_.upper_bound(address);
    if (above != variables_.begin()) {
        allocation& near = *std::prev(above)->second;
        if (address - reinterpret_cast<std::uintptr_t>(near.base) < near.size)
            return &near;
    }
    struct search {
        std::uintptr_t address, begin = 0;
        std::size_t size = 0;
    } wanted{address};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& look = *static_cast<search*>(data);
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const auto& part = info->dlpi_phdr[i];
                const auto begin = info->dlpi_addr + part.p_vaddr;
                if (part.p_type != PT_LOAD || look.address - begin >= part.p_memsz)
                    continue;
                look.begin = begin & ~std::uintptr_t{15};
                look.size = part.p_memsz + (begin & 15);
                return 1;
            }
            return 0;
        },
        &wanted);
    if (wanted.size == 0)
        return nullptr;
    auto made = std::make_unique<allocation>();
    made->base = reinterpret_cast<std::uint8_t*>(wanted.begin);
    made->size = wanted.size;
    made->device_variable = true;
    made->shadow = std::make_unique<shadow>(wanted.size, true);
    return variables_.emplace(wanted.begin, std::move(made)).first->second.get();
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
