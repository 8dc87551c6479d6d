// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Device memory is one reserved range of addresses, in which guard zones separate the allocations. Each allocation has a
// shadow, from which the checkers read which threads wrote and read each word last, and whether it was ever written.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "order.h"

namespace upsweep::simulator {

enum stamp_flags : std::uint8_t {
    stamp_atomic = 1,
    stamp_block_scope = 2,
    stamp_initialised = 4,
    stamp_many = 8,
    stamp_volatile = 16,
    stamp_copy = 32 // made by an asynchronous copy, whose agent is in the place of the thread
};

struct stamp {
    instant when = 0;
    std::uint32_t thread = 0;
    std::uint32_t site : 24 = 0;
    std::uint32_t flags : 8 = 0;
};

// Lanes of a warp that have read a word by one instruction: lane i of `lanes` is thread `first` + i.
struct reader_group {
    instant when;
    std::uint32_t first, lanes;
    std::uint32_t site : 24, flags : 8;
    stamp of(std::uint32_t lane) const { return {when, first + lane, site, static_cast<std::uint8_t>(flags)}; }
};

// Who has read a word, in order. So many readers of one word are remembered.
struct reader_list {
    static constexpr std::uint32_t most = 256, rarely_looked_through = 64;
    std::uint32_t count = 0;
    // A full list was last looked through for this block in this epoch, by threads that had acquired this, and nobody could be
    // forgotten but threads of their own warps.
    std::uint32_t full_for_block = 0;
    instant full_since = 0;
    known full_for_acquired;
    std::vector<reader_group> groups;

    void append(const reader_group& group, std::uint32_t lanes)
    {
        count += lanes;
        full_since = 0;
        groups.push_back(group);
    }
    // The same, but together with the last group where the instruction is the same.
    void add(const reader_group& group, std::uint32_t lanes)
    {
        if (!groups.empty()) {
            reader_group& last = groups.back();
            if (last.when == group.when && last.first == group.first && last.site == group.site &&
                last.flags == group.flags && last.lanes < (group.lanes & -group.lanes)) {
                last.lanes |= group.lanes;
                count += lanes;
                full_since = 0;
                return;
            }
        }
        append(group, lanes);
    }
    void clear()
    {
        count = 0;
        full_since = 0;
        full_for_acquired = nullptr;
        groups.clear();
    }

    bool is_known_full(std::uint64_t block, instant since, const known& acquired) const
    {
        return full_since == since && full_for_block == static_cast<std::uint32_t>(block) &&
               full_for_acquired == acquired;
    }
    void know_full(std::uint64_t block, instant since, const known& acquired)
    {
        full_for_block = static_cast<std::uint32_t>(block);
        full_since = since;
        full_for_acquired = acquired;
    }
};

// The shadow of one word, or of one byte where the program writes bytes. Where several threads have read a word and nothing
// orders them, a list has all of them: `read` then has its number in the place of the thread, and the time of the last one.
struct cell {
    stamp write, read;
};

struct shadow {
    shadow(std::size_t size, bool init);
    ~shadow();
    shadow(const shadow&) = delete;
    shadow& operator=(const shadow&) = delete;

    cell* at(std::size_t offset) { return cells + (offset >> shift); }
    void touch(std::size_t offset, std::size_t count)
    {
        touched_begin = std::min(touched_begin, offset);
        touched_end = std::max(touched_end, offset + count);
    }
    std::uint32_t new_list();
    void drop_list(std::uint32_t index)
    {
        readers[index].clear();
        unused_readers.push_back(index);
    }
    void split_words(); // goes from one cell a word to one cell a byte
    void forget();      // before a new block takes over its shared memory
    void initialise(std::size_t offset, std::size_t count);
    void copy_initialised(const shadow& from, std::size_t source, std::size_t target, std::size_t count);
    bool initialised(std::size_t offset) const
    {
        return all_initialised || (cells[offset >> shift].write.flags & stamp_initialised);
    }

    std::size_t bytes;
    unsigned shift = 2;
    bool all_initialised;
    cell* cells;
    std::size_t touched_begin = ~std::size_t{0}, touched_end = 0; // the bytes whose cells are not as they were made
    std::vector<reader_list> readers;                             // the lists of words with several readers
    std::vector<std::uint32_t> unused_readers;
};

enum class memory_kind : std::uint8_t { device, host, managed, device_heap };

struct allocation {
    std::uint8_t* base = nullptr;
    std::size_t size = 0;
    std::uint64_t serial = 0;
    bool freed = false, device_variable = false;
    memory_kind kind = memory_kind::device;
    std::uintptr_t made_at = 0;
    std::unique_ptr<simulator::shadow> shadow;
};

// Where the reserved range begins. Before there is one, no address of a program lies behind it.
constexpr std::uintptr_t nowhere = std::uintptr_t{1} << 63;
extern constinit std::uintptr_t device_memory_begins;
constexpr std::size_t device_memory_bytes = std::size_t{256} << 30;

class device_memory {
public:
    static device_memory& instance();

    void* allocate(std::size_t bytes, std::uintptr_t caller, memory_kind kind); // null when there is no room
    enum class free_result { freed, unknown, twice };
    free_result release(void* base);
    bool contains(std::uintptr_t address) const
    {
        return address - reinterpret_cast<std::uintptr_t>(arena_) < reserved;
    }
    allocation* find(std::uintptr_t address);        // the allocation whose bytes or guard zone hold the address
    allocation* first_after(std::uintptr_t address); // the allocation that begins next
    allocation*
    device_variable(std::uintptr_t address); // the data segment of the program, which holds __device__ variables
    // Host memory that the program registers, which kernels may then use; false where it is registered already, or not.
    bool add_host_range(void* base, std::size_t bytes);
    bool remove_host_range(void* base);
    const allocation* host_range(std::uintptr_t address);
    void host_wrote(void* base, std::size_t bytes);
    void host_copied(void* to, const void* from, std::size_t bytes);
    // Whether no thread is changing the tables or looking something up. A signal handler may ask, which must not wait.
    bool is_at_rest()
    {
        std::unique_lock lock(mutex_, std::try_to_lock);
        return lock.owns_lock();
    }
    std::size_t in_use() const { return in_use_; }
    std::uint64_t next_serial() const { return serial_; }
    std::vector<const allocation*> leaked_since(std::uint64_t serial);

    static constexpr std::size_t guard = 512;
    static constexpr std::size_t reserved = device_memory_bytes;

private:
    device_memory();
    std::uint8_t* arena_;
    std::size_t next_ = guard, in_use_ = 0;
    std::uint64_t serial_ = 1;
    std::map<std::uintptr_t, std::unique_ptr<allocation>> allocations_;
    std::map<std::uintptr_t, std::unique_ptr<allocation>> variables_;
    std::mutex mutex_;
};

} // namespace upsweep::simulator
