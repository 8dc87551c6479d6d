// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What the textbooks say about these kernels, counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "measure.h"

namespace sim = upsweep::simulator;

namespace {

const lab::rung& rung_named(const std::string& name)
{
    for (const auto& l : lab::ladders())
        for (const auto& r : l.rungs)
            if (r.name == name)
                return r;
    throw std::logic_error("no kernel " + name);
}

lab::measurement measured(const std::string& name, unsigned n, unsigned block, const std::string& geometry = "sm_90")
{
    lab::settings how;
    how.what = {n, block};
    how.geometry = geometry;
    auto m = lab::measure(rung_named(name), how);
    EXPECT_TRUE(m.right) << name << " " << m.error;
    return m;
}

// A row of a ladder that has several inputs, with this one.
lab::measurement measured_with(const std::string& row, const std::string& input, unsigned n)
{
    for (const auto& l : lab::ladders())
        for (const auto& r : l.rungs)
            if (r.row == row) {
                lab::settings how;
                how.what = {n, 256, 1, l.input_named(input)};
                auto m = lab::measure(r, how);
                EXPECT_TRUE(m.as_expected()) << lab::table_of({m}) << lab::findings_of({m});
                return m;
            }
    throw std::logic_error("no row " + row);
}

// A machine whose blocks are as large as the array, so that one block shows the whole algorithm.
sim::launch_report in_one_block(const std::string& name, unsigned n, unsigned block)
{
    sim::options opts;
    opts.machine.threads_per_block = 4096;
    sim::with_options with(opts);
    sim::recording recorded;
    EXPECT_TRUE(rung_named(name).run({n, block})) << name << " " << n;
    EXPECT_EQ(recorded.launches().size(), 1u) << name;
    return recorded.launches().at(0);
}

} // namespace

TEST(claims, shared_memory_saves_two_thirds_of_the_traffic)
{
    const auto global = measured("reduce_global_tree", 1024, 1024).counts,
               shared = measured("reduce_shared_tree", 1024, 1024).counts;
    EXPECT_EQ(global.global_load_accesses, 2046u);
    EXPECT_EQ(global.global_store_accesses, 1023u);
    EXPECT_EQ(shared.global_load_accesses, 1024u);
    EXPECT_EQ(shared.global_store_accesses, 1u);
}

TEST(claims, steps_and_work_at_every_power_of_two)
{
    for (unsigned n = 2; n <= 4096; n *= 2) {
        const double logarithm = std::log2(n);
        const auto serial = in_one_block("reduce_serial", n, 1), tree = in_one_block("reduce_shared_tree", n, n),
                   global = in_one_block("reduce_global_tree", n, n), scan = in_one_block("scan_serial", n, 1),
                   hillis_steele = in_one_block("scan_hillis_steele", n, n),
                   blelloch = in_one_block("scan_blelloch", n, n / 2);
        EXPECT_EQ(serial.steps, n - 1);
        EXPECT_EQ(serial.work, n - 1);
        EXPECT_EQ(tree.steps, logarithm);
        EXPECT_EQ(tree.work, n - 1);
        EXPECT_EQ(global.steps, logarithm);
        EXPECT_EQ(global.work, n - 1);
        EXPECT_EQ(scan.steps, n - 1);
        EXPECT_EQ(scan.work, n - 1);
        EXPECT_EQ(hillis_steele.steps, logarithm);
        EXPECT_EQ(hillis_steele.work, n * logarithm - n + 1);
        EXPECT_EQ(blelloch.steps, 2 * logarithm);
        EXPECT_EQ(blelloch.work, 2 * (n - 1));
    }
}

TEST(claims, counted_costs_are_the_formulas_of_the_table)
{
    for (const char* name :
         {"scan_serial", "scan_serial_exclusive", "scan_by_reductions", "scan_hillis_steele", "scan_blelloch"}) {
        const auto m = measured(name, 512, 512);
        EXPECT_EQ(double(m.work), m.of->expected.work(512)) << name;
        EXPECT_EQ(double(m.steps), m.of->expected.steps(512)) << name;
    }
    const auto table = lab::brent_table(lab::scan_ladder());
    EXPECT_NE(table.find("-> scan_hillis_steele\n"), table.npos) << table;
    EXPECT_NE(table.find("-> scan_blelloch\n"), table.npos) << table;
    EXPECT_NE(table.find("-> scan_serial\n"), table.npos) << table;
}

TEST(claims, n_reductions_make_quadratic_work)
{
    EXPECT_EQ(measured("scan_by_reductions", 256, 64).work, 256u * 255 / 2);
}

