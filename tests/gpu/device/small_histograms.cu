// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// As small.cu: every way to count, on few samples, against the CPU.
#include <cstdint>
#include <tuple>

#include "device.cuh"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

// From -1 to a little beyond `end`; floats by quarters.
template <class T>
host_array<T> samples_around(std::mt19937_64& random, std::size_t n, std::size_t end)
{
    host_array<T> samples(n);
    for (T& sample : samples) {
        const auto quarters = static_cast<std::int64_t>(random() % (4 * end + 16)) - 4;
        if constexpr (std::is_integral_v<T>)
            sample = static_cast<T>(quarters / 4);
        else
            sample = static_cast<T>(quarters) / 4;
    }
    return samples;
}

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

// A part of an image on the CPU and on the GPU.
template <class T>
class image_part {
public:
    image_part(std::mt19937_64& random, std::size_t rows, std::size_t columns, std::size_t gap, std::size_t end)
        : rows_(rows), columns_(columns), pitch_((columns + gap) * sizeof(T)),
          on_host_(samples_around<T>(random, rows * (columns + gap) + 1, end)), there_(on_host_.span())
    {
    }

    up::matrix<T> on_host() const { return {on_host_.begin() + 1, rows_, columns_, pitch_}; }
    up::matrix<T> there() const { return {there_.const_span().data() + 1, rows_, columns_, pitch_}; }

private:
    std::size_t rows_;
    std::size_t columns_;
    std::size_t pitch_;
    host_array<T> on_host_;
    target_array<up::cuda, T> there_;
};

// What `count(target, matrix, counts, beside)` writes for so many histograms of so many bins.
template <class T, class Count>
void expect_same_histograms(const image_part<T>& part, std::size_t histograms, std::size_t bins, const Count& count)
{
    std::vector<std::uint64_t> expected(histograms * bins);
    std::vector<up::outside> expected_out_of_range(histograms);
    count(up::cpu{}, part.on_host(), std::span(expected), std::span(expected_out_of_range));
    target_array<up::cuda, std::uint64_t> counts(histograms * bins);
    target_array<up::cuda, up::outside> out_of_range(histograms);
    const up::cuda gpu;
    count(gpu, part.there(), counts.span(), out_of_range.span());
    check(cudaStreamSynchronize(gpu.stream()));
    EXPECT_TRUE(std::ranges::equal(counts.to_host(), expected)) << histograms << " histograms of " << bins << " bins";
    EXPECT_TRUE(std::ranges::equal(out_of_range.to_host(), expected_out_of_range));
}

template <class T>
void expect_same_rows(std::size_t rows, std::size_t columns, std::size_t gap, std::size_t bins)
{
    auto random = generator();
    const up::even_bins even{0, static_cast<double>(bins), bins};
    expect_same_histograms(image_part<T>(random, rows, columns, gap, bins), rows, bins,
                           [&](const auto& target, const auto& in, auto counts, auto out_of_range) {
                               up::histogram_rows(target, in, even, counts, out_of_range);
                           });
}

// Short rows by warps, long ones by blocks, in tables that fit and in parts of those that do not.
TEST(small, histogram_rows)
{
    expect_same_rows<std::uint8_t>(300, 100, 7, 100);
    expect_same_rows<std::uint8_t>(3, 30'000, 0, 100);
    expect_same_rows<float>(200, 33, 1, 10);
    expect_same_rows<float>(5, 5000, 3, 3000);
    expect_same_rows<float>(3, 5000, 0, 70'000);
}

template <class T>
void expect_same_channels(std::size_t channels, std::size_t bins)
{
    auto random = generator();
    const up::even_bins even{0, static_cast<double>(bins), bins};
    expect_same_histograms(image_part<T>(random, 30, 100 * channels, channels, bins), channels, bins,
                           [&](const auto& target, const auto& in, auto counts, auto out_of_range) {
                               up::histogram_channels(target, in, channels, even, counts, out_of_range);
                           });
}

TEST(small, histogram_channels)
{
    for (const std::size_t channels : {1, 2, 3, 4, 5})
        expect_same_channels<std::uint8_t>(channels, 200);
    expect_same_channels<float>(3, 50);
    expect_same_channels<float>(4, 20'000);
}

template <class T>
void expect_same_part(std::size_t bins)
{
    auto random = generator();
    const image_part<T> part(random, 60, 301, 5, bins);
    const up::even_bins even{0, static_cast<double>(bins), bins};
    std::vector<std::uint64_t> expected(bins);
    target_array<up::cuda, std::uint64_t> counts(bins);
    const up::outside out_of_range = up::histogram(up::cpu{}, part.on_host(), even, std::span(expected));
    EXPECT_EQ(up::histogram(up::cuda{}, part.there(), even, counts.span()), out_of_range);
    EXPECT_TRUE(std::ranges::equal(counts.to_host(), expected)) << bins << " bins";
}

TEST(small, histogram_of_a_part_of_an_image)
{
    expect_same_part<std::uint8_t>(200);
    for (const std::size_t bins : {20, 5000, 70'000})
        expect_same_part<float>(bins);
}

} // namespace
