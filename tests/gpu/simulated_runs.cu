// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Runs of keys in the simulator: right under every schedule, without a finding. simulated.cu sets the machine up.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/by_key.hpp>

#include "../expected.hpp"
#include "../samples.hpp"
#include "../targets.hpp"
#include "../view_shapes.hpp"
#include "schedules.hpp"

namespace up = upsweep;
namespace sim = upsweep::simulator;
using namespace upsweep::test;

namespace {

// Runs of these lengths, what is written of them, and arrays that begin a few elements behind a multiple of 16 bytes.
template <class Key, class T>
struct runs_of {
    std::size_t shift;
    std::vector<int> lengths;
    host_array<Key> keys;
    host_array<T> values;
    host_array<Key> first_keys;
    host_array<T> folds;
    host_array<T> scans;

    template <class Op>
    runs_of(const std::vector<int>& of, std::size_t begin, const Op& op)
        : shift(begin), lengths(of), keys(begin + sum_of(of)), values(random_values(begin + sum_of(of))),
          first_keys(of.size()), folds(of.size()), scans(sum_of(of))
    {
        std::fill(keys.begin(), keys.end(), Key{});
        std::size_t at = 0;
        for (std::size_t k = 0; k < of.size(); ++k) {
            const auto length = static_cast<std::size_t>(of[k]);
            first_keys[k] = static_cast<Key>(k % 3);
            std::fill_n(keys.begin() + begin + at, length, first_keys[k]);
            const auto line = values.span().subspan(begin + at, length);
            folds[k] = literal_fold(line, op);
            const auto of_line = literal_folds(line, op);
            std::copy(of_line.begin(), of_line.end(), scans.begin() + at);
            at += length;
        }
    }

    static std::size_t sum_of(const std::vector<int>& lengths)
    {
        std::size_t sum = 0;
        for (const int length : lengths)
            sum += static_cast<std::size_t>(length);
        return sum;
    }
    static host_array<T> random_values(std::size_t count)
    {
        auto random = generator();
        return random_array<T>(random, count);
    }

