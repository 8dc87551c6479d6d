// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <thread>

#include <cuda/atomic>

#include "simulated.h"

using order = sim::schedule::order;

__global__ void arrival(int* ticket, int* order_of) { order_of[atomicAdd(ticket, 1)] = static_cast<int>(blockIdx.x); }

static std::vector<int> arrivals(sim::schedule how, int blocks = 12)
{
    sim::options opts;
    opts.schedule = how;
    sim::with_options with(opts);
    auto ticket = zeros<int>(1);
    device_array<int> order_of(static_cast<std::size_t>(blocks));
    EXPECT_CLEAN(run(arrival, static_cast<unsigned>(blocks), 1, 0, ticket, order_of));
    return order_of.read();
}

TEST(schedules, each_has_its_order)
{
    auto in_order = arrivals({order::in_order, 0, 0}), reversed = arrivals({order::reversed, 0, 0});
    EXPECT_TRUE(std::is_sorted(in_order.begin(), in_order.end()));
    EXPECT_TRUE(std::is_sorted(reversed.rbegin(), reversed.rend()));
    EXPECT_EQ(arrivals(sim::schedule::stall(4)).back(), 4);
    EXPECT_EQ(arrivals(sim::schedule::starve_others(7)).front(), 7);
}

TEST(schedules, a_seed_replays_and_seeds_differ)
{
    std::set<std::vector<int>> seen;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto once = arrivals(sim::schedule::random(seed));
        EXPECT_EQ(once, arrivals(sim::schedule::random(seed)));
        seen.insert(once);
    }
    EXPECT_GT(seen.size(), 15u);
}

template <int Missing>
__global__ void waits_for(volatile int* flag, int* out)
{
    if (blockIdx.x == 0) {
        while (*flag < static_cast<int>(gridDim.x) - 1 + Missing) {
        }
        *out = 1;
    } else {
        atomicAdd(const_cast<int*>(flag), 1);
    }
}

TEST(schedules, a_polling_block_does_not_starve_the_one_it_waits_for)
{
    for (auto how : {sim::schedule{order::in_order, 0, 0},
                     {order::reversed, 0, 0},
                     {order::round_robin, 0, 0},
                     sim::schedule::random(3),
                     sim::schedule::stall(5),
                     sim::schedule::starve_others(0),
                     sim::schedule::lanes_apart(1)}) {
        sim::options opts;
        opts.schedule = how;
        sim::with_options with(opts);
        auto flag = zeros<int>(1), out = zeros<int>(1);
        EXPECT_CLEAN(run(waits_for<0>, 9, 1, 0, static_cast<volatile int*>(static_cast<int*>(flag)), out))
            << how.name();
        EXPECT_EQ(out.read()[0], 1);
    }
}

// The first block waits for a flag of each of the others, and looks at all of them in turn.
__global__ void waits_for_many(const int* ready, volatile int* flags, int* out)
{
    if (blockIdx.x != 0) {
        flags[blockIdx.x - 1] = ready[blockIdx.x];
        return;
    }
    for (unsigned seen = 0; seen != gridDim.x - 1;) {
        seen = 0;
        for (unsigned i = 0; i < gridDim.x - 1; ++i)
            seen += flags[i] != 0;
    }
    *out = 1;
}

TEST(schedules, who_polls_many_flags_gives_up_its_turn)
{
    device_array<int> ready(std::vector<int>(9, 1));
    auto flags = zeros<int>(8), out = zeros<int>(1);
    const auto report = run(waits_for_many, 9, 1, 0, ready, static_cast<volatile int*>(static_cast<int*>(flags)), out);
    EXPECT_CLEAN(report);
    EXPECT_EQ(out.read()[0], 1);
    EXPECT_LT(report.lane_operations, 1000u);
}

// Runs a kernel for each of its blocks as the one that is kept waiting, and as the one that comes first.
template <class F>
static void with_each_block_last_and_first(std::uint64_t blocks, F f)
{
    for (std::uint64_t b = 0; b < 2 * blocks; ++b) {
        sim::options opts;
        opts.schedule = b < blocks ? sim::schedule::stall(b) : sim::schedule::starve_others(b - blocks);
        SCOPED_TRACE(opts.schedule.name());
        sim::with_options with(opts);
        f();
    }
}

TEST(schedules, nobody_is_kept_waiting_for_a_block_that_only_spins)
{
    with_each_block_last_and_first(9, [] {
        device_array<int> ready(std::vector<int>(9, 1));
        auto flags = zeros<int>(8), out = zeros<int>(1);
        const auto report =
            run(waits_for_many, 9, 1, 0, ready, static_cast<volatile int*>(static_cast<int*>(flags)), out);
        EXPECT_CLEAN(report);
        EXPECT_EQ(out.read()[0], 1);
        EXPECT_LT(report.lane_operations, 300u);
    });
}

