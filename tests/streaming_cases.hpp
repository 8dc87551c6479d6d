// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/upsweep.hpp>

#include "expected.hpp"
#include "samples.hpp"
#include "targets.hpp"

// Arrays that come in pieces, on every target: up::reducer, up::scanner and up::counter give, to the bit, what one call
// gives.
namespace upsweep::test {

namespace up = upsweep;

template <class Target>
class streaming : public ::testing::Test {
};
TYPED_TEST_SUITE_P(streaming);

template <class Target>
constexpr std::size_t streamed = sampled<Target>(300007);

// Where to cut n elements: pieces of every magnitude, empty ones too.
inline std::vector<std::size_t> random_cuts(std::mt19937_64& random, std::size_t n)
{
    std::vector<std::size_t> cuts{0, 0, 1, n};
    for (int i = 0; i < 12; ++i)
        cuts.push_back(random() % (std::size_t{1} << (random() % 19)) % n);
    std::ranges::sort(cuts);
    return cuts;
}

// Feeds pieces to a reducer; piece(begin, size) is one in whatever memory. Compares with the fold after each.
template <class T, class Op, class Target, class Piece>
void expect_folds_of_pieces(const Target& target, Op op, const host_array<accumulator_t<Op, T>>& folds,
                            std::mt19937_64& random, Piece piece)
{
    const std::vector<std::size_t> cuts = random_cuts(random, folds.size());
    up::reducer<T, Op, Target> fold(target, op);
    for (std::size_t i = 1; i < cuts.size(); ++i) {
        fold.feed(piece(cuts[i - 1], cuts[i] - cuts[i - 1]));
        ASSERT_EQ(fold.count(), cuts[i]);
        if (cuts[i] > 0) {
            const auto expected = convert<result_t<Op, T>>(folds[cuts[i] - 1]);
            ASSERT_TRUE(bits_equal(fold.result(), expected)) << cuts[i] << " elements";
        }
    }
}

TYPED_TEST_P(streaming, a_reducer_knows_the_fold_after_every_piece)
{
    auto random = generator();
    const host_array<float> values = random_array<float>(random, streamed<TypeParam>);
    const host_array<float> folds = literal_folds(values.span(), up::plus{});
    const target_array<TypeParam, float> in(values.span());
    on_every_variant<TypeParam>([&](const TypeParam& target) {
        expect_folds_of_pieces<float>(target, up::plus{}, folds, random, [&](std::size_t begin, std::size_t size) {
            return in.const_span().subspan(begin, size);
        });
    });
}

TYPED_TEST_P(streaming, a_reducer_accumulates_as_one_call_does)
{
    auto random = generator();
    const host_array<std::int8_t> values = random_array<std::int8_t>(random, streamed<TypeParam>);
    const auto wide = converted<std::int64_t>(values.span());
    const host_array<std::int64_t> folds = literal_folds(wide.span(), up::plus{});
    const target_array<TypeParam, std::int8_t> in(values.span());
    expect_folds_of_pieces<std::int8_t>(
        TypeParam{}, up::plus{}, folds, random,
        [&](std::size_t begin, std::size_t size) { return in.const_span().subspan(begin, size); });
}

template <class Target, class T, class Op>
void expect_scans_in_pieces(Op op, up::scan_kind kind, std::optional<T> init)
{
    auto random = generator();
    const host_array<T> values = random_array<T>(random, streamed<Target>);
    const target_array<Target, T> in(values.span());
    target_array<Target, T> whole(values.size());
    if (kind == up::scan_kind::inclusive)
        up::inclusive_scan(Target{}, in.const_span(), whole.span(), op);
    else if (init)
        up::exclusive_scan(Target{}, in.const_span(), whole.span(), op, *init);
    else
        up::exclusive_scan(Target{}, in.const_span(), whole.span(), op);
    host_array<T> expected = whole.to_host();
    if (kind == up::scan_kind::inclusive && init)
        for (T& result : expected)
            result = op(*init, result);

    on_every_variant<Target>([&](const Target& target) {
        const std::vector<std::size_t> cuts = random_cuts(random, values.size());
        target_array<Target, T> pieces(values.size());
        target_array<Target, T> in_place(values.span());
        up::scanner<T, Op, Target> scan(target, kind, op, init);
        up::scanner<T, Op, Target> scan_in_place(target, kind, op, init);
        for (std::size_t i = 1; i < cuts.size(); ++i) {
            const std::size_t size = cuts[i] - cuts[i - 1];
            scan.feed(in.const_span().subspan(cuts[i - 1], size), pieces.span().subspan(cuts[i - 1], size));
            scan_in_place.feed(in_place.span().subspan(cuts[i - 1], size), in_place.span().subspan(cuts[i - 1], size));
            ASSERT_EQ(scan.count(), cuts[i]);
        }
        ASSERT_TRUE(bits_equal(pieces.to_host(), expected));
        ASSERT_TRUE(bits_equal(in_place.to_host(), expected));
    });
}

TYPED_TEST_P(streaming, an_inclusive_scanner_continues_where_it_was)
{
    expect_scans_in_pieces<TypeParam, float>(up::plus{}, up::scan_kind::inclusive, {});
}
TYPED_TEST_P(streaming, an_inclusive_scanner_begins_with_init)
{
    expect_scans_in_pieces<TypeParam, float>(up::plus{}, up::scan_kind::inclusive, -7.3F);
}
TYPED_TEST_P(streaming, an_exclusive_scanner_begins_with_the_identity_once)
{
    expect_scans_in_pieces<TypeParam, double>(up::plus{}, up::scan_kind::exclusive, {});
}
TYPED_TEST_P(streaming, an_exclusive_scanner_begins_with_init_once)
{
    expect_scans_in_pieces<TypeParam, float>(up::plus{}, up::scan_kind::exclusive, 0.1F);
}
TYPED_TEST_P(streaming, a_scanner_of_integers_wraps_as_one_call_does)
{
    expect_scans_in_pieces<TypeParam, std::uint8_t>(up::multiplies{}, up::scan_kind::inclusive, {});
}

// Of two numbers, the last that is a digit.
struct last_digit {
    UPSWEEP_HOST_DEVICE std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return b == 10 ? a : b; }
};

