// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Arrays that come in pieces: up::reducer, up::scanner and up::histogram_accumulate give, to the bit, what one call
// gives.
#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/upsweep.hpp>

#include "expected.hpp"
#include "samples.hpp"
#include "targets.hpp"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

template <class Target>
class streaming : public ::testing::Test {
};
using targets = ::testing::Types<up::cpu>;
TYPED_TEST_SUITE(streaming, targets);

// Where to cut n elements: pieces of every magnitude, empty ones too.
std::vector<std::size_t> random_cuts(std::mt19937_64& random, std::size_t n)
{
    std::vector<std::size_t> cuts{0, 0, 1, n};
    for (int i = 0; i < 12; ++i)
        cuts.push_back(random() % (std::size_t{1} << (random() % 19)) % n);
    std::ranges::sort(cuts);
    return cuts;
}

TYPED_TEST(streaming, a_reducer_knows_the_fold_after_every_piece)
{
    auto random = generator();
    const host_array<float> values = random_array<float>(random, 300007);
    const host_array<float> folds = literal_folds(values.span(), up::plus{});
    const target_array<TypeParam, float> in(values.span());
    on_every_variant<TypeParam>([&](const TypeParam& target) {
        const std::vector<std::size_t> cuts = random_cuts(random, values.size());
        up::reducer<float, up::plus> sum(target);
        for (std::size_t i = 1; i < cuts.size(); ++i) {
            sum.feed(in.const_span().subspan(cuts[i - 1], cuts[i] - cuts[i - 1]));
            ASSERT_EQ(sum.count(), cuts[i]);
            if (cuts[i] > 0) {
                ASSERT_TRUE(bits_equal(sum.result(), folds[cuts[i] - 1])) << cuts[i] << " elements";
            }
        }
    });
}

template <class Target, class T, class Op>
void expect_scans_in_pieces(Op op, up::scan_kind kind, std::optional<T> init)
{
    auto random = generator();
    const host_array<T> values = random_array<T>(random, 300007);
    const target_array<Target, T> in(values.span());
    target_array<Target, T> whole(values.size());
    if (kind == up::scan_kind::inclusive)
        up::inclusive_scan(Target{}, in.const_span(), whole.span(), op);
    else if (init)
        up::exclusive_scan(Target{}, in.const_span(), whole.span(), op, *init);
    else
        up::exclusive_scan(Target{}, in.const_span(), whole.span(), op);

    on_every_variant<Target>([&](const Target& target) {
        const std::vector<std::size_t> cuts = random_cuts(random, values.size());
        target_array<Target, T> pieces(values.size());
        target_array<Target, T> in_place(values.span());
        up::scanner<T, Op> scan(target, kind, op, init);
        up::scanner<T, Op> scan_in_place(target, kind, op, init);
        for (std::size_t i = 1; i < cuts.size(); ++i) {
            const std::size_t size = cuts[i] - cuts[i - 1];
            scan.feed(in.const_span().subspan(cuts[i - 1], size), pieces.span().subspan(cuts[i - 1], size));
            scan_in_place.feed(in_place.span().subspan(cuts[i - 1], size), in_place.span().subspan(cuts[i - 1], size));
            ASSERT_EQ(scan.count(), cuts[i]);
        }
        ASSERT_TRUE(bits_equal(pieces.to_host(), whole.to_host()));
        ASSERT_TRUE(bits_equal(in_place.to_host(), whole.to_host()));
    });
}

TYPED_TEST(streaming, an_inclusive_scanner_continues_where_it_was)
{
    expect_scans_in_pieces<TypeParam, float>(up::plus{}, up::scan_kind::inclusive, {});
}
TYPED_TEST(streaming, an_exclusive_scanner_begins_with_the_identity_once)
{
    expect_scans_in_pieces<TypeParam, double>(up::plus{}, up::scan_kind::exclusive, {});
}
TYPED_TEST(streaming, an_exclusive_scanner_begins_with_init_once)
{
    expect_scans_in_pieces<TypeParam, float>(up::plus{}, up::scan_kind::exclusive, 0.1F);
}
TYPED_TEST(streaming, a_scanner_of_integers_wraps_as_one_call_does)
{
    expect_scans_in_pieces<TypeParam, std::uint8_t>(up::multiplies{}, up::scan_kind::inclusive, {});
}

// Where a monoid is ordered, pieces keep their order.
TYPED_TEST(streaming, a_reducer_takes_a_monoid_of_the_user)
{
    const auto last_digits = [](std::uint64_t a, std::uint64_t b) {
        return b == 10 ? a : b;
    }; // the last that is a digit
    up::monoid last{last_digits, std::uint64_t{10}, up::ordered};
    up::reducer<std::uint64_t, decltype(last)> fold(TypeParam{}, last);
    EXPECT_EQ(fold.result(), 10U);
    for (std::uint64_t digit = 0; digit < 10; ++digit) {
        const std::vector<std::uint64_t> piece{digit, 10, 10};
        fold.feed(target_array<TypeParam, std::uint64_t>(std::span<const std::uint64_t>(piece)).const_span());
        ASSERT_EQ(fold.result(), digit);
    }
}

TYPED_TEST(streaming, a_reducer_of_nothing_has_the_identity)
{
    up::reducer<double, up::plus> sum(TypeParam{});
    EXPECT_TRUE(bits_equal(sum.result(), 0.0));
    up::reducer<double, up::minimum> least(TypeParam{});
    EXPECT_THROW((void)least.result(), up::error);
    least.feed(target_array<TypeParam, double>(host_array<double>{3.0}.span()).const_span());
    EXPECT_EQ(least.result(), 3.0);
}

TYPED_TEST(streaming, histograms_add_up)
{
    auto random = generator();
    host_array<float> values(300007);
    for (float& value : values)
        value = std::uniform_real_distribution<float>(-0.1F, 1.1F)(random);
    values[5] = std::numeric_limits<float>::quiet_NaN();
    const target_array<TypeParam, float> in(values.span());
    target_array<TypeParam, std::uint64_t> whole(100);
    const up::outside out_of_range =
        up::histogram(TypeParam{}, in.const_span(), up::even_bins{0, 1, 100}, whole.span());
    on_every_variant<TypeParam>([&](const TypeParam& target) {
        const std::vector<std::size_t> cuts = random_cuts(random, values.size());
        target_array<TypeParam, std::uint64_t> counts(100);
        up::outside sum;
        for (std::size_t i = 1; i < cuts.size(); ++i)
            up::histogram_accumulate(target, in.const_span().subspan(cuts[i - 1], cuts[i] - cuts[i - 1]),
                                     up::even_bins{0, 1, 100}, counts.span(), sum);
        ASSERT_TRUE(bits_equal(counts.to_host(), whole.to_host()));
        ASSERT_EQ(sum, out_of_range);
    });
}

} // namespace