// Each block waits for the one before it; the last one for nobody.
__global__ void takes_turns(int* turn, int* ticket, int* order_of)
{
    if (blockIdx.x + 1 < gridDim.x)
        while (atomicCAS(turn, -1, 0) != static_cast<int>(blockIdx.x)) {
        }
    order_of[atomicAdd(ticket, 1)] = static_cast<int>(blockIdx.x);
    __threadfence();
    if (blockIdx.x + 1 < gridDim.x)
        atomicAdd(turn, 1);
}

TEST(schedules, a_stalled_block_waits_for_those_whose_flags_still_change)
{
    sim::options opts;
    opts.schedule = sim::schedule::stall(8);
    sim::with_options with(opts);
    auto turn = zeros<int>(1), ticket = zeros<int>(1);
    device_array<int> order_of(9);
    const auto report = run(takes_turns, 9, 1, 0, turn, ticket, order_of);
    EXPECT_CLEAN(report);
    EXPECT_EQ(order_of.read(), (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_LT(report.lane_operations, 300u);
}

// The flag of the first loop changes once more, when nobody looks at it any longer.
__global__ void waits_twice(volatile int* first, volatile int* second, int* out)
{
    if (blockIdx.x == 0) {
        while (*first == 0) {
        }
        while (*second == 0) {
        }
        *out = 1;
    } else if (blockIdx.x == 1) {
        *first = 1;
        *first = 2;
    } else {
        *second = 1;
    }
}

TEST(schedules, a_flag_of_an_earlier_loop_says_nothing_about_this_one)
{
    with_each_block_last_and_first(3, [] {
        auto flags = zeros<int>(2), out = zeros<int>(1);
        volatile int* const first = static_cast<int*>(flags);
        const auto report = run(waits_twice, 3, 1, 0, first, first + 1, out);
        EXPECT_CLEAN(report);
        EXPECT_EQ(out.read()[0], 1);
        EXPECT_LT(report.lane_operations, 100u);
    });
}

// It writes while it waits, so that it does not look as if it only spun.
__global__ void counts_while_it_waits(volatile int* flag, int* rounds, int steps)
{
    if (blockIdx.x != 0) {
        for (int i = 0; i < steps; ++i)
            rounds[blockIdx.x] += i;
        *flag = 1;
    } else {
        while (*flag == 0)
            ++rounds[0];
    }
}

TEST(schedules, even_a_block_that_does_not_seem_to_spin_lets_the_others_run)
{
    with_each_block_last_and_first(2, [] {
        auto flag = zeros<int>(1), rounds = zeros<int>(2);
        EXPECT_CLEAN(
            run(counts_while_it_waits, 2, 1, 0, static_cast<volatile int*>(static_cast<int*>(flag)), rounds, 1000));
        EXPECT_EQ(rounds.read()[1], 499500);
    });
}

TEST(schedules, a_livelock_says_who_reads_what)
{
    for (auto how : {sim::schedule{order::in_order, 0, 0}, sim::schedule::stall(0), sim::schedule::starve_others(0)}) {
        SCOPED_TRACE(how.name());
        sim::options opts;
        opts.patience = 20000;
        opts.schedule = how;
        sim::with_options with(opts);
        auto flag = zeros<int>(1), out = zeros<int>(1);
        auto report = run(waits_for<1>, 3, 1, 0, static_cast<volatile int*>(static_cast<int*>(flag)), out);
        EXPECT_FALSE(report.completed);
        ASSERT_EQ(kinds(report.findings), std::vector{sim::finding_kind::livelock});
        EXPECT_EQ(report.findings[0].parties.at(0).block.x, 0u);
        EXPECT_NE(report.findings[0].parties[0].where.file.find("schedules_test.cu"), std::string::npos);
        EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchTimeout);
    }
}

__global__ void waits_for_a_block_that_has_no_place(volatile int* flag)
{
    if (blockIdx.x == gridDim.x - 1)
        *flag = 1;
    else
        while (*flag == 0) {
        }
}

TEST(schedules, a_block_without_a_place_is_part_of_the_report)
{
    sim::options opts;
    opts.patience = 20000;
    opts.resident_threads = 64;
    sim::with_options with(opts);
    auto flag = zeros<int>(1);
    auto report =
        run(waits_for_a_block_that_has_no_place, 3, 32, 0, static_cast<volatile int*>(static_cast<int*>(flag)));
    ASSERT_EQ(kinds(report.findings), std::vector{sim::finding_kind::livelock});
    EXPECT_NE(report.findings[0].message.find("1 blocks wait for a place"), std::string::npos)
        << report.findings[0].message;
    cudaGetLastError();
}

__global__ void lost_updates(int* counter) { ++*counter; }

TEST(schedules, racing_updates_are_lost)
{
    auto counter = zeros<int>(1);
    run(lost_updates, 8, 32, 0, counter);
    EXPECT_LT(counter.read()[0], 256);
}

__global__ void in_step_by_luck(int* out)
{
    __shared__ volatile int tile[32];
    const unsigned t = threadIdx.x;
    tile[t] = 1;
    for (unsigned s = 16; s > 0; s /= 2)
        if (t < s)
            tile[t] = tile[t] + tile[t + s];
    if (t == 0)
        *out = tile[0];
}

TEST(schedules, lanes_apart_breaks_what_only_lockstep_holds_together)
{
    device_array<int> out(1);
    EXPECT_FOUND(run(in_step_by_luck, 1, 32, 0, out), race);
    EXPECT_EQ(out.read()[0], 32);
    bool broken = false;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        sim::options opts;
        opts.schedule = sim::schedule::lanes_apart(seed);
        sim::with_options with(opts);
        run(in_step_by_luck, 1, 32, 0, out);
        broken = broken || out.read()[0] != 32;
    }
    EXPECT_TRUE(broken);
}

