// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Weighted histograms on a GPU: what only a GPU has. The cases of the other targets are in weighted_histogram_bins.cu
// and weighted_histogram_of_*.cu.
#include <cstdint>
#include <span>

#include "operators.cuh"
#include "weighted_histogram_cases.cuh"

namespace up = upsweep;

namespace upsweep::test {

// Weights that a block's scale does not suit, alone and among those that it suits; what is no number among them.
TEST(gpu_weighted_histogram, weights_of_every_size)
{
    auto random = generator();
    constexpr std::size_t n = 9000;
    for (const std::size_t bins : {7, 700, 30000}) {
        const host_array<std::int32_t> samples = random_samples(random, n, bins);
        host_array<double> weights(n);
        for (const int spread : {1, 40, 1000}) {
            for (double& w : weights)
                w = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % spread) - spread / 2) *
                    (random() % 2 == 0 ? 1 : -1);
            for (int k = 0; k < 3; ++k)
                weights[random() % n] = std::numeric_limits<double>::infinity();
            weights[random() % n] = std::numeric_limits<double>::quiet_NaN();
            const up::integer_bins integers{0, bins};
            ASSERT_TRUE(
                bits_equal(summed<up::cuda, std::int32_t, double>(samples.span(), weights.span(), integers, bins),
                           expected_sums<double>(samples.span(), weights.span(), bins)))
                << bins << " bins, over " << spread << " binades";
            host_array<float> floats(n);
            std::ranges::transform(weights, floats.begin(), [](double w) { return static_cast<float>(w * 0x1p-64); });
            ASSERT_TRUE(bits_equal(summed<up::cuda, std::int32_t, float>(samples.span(), floats.span(), integers, bins),
                                   expected_sums<float>(samples.span(), floats.span(), bins)))
                << bins << " bins, over " << spread << " binades";
        }
    }
}

// The edges of a bin finder lie in shared memory, or do not where the sums take it all.
TEST(gpu_weighted_histogram, tables_of_every_size_with_every_rule)
{
    auto random = generator();
    constexpr std::size_t n = 5000;
    for (const std::size_t bins : {500, 13000, 18000, 40000}) {
        host_array<float> samples(n);
        host_array<std::int16_t> integers(n);
        for (std::size_t i = 0; i < n; ++i) {
            samples[i] = std::uniform_real_distribution<float>(-0.1F, 1.1F)(random);
            integers[i] = static_cast<std::int16_t>(random());
        }
        const host_array<float> weights = random_array<float>(random, n);
        std::vector<double> edges(bins + 1);
        for (std::size_t k = 0; k <= bins; ++k)
            edges[k] = std::sqrt(static_cast<double>(k) / static_cast<double>(bins));
        const up::even_bins even{0, 1, bins};
        const up::even_bins of_integers{-32000, 31000, bins};
        EXPECT_TRUE(bits_equal(summed<up::cuda, float, float>(samples.span(), weights.span(), even, bins),
                               summed<up::cpu, float, float>(samples.span(), weights.span(), even, bins)));
        EXPECT_TRUE(bits_equal(summed<up::cuda, float, float>(samples.span(), weights.span(), up::edges(edges), bins),
                               summed<up::cpu, float, float>(samples.span(), weights.span(), up::edges(edges), bins)));
        EXPECT_TRUE(
            bits_equal(summed<up::cuda, std::int16_t, float>(integers.span(), weights.span(), of_integers, bins),
                       summed<up::cpu, std::int16_t, float>(integers.span(), weights.span(), of_integers, bins)));
    }
}

// Samples and weights begin at any address, each at its own.
TEST(gpu_weighted_histogram, arrays_at_every_alignment)
{
    auto random = generator();
    const host_array<std::int32_t> samples = random_samples(random, 3000, 10);
    const host_array<float> weights = random_array<float>(random, 3000);
    const target_array<up::cuda, std::int32_t> samples_there(samples.span());
    const target_array<up::cuda, float> weights_there(weights.span());
    target_array<up::cuda, float> sums(10);
    const up::integer_bins bins{0, 10};
    for (std::size_t i = 0; i < 5; ++i)
        for (std::size_t j = 0; j < 5; ++j) {
            const auto mine = samples.span().subspan(i, 2900);
            const auto expected = expected_sums<float>(mine, weights.span().subspan(j, 2900), 10);
            const auto out_of_range =
                up::weighted_histogram(up::cuda{}, samples_there.const_span().subspan(i, 2900),
                                       weights_there.const_span().subspan(j, 2900), bins, sums.span());
            EXPECT_EQ(out_of_range, expected.out_of_range);
            EXPECT_TRUE(std::ranges::equal(sums.to_host(), expected.sums));
        }
}

