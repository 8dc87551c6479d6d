// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Device memory is one reserved range of addresses, in which guard zones separate the allocations. Each allocation has a
// shadow, from which the checkers read which threads wrote and read each word last, and whether it was ever written.
#pragma once

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

// The shadow of one word, or of one byte where the program writes bytes. Where several threads have read a word and nothing
// orders them, a list has all of them.
struct cell {
    stamp write, read;
};

struct shadow {
    shadow(std::size_t size, bool init);
    ~shadow();
    shadow(const shadow&) = delete;
    shadow& operator=(const shadow&) = delete;

    cell* at(std::size_t offset) { return cells + (offset >> shift); }
    void split_words();            // goes from one cell a word to one cell a byte
    void forget(std::size_t used); // before a new block takes over its shared memory
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
    std::vector<std::vector<stamp>> readers; // the lists of words with several readers
    std::vector<std::uint32_t> unused_readers;
};

enum class memory_kind : std::uint8_t { device, host, managed };

struct allocation {
    std::uint8_t* base = nullptr;
    std::size_t size = 0;
    std::uint64_t serial = 0;
    bool freed = false, device_variable = false;
    memory_kind kind = memory_kind::device;
    std::uintptr_t made_at = 0;
    std::unique_ptr<simulator::shadow> shadow;
};

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
    allocation* find(std::uintptr_t address); // the allocation whose bytes or guard zone hold the address
    allocation*
    device_variable(std::uintptr_t address); // the data segment of the program, which holds __device__ variables
    void host_wrote(void* base, std::size_t bytes);
    void host_copied(void* to, const void* from, std::size_t bytes);
    std::size_t in_use() const { return in_use_; }
    std::uint64_t next_serial() const { return serial_; }
    std::vector<const allocation*> leaked_since(std::uint64_t serial);

    static constexpr std::size_t guard = 512;
    static constexpr std::size_t reserved = std::size_t{256} << 30;

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