TEST(claims, the_strided_index_collides_in_the_banks_step_by_step)
{
    for (auto [geometry, banks] : {std::pair{"g80", 16u}, {"sm_90", 32u}}) {
        const unsigned block = 512;
        const auto m = measured("reduce_interleaved_strided", block, block, geometry);
        const auto& intervals = m.reports.at(0).intervals;
        unsigned step = 1;
        for (unsigned s = 1; s < block; s *= 2, ++step) {
            // The working lanes of one access step through the banks 2s words at a time.
            const unsigned lanes = std::min(banks, block / (2 * s)), reached = banks / std::gcd(2 * s, banks);
            EXPECT_EQ(intervals.at(step).worst_bank, (lanes + reached - 1) / reached) << geometry << ", s = " << s;
        }
        EXPECT_EQ(intervals.at(1).worst_bank, 2u);
        EXPECT_EQ(intervals.at(2).worst_bank, 4u);
    }
    EXPECT_EQ(measured("reduce_interleaved_modulo", 512, 512).counts.bank_conflicts, 0u);
    EXPECT_EQ(measured("reduce_sequential", 512, 512).counts.bank_conflicts, 0u);
}

TEST(claims, the_modulo_version_keeps_lanes_idle)
{
    const auto m = measured("reduce_interleaved_modulo", 512, 512);
    unsigned step = 1;
    for (unsigned s = 1; s <= 16; s *= 2, ++step) {
        const auto& c = m.reports.at(0).intervals.at(step);
        EXPECT_EQ(c.shared_store_accesses * 2 * s, c.shared_stores * 32) << "1 lane in " << 2 * s;
    }
}

TEST(claims, sequential_addressing_diverges_only_in_the_last_warp)
{
    const auto m = measured("reduce_sequential", 512, 512);
    unsigned step = 1;
    for (unsigned s = 256; s > 0; s /= 2, ++step) {
        const auto divergent = m.reports.at(0).intervals.at(step).divergent;
        if (s >= 32)
            EXPECT_EQ(divergent, 0u) << s;
        else
            EXPECT_EQ(divergent, 3u) << s; // two reads and a write of one warp
    }
}

TEST(claims, first_add_during_load_halves_the_blocks)
{
    EXPECT_EQ(measured("reduce_sequential", 1 << 14, 256).blocks, 64u);
    EXPECT_EQ(measured("reduce_first_add", 1 << 14, 256).blocks, 32u);
}

TEST(claims, unrolling_the_last_warp_saves_six_barriers_a_block)
{
    const auto before = measured("reduce_first_add", 512, 256), after = measured("reduce_unrolled_last_warp", 512, 256);
    EXPECT_EQ(before.counts.barriers, 9u);
    EXPECT_EQ(after.counts.barriers, 3u);
    EXPECT_EQ(measured("reduce_shuffle", 512, 256).counts.barriers, 1u);
}

TEST(claims, a_million_elements_in_two_levels_of_a_thousand)
{
    const auto m = measured("reduce_shared_tree", 1 << 20, 1024);
    EXPECT_EQ(m.launches, 2u);
    EXPECT_EQ(m.blocks, 1024u);
    EXPECT_EQ(m.steps, 20u);
    EXPECT_EQ(m.work, (1u << 20) - 1);
}

TEST(claims, privatization_takes_the_atomics_out_of_global_memory)
{
    const auto global = measured("histogram_global_atomics", 1 << 14, 256).counts,
               own = measured("histogram_privatized", 1 << 14, 256).counts;
    EXPECT_EQ(global.global_atomic_accesses, 1u << 14);
    EXPECT_LT(own.global_atomic_accesses * 10, global.global_atomic_accesses);
    EXPECT_EQ(own.shared_atomic_accesses, 1u << 14);
}

TEST(claims, a_stretch_for_each_thread_is_not_coalesced)
{
    const auto interleaved = measured("histogram_privatized", 1 << 14, 256).counts,
               blocked = measured("histogram_blocked", 1 << 14, 256).counts;
    EXPECT_EQ(blocked.load_transactions, 8 * interleaved.load_transactions);
}

TEST(claims, look_back_reads_the_input_once)
{
    const unsigned n = 1 << 13;
    EXPECT_LT(measured("scan_look_back", n, 256).counts.global_load_accesses, n + n / 64);
    EXPECT_GT(measured("scan_tiles", n, 256).counts.global_load_accesses, 2 * n - 512);
}

TEST(claims, the_racing_histogram_loses_counts_and_atomics_lose_none)
{
    lab::settings how;
    how.what = {512, 64};
    how.schedules = 200;
    const auto racing = lab::measure(rung_named("faulty_racing_histogram"), how);
    EXPECT_GT(racing.wrong_schedules, 0u);
    EXPECT_EQ(lab::measure(rung_named("histogram_global_atomics"), how).wrong_schedules, 0u);
}

TEST(claims, the_missing_step_barrier_across_blocks_gives_wrong_sums)
{
    lab::settings how;
    EXPECT_FALSE(lab::measure(rung_named("faulty_barrier_across_blocks"), how).right);
}

