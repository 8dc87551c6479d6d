// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Which accesses are ordered before which. Time is kept where CUDA makes it cheap: a block's barriers count one epoch
// for all of its threads, a warp keeps what each lane knows of the others, and only what crosses these borders, by a
// fence or a release and the atomic that carries it, is written out as a list.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "upsweep/simulator/device.h"

namespace upsweep::simulator {

// launch, block epoch, and the lane's own count of releases in that epoch
using instant = std::uint64_t;
constexpr unsigned launch_bits = 22, epoch_bits = 20, local_bits = 22;
constexpr instant make_instant(std::uint64_t launch, std::uint64_t epoch, std::uint64_t local)
{
    return launch << (epoch_bits + local_bits) | epoch << local_bits | local;
}
constexpr std::uint64_t launch_of(instant t) { return t >> (epoch_bits + local_bits); }
constexpr std::uint64_t epoch_of(instant t) { return t >> local_bits & ((1u << epoch_bits) - 1); }

// Bulk copies are nobody's thread: those of one barrier, or of one thread's stores, are an agent and counted.
constexpr instant make_copy_instant(std::uint64_t launch, std::uint64_t copy)
{
    return make_instant(launch, 0, 0) + copy;
}

// What one thread may hand to another: everything of these threads up to an instant, of these blocks before an epoch,
// and of these agents up to a copy.
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
    std::uint32_t thread = 0, first_of_warp = 0; // global indices
    instant own = 0;
    std::uint64_t warp[32] = {};
    known acquired;
    bool covers(std::uint32_t of_thread, std::uint64_t of_block, instant when) const;
};

struct lane_order {
    std::uint64_t local = 0; // releases in this epoch
    known acquired;          // in force
    known pending;           // read from a flag, in force after the next fence or barrier
    known released;          // at the last fence: what the next flag written carries
    device::scope released_scope{};
    bool saw_narrow = false;           // a flag was read whose release did not reach this block
    std::vector<instant> proxy_fences; // the latest ones, in order
    std::vector<std::shared_ptr<const thread_knowledge>> fenced; // what the last few of these hold for, in order
    std::shared_ptr<const thread_knowledge> fenced_global; // the same of the last one that holds for global memory
};

// What the threads that arrived at a split barrier know.
struct gathering {
    std::shared_ptr<knowledge> all = std::make_shared<knowledge>();
    // What was joined last, and the last row of a warp's clocks: arrivals mostly know the same.
    known last;
    std::uint32_t last_warp = 0;
    std::uint64_t last_row[32] = {};
};

// What the flags of one launch carry.
struct sync_location {
    known carried;
    std::uint64_t block = 0; // of the releaser, for releases that reach only its own block
    bool narrow = false;
};
using sync_table = std::unordered_map<std::uintptr_t, sync_location>;

} // namespace upsweep::simulator
