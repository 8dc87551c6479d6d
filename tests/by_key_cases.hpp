// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/by_key.hpp>

#include "expected.hpp"
#include "refusal.hpp"
#include "samples.hpp"
#include "targets.hpp"
#include "view_shapes.hpp"

// Runs of equal keys, of every mix of lengths: each run's fold has the bits of the canonical order on its values alone.
namespace upsweep::test {

template <class Target>
class runs_of_keys : public ::testing::Test {
};
TYPED_TEST_SUITE_P(runs_of_keys);

template <class Key>
struct keyed {
    std::string name;
    host_array<Key> keys;
    std::vector<std::size_t> begins; // of the runs, and the number of keys
};

// Runs of these lengths, whose keys come again, but not in the next run.
template <class Key>
keyed<Key> keys_of_runs(const std::string& name, const std::vector<std::size_t>& lengths)
{
    std::size_t count = 0;
    std::vector<std::size_t> begins;
    for (const std::size_t length : lengths) {
        begins.push_back(count);
        count += length;
    }
    begins.push_back(count);
    host_array<Key> keys(count);
    for (std::size_t run = 0; run < lengths.size(); ++run)
        std::fill_n(keys.begin() + begins[run], lengths[run], static_cast<Key>(static_cast<int>(run % 3) - 1));
    return {name, std::move(keys), std::move(begins)};
}

template <class Target, class Key, class F>
void on_every_mix_of_runs(F f)
{
    constexpr std::size_t many = many_elements<Target>;
    auto random = generator();
    const auto each = [&](const std::string& name, std::size_t count, auto length) {
        SCOPED_TRACE(name);
        std::vector<std::size_t> lengths(count);
        for (std::size_t k = 0; k < count; ++k)
            lengths[k] = length(k);
        f(keys_of_runs<Key>(name, lengths), random);
    };
    each("no keys", 0, [](std::size_t) { return 0; });
    each("one key", 1, [](std::size_t) { return 1; });
    each("one run", 1, [](std::size_t) { return many; });
    each("runs of one", many / 4, [](std::size_t) { return 1; });
    each("runs of one and two", many / 8, [](std::size_t k) { return 1 + k % 2; });
    each("random runs", many / 32, [&](std::size_t) { return 1 + random() % 20; });
    each("a power law", many / 50, [&](std::size_t) { return 1 + many / 20 / (1 + random() % (many / 20)); });
    each("runs as long as pieces", 9,
         [](std::size_t k) { return 16384 / target_traits<Target>::sampling + k % 3 - 1; });
    each("a giant among short ones", 200, [](std::size_t k) { return k == 77 ? many : 1 + k % 5; });
}

// The first elements of the outputs, and the sentinels behind them, which are as they were.
template <class Target, class T>
host_array<T> first_of_output(const target_array<Target, T>& out, const host_array<T>& before, std::size_t count)
{
    const host_array<T> now = out.to_host();
    for (std::size_t k = count; k < now.size(); ++k)
        EXPECT_TRUE(same_bits(now[k], before[k])) << "written behind the results";
    return host_array<T>(now.first(count));
}

template <class Target, class Key, class Length>
void expect_run_lengths()
{
    on_every_mix_of_runs<Target, Key>([](const keyed<Key>& of, auto&) {
        const std::size_t runs = of.begins.size() - 1;
        host_array<Key> values(runs);
        host_array<Length> lengths(runs);
        for (std::size_t k = 0; k < runs; ++k) {
            values[k] = of.keys[of.begins[k]];
            lengths[k] = static_cast<Length>(of.begins[k + 1] - of.begins[k]);
        }
        const target_array<Target, Key> in(of.keys.span());
        on_every_variant<Target>([&](const Target& target) {
            target_array<Target, Key> values_out(runs + 3);
            target_array<Target, Length> lengths_out(runs + 2);
            target_array<Target, std::int64_t> found(1);
            const auto values_before = values_out.to_host();
            const auto lengths_before = lengths_out.to_host();
            run_length_encode(target, in.const_span(), values_out.span(), lengths_out.span(), found.span().data());
            ASSERT_EQ(found.to_host()[0], static_cast<std::int64_t>(runs));
            ASSERT_TRUE(bits_equal(first_of_output<Target>(values_out, values_before, runs), values));
            ASSERT_TRUE(bits_equal(first_of_output<Target>(lengths_out, lengths_before, runs), lengths));

            const target_array<Target, Key> values_in(values.span());
            const target_array<Target, Length> lengths_in(lengths.span());
            target_array<Target, Key> decoded(of.keys.size() + 1);
            const auto decoded_before = decoded.to_host();
            run_length_decode(target, values_in.const_span(), lengths_in.const_span(), decoded.span());
            ASSERT_TRUE(bits_equal(first_of_output<Target>(decoded, decoded_before, of.keys.size()), of.keys));
        });
    });
}
TYPED_TEST_P(runs_of_keys, lengths_there_and_back) { expect_run_lengths<TypeParam, std::int32_t, std::uint32_t>(); }
TYPED_TEST_P(runs_of_keys, lengths_of_runs_of_floats) { expect_run_lengths<TypeParam, float, std::int64_t>(); }
TYPED_TEST_P(runs_of_keys, lengths_of_runs_of_bytes) { expect_run_lengths<TypeParam, std::int8_t, std::uint64_t>(); }

template <class Target, class Key, class T, class Result, class Op>
void expect_folds_by_key(Op op)
{
    using accumulator = accumulator_t<Op, T>;
    on_every_mix_of_runs<Target, Key>([&](const keyed<Key>& of, auto& random) {
        const std::size_t runs = of.begins.size() - 1;
        const host_array<T> values = random_array<T>(random, of.keys.size());
        host_array<Key> keys_of_runs(runs);
        host_array<Result> expected(runs);
        for (std::size_t k = 0; k < runs; ++k) {
            const auto line = values.span().subspan(of.begins[k], of.begins[k + 1] - of.begins[k]);
            keys_of_runs[k] = of.keys[of.begins[k]];
            expected[k] = as_expected<Result>(literal_fold(converted<accumulator>(line).span(), op));
        }
        const target_array<Target, Key> keys_in(of.keys.span());
        const target_array<Target, T> values_in(values.span());
        on_every_variant<Target>([&](const Target& target) {
            target_array<Target, Key> keys_out(runs);
            target_array<Target, Result> totals(runs);
            target_array<Target, std::uint32_t> found(1);
            reduce_by_key(target, keys_in.const_span(), values_in.const_span(), keys_out.span(), totals.span(),
                          found.span().data(), op);
            ASSERT_EQ(found.to_host()[0], runs);
            ASSERT_TRUE(bits_equal(keys_out.to_host(), keys_of_runs));
            ASSERT_TRUE(bits_equal(totals.to_host(), expected));
        });
    });
}
TYPED_TEST_P(runs_of_keys, sums_of_floats) { expect_folds_by_key<TypeParam, std::int32_t, float, float>(plus{}); }
TYPED_TEST_P(runs_of_keys, compositions)
{
    expect_folds_by_key<TypeParam, double, wrapping_map, wrapping_map>(wrapping_composition);
}

TYPED_TEST_P(runs_of_keys, scans)
{
    on_every_mix_of_runs<TypeParam, std::int64_t>([](const keyed<std::int64_t>& of, auto& random) {
        const host_array<float> values = random_array<float>(random, of.keys.size());
        host_array<float> inclusive(values.size());
        host_array<float> exclusive(values.size());
        for (std::size_t k = 0; k + 1 < of.begins.size(); ++k) {
            const auto line = values.span().subspan(of.begins[k], of.begins[k + 1] - of.begins[k]);
            const auto folds = literal_folds(line, plus{});
            for (std::size_t i = 0; i < line.size(); ++i) {
                inclusive[of.begins[k] + i] = as_expected<float>(folds[i]);
                exclusive[of.begins[k] + i] = as_expected<float>(i == 0 ? 2.5F : 2.5F + folds[i - 1]);
            }
        }
        const target_array<TypeParam, std::int64_t> keys(of.keys.span());
        on_every_variant<TypeParam>([&](const TypeParam& target) {
            target_array<TypeParam, float> in_place(values.span());
            inclusive_scan_by_key(target, keys.const_span(), in_place.const_span(), in_place.span(), plus{});
            ASSERT_TRUE(bits_equal(in_place.to_host(), inclusive));
            const target_array<TypeParam, float> in(values.span());
            target_array<TypeParam, float> out(values.size());
            exclusive_scan_by_key(target, keys.const_span(), in.const_span(), out.span(), plus{}, 2.5F);
            ASSERT_TRUE(bits_equal(out.to_host(), exclusive));
        });
    });
}

// The first key of a run is kept: -0.0 and +0.0 are equal, and no NaN is equal to anything.
TYPED_TEST_P(runs_of_keys, zeros_of_either_sign_and_nan)
{
    const float nan = nan_with_payload<float>();
    const host_array<float> keys{-0.0F, 0.0F, 1, nan, nan, 0.0F, -0.0F};
    const host_array<float> first{-0.0F, 1, nan, nan, 0.0F};
    const target_array<TypeParam, float> in(keys.span());
    target_array<TypeParam, float> values(7);
    target_array<TypeParam, int> lengths(7);
    target_array<TypeParam, int> runs(1);
    run_length_encode(TypeParam{}, in.const_span(), values.span(), lengths.span(), runs.span().data());
    ASSERT_EQ(runs.to_host()[0], 5);
    EXPECT_TRUE(bits_equal(host_array<float>(values.to_host().first(5)), first));
    EXPECT_TRUE(bits_equal(host_array<int>(lengths.to_host().first(5)), host_array<int>{2, 1, 1, 1, 2}));
}

TYPED_TEST_P(runs_of_keys, too_little_room_is_refused)
{
    const target_array<TypeParam, int> keys(host_array<int>{1, 1, 2, 3, 3}.span());
    const target_array<TypeParam, float> values(host_array<float>{1, 2, 3, 4, 5}.span());
    target_array<TypeParam, int> keys_out(5);
    target_array<TypeParam, float> totals(5);
    target_array<TypeParam, int> lengths(5);
    target_array<TypeParam, int> runs(1);
    // A call that does not wait for its target can only tell how many runs there are.
    constexpr bool waits = detail::returned<TypeParam>::is_in_host_memory;
    const std::string refusal = waits ? "there are 3 runs, and room for 2" : "no error";
    const host_array<int> keys_before = keys_out.to_host();
    const host_array<float> totals_before = totals.to_host();
    EXPECT_NE(refusal_of([&] {
                  run_length_encode(TypeParam{}, keys.const_span(), keys_out.span().first(2), lengths.span(),
                                    runs.span().data());
              }).find(refusal),
              std::string::npos);
    EXPECT_EQ(keys_out.to_host()[2], keys_before[2]);
    EXPECT_NE(refusal_of([&] {
                  reduce_by_key(TypeParam{}, keys.const_span(), values.const_span(), keys_out.span(),
                                totals.span().first(2), runs.span().data(), plus{});
              }).find(refusal),
              std::string::npos);
    EXPECT_EQ(totals.to_host()[2], totals_before[2]);
    if (!waits) {
        EXPECT_EQ(runs.to_host()[0], 3);
        EXPECT_EQ(totals.to_host()[1], 3.0F);
    }
    EXPECT_NE(refusal_of([&] {
                  reduce_by_key(TypeParam{}, keys.const_span(), values.const_span().first(4), keys_out.span(),
                                totals.span(), runs.span().data(), plus{});
              }).find("5 keys and 4 values"),
              std::string::npos);
    const auto decode = [&](const host_array<int>& some, std::size_t room) {
        const target_array<TypeParam, int> of_some(some.span());
        return refusal_of([&] {
            run_length_decode(TypeParam{}, keys.const_span().first(some.size()), of_some.const_span(),
                              keys_out.span().first(room));
        });
    };
    EXPECT_EQ(decode({2, 0, 3}, 5), "no error");
    if (waits) {
        EXPECT_NE(decode({2, 0, 3}, 4).find("have 5 elements, and the output 4"), std::string::npos);
        EXPECT_NE(decode({2, -1, 3}, 5).find("negative"), std::string::npos);
    }
}

REGISTER_TYPED_TEST_SUITE_P(runs_of_keys, lengths_there_and_back, lengths_of_runs_of_floats, lengths_of_runs_of_bytes,
                            sums_of_floats, compositions, scans, zeros_of_either_sign_and_nan,
                            too_little_room_is_refused);

} // namespace upsweep::test
