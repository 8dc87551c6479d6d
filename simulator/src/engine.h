// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The running grid: lanes (fibers), warps, blocks, and the loop that decides who goes next.
#pragma once

#include <bit>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "asynchronous.h"
#include "fiber.h"
#include "memory.h"
#include "order.h"
#include "remedy.h"
#include "sites.h"
#include "spinning.h"
#include "upsweep/simulator/device.h"
#include "upsweep/simulator/simulator.h"

namespace upsweep::simulator {

struct warp;
struct block;
class engine;

enum class access_result : std::uint8_t { possible, skipped, fatal };

enum class request_kind : std::uint8_t {
    proceed,
    read,
    write,
    transfer,
    atomic,
    exchange,
    warp_barrier,
    barrier,
    mbarrier_wait,
    cluster_wait,
    bulk_wait,
    fence,
    other
};

// What a lane wants to do next. It stands at the instruction until the scheduler issues it. It fills one line of the cache.
struct alignas(64) request {
    request_kind kind = request_kind::proceed;
    bool is_volatile = false;
    bool writes = false; // whether an atomic writes
    bool plain = false;  // whether an atomic only loads or only stores
    bool waited = false; // whether the lane has waited before, and was woken to look again
    device::ordering order{};
    device::scope scope{};
    device::exchange exchange{};
    device::barrier_level level{};
    device::barrier_vote vote{};
    std::uint32_t size = 0;
    std::uint32_t mask = 0;
    std::int32_t operand = 0, width = 32;
    std::uint64_t value = 0;
    std::uintptr_t address = 0, pc = 0;
    std::uintptr_t copied_to = 0; // the address in shared memory to which cp.async copies
};

enum class lane_state : std::uint8_t { ready, waiting, exited };

// A flag that a lane has read by an atomic or a volatile access, and what it found.
struct polled_flag {
    std::uintptr_t pc = 0, address = 0;
    std::uint64_t value = 0;
    std::uint32_t size = 0;
};

// A thread of the grid. What each access touches fills the first line of the cache.
struct lane {
    fiber context = nullptr;
    std::uint8_t* stack = nullptr;
    warp* of = nullptr;
    device::index3 thread{};
    std::uint32_t index = 0; // of the thread in its block
    std::uint32_t depth = 0; // of the calls that it is in
    lane_state state = lane_state::ready;
    bool overflowed = false;
    std::uint8_t number = 0;                        // of the lane in its warp
    request pending;                                // unless warp::here or warp::parked holds it
    polled_flag polled;                             // which flag it read last
    std::uintptr_t raced_pc = 0, raced_address = 0; // of its last read that was unordered with another thread's write
    device::exchanged result{};
    std::uint64_t applied = 0; // applications of operators since the last barrier of the block
    std::uint64_t cluster_arrivals = 0, cluster_waits = 0;