// Where a monoid is ordered, pieces keep their order.
TYPED_TEST_P(streaming, a_reducer_takes_a_monoid_of_the_user)
{
    const up::monoid last{last_digit{}, std::uint64_t{10}, up::ordered};
    up::reducer<std::uint64_t, std::remove_const_t<decltype(last)>, TypeParam> fold(TypeParam{}, last);
    EXPECT_EQ(fold.result(), 10U);
    for (std::uint64_t digit = 0; digit < 10; ++digit) {
        const std::vector<std::uint64_t> piece{digit, 10, 10};
        fold.feed(target_array<TypeParam, std::uint64_t>(std::span<const std::uint64_t>(piece)).const_span());
        ASSERT_EQ(fold.result(), digit);
    }
}

TYPED_TEST_P(streaming, a_reducer_of_nothing_has_the_identity)
{
    up::reducer<double, up::plus, TypeParam> sum(TypeParam{});
    EXPECT_TRUE(bits_equal(sum.result(), 0.0));
    up::reducer<double, up::minimum, TypeParam> least(TypeParam{});
    EXPECT_THROW((void)least.result(), up::error);
    least.feed(target_array<TypeParam, double>(host_array<double>{3.0}.span()).const_span());
    EXPECT_EQ(least.result(), 3.0);
}

inline host_array<float> samples_around_bins(std::mt19937_64& random, std::size_t count)
{
    host_array<float> values(count);
    for (float& value : values)
        value = std::uniform_real_distribution<float>(-0.1F, 1.1F)(random);
    values[5] = std::numeric_limits<float>::quiet_NaN();
    return values;
}

TYPED_TEST_P(streaming, a_counter_counts_what_one_call_does)
{
    auto random = generator();
    const host_array<float> values = samples_around_bins(random, streamed<TypeParam>);
    const up::even_bins bins{0, 1, 100};
    host_array<std::uint64_t> whole(100);
    const up::outside out_of_range = up::histogram(up::cpu{}, values.span(), bins, whole.span());
    const target_array<TypeParam, float> in(values.span());
    on_every_variant<TypeParam>([&](const TypeParam& target) {
        up::counter<float, up::even_bins, TypeParam> count(target, bins);
        host_array<std::uint64_t> counts(100);
        std::ranges::fill(counts, 42);
        EXPECT_EQ(count.result(counts.span()), up::outside{});
        EXPECT_TRUE(bits_equal(counts, host_array<std::uint64_t>(100)));
        const std::vector<std::size_t> cuts = random_cuts(random, values.size());
        for (std::size_t i = 1; i < cuts.size(); ++i)
            count.feed(in.const_span().subspan(cuts[i - 1], cuts[i] - cuts[i - 1]));
        EXPECT_EQ(count.result(counts.span()), out_of_range);
        EXPECT_TRUE(bits_equal(counts, whole));
        EXPECT_THROW((void)count.result(counts.span().first(99)), up::error);
    });
    EXPECT_THROW((up::counter<float, up::even_bins, TypeParam>(TypeParam{}, {1, 0, 10})), up::error);
}

REGISTER_TYPED_TEST_SUITE_P(streaming, a_reducer_knows_the_fold_after_every_piece,
                            a_reducer_accumulates_as_one_call_does, an_inclusive_scanner_continues_where_it_was,
                            an_inclusive_scanner_begins_with_init, an_exclusive_scanner_begins_with_the_identity_once,
                            an_exclusive_scanner_begins_with_init_once, a_scanner_of_integers_wraps_as_one_call_does,
                            a_reducer_takes_a_monoid_of_the_user, a_reducer_of_nothing_has_the_identity,
                            a_counter_counts_what_one_call_does);

} // namespace upsweep::test
