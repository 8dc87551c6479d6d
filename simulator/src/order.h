// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Which accesses are ordered before which. These are vector clocks, kept where CUDA makes them cheap: the barriers of a
// block count one epoch for all its threads, and a warp keeps what each lane knows of the other lanes. Only what crosses
// these borders, by a release or by a fence and the atomic after it, is written out as lists of threads and blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "upsweep/simulator/device.h"

namespace upsweep::simulator {

// The time of one thread: the number of the launch, the epoch of its block, and its own count of releases in that epoch.
using instant = std::uint64_t;
constexpr unsigned launch_bits = 22, epoch_bits = 20, local_bits = 22;
constexpr instant make_instant(std::uint64_t launch, std::uint64_t epoch, std::uint64_t local)
{
    return launch << (epoch_bits + local_bits) | epoch << local_bits | local;
}
constexpr std::uint64_t launch_of(instant t) { return t >> (epoch_bits + local_bits); }
constexpr std::uint64_t epoch_of(instant t) { return t >> local_bits & ((1u << epoch_bits) - 1); }

// The time of an agent of asynchronous copies is the number of the launch and that of the copy.
constexpr instant make_copy_instant(std::uint64_t launch, std::uint64_t copy)
{
    return make_instant(launch, 0, 0) + copy;
}

// What one thread may hand to another: all accesses of these threads up to an instant, of these blocks before an epoch, and
// of these agents up to a copy are ordered before what comes next.
struct knowledge {
    std::unordered_map<std::uint32_t, instant> threads;
    std::unordered_map<std::uint64_t, std::uint64_t> blocks;
    std::unordered_map<std::uint32_t, instant> copies;
    bool covers(std::uint32_t thread, std::uint64_t block, instant when) const;
    bool covers_copy(std::uint32_t agent, instant when) const;
    void join(const knowledge& other);
};
using known = std::shared_ptr<const knowledge>;
known joined(const known& a, const known& b);

// What one thread knew at one instant. Taking it is cheap; it is written out as knowledge only when it reaches others.
struct thread_knowledge {
    std::uint64_t block = 0, epoch = 0;
    std::uint32_t thread = 0, first_of_warp = 0; // their indices in the grid
    instant own = 0;
    std::uint64_t warp[32] = {};
    known acquired;
    bool covers(std::uint32_t of_thread, std::uint64_t of_block, instant when) const;
};

struct lane_order {
    std::uint64_t local = 0; // how often the lane has released in this epoch
    known acquired;          // what it knows
    known pending;           // what it has read from a flag, and will know after its next fence or barrier
    known released;          // what it knew at its last fence, which the next flag that it writes carries
    device::scope released_scope{};
    bool saw_narrow = false;           // whether it has read a flag whose release did not reach its block
    std::vector<instant> proxy_fences; // its latest proxy fences, in order
    std::vector<std::shared_ptr<const thread_knowledge>> fenced; // what it knew at the last few of these
    std::shared_ptr<const thread_knowledge> fenced_global;       // the same at the last one that covers global memory
};

// What the threads that have arrived at a split barrier knew.
struct gathering {
    std::shared_ptr<knowledge> all = std::make_shared<knowledge>();
    // What was joined last, and the clocks of the last thread's warp: the next thread mostly knows the same.
    known last;
    std::uint32_t last_warp = 0;
    std::uint64_t last_row[32] = {};
};

// A flag is a word that an atomic or volatile write has written. This is what it carries to those who read it.
struct sync_location {
    known carried;
    std::uint64_t block = 0; // of the thread that released, for a release that reaches only its own block
    bool narrow = false;
};
using sync_table = std::unordered_map<std::uintptr_t, sync_location>;

} // namespace upsweep::simulator