__global__ void repeats(int* data, int rounds)
{
    __shared__ int tile[64];
    const unsigned t = threadIdx.x;
    int sum = 0;
    for (int i = 0; i < rounds; ++i) {
        tile[t] = data[blockIdx.x * 64 + t] + i;
        __syncthreads();
        sum += tile[63 - t];
        __syncthreads();
    }
    atomicAdd(&data[blockIdx.x * 64 + t], sum);
}

// Each host thread has its own schedule and its own reports: neither knows of the other's kernels.
TEST(schedules, host_threads_simulate_independently)
{
    struct outcome {
        std::vector<int> data;
        std::uint64_t operations = 0;
        std::size_t races = 0;
    };
    const auto simulate = [](std::uint64_t seed, outcome& out) {
        sim::options opts;
        opts.schedule = sim::schedule::random(seed);
        sim::with_options with(opts);
        for (int launch = 0; launch < 5; ++launch) {
            device_array<int> data(std::vector<int>(8 * 64, 1));
            const auto report = run(repeats, 8, 64, 0, data, 20);
            EXPECT_CLEAN(report);
            out.data = data.read();
            out.operations += report.lane_operations;
            out.races += run(lost_updates, 8, 32, 0, data).findings.size();
        }
    };
    outcome alone[2], together[2];
    for (std::uint64_t i = 0; i < 2; ++i)
        simulate(i, alone[i]);
    std::thread first([&] { simulate(0, together[0]); }), second([&] { simulate(1, together[1]); });
    first.join();
    second.join();
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(together[i].data, alone[i].data);
        EXPECT_EQ(together[i].operations, alone[i].operations);
        EXPECT_EQ(together[i].races, alone[i].races); // a race of each class: in a warp, between blocks, and by hazard
        EXPECT_GE(alone[i].races, 5u);
    }
}

using flag_ref = cuda::atomic_ref<int, cuda::thread_scope_device>;
__device__ void wait_until(int* flag, int value)
{
    while (flag_ref(*flag).load(cuda::memory_order_acquire) != value) {
    }
}
__device__ void set_flag(int* flag, int value) { flag_ref(*flag).store(value, cuda::memory_order_release); }

// One lane of a warp waits for another one. The compiler puts either side of the branch first.
template <bool WaiterFirst>
__global__ void waits_for_a_neighbour(int* flag, int* out, unsigned waiter)
{
    if ((threadIdx.x == waiter) == WaiterFirst) {
        if constexpr (WaiterFirst)
            wait_until(flag, 1);
        else if (threadIdx.x == blockDim.x - 1 - waiter)
            set_flag(flag, 1);
    } else {
        if constexpr (!WaiterFirst)
            wait_until(flag, 1);
        else if (threadIdx.x == blockDim.x - 1 - waiter)
            set_flag(flag, 1);
    }
    out[threadIdx.x] = 1;
}

TEST(schedules, a_lane_that_spins_does_not_starve_the_others_of_its_warp)
{
    under_every_schedule([] {
        for (const unsigned waiter : {0U, 31U}) {
            auto flags = zeros<int>(2), out = zeros<int>(32);
            int* const flag = flags;
            EXPECT_CLEAN(run(waits_for_a_neighbour<true>, 1, 32, 0, flag, out, waiter));
            EXPECT_CLEAN(run(waits_for_a_neighbour<false>, 1, 32, 0, flag + 1, out, waiter));
            EXPECT_EQ(out.read(), std::vector<int>(32, 1));
        }
    });
}

