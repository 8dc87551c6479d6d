// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Transfers (st.async): how the blocks of a cluster send one another what they read, and each way of getting it wrong.
#include <set>

#include <upsweep/gpu/primitive/ptx.cuh>

#include "simulated.h"

namespace gpu = upsweep::gpu;

namespace {

constexpr unsigned block_threads = 64, rounds = 9;

enum class transfer_fault {
    none,
    no_cluster_barrier,
    no_wait,
    too_few_bytes,
    too_many_bytes,
    wrong_parity,
    three_places,
    exits_early,
    wrong_rank,
};

// Two blocks send one another a message a round. A thread sends the message of a round before it waits for that of the
// round before. When the message of round r + 2 has come, the other thread has therefore read that of round r, and of four
// places, the one for round r + 4 is free.
template <transfer_fault Fault>
__global__ void exchange(std::uint32_t* sums)
{
    constexpr unsigned places = Fault == transfer_fault::three_places ? 3 : 4;
    __shared__ uint4 inbox[4][block_threads];
    __shared__ std::uint64_t arrivals[block_threads / 32][4];
    const unsigned t = threadIdx.x, me = blockIdx.x % 2, other = Fault == transfer_fault::wrong_rank ? 2 : 1 - me;
    const auto own = gpu::shared_address_of(reinterpret_cast<std::uint32_t*>(arrivals[t / 32]));
    if (t % 32 < places)
        gpu::init_transfers(own, t % 32);
    const auto outbox = gpu::cluster_address(gpu::shared_address_of(reinterpret_cast<std::uint32_t*>(inbox)), other);
    const auto theirs = gpu::cluster_address(own, other);
    if constexpr (Fault != transfer_fault::no_cluster_barrier) {
        gpu::cluster_arrive();
        gpu::cluster_wait();
    }
    std::uint32_t sum = 0;
    const auto send = [&](unsigned round) {
        const std::uint32_t value = (me + 1) * 1000 + round * t;
        gpu::transfer(outbox, round % places * block_threads + t, make_uint4(value, 1, 2, 3), theirs, round % places);
    };
    const auto receive = [&](unsigned round) {
        constexpr unsigned bytes = Fault == transfer_fault::too_few_bytes    ? 31 * sizeof(uint4)
                                   : Fault == transfer_fault::too_many_bytes ? 33 * sizeof(uint4)
                                                                             : 32 * sizeof(uint4);
        if constexpr (Fault != transfer_fault::no_wait)
            gpu::wait_for_transfers(own, round % places, bytes,
                                    round / places + (Fault == transfer_fault::wrong_parity));
        const uint4 message = inbox[round % places][t];
        sum += message.x + message.y + message.z + message.w;
    };
    for (unsigned round = 0; round < rounds; ++round) {
        send(round);
        if (round != 0)
            receive(round - 1);
    }
    if (Fault != transfer_fault::exits_early || me == 0)
        receive(rounds - 1);
    sums[blockIdx.x * block_threads + t] = sum;
}

template <transfer_fault Fault>
sim::launch_report run_exchange(std::vector<std::uint32_t>* result = nullptr)
{
    constexpr unsigned blocks = 2;
    device_array<std::uint32_t> sums(blocks * block_threads);
    auto report = run_cluster(blocks, 2, block_threads, exchange<Fault>, static_cast<std::uint32_t*>(sums));
    if (result != nullptr)
        *result = sums.read();
    return report;
}

// The kinds of findings under the schedules, each of which must find something.
template <transfer_fault Fault>
std::set<sim::finding_kind> found_under_every_schedule()
{
    std::set<sim::finding_kind> all;
    under_every_schedule([&] {
        const auto report = run_exchange<Fault>();
        EXPECT_FALSE(report.findings.empty()) << (report.completed ? "completed" : "stopped");
        for (const auto& f : report.findings)
            all.insert(f.kind);
    });
    return all;
}

} // namespace

