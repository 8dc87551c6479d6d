// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/joint_histogram.hpp>
#include <upsweep/weighted_histogram.hpp>

#include "view_shapes.hpp"

// Histograms of several inputs, of which some or all are views.
namespace upsweep::test {

template <class Target>
class view_several : public ::testing::Test {
protected:
    // The same elements in every target's memory, as views and side by side.
    template <class T>
    struct input {
        viewed_array<Target, T, 2> there;
        host_array<T> plain;

        input(const shape<2>& s, std::mt19937_64& random) : there(s, random), plain(there.elements()) {}
    };
};
TYPED_TEST_SUITE_P(view_several);

inline constexpr shape<2> transposed{{90, 100}, {1, 93}, 1};
inline constexpr shape<2> padded{{45, 200}, {208, 1}};

TYPED_TEST_P(view_several, samples_and_weights)
{
    auto random = generator();
    const typename TestFixture::template input<float> samples(transposed, random);
    const typename TestFixture::template input<std::int32_t> weights(padded, random);
    const even_bins bins{-50, 50, 10};
    std::vector<std::int64_t> expected(bins.count);
    const auto beside = weighted_histogram(cpu{1}, samples.plain, weights.plain, bins, expected);
    on_every_variant<TypeParam>([&](const TypeParam& target) {
        target_array<TypeParam, std::int64_t> sums(bins.count);
        EXPECT_EQ(weighted_histogram(target, samples.there.readable(), weights.there.readable(), bins, sums.span()),
                  beside);
        EXPECT_TRUE(std::ranges::equal(sums.to_host(), expected));

        const target_array<TypeParam, std::int32_t> plain(weights.plain.span());
        EXPECT_EQ(weighted_histogram(target, samples.there.readable(), plain.const_span(), bins, sums.span()), beside);
        EXPECT_TRUE(std::ranges::equal(sums.to_host(), expected));
    });
}

TYPED_TEST_P(view_several, coordinates_of_points)
{
    auto random = generator();
    const typename TestFixture::template input<float> xs(transposed, random);
    const typename TestFixture::template input<std::int32_t> ys(padded, random);
    const std::tuple bins{even_bins{-50, 50, 10}, even_bins{-0x1p31, 0x1p31, 7}};
    std::vector<std::uint64_t> expected(70);
    const outside beside =
        upsweep::joint_histogram(cpu{1}, std::tuple{xs.plain.span(), ys.plain.span()}, bins, expected);
    on_every_variant<TypeParam>([&](const TypeParam& target) {
        target_array<TypeParam, std::uint64_t> counts(expected.size());
        EXPECT_EQ(
            upsweep::joint_histogram(target, std::tuple{xs.there.readable(), ys.there.readable()}, bins, counts.span()),
            beside);
        EXPECT_TRUE(std::ranges::equal(counts.to_host(), expected));
    });
}

REGISTER_TYPED_TEST_SUITE_P(view_several, samples_and_weights, coordinates_of_points);

} // namespace upsweep::test
