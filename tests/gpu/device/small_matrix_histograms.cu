// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// As small_histograms.cu: the histograms of matrices.
#include <cstdint>

#include "samples_around.cuh"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

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
