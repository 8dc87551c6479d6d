// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// As small.cu: every way to count, on few samples, against the CPU.
#include <cstdint>
#include <tuple>

#include "samples_around.cuh"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

template <class T, class Bins>
void expect_same_counts(const Bins& bins, std::size_t count)
{
    auto random = generator();
    const host_array<T> samples = samples_around<T>(random, 50'021, count);
    const target_array<up::cuda, T> in(samples.span());
    for (const std::size_t first : {0, 1}) { // aligned for vectors, which few samples ask for, and not
        target_array<up::cuda, std::uint64_t> counts(count);
        std::vector<std::uint64_t> expected(count);
        const up::outside out_of_range = up::histogram(up::cpu{}, samples.span().subspan(first), bins, expected);
        EXPECT_EQ(up::histogram(up::cuda{}, in.const_span().subspan(first), bins, counts.span()), out_of_range);
        EXPECT_TRUE(std::ranges::equal(counts.to_host(), expected)) << count << " bins";
    }
}

void expect_same_counts_in(std::size_t bins)
{
    const auto end = static_cast<double>(bins);
    expect_same_counts<std::int32_t>(up::integer_bins{0, bins}, bins);
    expect_same_counts<std::int64_t>(up::even_bins{0, end, bins}, bins);
    expect_same_counts<float>(up::even_bins{0, end, bins}, bins);
}

TEST(small, histogram)
{
    expect_same_counts<std::uint8_t>(up::integer_bins{0, 200}, 200);
    for (const std::size_t bins : {20, 5000, 120'000}) // a table for each way to count
        expect_same_counts_in(bins);
    expect_same_counts<float>(up::edges{-1, 0.1, 0.5, 2, 3}, 4);
    std::vector<double> edges(5001);
    for (std::size_t k = 0; k < edges.size(); ++k)
        edges[k] = static_cast<double>(k * k) / 5000;
    expect_same_counts<float>(up::edges(edges), 5000);
}

// Weights of about one size, and of very different sizes.
TEST(small, weighted_histogram)
{
    auto random = generator();
    constexpr std::size_t n = 20'011;
    host_array<float> alike(n);
    for (float& weight : alike)
        weight = static_cast<float>(random() % 1'000'003);
    const host_array<float> different = random_array<float>(random, n);
    for (const std::size_t bins : {7, 700, 5000, 30'000}) {
        const host_array<std::int32_t> samples = samples_around<std::int32_t>(random, n, bins);
        const target_array<up::cuda, std::int32_t> in(samples.span());
        for (const host_array<float>& weights : {alike, different}) {
            const target_array<up::cuda, float> weights_there(weights.span());
            target_array<up::cuda, float> sums(bins);
            std::vector<float> expected(bins);
            const up::integer_bins integers{0, bins};
            const auto out_of_range =
                up::weighted_histogram(up::cpu{}, samples.span(), weights.span(), integers, std::span<float>(expected));
            EXPECT_EQ(
                up::weighted_histogram(up::cuda{}, in.const_span(), weights_there.const_span(), integers, sums.span()),
                out_of_range);
            EXPECT_TRUE(std::ranges::equal(sums.to_host(), expected)) << bins << " bins";
        }
    }
}

template <class T>
void expect_same_joint_counts(std::size_t bins)
{
    auto random = generator();
    const host_array<T> xs = samples_around<T>(random, 30'011, bins);
    const host_array<T> ys = samples_around<T>(random, 30'011, bins);
    const target_array<up::cuda, T> xs_there(xs.span());
    const target_array<up::cuda, T> ys_there(ys.span());
    const up::even_bins even{0, static_cast<double>(bins), bins};
    target_array<up::cuda, std::uint64_t> counts(bins * bins);
    std::vector<std::uint64_t> expected(bins * bins);
    const auto out_of_range = up::joint_histogram(up::cpu{}, std::tuple{xs.span(), ys.span()}, std::tuple{even, even},
                                                  std::span<std::uint64_t>(expected));
    EXPECT_EQ(up::joint_histogram(up::cuda{}, std::tuple{xs_there.const_span(), ys_there.const_span()},
                                  std::tuple{even, even}, counts.span()),
              out_of_range);
    EXPECT_TRUE(std::ranges::equal(counts.to_host(), expected)) << bins << " x " << bins << " bins";
}

TEST(small, joint_histogram)
{
    expect_same_joint_counts<std::uint8_t>(16);
    expect_same_joint_counts<std::uint8_t>(64);
    for (const std::size_t bins : {16, 128, 330})
        expect_same_joint_counts<float>(bins);
}

// Where the two blocks of a cluster have half a table each.
TEST(small, histogram_in_two_halves)
{
    expect_same_counts_in(65'536);
    expect_same_joint_counts<float>(256);
}

} // namespace
