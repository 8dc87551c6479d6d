// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Asynchronous copies, which no thread carries out, and the barriers whose two halves, arriving and waiting, are apart:
// the mbarriers in shared memory, at which the bytes of copies count, too, and the barrier of a cluster.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "order.h"

namespace upsweep::simulator {

struct lane;
struct block;

// The accesses of a copy are no thread's. They belong to an agent, of which each mbarrier has one for the copies that count
// there, and each thread for its bulk stores. An agent numbers its copies.

struct mbarrier {
    std::uint64_t mark = 0;                  // what its memory holds for as long as nobody overwrites it
    std::uint32_t agent = 0;                 // of the copies that count here
    std::uint32_t expected = 0, pending = 0; // arrivals of a phase, and those that this one still lacks
    std::int64_t bytes = 0;              // expected in this phase and not yet copied; negative when they came before
    std::uint64_t phase = 0;             // the number of the first phase that is not complete
    std::uint64_t copies = 0, known = 0; // how many were issued, and how many some thread has waited for
    std::uint64_t done = 0;              // how many copies were complete, without a gap, when the last phase was
    std::vector<std::uint64_t> in_flight;
    gathering gathered;
    simulator::known completed;
    std::vector<lane*> waiting;
    std::uintptr_t made_at = 0, copied_at = 0; // the instructions that initialised it and that issued its last copy
};

// The copies that one thread has issued, and the groups that its commits have made of them.
struct copy_groups {
    std::uint32_t agent = 0;
    std::uint64_t issued = 0;
    std::vector<std::uint64_t> last; // the number of the last copy of each group
    std::uintptr_t issued_at = 0;

    void commit()
    {
        constexpr std::size_t kept = 64; // a wait may leave fewer groups than that pending
        last.push_back(issued);
        if (last.size() > 2 * kept)
            last.erase(last.begin(), last.end() - kept);
    }
    // The number of the last copy that a wait waits for.
    std::uint64_t waited(std::uint32_t may_be_pending) const
    {
        return last.size() > may_be_pending ? last[last.size() - 1 - may_be_pending] : 0;
    }
};

// The bulk stores of one thread. They have two agents: one reads shared memory, and the one with the next number writes
// global memory.
struct bulk_stores : copy_groups {
    std::uint64_t read = 0; // how many copies the thread knows to have been read
    std::vector<std::uint64_t> unread, unwritten;
    std::vector<lane*> waiting;

    bool done(std::uint32_t may_be_pending, bool only_reads) const;
};

// The copies of one thread by cp.async. The thread carries them out itself, when it commits them or when it waits for them.
struct pipeline : copy_groups {
    struct copy {
        std::uintptr_t target, source, pc;
        std::uint32_t bytes;
        std::uint64_t number;
        bool possible, carried_out;
    };
    std::vector<copy> pending;
};

// A bulk load, a bulk store, or a transfer, whose bytes come out of a register and which has been read from the start.
struct bulk_copy {
    bool store = false, read = false;
    bool possible = true; // inside its arrays: a copy that is not is reported and moves nothing
    std::uintptr_t source = 0, target = 0;
    std::uint32_t bytes = 0, agent = 0;
    std::uint64_t number = 0;                   // among the copies of its agent
    block* of = nullptr;                        // the block whose shared memory it reads or writes
    mbarrier* barrier = nullptr;                // where a load or a transfer counts
    const lane* issuer = nullptr;               // of a store
    std::unique_ptr<thread_knowledge> releases; // what a transfer tells those who wait for it
    std::vector<std::uint8_t> data;             // between its two halves
};
using copy_queue = std::deque<bulk_copy>; // in the order of their issue

// By whom, and when, the accesses of a copy are made.
struct copy_stamp {
    std::uint32_t agent;
    instant when;
    bool other_proxy; // whether they reach memory by the async proxy, which ordinary accesses do not take
};

// The barrier of a cluster.
struct split_barrier {
    std::uint64_t phase = 0, arrived = 0;
    gathering gathered;
    known completed;
    std::vector<lane*> waiting;
};

} // namespace upsweep::simulator