    // Of the runs for which there is room, which is all of them if `room` is 0.
    template <class Op>
    void expect_folds(const Op& op, std::size_t room = 0) const
    {
        const std::size_t written = room != 0 ? room : lengths.size();
        const target_array<up::cuda, Key> keys_in(keys.span());
        const target_array<up::cuda, T> values_in(values.span());
        target_array<up::cuda, Key> keys_out(written + 1);
        target_array<up::cuda, T> out(written + 1);
        target_array<up::cuda, int> runs(1);
        const host_array<T> before = out.to_host();
        up::reduce_by_key(up::cuda{}, keys_in.const_span().subspan(shift), values_in.const_span().subspan(shift),
                          keys_out.span().first(written), out.span().first(written), runs.span().data(), op);
        ASSERT_EQ(runs.to_host()[0], static_cast<int>(lengths.size()));
        const host_array<T> got = out.to_host();
        EXPECT_TRUE(bits_equal(host_array<T>(got.first(written)), host_array<T>(folds.first(written))));
        EXPECT_TRUE(same_bits(got[written], before[written]));
        EXPECT_TRUE(
            bits_equal(host_array<Key>(keys_out.to_host().first(written)), host_array<Key>(first_keys.first(written))));
    }
    template <class Op>
    void expect_scans(const Op& op) const
    {
        const target_array<up::cuda, Key> keys_in(keys.span());
        target_array<up::cuda, T> array(values.span());
        up::inclusive_scan_by_key(up::cuda{}, keys_in.const_span().subspan(shift), array.const_span().subspan(shift),
                                  array.span().subspan(shift), op);
        EXPECT_TRUE(bits_equal(host_array<T>(array.to_host().span().subspan(shift)), scans));
    }
    void expect_lengths(const up::cuda& gpu = up::cuda{}) const
    {
        const target_array<up::cuda, Key> keys_in(keys.span());
        target_array<up::cuda, Key> keys_out(lengths.size());
        target_array<up::cuda, int> found(lengths.size());
        target_array<up::cuda, int> runs(1);
        up::run_length_encode(gpu, keys_in.const_span().subspan(shift), keys_out.span(), found.span(),
                              runs.span().data());
        ASSERT_EQ(runs.to_host()[0], static_cast<int>(lengths.size()));
        EXPECT_TRUE(bits_equal(found.to_host(), host_array<int>{std::span<const int>(lengths)}));
        EXPECT_TRUE(bits_equal(keys_out.to_host(), first_keys));
    }
};

void append(std::vector<int>& lengths, int count, int length)
{
    lengths.insert(lengths.end(), static_cast<std::size_t>(count), length);
}

// Tiles of short runs, whose ends are at borders of tiles and elsewhere; runs of many tiles, and of many pieces, between them; tiles with
// short runs and a long one; runs of middling length; and a run that begins at the very end.
std::vector<int> all_kinds()
{
    std::vector<int> lengths;
    append(lengths, 2 * 2048 + 7, 1);
    append(lengths, 1, 3 * 2048 + 5); // ends in a tile of short runs
    append(lengths, 700, 3);
    append(lengths, 1, 31);
    append(lengths, 256, 8);
    append(lengths, 400, 2);
    append(lengths, 1, 33);
    append(lengths, 300, 5);
    append(lengths, 40, 100);
    append(lengths, 1, 40 * 256 + 1);
    append(lengths, 2048, 1);
    append(lengths, 1, 2048);
    append(lengths, 100, 20);
    append(lengths, 1, 1);
    return lengths;
}

// Bytes are encoded in one pass, and so are few words: many go by tiles of heads.
TEST(simulated_runs, lengths_of_bytes_at_every_alignment)
{
    std::vector<int> lengths = all_kinds();
    append(lengths, 1, 3 * 16384); // whole tiles without a head
    append(lengths, 3, 7);
    for (const std::size_t shift : {0, 1, 15}) {
        const runs_of<std::uint8_t, std::uint8_t> runs(lengths, shift, up::maximum{});
        under_schedules(schedules(2), [&] { runs.expect_lengths(); });
    }
}
// Kernels of all types leave their states in the same memory, and take none of the others' for one of their own.
TEST(simulated_runs, lengths_after_those_of_other_types)
{
    std::vector<int> few;
    append(few, 3, 5);
    std::vector<int> many;
    append(many, 4, 16384);
    const runs_of<std::uint8_t, std::uint8_t> few_bytes(few, 0, up::maximum{});
    const runs_of<std::uint8_t, std::uint8_t> many_bytes(many, 0, up::maximum{});
    const runs_of<std::uint16_t, std::uint16_t> many_words(many, 0, up::maximum{});
    under_schedules({sim::schedule::starve_others(1), sim::schedule::starve_others(3)}, [&] {
        for (int between = 0; between < 10; ++between) {
            const up::cuda gpu;             // whose first kernels these are
            many_words.expect_lengths(gpu); // so that there is memory for all
            many_bytes.expect_lengths(gpu);
            for (int k = 0; k < between; ++k)
                few_bytes.expect_lengths(gpu);
            many_words.expect_lengths(gpu);
        }
    });
}
TEST(simulated_runs, lengths_of_many_words)
{
    std::vector<int> lengths = all_kinds();
    append(lengths, 1, up::gpu::few_keys);
    append(lengths, 3, 7);
    const runs_of<int, float> runs(lengths, 1, up::plus{});
    under_schedules(schedules(2), [&] { runs.expect_lengths(); });
}

TEST(simulated_runs, all_kinds_under_10_schedules)
{
    const runs_of<int, float> runs(all_kinds(), 0, up::plus{});
    under_schedules(schedules(10), [&] { runs.expect_lengths(); });
    under_schedules(schedules(10), [&] { runs.expect_folds(up::plus{}); });
    under_schedules(schedules(10), [&] { runs.expect_scans(up::plus{}); });
}
TEST(simulated_runs, each_block_stalled_and_each_block_first)
{
    const runs_of<int, float> runs(all_kinds(), 0, up::plus{});
    under_schedules(unfair_schedules(4), [&] { runs.expect_lengths(); });
    under_schedules(unfair_schedules(4), [&] { runs.expect_folds(up::plus{}); });
    under_schedules(unfair_schedules(4), [&] { runs.expect_scans(up::plus{}); });
}
TEST(simulated_runs, arrays_that_begin_anywhere)
{
    for (const std::size_t shift : {1, 2, 3}) {
        SCOPED_TRACE(shift);
        const runs_of<int, float> runs(all_kinds(), shift, up::plus{});
        under_schedules(schedules(0), [&] {
            runs.expect_lengths();
            runs.expect_folds(up::plus{});
            runs.expect_scans(up::plus{});
        });
    }
}
TEST(simulated_runs, one_run_and_runs_of_one)
{
    for (const int count : {1, 2, 31, 2047, 2048, 2049, 20000}) {
        SCOPED_TRACE(count);
        const runs_of<int, float> one({count}, 1, up::plus{});
        const runs_of<int, float> many(std::vector<int>(static_cast<std::size_t>(count), 1), 1, up::plus{});
        under_schedules(schedules(0), [&] {
            for (const auto* runs : {&one, &many}) {
                runs->expect_lengths();
                runs->expect_folds(up::plus{});
                runs->expect_scans(up::plus{});
            }
        });
    }
}
TEST(simulated_runs, less_room_than_runs)
{
    const runs_of<int, float> runs(all_kinds(), 0, up::plus{});
    for (const std::size_t room : {1, 2047, 2048, 4103, 4104, 4105, 5000, 6200})
        under_schedules(schedules(0), [&] { runs.expect_folds(up::plus{}, room); });
}

// Keys of a byte, whose values are not folded where heads are found, and an operator whose operands have an order.
TEST(simulated_runs, keys_of_a_byte)
{
    const runs_of<std::uint8_t, wrapping_map> runs(all_kinds(), 5, wrapping_composition);
    under_schedules(schedules(2), [&] {
        runs.expect_lengths();
        runs.expect_folds(wrapping_composition);
    });
}

} // namespace
