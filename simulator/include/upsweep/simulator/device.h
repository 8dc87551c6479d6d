// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The functions behind the spellings of CUDA. They are not instrumented. Each one that matters to other threads returns when
// the scheduler lets the calling thread go on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace upsweep::simulator::device {

__extension__ typedef unsigned __int128 bits; // wide enough for every value that an intrinsic exchanges
enum class scope : std::uint8_t { block, cluster, device, system };
enum class ordering : std::uint8_t { relaxed, acquire, release, acq_rel, seq_cst };
enum class exchange : std::uint8_t {
    shuffle_index,
    shuffle_up,
    shuffle_down,
    shuffle_xor,
    ballot,
    all,
    any,
    match_any,
    match_all,
    add_unsigned,
    min_unsigned,
    max_unsigned,
    min_signed,
    max_signed,
    bit_and,
    bit_or,
    bit_xor
};
enum class barrier_vote : std::uint8_t { none, count, all, any };
enum class barrier_level : std::uint8_t { block, cluster, grid };

struct index3 {
    unsigned x, y, z;
};
[[gnu::const]] index3 cluster_extent();
[[gnu::const]] unsigned warp_width();
[[gnu::const]] unsigned lane_index();
unsigned generation(); // the compute capability's first number
bool inside_kernel();

struct exchanged {
    std::uint64_t value;
    int predicate;
};
// The compiler must not merge these calls or move them across branches, because their place in the source is checked.
#ifdef __clang__
#define UPSWEEP_COLLECTIVE [[clang::convergent, clang::nomerge]]
#else
#define UPSWEEP_COLLECTIVE
#endif
UPSWEEP_COLLECTIVE exchanged exchange_lanes(exchange what, unsigned mask, std::uint64_t value, int operand, int width);
UPSWEEP_COLLECTIVE void warp_barrier(unsigned mask);
unsigned active_mask();
UPSWEEP_COLLECTIVE int barrier(barrier_level level, barrier_vote vote, int predicate);
void fence(scope reach);

// The two halves of an atomic, between which nothing else runs.
bits atomic_begin(const void* address, std::size_t size, ordering order, scope reach, bool writes);
void atomic_end(void* address, std::size_t size, bits value, bool writes);

// An atomic that only loads or only stores. It costs what an ordinary access costs.
bits atomic_load(const void* address, std::size_t size, ordering order, scope reach);
void atomic_store(void* address, std::size_t size, bits value, ordering order, scope reach);

void mbarrier_init(void* barrier, unsigned arrivals);
// Arrives, expects so many bytes more in this phase, and returns the parity of the phase.
unsigned mbarrier_arrive(void* barrier, unsigned bytes);
UPSWEEP_COLLECTIVE void mbarrier_wait(const void* barrier, unsigned parity);

// Waits at barrier number `id` of the block, which is below 16, for so many of its threads: whole warps.
UPSWEEP_COLLECTIVE void named_barrier(unsigned id, unsigned threads);
void bulk_load(void* shared, const void* global, unsigned bytes, void* barrier);
void bulk_store(void* global, const void* shared, unsigned bytes);
void bulk_commit();
UPSWEEP_COLLECTIVE void bulk_wait(unsigned groups_pending, bool only_reads);
void proxy_fence(bool global_too);
// Sends 16 bytes to the shared memory of a block of the cluster; they count at an mbarrier there when they have arrived.
void transfer(void* shared, bits value, void* barrier);
// The copies of the calling thread by cp.async, each of 4, 8 or 16 bytes.
void pipeline_copy(void* shared, const void* global, unsigned bytes);
void pipeline_commit();
void pipeline_wait(unsigned groups_pending);
void cluster_arrive();
UPSWEEP_COLLECTIVE void cluster_wait();

void nanosleep(unsigned nanoseconds);
std::uint64_t clock();
void* map_shared(const void* address, unsigned block_of_cluster);
bool is_shared(const void* address);
bool is_global(const void* address); // in device memory, or a variable of the device
void* shared_base();                 // the begin of the block's shared memory
std::size_t dynamic_shared_bytes();
[[noreturn]] void trap(const char* why);
[[noreturn]] void refuse_launch(); // of a kernel by a kernel
unsigned cluster_rank();           // of the block in its cluster
void applied_operator();
std::uint64_t barrier_interval(); // how many block barriers the calling thread has passed

} // namespace upsweep::simulator::device
