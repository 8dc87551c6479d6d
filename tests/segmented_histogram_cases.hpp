// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/segmented_histogram.hpp>

#include "bin_reference.hpp"
#include "refusal.hpp"
#include "samples.hpp"
#include "segment_cuts.hpp"
#include "targets.hpp"

// Histograms of segments of every mix of lengths; nothing beside the counters is written.
namespace upsweep::test {

template <class Target>
class segmented_histograms : public ::testing::Test {
};
TYPED_TEST_SUITE_P(segmented_histograms);

// What f(target, counts, out_of_range) writes into the middle of other memory, by every variant of the target.
template <class Target, class Counter, class F>
void expect_segments(const std::vector<std::uint64_t>& expected, const std::vector<outside>& expected_beside, F f)
{
    constexpr std::size_t around = 3;
    on_every_variant<Target>([&](const Target& target) {
        const std::vector<Counter> poison(expected.size() + 2 * around, static_cast<Counter>(0xa5a5a5a5a5a5a5a5));
        const std::vector<outside> poison_beside(expected_beside.size() + 2 * around, outside{7, 8, 9});
        target_array<Target, Counter> counts{std::span<const Counter>(poison)};
        target_array<Target, outside> beside{std::span<const outside>(poison_beside)};
        f(target, counts.span().subspan(around, expected.size()),
          beside.span().subspan(around, expected_beside.size()));
        std::vector<Counter> all = poison;
        std::copy(expected.begin(), expected.end(), all.begin() + around);
        std::vector<outside> all_beside = poison_beside;
        std::copy(expected_beside.begin(), expected_beside.end(), all_beside.begin() + around);
        const auto counted = counts.to_host();
        const auto counted_beside = beside.to_host();
        for (std::size_t i = 0; i < all.size(); ++i)
            ASSERT_EQ(counted[i], all[i]) << "counter " << i << " - " << around;
        for (std::size_t i = 0; i < all_beside.size(); ++i)
            ASSERT_EQ(counted_beside[i], all_beside[i]) << "beside segment " << i << " - " << around;
    });
}

template <class Target, class T, class Offset, class Counter = std::uint64_t, class Bins>
void expect_segment_histograms(const Bins& bins)
{
    on_every_cut<Target, Offset>([&](const auto& cut, auto& random) {
        const host_array<T> samples = random_samples<T>(random, cut.elements + 1);
        const target_array<Target, T> memory(samples.span());
        const auto in = memory.const_span().subspan(1); // not aligned
        const target_array<Target, Offset> offsets{std::span<const Offset>(cut.offsets)};
        const auto place = places<T>(bins);
        const std::size_t count = detail::bin_count(bins);
        const std::size_t segments = cut.offsets.size() - 1;
        std::vector<std::uint64_t> expected(segments * count);
        std::vector<outside> beside(segments);
        for (std::size_t k = 0; k < segments; ++k)
            for (auto i = static_cast<std::size_t>(cut.offsets[k]); i < static_cast<std::size_t>(cut.offsets[k + 1]);
                 ++i)
                count_place(place(samples[i + 1]), expected.data() + k * count, count, beside[k]);
        expect_segments<Target, Counter>(expected, beside, [&](const Target& target, auto counts, auto out_of_range) {
            segmented_histogram(target, in, offsets.const_span(), bins, counts, out_of_range);
        });
    });
}

TYPED_TEST_P(segmented_histograms, floats)
{
    expect_segment_histograms<TypeParam, float, std::int64_t>(even_bins{-20.3, 110.7, 5});
}
TYPED_TEST_P(segmented_histograms, bytes)
{
    using counter = std::conditional_t<std::is_same_v<TypeParam, cpu>, std::uint64_t, std::uint32_t>;
    expect_segment_histograms<TypeParam, std::uint8_t, std::int32_t, counter>(integer_bins{5, 3});
}
TYPED_TEST_P(segmented_histograms, doubles_between_edges)
{
    expect_segment_histograms<TypeParam, double, std::uint32_t>(edges{-20, 3, 4, 110});
}

// More bins than a warp has room for, and than a block has; samples that are an array only in the view's order.
TYPED_TEST_P(segmented_histograms, many_bins_of_a_view)
{
    auto random = generator();
    const host_array<std::int32_t> samples = random_samples<std::int32_t>(random, 2 * 3000);
    const target_array<TypeParam, std::int32_t> memory(samples.span());
    const view<const std::int32_t, 1> in(memory.const_span().data() + 2 * 2999, {3000}, {-2});
    const std::vector<std::uint64_t> cut{10, 10, 11, 1500, 1501, 1501, 2990};
    const target_array<TypeParam, std::uint64_t> offsets{std::span<const std::uint64_t>(cut)};
    for (const std::size_t count : {100, 3000, 70'000}) {
        const integer_bins bins{-20, count};
        const auto place = places<std::int32_t>(bins);
        std::vector<std::uint64_t> expected(6 * count);
        std::vector<outside> beside(6);
        for (std::size_t k = 0; k < 6; ++k)
            for (std::size_t i = cut[k]; i < cut[k + 1]; ++i)
                count_place(place(samples[2 * (2999 - i)]), expected.data() + k * count, count, beside[k]);
        expect_segments<TypeParam, std::uint64_t>(
            expected, beside, [&](const TypeParam& target, auto counts, auto out_of_range) {
                segmented_histogram(target, in, offsets.const_span(), bins, counts, out_of_range);
            });
    }
}

TYPED_TEST_P(segmented_histograms, wrong_numbers_are_refused)
{
    const target_array<TypeParam, float> in(10);
    const std::vector<std::int32_t> three{0, 3, 5, 10};
    const target_array<TypeParam, std::int32_t> offsets{std::span<const std::int32_t>(three)};
    target_array<TypeParam, std::uint64_t> counts(20);
    target_array<TypeParam, outside> beside(4);
    const auto call = [&](std::size_t counters, std::size_t places) {
        return refusal_of([&] {
            segmented_histogram(TypeParam{}, in.const_span(), offsets.const_span(), even_bins{0, 1, 6},
                                counts.span().first(counters), beside.span().first(places));
        });
    };
    EXPECT_EQ(call(18, 3), "no error");
    EXPECT_NE(call(17, 3).find("17 counters for 3 segments of 6 bins"), std::string::npos);
    EXPECT_NE(call(18, 4).find("4 places"), std::string::npos);
    EXPECT_NE(refusal_of([&] {
                  segmented_histogram(TypeParam{}, in.const_span(), std::span<const std::int32_t>(), even_bins{0, 1, 6},
                                      counts.span().first(0), beside.span().first(0));
              }).find("no offsets"),
              std::string::npos);
}

REGISTER_TYPED_TEST_SUITE_P(segmented_histograms, floats, bytes, doubles_between_edges, many_bins_of_a_view,
                            wrong_numbers_are_refused);

} // namespace upsweep::test
