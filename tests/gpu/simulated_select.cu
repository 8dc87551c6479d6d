// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Select and partition in the simulator: right under every schedule, without a finding, and read once. simulated.cu sets the machine up.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/select.hpp>

#include "../expected.hpp"
#include "../samples.hpp"
#include "../targets.hpp"
#include "schedules.hpp"

namespace up = upsweep;
namespace sim = upsweep::simulator;
using namespace upsweep::test;

namespace {

struct is_negative {
    UPSWEEP_HOST_DEVICE bool operator()(double x) const { return x < 0; }
};

// Elements of several tiles a block, and what becomes of them.
struct cut_in_two {
    host_array<double> values;
    host_array<double> both;
    std::size_t selected = 0;

    explicit cut_in_two(std::size_t count) : values(random_values(count)), both(count)
    {
        for (const bool negative : {true, false})
            for (const double x : values.span())
                if (is_negative{}(x) == negative)
                    both[selected_or_not(negative)] = x;
    }

    void expect_both() const
    {
        const target_array<up::cuda, double> in(values.span());
        target_array<up::cuda, double> first(selected);
        target_array<up::cuda, double> second(values.size() - selected);
        target_array<up::cuda, std::uint64_t> count(1);
        up::partition(up::cuda{}, in.const_span(), is_negative{}, first.span(), second.span(), count.span().data());
        EXPECT_EQ(count.to_host()[0], selected);
        EXPECT_TRUE(bits_equal(first.to_host(), host_array<double>(both.first(selected))));
        EXPECT_TRUE(bits_equal(second.to_host(), host_array<double>(both.span().subspan(selected))));
    }

private:
    std::size_t placed_ = 0;
    std::size_t selected_or_not(bool negative)
    {
        selected += negative ? 1 : 0;
        return placed_++;
    }
    static host_array<double> random_values(std::size_t count)
    {
        auto random = generator();
        return random_array<double>(random, count);
    }
};

// The simulated machine holds few blocks at once, so that each has several tiles.
constexpr std::size_t some_tiles = 20 * 4096 + 77;

TEST(simulated_select, partitions_under_20_schedules)
{
    const cut_in_two cut(some_tiles);
    under_schedules(schedules(20), [&] { cut.expect_both(); });
}
TEST(simulated_select, each_block_stalled_and_each_block_first)
{
    const cut_in_two cut(some_tiles);
    const unsigned blocks = blocks_of([&] { cut.expect_both(); });
    EXPECT_LT(blocks, 21U) << "no block has several tiles";
    under_schedules(unfair_schedules(std::min(blocks, 4U)), [&] { cut.expect_both(); });
}

// The elements are read once, and of the states of tiles each block reads those between two of its own.
TEST(simulated_select, elements_are_read_once)
{
    constexpr std::size_t count = some_tiles;
    auto random = generator();
    const target_array<up::cuda, double> in(random_array<double>(random, count).span());
    target_array<up::cuda, double> out(count);
    target_array<up::cuda, int> selected(1);
    const up::cuda gpu;
    const auto call = [&] { up::select(gpu, in.const_span(), is_negative{}, out.span(), selected.span().data()); };
    call();
    const auto cost = counted(call);
    EXPECT_GE(cost.load_bytes, count * sizeof(double));
    EXPECT_LE(cost.load_bytes, count * sizeof(double) + count * sizeof(double) / 20);
}

} // namespace