    std::uint32_t global_index() const;
    std::uint32_t bit() const { return 1u << number; } // of the lane in masks of its warp
    std::uintptr_t last_pc() const;
    const lane_order& order() const { return order_; } // what this lane knows to have happened
    lane_order& change_order();
    void applied_operator();

private:
    friend class engine;
    lane_order order_;
};

// The last memory instruction of a warp. It is kept because the compiler may call one hook for each piece of a vector access.
struct vector_access {
    request_kind kind{};
    bool shared = false;
    std::uintptr_t pc = 0;
    std::uint32_t mask = 0;
    std::uintptr_t next[32] = {}; // where the next piece of each lane would begin
    std::uint32_t bytes = 0;      // of all lanes and pieces
    std::uint32_t wavefronts = 0, conflicts = 0;
};

// Lanes that have come to one ordinary access, or have been let out of a barrier, together. Their requests differ in the
// address alone, and are written to the lanes only when somebody looks at these: see engine::write_requests.
struct gathered_lanes {
    std::uint32_t mask = 0, depth = 0, size = 0;
    request_kind kind{};
    std::uintptr_t pc = 0;
    std::uintptr_t address[32];
};

// Lanes that wait at the barrier of their block, without a vote.
struct parked_lanes {
    std::uint32_t mask = 0, depth = 0;
    std::uintptr_t pc = 0;
};

struct warp {
    block* of = nullptr;
    std::uint32_t first = 0, lanes = 0; // the index of its first thread in the block, and how many it has
    std::uint32_t ready = 0, live = 0;  // masks of lanes
    std::uint32_t all() const { return lanes == 32 ? ~0u : (1u << lanes) - 1; }
    std::uint32_t polling = 0;    // the lanes whose last access to memory has read a flag
    std::uint32_t exchanging = 0; // the lanes that wait for the other lanes of an intrinsic
    std::uint32_t slot = 0;
    std::uint32_t yielded = 0;    // ready lanes that have had their turn while others of the warp were ready, too
    std::uint32_t turn = 0;       // instructions since a lane of the warp yielded last
    std::uintptr_t synced_at = 0; // its last __syncwarp, in the epoch of its block
    std::uint64_t synced_epoch = 0;
    std::uint32_t flag_reads = 0; // instructions that read flags, since it last did anything else in memory
    flags_read flags;             // which flags it has read, for the schedules that keep a block waiting
    gathered_lanes here;
    parked_lanes parked;
    std::uintptr_t last_pc[32] = {}, last_address[32] = {}; // of each lane
    vector_access last;
    std::uint32_t ordered = 0;        // the lanes whose order is not that of a lane that has just begun
    std::uint32_t applied = 0;        // the lanes that have applied operators since the last barrier of the block
    bool knows = false;               // whether anything is in the following table
    std::uint64_t known[32][32] = {}; // known[t][u] is the clock of lane u up to which lane t is ordered after it
};

// What the lanes of a warp access by one instruction, each so many bytes at a multiple of that number. An instruction mostly
// accesses the same again and again, from another first address on. It is kept for the next time, with what was counted.
struct warp_access {
    std::uint32_t mask = 0, lanes = 0; // which, and how many
    std::uint32_t size = 0;
    std::uintptr_t first = 0;                  // the address of the first lane, from which all others are counted
    std::uintptr_t distance[32];               // of each lane
    std::uintptr_t lowest, highest;            // among these
    std::uint32_t distinct = 0;                // addresses
    std::uintptr_t address[32];                // these, counted from the first
    std::uint32_t by[32];                      // and the lanes at each
    std::uint32_t words = 0, most_in_bank = 0; // of shared memory; 0 when they were not counted
    std::uint32_t transactions = 0;            // the same for device memory,
    std::uintptr_t counted_at = 0;             // when the first address lay there in its transaction

