// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/histogram.hpp>

#include "view_shapes.hpp"

// The histogram of a view is that of its elements.
namespace upsweep::test {

template <class Target>
class view_histogram : public ::testing::Test {
};
TYPED_TEST_SUITE_P(view_histogram);

template <class Target, class T, class Bins>
void expect_histogram_of_views(const Bins& bins)
{
    auto random = generator();
    on_every_shape(many_elements<Target>, [&](const auto& s) {
        const viewed_array<Target, T, std::tuple_size_v<decltype(s.extents)>> in(s, random);
        std::vector<std::uint64_t> expected(bins.count);
        const outside beside = histogram(cpu{1}, in.elements(), bins, expected);
        on_every_variant<Target>([&](const Target& target) {
            target_array<Target, std::uint64_t> counts(bins.count);
            EXPECT_EQ(histogram(target, in.readable(), bins, counts.span()), beside);
            EXPECT_TRUE(std::ranges::equal(counts.to_host(), expected));
        });
    });
}

TYPED_TEST_P(view_histogram, of_floats_in_even_bins)
{
    expect_histogram_of_views<TypeParam, float>(even_bins{-100, 1000, 110});
}
TYPED_TEST_P(view_histogram, of_bytes) { expect_histogram_of_views<TypeParam, std::uint8_t>(integer_bins{3, 250}); }

REGISTER_TYPED_TEST_SUITE_P(view_histogram, of_floats_in_even_bins, of_bytes);

} // namespace upsweep::test