// Each lane waits in a loop until its turn has come, in the order of the lanes or against it.
template <bool Ascending>
__global__ void lanes_take_turns(int* turn, int* order_of, int rounds)
{
    const int lane = static_cast<int>(threadIdx.x), lanes = static_cast<int>(blockDim.x);
    for (int r = 0; r < rounds; ++r) {
        const int mine = r * lanes + (Ascending ? lane : lanes - 1 - lane);
        wait_until(turn, mine);
        order_of[mine] = lane;
        set_flag(turn, mine + 1);
    }
}

TEST(schedules, lanes_of_a_warp_take_turns_in_a_loop)
{
    constexpr int lanes = 32, rounds = 2;
    under_every_schedule([&] {
        auto up = zeros<int>(1), down = zeros<int>(1);
        device_array<int> order_up(lanes * rounds), order_down(lanes * rounds);
        EXPECT_CLEAN(run(lanes_take_turns<true>, 1, lanes, 0, up, order_up, rounds));
        EXPECT_CLEAN(run(lanes_take_turns<false>, 1, lanes, 0, down, order_down, rounds));
        for (std::size_t i = 0; i < lanes * rounds; ++i) {
            EXPECT_EQ(order_up.read()[i], static_cast<int>(i % lanes));
            EXPECT_EQ(order_down.read()[i], lanes - 1 - static_cast<int>(i % lanes));
        }
    });
}

// The lanes of a warp exclude one another: on GPUs before Volta the one that had the lock never gave it back.
__global__ void counts_under_a_lock(int* lock, int* count)
{
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    ++*count;
    __threadfence();
    atomicExch(lock, 0);
}

TEST(schedules, lanes_of_a_warp_may_take_a_lock)
{
    under_every_schedule([] {
        auto lock = zeros<int>(1), count = zeros<int>(1);
        EXPECT_CLEAN(run(counts_under_a_lock, 2, 16, 0, lock, count));
        EXPECT_EQ(count.read()[0], 32);
    });
}

// Three parts of a warp, of which each waits for the next one, and counts meanwhile: it does not look as if it only spun.
__global__ void waits_in_a_chain(int* flags, int* rounds)
{
    const unsigned t = threadIdx.x;
    if (t < 2)
        while (flag_ref(flags[t]).load(cuda::memory_order_acquire) == 0)
            ++rounds[t];
    if (t > 0)
        set_flag(&flags[t - 1], 1);
}

TEST(schedules, even_a_lane_that_does_not_seem_to_spin_lets_the_others_run)
{
    for (auto how : {sim::schedule{order::in_order, 0, 0}, sim::schedule::random(1), sim::schedule::lanes_apart(1)}) {
        sim::options opts;
        opts.schedule = how;
        sim::with_options with(opts);
        auto flags = zeros<int>(2), rounds = zeros<int>(2);
        EXPECT_CLEAN(run(waits_in_a_chain, 1, 3, 0, flags, rounds)) << how.name();
    }
}

// The lane that would set the flag waits at a barrier for the lane that waits for the flag.
template <bool OfTheWarp>
__global__ void meets_in_a_branch(int* flag, int* out)
{
    if (threadIdx.x == 0) {
        wait_until(flag, 1);
    } else {
        if constexpr (OfTheWarp)
            __syncwarp();
        else
            __syncthreads();
        set_flag(flag, 1);
    }
    *out = 1;
}

TEST(schedules, a_barrier_in_the_branch_of_the_others_is_still_a_livelock)
{
    for (auto how : {sim::schedule{order::in_order, 0, 0}, sim::schedule::random(1), sim::schedule::lanes_apart(1)}) {
        SCOPED_TRACE(how.name());
        sim::options opts;
        opts.patience = 20000;
        opts.schedule = how;
        sim::with_options with(opts);
        auto flag = zeros<int>(1), out = zeros<int>(1);
        const auto of_warp = run(meets_in_a_branch<true>, 1, 32, 0, flag, out);
        EXPECT_FOUND(of_warp, livelock);
        EXPECT_NE(texts(of_warp).find("keeps reading here"), std::string::npos) << texts(of_warp);
        EXPECT_NE(texts(of_warp).find("waits at __syncwarp, with 30 others"), std::string::npos) << texts(of_warp);
        const auto of_block = run(meets_in_a_branch<false>, 1, 32, 0, flag, out);
        EXPECT_FOUND(of_block, livelock);
        EXPECT_NE(texts(of_block).find("waits at the barrier, with 30 others"), std::string::npos) << texts(of_block);
        cudaGetLastError();
    }
}