// An array of more samples than a kernel takes goes in pieces, between which nothing is rounded.
struct small_pieces : gpu::weighted_shape {
    static constexpr std::uint64_t most_samples = 700;
};

TEST(gpu_weighted_histogram, kernels_that_take_a_piece_each)
{
    auto random = generator();
    constexpr std::size_t n = 3333;
    const host_array<std::int32_t> samples = random_samples(random, n, 9);
    const host_array<float> weights = random_array<float>(random, n);
    const target_array<up::cuda, std::int32_t> in(samples.span());
    const target_array<up::cuda, float> weights_there(weights.span());
    target_array<up::cuda, float> sums(9);
    target_array<up::cuda, up::weight_outside<float>> out_of_range(1);
    const up::cuda gpu;
    const gpu::weighted_result<float> result{sums.span().data(), out_of_range.span().data(), 9, false, true};
    gpu::with_bin_finder<std::int32_t>(gpu, up::integer_bins{0, 9}, [&](const auto& finder) {
        gpu::weighted_histogram<small_pieces>(gpu, in.const_span().data(), weights_there.const_span().data(), n, finder,
                                              result);
    });
    gpu::check("cudaStreamSynchronize", cudaStreamSynchronize(gpu.stream()));
    const auto expected = expected_sums<float>(samples.span(), weights.span(), 9);
    EXPECT_TRUE(std::ranges::equal(sums.to_host(), expected.sums));
    EXPECT_EQ(out_of_range.to_host()[0], expected.out_of_range);
}

// The kernel reads weights through the iterator, so that a transform costs no pass of its own.
TEST(gpu_weighted_histogram, what_an_iterator_makes)
{
    const host_array<std::uint8_t> samples(3000);
    const target_array<up::cuda, std::uint8_t> in(samples.span());
    target_array<up::cuda, std::uint64_t> sums(1);
    const auto out_of_range = up::weighted_histogram(
        up::cuda{}, in.const_span(), square_range{squares(0), squares(3000)}, up::integer_bins{0, 1}, sums.span());
    EXPECT_EQ(sums.to_host()[0], 2999ULL * 3000 * 5999 / 6);
    EXPECT_EQ(out_of_range, up::weight_outside<std::uint64_t>{});
}

// In order of the stream: nobody waits between the pieces.
TEST(gpu_weighted_histogram, pieces_accumulate)
{
    const host_array<int> samples{0, 1, 1, 5, 0};
    const host_array<float> weights{1.5F, 0x1p24F, 1, 8, -2};
    const target_array<up::cuda, int> in(samples.span());
    const target_array<up::cuda, float> weights_there(weights.span());
    const host_array<float> before{10, 0};
    target_array<up::cuda, float> sums(before.span());
    const host_array<up::weight_outside<float>> outside_before{{1, 2, 3}};
    target_array<up::cuda, up::weight_outside<float>> out_of_range(outside_before.span());
    const up::cuda gpu;
    const up::integer_bins bins{0, 2};
    up::weighted_histogram_accumulate(gpu, in.const_span().first(4), weights_there.const_span().first(4), bins,
                                      sums.span(), out_of_range.span().data());
    up::weighted_histogram_accumulate(gpu, in.const_span().subspan(4), weights_there.const_span().subspan(4), bins,
                                      sums.span(), out_of_range.span().data());
    gpu::check("cudaStreamSynchronize", cudaStreamSynchronize(gpu.stream()));
    EXPECT_EQ(sums.to_host()[0], 9.5F);
    EXPECT_EQ(sums.to_host()[1], 0x1p24F);
    EXPECT_EQ(out_of_range.to_host()[0], (up::weight_outside<float>{1, 10, 3}));
}

TEST(gpu_weighted_histogram, host_memory_is_refused)
{
    const host_array<int> samples{0, 1};
    host_array<float> weights{1, 2};
    const target_array<up::cuda, int> in(samples.span());
    target_array<up::cuda, float> sums(2);
    EXPECT_THROW(
        (void)up::weighted_histogram(up::cuda{}, in.const_span(), weights.span(), up::integer_bins{0, 2}, sums.span()),
        up::error);
}

} // namespace upsweep::test