TEST(claims, one_thread_a_segment_takes_the_steps_of_the_longest_one)
{
    const unsigned n = 1 << 13;
    const auto giant = measured_with("G1", "giant", n), tiny = measured_with("G1", "tiny", n);
    EXPECT_GT(giant.steps, n / 8 * 7 - 8);
    EXPECT_EQ(tiny.steps, 2u);
    EXPECT_LT(measured_with("G2", "giant", n).steps * 5, giant.steps);
    EXPECT_LT(measured_with("G3", "giant", n).steps * 20, giant.steps);
}

TEST(claims, a_warp_or_a_block_a_segment_is_as_busy_with_three_elements_as_with_32)
{
    const unsigned n = 1 << 12;
    const auto threads = measured_with("G1", "tiny", n);
    const auto segments = n - threads.work; // that are not empty: each has one application fewer than elements
    const auto warps = measured_with("G2", "tiny", n), blocks = measured_with("G3", "tiny", n);
    EXPECT_EQ(warps.counts.exchanges, 5 * segments);
    EXPECT_EQ(blocks.counts.barriers, 2 * segments);
    EXPECT_GT(warps.work, 30 * threads.work);
    EXPECT_GT(blocks.counts.transactions(), 10 * threads.counts.transactions());
}

TEST(claims, looking_a_segment_up_takes_log_s_reads_and_a_share_of_the_merge_path_none)
{
    const unsigned n = 1 << 12;
    for (const char* input : {"power-law", "giant", "tiny"}) {
        const auto segments = measured_with("G1", input, n).counts.global_store_accesses;
        EXPECT_GE(measured_with("G4", input, n).counts.global_load_accesses, n * (std::bit_width(segments) - 1))
            << input;
        EXPECT_LT(measured_with("G5", input, n).counts.global_load_accesses, n + segments + n / 32) << input;
    }
}

TEST(claims, equal_shares_take_the_same_steps_whatever_the_segments)
{
    std::vector<std::uint64_t> steps;
    for (const char* input : {"power-law", "giant", "tiny"})
        for (unsigned n : {1u << 12, 1u << 14})
            steps.push_back(measured_with("G5", input, n).steps);
    const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
    EXPECT_GE(*least, 7u + 2 * 5) << "a share, and the scans of lanes and of warps";
    EXPECT_LE(*most, 2 * *least);
}

TEST(claims, keys_and_values_are_read_once_where_tiles_look_back)
{
    const unsigned n = 1 << 12, tiles = n / 256;
    for (const auto& [input, runs] : {std::pair{"runs-of-64", n / 64}, {"runs-of-1", n}}) {
        const auto passes = measured_with("K2", input, n), one = measured_with("K3", input, n);
        EXPECT_EQ(one.launches, 1u);
        EXPECT_LE(one.counts.global_load_accesses, 2 * n + 6 * tiles) << input;
        EXPECT_LE(one.counts.global_store_accesses, 2 * runs + 4 * tiles + 1) << input;
        EXPECT_GT(passes.counts.global_load_accesses, 8 * n) << input;
        EXPECT_GT(passes.counts.global_store_accesses, 2 * n + n / 2 + 2 * runs) << input;
        EXPECT_GT(passes.counts.transactions(), 3 * one.counts.transactions()) << input;
    }
}

TEST(claims, an_image_is_read_and_written_twice_then_read_twice_then_once)
{
    const unsigned side = 96, pixels = side * side;
    const auto lines = measured_with("I1", "square", pixels).counts,
               tiles = measured_with("I2", "square", pixels).counts,
               once = measured_with("I3", "square", pixels).counts;
    EXPECT_EQ(lines.global_load_accesses, 2 * pixels);
    EXPECT_EQ(lines.global_store_accesses, 2 * pixels - side); // the first row of the columns' scan stands already
    EXPECT_GE(tiles.global_load_accesses, 2 * pixels);
    EXPECT_LT(tiles.global_load_accesses, 2 * pixels + 5 * pixels / 32);
    EXPECT_LT(tiles.global_store_accesses, pixels + 5 * pixels / 32);
    EXPECT_LT(once.global_load_accesses, pixels + 2 * pixels / 32);
    EXPECT_LT(once.global_store_accesses, pixels + 4 * pixels / 32);
}

TEST(claims, tiles_take_as_many_steps_for_long_columns_as_for_long_rows)
{
    const unsigned n = 1 << 14;
    EXPECT_GE(measured_with("I1", "tall", n).steps, n / 16 - 1);
    const auto wide = measured_with("I3", "wide", n).steps, tall = measured_with("I3", "tall", n).steps;
    EXPECT_LT(wide, 64u);
    EXPECT_LT(tall, 64u);
}
