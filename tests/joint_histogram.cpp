// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <ranges>
#include <span>
#include <tuple>
#include <vector>

#include "joint_histogram_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, joint_histogram, ::testing::Types<up::cpu>);

// For all threads; in pieces.
TEST(joint_histogram, of_many_points)
{
    auto random = generator();
    const auto points = random_points<float, std::int8_t>(random, 600001);
    const std::tuple bins{up::even_bins{-20, 110, 50}, up::integer_bins{0, 60}};
    expect_joint<up::cpu>(points, bins, std::make_index_sequence<2>(), 1);

    const joint_counts expected = expected_joint(points, bins, std::make_index_sequence<2>());
    joint_counts found{std::vector<std::uint64_t>(expected.counts.size()), {}};
    const auto piece = [&](std::size_t first, std::size_t count) {
        up::joint_histogram_accumulate(up::cpu{},
                                       std::tuple{std::get<0>(points).span().subspan(first, count),
                                                  std::get<1>(points).span().subspan(first, count)},
                                       bins, found.counts, found.out_of_range);
    };
    piece(0, 1000);
    piece(1000, 599001);
    EXPECT_EQ(found, expected);
}

} // namespace upsweep::test