TEST(transfers, an_exchange_is_right_under_every_schedule)
{
    const auto is_right = [] {
        std::vector<std::uint32_t> sums;
        EXPECT_CLEAN(run_exchange<transfer_fault::none>(&sums));
        for (unsigned i = 0; i < sums.size(); ++i) {
            const unsigned sender = 1 - i / block_threads % 2, t = i % block_threads;
            ASSERT_EQ(sums[i], rounds * ((sender + 1) * 1000 + 6) + rounds * (rounds - 1) / 2 * t) << i;
        }
    };
    under_every_schedule(is_right);
    for (std::uint64_t seed = 100; seed < 115; ++seed)
        for (const auto& how : {sim::schedule::random(seed), sim::schedule::lanes_apart(seed),
                                sim::schedule::stall(seed % 2), sim::schedule::starve_others(seed % 2)}) {
            SCOPED_TRACE(how.name());
            sim::options opts;
            opts.schedule = how;
            sim::with_options with(opts);
            is_right();
        }
}

TEST(transfers, without_the_wait_a_message_is_read_too_early)
{
    using kind = sim::finding_kind;
    const auto found = found_under_every_schedule<transfer_fault::no_wait>();
    EXPECT_TRUE(found.contains(kind::race));
    EXPECT_TRUE(found.contains(kind::uninitialised_read)); // where it comes late
    EXPECT_TRUE(found.contains(kind::unfinished_copy));
    const auto text = texts(run_exchange<transfer_fault::no_wait>());
    EXPECT_NE(text.find("one word of shared memory, an asynchronous copy, and no wait for its end"), std::string::npos)
        << text;
}

TEST(transfers, the_bytes_of_a_phase_must_be_right)
{
    using kind = sim::finding_kind;
    under_every_schedule([] {
        const auto report = run_exchange<transfer_fault::too_many_bytes>();
        EXPECT_EQ(kinds(report.findings), std::vector{kind::deadlock}) << texts(report);
        EXPECT_NE(texts(report).find("lacks 0 of 1 arrival and 16 bytes"), std::string::npos) << texts(report);
    });
    // Too few, and the phase ends before its last message, or never, if all come before they are expected.
    const auto found = found_under_every_schedule<transfer_fault::too_few_bytes>();
    EXPECT_TRUE(found.contains(kind::deadlock));
    EXPECT_TRUE(found.contains(kind::race));
}

TEST(transfers, a_wait_for_the_wrong_parity_reads_too_early_or_never_ends)
{
    const auto found = found_under_every_schedule<transfer_fault::wrong_parity>();
    EXPECT_TRUE(found.contains(sim::finding_kind::race) || found.contains(sim::finding_kind::deadlock));
}

TEST(transfers, a_place_must_have_been_read_before_it_is_overwritten)
{
    under_every_schedule([] { EXPECT_FOUND(run_exchange<transfer_fault::three_places>(), race); });
}

TEST(transfers, the_receiver_must_not_end_before_its_messages)
{
    const auto found = found_under_every_schedule<transfer_fault::exits_early>();
    EXPECT_TRUE(found.contains(sim::finding_kind::unfinished_copy));
    EXPECT_TRUE(found.contains(sim::finding_kind::out_of_bounds)); // where it ends before they are sent
}

TEST(transfers, mbarriers_are_initialised_before_the_cluster_meets)
{
    using kind = sim::finding_kind;
    for (const auto found : found_under_every_schedule<transfer_fault::no_cluster_barrier>())
        EXPECT_TRUE(found == kind::race || found == kind::mbarrier_misuse || found == kind::missing_proxy_fence ||
                    found == kind::out_of_bounds || found == kind::unfinished_copy)
            << sim::name_of(found);
}

TEST(transfers, a_transfer_goes_to_a_block_of_the_cluster)
{
    EXPECT_FOUND(run_exchange<transfer_fault::wrong_rank>(), out_of_bounds);
}

TEST(transfers, a_transfer_counts_as_a_store_to_shared_memory)
{
    const auto report = run_exchange<transfer_fault::none>();
    constexpr std::uint64_t sent = 2 * block_threads * rounds;
    EXPECT_EQ(report.total.shared_store_accesses, sent + 2 * block_threads / 32 * 4); // and the initialised mbarriers
    EXPECT_EQ(report.total.global_store_accesses, 2 * block_threads);
}