    bool gather(const gathered_lanes& from); // false when some address is misaligned
    std::uintptr_t begin() const { return first + lowest; }
    std::uintptr_t end() const { return first + highest + size; }

private:
    bool is_as_before(const gathered_lanes& from) const;
};

// How many lanes a mask has. std::popcount is a call where the processor may be one without the instruction.
inline std::uint32_t number_of(std::uint32_t mask)
{
    if (mask == ~0u)
        return 32;
    mask -= mask >> 1 & 0x55555555;
    mask = (mask & 0x33333333) + (mask >> 2 & 0x33333333);
    return ((mask + (mask >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

struct barrier_state {
    std::uint32_t arrived = 0;
    std::uint32_t votes = 0;
    std::uintptr_t first_pc = 0;
    std::uint32_t first_lane = 0;
    bool reported = false;
};

struct block {
    std::uint64_t linear = 0;
    device::index3 index{};
    std::uint32_t live = 0;
    std::uint64_t epoch = 1;
    std::uintptr_t epoch_began = 0; // at this barrier; 0 before the first
    barrier_state barrier, wide;    // of the block, and of its cluster or the grid
    std::unique_ptr<lane[]> lanes;
    std::unique_ptr<warp[]> warps;
    std::uint32_t warp_count = 0, first_slot = 0;
    std::unique_ptr<std::uint8_t[]> shared_storage;
    std::uint8_t* shared = nullptr;
    std::unique_ptr<shadow> shared_shadow;
    std::uint8_t* stacks = nullptr;
    bool resident = false;
    std::unordered_map<std::uintptr_t, mbarrier> mbarriers;
};

struct shared_variable {
    const void* image;
    std::size_t offset, size;
};

struct launch_request {
    const void* kernel = nullptr;
    extent grid, block, cluster;
    std::size_t dynamic_shared = 0;
    bool cooperative = false;
    void (*run)(void*) = nullptr; // calls the kernel with its arguments
    void* arguments = nullptr;
    std::size_t argument_bytes = 0;
    const char* name = nullptr;
    std::uintptr_t launched_at = 0; // the instruction of the host, if that is known

    std::string kernel_name() const { return name != nullptr ? name : function_name(kernel); }
};

const char* stop_request(); // null, or why all launches are to end

// Runs one grid to its end on the calling thread.
class engine {
public:
    engine(const launch_request& launch, const options& opts);
    ~engine();
    launch_report run();
    launch_report report_so_far();

    // Hooks and intrinsics call the following functions on the fiber of a lane.
    void wait_at(lane& self, const request& what);
    void wait_elsewhere(lane& self, request_kind kind, std::uint32_t size, std::uintptr_t address, std::uintptr_t pc);
    static void write_requests(warp& w);
    void wait(); // at the pending request, which hooks write in its place
    // At an ordinary access, or at the barrier of the block without a vote.
    void wait_at(lane& self, request_kind kind, std::uint32_t size, std::uintptr_t address, std::uintptr_t pc);
    void* shared_address(lane& self, const void* image, std::size_t size, std::uintptr_t pc);
    void* map_shared(lane& self, const void* address, unsigned rank);
    bool holds_shared(std::uintptr_t address) const;
    void begin_atomic(lane& self, const request& what);
    void end_atomic(lane& self, const request& what, bool changed);
    void take_from_flag(lane& self, const request& what);          // what an atomic or volatile read learns
    void leave_at_flag(lane& self, const request& what);           // what an atomic or volatile write passes on
    void note_poll(lane& self, const request& what, bool changed); // after an atomic or volatile access
    void check_lockstep(const lane& self, const request& what);    // before a write that other lanes may wait for
    known everything_known(lane& self);
    void fence(lane& self, device::scope reach);
    [[noreturn]] void abandon(lane& self);
    [[noreturn]] void refuse(lane& self, finding_kind kind, std::uintptr_t pc, const std::string& did,
                             const std::string& why);

    // asynchronous.cpp
    mbarrier& mbarrier_at(lane& self, block& owner, std::uintptr_t address, std::uintptr_t pc, const char* did);
    void mbarrier_init(lane& self, std::uintptr_t address, std::uint32_t arrivals, std::uintptr_t pc);
    unsigned named_arrive(lane& self, std::uint32_t id, std::uint32_t threads, std::uintptr_t pc);
    unsigned mbarrier_arrive(lane& self, std::uintptr_t address, std::uint32_t bytes, std::uintptr_t pc);
    void mbarrier_passed(lane& self, std::uintptr_t address);
    void bulk_load(lane& self, std::uintptr_t target, std::uintptr_t source, std::uint32_t bytes,
                   std::uintptr_t barrier, std::uintptr_t pc);
    void bulk_store(lane& self, std::uintptr_t target, std::uintptr_t source, std::uint32_t bytes, std::uintptr_t pc);
    void bulk_commit(lane& self);
    void bulk_passed(lane& self, std::uint32_t may_be_pending, bool only_reads);
    void proxy_fence(lane& self, bool global_too);
    void transfer(lane& self, std::uintptr_t target, device::bits value, std::uintptr_t barrier, std::uintptr_t pc);
    void pipeline_copy(lane& self, std::uintptr_t target, std::uintptr_t source, std::uint32_t bytes,
                       std::uintptr_t pc);
    void pipeline_commit(lane& self);
    void pipeline_wait(lane& self, std::uint32_t may_be_pending);
    void cluster_arrive(lane& self, std::uintptr_t pc);
    void cluster_passed(lane& self);

    const launch_request& launch() const { return launch_; }
    const options& opts() const { return options_; }
    std::uint32_t threads_per_block() const { return threads_; }
    std::uint32_t epoch_launch() const { return launch_number_; }
    static std::uint32_t last_launch(); // the number of the launch of this host thread that began last
    site_table& sites() { return sites_; }
    bool on_stack_of(const lane& self, std::uintptr_t address) const
    {
        return address - reinterpret_cast<std::uintptr_t>(self.stack) < stack_bytes_;
    }
    // Whether this is the address of threadIdx, blockIdx, blockDim or gridDim.
    bool is_builtin(std::uintptr_t address) const { return address - builtins_ < builtins_bytes_; }
    void report(finding_kind kind, const lane& who, std::uintptr_t pc, const std::string& did,
                const std::string& message, const party* other = nullptr, const finding_facts& facts = {});
    void report(finding_kind kind, const party& who, const std::string& message);
    // The finding, if it is known already: the same at the same instructions. It is counted once more.
    noted_finding* counted_again(finding_kind kind, std::uintptr_t pc, std::uintptr_t other,
                                 const finding_facts& facts);
    noted_finding& note(finding made, const finding_facts& facts);
    party party_of(const lane& who, std::uintptr_t pc, std::string did) const;
    party party_of(std::uint32_t global_thread, std::uint32_t site, std::string did) const;
    block* block_of(std::uint64_t linear);
    void stop(std::string why)
    {
        if (!stopped_) {
            stopped_ = true;
            turn_left_ = 0;
            stop_reason_ = std::move(why);
        }
    }
    bool must_stop() const { return stopped_ || stop_request() != nullptr; }
    void ran_away(lane& self, std::uintptr_t pc); // a thread was interrupted in a loop without an access
    void set_builtins(const block& b);
    bool in_arguments(std::uintptr_t address) const
    {
        return address - reinterpret_cast<std::uintptr_t>(launch_.arguments) < launch_.argument_bytes;
    }
    sync_table& sync() { return sync_; }

private:
    friend class access_checker;
    friend class warp_checker;
    enum class space : std::uint8_t { none, shared, global };
    space space_of(const lane& l, std::uintptr_t address);
    // scheduler.cpp
    warp* next_warp();
    std::uint32_t next_unfair_slot();
    std::uint32_t next_slot(std::uint32_t from) const;
    void set_ready(warp& w, std::uint32_t mask);
    void clear_ready(warp& w, std::uint32_t mask);
    void step(warp& w);
    std::uint32_t choose_lanes(warp& w);
    bool gathered_go_first(const warp& w) const;
    std::uint32_t idle_lanes(warp& w);
    std::uint32_t skip_idle(std::uint32_t slot);
    void take_turns(warp& w, std::uint32_t mask, bool spun);
    void run_next(fiber& from);
    void resume_all(warp& w, std::uint32_t mask);
    void admit_blocks();
    void start_block(block& b, std::uint64_t linear);
    void start_lane(block& b, warp& w, std::uint32_t index);
    void finish_block(block& b);
    void report_stuck(finding_kind kind);
    std::uint64_t nth_block(std::uint64_t n) const;
    void look_around();
    static void lane_main();
    // collectives.cpp
    void arrive_exchange(warp& w, std::uint32_t mask);
    bool try_exchange(warp& w, std::uint32_t lane_id, bool settle);
    void settle_exchanges(warp& w);
    static bool will_be_woken(const warp& w);
    void perform_exchange(warp& w, std::uint32_t mask);
    void order_warp(warp& w, std::uint32_t mask);
    void arrive_barrier(warp& w, std::uint32_t mask);
    void park(warp& w);
    void try_barrier(block& b);
    void try_wide_barrier(device::barrier_level level, std::uint64_t cluster);
    void complete_barrier(block& b, barrier_state& state, const known& also);
    void close_interval(block& b);
    void exited(lane& l);
    // account.cpp
    void issue_memory(warp& w, std::uint32_t mask);
    void issue_gathered(warp& w);
    bool issue_at_once(warp& w);
    void count_at_once(warp& w, warp_access& all, bool load, bool shared, counters& change);
    void note_gathered(warp& w);
    bool continues_vector(warp& w, std::uint32_t mask, bool shared, counters& change);
    void count_global(warp& w, std::uint32_t mask, counters& change);
    void count_shared(warp& w, std::uint32_t mask, std::uintptr_t request::*address, counters& change);
    void count_atomic(warp& w, std::uint32_t mask, counters& change);
    void note_progress(warp& w, std::uint32_t mask);
    void note_guesses(warp& w, std::uint32_t mask);
    bool is_guess(const finding& race);
    void note_flags(warp& w, std::uint32_t mask);
    void count_issue(warp& w, std::uint32_t mask, std::uintptr_t pc);
    counters& interval_of(const block& b);
    bool check_access(lane& l); // false when the access cannot be carried out at all
    void check_at_once(warp& w, const warp_access& all, shadow& state, std::uintptr_t base, std::uint32_t site,
                       bool writes);
    bool in_one_variable(const warp_access& all, std::uintptr_t base);
    access_result check_copy(lane& issuer, const request& what, const copy_stamp& by);
    // asynchronous.cpp
    void arrive_wait(warp& w, std::uint32_t mask);
    bool may_pass(const lane& l);
    std::string what_it_lacks(const lane& l);
    void wake(std::vector<lane*>& waiting);
    thread_knowledge known_to(lane& self);
    void gather(const thread_knowledge& one, gathering& into);
    void complete_phase(mbarrier& m);
    void try_cluster(std::uint64_t cluster);
    block* running_neighbour(const lane& self, std::uintptr_t address);
    void check_mbarrier(lane& self, const mbarrier& m, std::uintptr_t address, std::uintptr_t pc);
    void start_copy(lane& self, bulk_copy copy, std::uintptr_t pc);
    bool has_copies() const { return !copies_.empty() || !late_copies_.empty(); }
    bool copy_is_due();
    void add_copy(const lane& issuer, bulk_copy copy);
    void advance_next_copy();
    void read_copy(bulk_copy& copy);
    void finish_copy(bulk_copy copy);
    void forget_copies_of(block& b);
    void report_unfinished_copies(const lane& l);
    static void carry_out(pipeline::copy& copy);
    // report.cpp
    void resolve(std::vector<noted_finding>& findings);
    void name_variable(noted_finding& of) const;
    // Two threads write one word one after the other, and perhaps the same value. This is seen only when the second has gone
    // on: the memory is compared before and after it.
    struct watched_write {
        const lane* writer;
        std::size_t finding; // its index
        std::uintptr_t address;
        std::size_t bytes;
    };
    void resume_watched(warp& w, std::uint32_t mask);

    launch_request launch_;
    const options& options_;
    std::uint32_t launch_number_;
    std::uint32_t threads_ = 0, warps_ = 0, cluster_size_ = 1;
    std::size_t stack_bytes_;
    // Neighbouring stacks would otherwise share cache sets at the same depth.
    std::size_t stack_stride() const { return stack_bytes_ + std::size_t{5} * 64; }
    std::uintptr_t builtins_ = 0; // where the variables of the host thread are that stand for threadIdx and so on
    std::size_t builtins_bytes_ = 0;
    std::uint64_t blocks_total_ = 0, blocks_to_run_ = 0, blocks_started_ = 0, blocks_done_ = 0;
    std::vector<std::unique_ptr<block>> blocks_; // the places of resident blocks
    std::unordered_map<std::uint64_t, block*> by_linear_;
    std::vector<warp*> slots_;
    std::vector<std::uint64_t> ready_bits_;
    std::uint32_t current_slot_ = 0, quantum_ = 0, block_turn_ = 0;
    std::mt19937_64 random_;
    fiber back_ = nullptr;        // the scheduler's, while a lane runs
    lane* turn_of_ = nullptr;     // the lanes of the warp whose turn it is
    std::uint32_t turn_left_ = 0; // those among them that go next
    std::vector<shared_variable> shared_layout_;
    std::size_t shared_next_ = 0, shared_capacity_ = 0;
    shared_variable asked_last_{};              // the shared variable whose address was asked for last
    std::size_t near_begin_ = 0, near_end_ = 0; // the place of the one that was accessed last
    site_table sites_;
    std::vector<warp_access> accesses_; // by the number of the site; number 0 is for those that have none yet
    std::vector<counters> intervals_;
    std::vector<noted_finding> findings_;
    using finding_key =
        std::tuple<finding_kind, std::uintptr_t, std::uintptr_t, const void*, relation, data_hazard, cause>;
    std::map<finding_key, std::size_t> finding_index_;
    std::set<std::pair<std::uintptr_t, std::uintptr_t>> updates_; // as in remedy_context
    std::vector<watched_write> watched_;                          // by the instruction that is being carried out
    std::uint64_t no_progress_ = 0;                               // warp instructions since anything new happened
    std::uint64_t only_reads_ = 0; // warp instructions since memory changed or a thread got past a barrier
    std::uint64_t no_writes_ = 0;  // the same since memory changed
    allocation* near_ = nullptr;   // the allocation that was found last
    std::uint64_t grid_steps_ = 0, work_ = 0, lane_operations_ = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> block_steps_;
    bool is_unfair_ = false;         // whether the schedule keeps one block waiting, or all but one
    std::uint64_t turns_waited_ = 0; // how long it has kept them waiting
    std::uint64_t changes_ = 0;      // how often memory has changed
    bool stopped_ = false, polled_ = false;
    std::string stop_reason_;
    std::uint64_t idle_turns_ = 0; // how often idle warps were passed over
    std::uint64_t steps_ = 0;      // instructions of warps, whatever they are
    std::chrono::steady_clock::time_point told_;
    sync_table sync_;
    copy_queue copies_, late_copies_;      // in flight; the late ones are those that the schedule keeps back
    std::vector<std::uint32_t> agents_{0}; // the thread that issued the last copy of each agent; number 0 is not used
    std::unordered_map<const lane*, pipeline> pipelines_;
    std::unordered_map<const lane*, bulk_stores> stores_;       // of the threads that have issued some
    std::unordered_map<std::uint64_t, split_barrier> clusters_; // the barriers at which some thread has arrived
    std::uint64_t copy_turn_ = 0;
    const block* builtins_of_ = nullptr; // the block whose blockIdx and blockDim are set
    std::chrono::steady_clock::time_point began_;
};

// The variables that kernels know as threadIdx, blockIdx, blockDim and gridDim, and their addresses in this order.
#define UPSWEEP_BUILTIN(name, symbol)                                                                                  \
    extern __thread device::index3 name asm(symbol) __attribute__((tls_model("initial-exec")))
UPSWEEP_BUILTIN(builtin_thread_index, "threadIdx");
UPSWEEP_BUILTIN(builtin_block_index, "blockIdx");
UPSWEEP_BUILTIN(builtin_block_extent, "blockDim");
UPSWEEP_BUILTIN(builtin_grid_extent, "gridDim");
#undef UPSWEEP_BUILTIN
void* builtin_address(std::size_t which);

extern constinit thread_local lane* running_lane __attribute__((tls_model("initial-exec")));
extern constinit thread_local engine* running_engine __attribute__((tls_model("initial-exec")));

// While the simulator itself works on the fiber of a lane, hooks are silent. They could be called otherwise, because the
// linker may have taken the instrumented copy of a template of the standard library.
class silent_hooks {
public:
    silent_hooks() : saved_(running_lane) { running_lane = nullptr; }
    ~silent_hooks() { running_lane = saved_; }
    silent_hooks(const silent_hooks&) = delete;
    silent_hooks& operator=(const silent_hooks&) = delete;

private:
    lane* saved_;
};

inline std::uint32_t lane::global_index() const
{
    return static_cast<std::uint32_t>(of->of->linear * running_engine->threads_per_block() + index);
}

// Switches to the next lane whose turn it is. This is the last that its callers do, so that nothing of them stays on the
// stack, which is rarely in the nearest cache: there are hundreds.
[[gnu::always_inline]] inline void engine::run_next(fiber& from)
{
    lane& next = turn_of_[std::countr_zero(turn_left_)];
    turn_left_ &= turn_left_ - 1;
    // What the lanes after it need is fetched while the next lane runs.
    const auto* stack = static_cast<const char*>((&next)[1].context);
    for (std::size_t line = 0; line < 192; line += 64)
        __builtin_prefetch(stack + line);
    __builtin_prefetch(&(&next)[2]);
    running_lane = &next;
    builtin_thread_index = next.thread;
    upsweep_simulator_switch(&from, next.context);
}

[[gnu::always_inline]] inline void engine::wait()
{
    fiber& self = running_lane->context;
    if (turn_left_ != 0)
        run_next(self);
    else
        upsweep_simulator_switch(&self, back_);
}

[[gnu::always_inline]] inline void engine::wait_at(lane& self, request_kind kind, std::uint32_t size,
                                                   std::uintptr_t address, std::uintptr_t pc)
{
    gathered_lanes& here = self.of->here;
    if (here.mask == 0 || here.pc != pc || here.kind != kind || here.size != size || here.depth != self.depth)
        return wait_elsewhere(self, kind, size, address, pc);
    here.address[self.number] = address;
    here.mask |= self.bit();
    if (turn_left_ != 0)
        run_next(self.context);
    else
        upsweep_simulator_switch(&self.context, back_);
}

inline std::uintptr_t lane::last_pc() const { return of->last_pc[number]; }

inline lane_order& lane::change_order()
{
    of->ordered |= bit();
    return order_;
}

inline void lane::applied_operator()
{
    ++applied;
    of->applied |= bit();
}

// Calls f with the index of each lane of a mask, in order.
template <class F>
void each_lane(std::uint32_t mask, F f)
{
    for (; mask != 0; mask &= mask - 1)
        f(static_cast<std::uint32_t>(std::countr_zero(mask)));
}

} // namespace upsweep::simulator
