// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Joint histograms on a GPU: the cases of the other targets, and what only a GPU has.
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "../joint_histogram_cases.hpp"
#include "operators.cuh"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, joint_histogram, ::testing::Types<up::cuda>);

// Inputs that are equally far from being aligned, and one that is no memory.
TEST(gpu_joint_histogram, what_an_iterator_makes)
{
    auto random = generator();
    const auto samples = random_samples<float>(random, 3001);
    const target_array<up::cuda, float> there(samples.span());
    const std::tuple bins{up::even_bins{-20, 110, 7}, up::even_bins{1, 9e6, 3}};
    target_array<up::cuda, std::uint64_t> counts(21);
    const auto out_of_range = up::joint_histogram(
        up::cuda{}, std::tuple{there.const_span(), square_range{squares(0), squares(3001)}}, bins, counts.span());
    std::vector<std::uint64_t> expected(21);
    EXPECT_EQ(out_of_range,
              up::joint_histogram(up::cpu{}, std::tuple{samples.span(), square_range{squares(0), squares(3001)}}, bins,
                                  expected));
    EXPECT_TRUE(std::ranges::equal(counts.to_host(), expected));
}

TEST(gpu_joint_histogram, pieces_accumulate_in_32_bits)
{
    auto random = generator();
    const auto points = random_points<float, std::int32_t>(random, 9000);
    const target_array<up::cuda, float> xs(std::get<0>(points).span());
    const target_array<up::cuda, std::int32_t> ys(std::get<1>(points).span());
    const std::tuple bins{up::edges{-20, 0, 1, 99}, up::even_bins{0, 90, 4}};
    target_array<up::cuda, std::uint32_t> counts(12);
    target_array<up::cuda, up::outside> out_of_range(1);
    const up::cuda gpu;
    const auto piece = [&](std::size_t first, std::size_t count) {
        return std::tuple{xs.const_span().subspan(first, count), ys.const_span().subspan(first, count)};
    };
    up::joint_histogram(gpu, piece(0, 1001), bins, counts.span(), out_of_range.span().data());
    up::joint_histogram_accumulate(gpu, piece(1001, 7999), bins, counts.span(), out_of_range.span().data());
    gpu::check("cudaStreamSynchronize", cudaStreamSynchronize(gpu.stream()));
    const joint_counts expected = expected_joint(points, bins, std::make_index_sequence<2>());
    EXPECT_TRUE(std::ranges::equal(counts.to_host(), expected.counts));
    EXPECT_EQ(out_of_range.to_host()[0], expected.out_of_range);
}

// More edges than a block keeps at hand.
TEST(gpu_joint_histogram, many_edges)
{
    auto random = generator();
    std::vector<double> many(9000);
    for (std::size_t k = 0; k < many.size(); ++k)
        many[k] = -20 + 0.0137 * static_cast<double>(k);
    expect_joint<up::cuda>(random_points<float, float>(random, 2000), std::tuple{up::edges(many), up::edges{0, 1, 50}});
}

TEST(gpu_joint_histogram, host_memory_is_refused)
{
    const host_array<int> on_host{1, 2, 3};
    const target_array<up::cuda, int> there(on_host.span());
    target_array<up::cuda, std::uint64_t> counts(4);
    const std::tuple bins{up::integer_bins{0, 2}, up::integer_bins{0, 2}};
    EXPECT_THROW(
        (void)up::joint_histogram(up::cuda{}, std::tuple{there.const_span(), on_host.span()}, bins, counts.span()),
        up::error);
}

} // namespace upsweep::test
