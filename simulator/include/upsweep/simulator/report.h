// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The report of a simulated launch: its counters, by kernel, by source line and by barrier interval, and the findings of the
// checkers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace upsweep::simulator {

struct extent {
    unsigned x = 1, y = 1, z = 1;
    std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

struct location {
    std::string file, function;
    int line = 0, column = 0;
};

// Counts of what single threads do are called accesses, words or bytes. All others count instructions of warps.
struct counters {
    std::uint64_t instructions = 0;   // warp instructions at memory, barriers and intrinsics
    std::uint64_t active_lanes = 0;   // lanes that took part in these, summed
    std::uint64_t possible_lanes = 0; // lanes that their warps have, summed
    std::uint64_t divergent = 0;      // memory instructions in which some lane of the warp took no part
    std::uint64_t global_loads = 0, global_stores = 0;
    std::uint64_t global_load_accesses = 0, global_store_accesses = 0;
    std::uint64_t load_transactions = 0, store_transactions = 0;
    std::uint64_t load_bytes = 0, store_bytes = 0;             // bytes that the lanes asked for, each counted once
    std::uint64_t load_bytes_moved = 0, store_bytes_moved = 0; // transactions times their size
    std::uint64_t shared_loads = 0, shared_stores = 0;
    std::uint64_t shared_load_accesses = 0, shared_store_accesses = 0;
    std::uint64_t shared_wavefronts = 0; // passes that the banks needed
    std::uint64_t bank_conflicts = 0;    // passes beyond the fewest that the bytes allow
    std::uint64_t worst_bank = 0;        // the most distinct words of one access in one bank
    std::uint64_t atomics = 0, atomic_accesses = 0;
    std::uint64_t atomic_replays = 0; // lanes whose address another lane of the same instruction had before
    std::uint64_t worst_address = 0;  // the most lanes of one instruction at one address
    std::uint64_t global_atomic_accesses = 0, shared_atomic_accesses = 0;
    std::uint64_t barriers = 0; // block-wide barriers completed, one for each block
    std::uint64_t warp_barriers = 0, exchanges = 0, fences = 0;
    std::uint64_t bulk_copies = 0; // their bytes and transactions are among those of loads and stores

    counters& operator+=(const counters& other);
    std::uint64_t transactions() const { return load_transactions + store_transactions; }
    // The share of the bytes moved from and to global memory that was asked for; 1 where nothing was moved.
    double efficiency() const;
};

struct line_report {
    location where;
    counters counts;
};

enum class finding_kind {
    race,
    scope_too_narrow,
    uninitialised_read,
    out_of_bounds,
    misaligned,
    barrier_divergence,
    missing_lane,
    deadlock,
    livelock,
    leak,
    failed_launch,
    unchecked_launch,
    invalid_free,
    stack_overflow,
    assertion,
    missing_proxy_fence,
    unfinished_copy,
    mbarrier_misuse,
    host_access,           // of the host, to memory that only the device can reach
    unsynchronised_access, // of the host, to what a launch uses that it has not waited for
    wrong_direction,       // of a copy
    endless_loop,          // of a thread that touches no memory and comes to no barrier
    lanes_wait,            // for one another, on a GPU whose lanes run in lockstep
    launch_in_kernel
};
inline constexpr finding_kind last_finding_kind = finding_kind::launch_in_kernel;
const char* name_of(finding_kind);

struct party {
    location where;
    extent block, thread;
    std::string did;       // "reads", "wrote", "waits at the barrier", ...
    std::uintptr_t pc = 0; // the instruction, from which `where` was found
};

struct finding {
    finding_kind kind{};
    std::string kernel, message;
    std::vector<party> parties; // the one that the checker stopped at comes first
    std::uint64_t count = 1;    // how often it happened at these places
    std::string hazard{};       // of two accesses in the order in which they happened: "RAW", "WAR" or "WAW"
    std::string variable{};     // what was accessed the first time, as in tile[19]
    bool benign = false;        // two threads wrote, but the same value each time
    std::string remedy{};       // one sentence: what to change in the program
    location launch{};          // where the host launched the kernel, if that is known
    std::string text() const;   // the whole finding, one line a party, and the remedy
};

struct launch_report {
    std::string kernel;
    extent grid, block;
    std::size_t dynamic_shared = 0, static_shared = 0;
    counters total;
    std::vector<line_report> lines;  // in file and line order
    std::vector<counters> intervals; // what happened before the first barrier, before the second, ...
    std::uint64_t steps = 0;         // the longest chain of operator applications, summed over the barrier intervals
    std::uint64_t work = 0;          // operator applications of all threads
    std::vector<finding> findings;
    bool completed = true;
    std::string note; // why it was stopped
    // The blocks that ran to their end, and those of the grid. They differ after a stop, and where options::blocks asks for a
    // sample.
    std::uint64_t blocks_run = 0, blocks_total = 0;
    std::uint64_t lane_operations = 0; // thread-level memory operations that were simulated
    double seconds = 0;
};

} // namespace upsweep::simulator
