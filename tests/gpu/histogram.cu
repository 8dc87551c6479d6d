// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Histograms on a GPU: what only a GPU has. The cases of the other targets are in histogram_bins.cu and
// histogram_of_*.cu.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "histogram_cases.cuh"
#include "operators.cuh"

namespace up = upsweep;

namespace upsweep::test {

// Samples begin at any address, so that the vectors of a lane are aligned or not.
TEST(gpu_histogram, samples_at_every_alignment)
{
    auto random = generator();
    const host_array<std::uint8_t> bytes = random_array<std::uint8_t>(random, 10000);
    const host_array<float> floats = random_array<float>(random, 10000);
    const target_array<up::cuda, std::uint8_t> bytes_there(bytes.span());
    const target_array<up::cuda, float> floats_there(floats.span());
    target_array<up::cuda, std::uint64_t> counts(10);
    std::vector<std::uint64_t> expected(10);
    const up::even_bins bins{-10, 200, 10};
    for (std::size_t offset = 0; offset < 17; ++offset) {
        auto out_of_range = up::histogram(up::cpu{}, bytes.span().subspan(offset), bins, expected);
        EXPECT_EQ(up::histogram(up::cuda{}, bytes_there.const_span().subspan(offset), bins, counts.span()),
                  out_of_range);
        EXPECT_TRUE(std::ranges::equal(counts.to_host(), expected));
        out_of_range = up::histogram(up::cpu{}, floats.span().subspan(offset), bins, expected);
        EXPECT_EQ(up::histogram(up::cuda{}, floats_there.const_span().subspan(offset), bins, counts.span()),
                  out_of_range);
        EXPECT_TRUE(std::ranges::equal(counts.to_host(), expected));
    }
}

// The kernels read samples through the iterator, so that a transform costs no pass of its own.
TEST(gpu_histogram, what_an_iterator_makes)
{
    target_array<up::cuda, std::uint64_t> counts(3);
    const auto out_of_range =
        up::histogram(up::cuda{}, square_range{squares(0), squares(3001)}, up::even_bins{1, 9e6, 3}, counts.span());
    EXPECT_EQ(out_of_range, (up::outside{1, 0, 0}));
    const auto found = counts.to_host();
    EXPECT_EQ(found[0] + found[1] + found[2], 3000U);
    EXPECT_EQ(found[0], 1732U); // the squares below 3000000.67
}

TEST(gpu_histogram, counters_of_32_bits)
{
    const host_array<int> samples{1, 1, 0, 5, 1};
    const target_array<up::cuda, int> in(samples.span());
    target_array<up::cuda, std::uint32_t> counts(2);
    EXPECT_EQ(up::histogram(up::cuda{}, in.const_span(), up::integer_bins{0, 2}, counts.span()),
              (up::outside{0, 1, 0}));
    EXPECT_EQ(counts.to_host()[0], 1U);
    EXPECT_EQ(counts.to_host()[1], 3U);
}

// Pieces of an array, in order of the stream: nobody waits between them.
TEST(gpu_histogram, pieces_accumulate)
{
    auto random = generator();
    const host_array<double> samples = random_array<double>(random, 30000);
    const target_array<up::cuda, double> in(samples.span());
    const up::edges bins{-1e9, -1e3, 0, 1, 1e6};
    target_array<up::cuda, std::uint64_t> counts(4);
    target_array<up::cuda, up::outside> out_of_range(1);
    const up::cuda gpu;
    up::histogram(gpu, in.const_span().first(7), bins, counts.span(), out_of_range.span().data());
    up::histogram_accumulate(gpu, in.const_span().subspan(7, 19993), bins, counts.span(), out_of_range.span().data());
    up::histogram_accumulate(gpu, in.const_span().subspan(20000), bins, counts.span(), out_of_range.span().data());
    gpu::check("cudaStreamSynchronize", cudaStreamSynchronize(gpu.stream()));

    const histogram_result expected = counted_on_cpu(samples, bins, 4);
    EXPECT_TRUE(std::ranges::equal(counts.to_host(), expected.counts));
    EXPECT_EQ(out_of_range.to_host()[0], expected.out_of_range);
}

// What the kernels of many samples find, which look bins up in a table of cells, of few samples.
template <class T>
histogram_result counted_by_cells(const host_array<T>& samples, const up::edges& edges, std::size_t bins)
{
    const target_array<up::cuda, T> in(samples.span());
    target_array<up::cuda, std::uint64_t> counts(bins);
    target_array<up::cuda, up::outside> out_of_range(1);
    const up::cuda gpu;
    const gpu::histogram_result<std::uint64_t> result{counts.span().data(), out_of_range.span().data(),
                                                      static_cast<up::detail::bin_index>(bins), false};
    gpu::with_bin_finder<T>(gpu, edges, [&](const auto& finder) {
        gpu::histogram(gpu, in.const_span().data(), samples.size(), finder, result);
    });
    gpu::check("cudaStreamSynchronize", cudaStreamSynchronize(gpu.stream()));
    const host_array<std::uint64_t> on_host = counts.to_host();
    return {counts_t(on_host.begin(), on_host.end()), out_of_range.to_host()[0]};
}

// Edges by the thousand: those that a block keeps at hand and those that it does not, close together and over many
// binades.
TEST(gpu_histogram, many_edges)
{
    auto random = generator();
    for (const std::size_t bins : {255, 4096, 4097, 20000}) {
        std::vector<double> even(bins + 1);
        std::vector<double> binades(bins + 1);
        for (std::size_t k = 0; k <= bins; ++k) {
            even[k] = 0.1 * static_cast<double>(k) - 7;
            binades[k] = std::exp2(static_cast<double>(k) * 60 / static_cast<double>(bins) - 30);
        }
        host_array<float> samples = random_array<float>(random, 5000);
        for (std::size_t i = 0; i < samples.size(); i += 2)
            samples[i] = static_cast<float>(even[random() % (bins + 1)]); // on an edge or an ulp beside
        for (const std::vector<double>& values : {even, binades}) {
            const histogram_result expected = counted_on_cpu(samples, up::edges(values), bins);
            ASSERT_EQ(counted_on_gpu(samples, up::edges(values), bins), expected) << bins << " bins";
            ASSERT_EQ(counted_by_cells(samples, up::edges(values), bins), expected) << bins << " bins";
        }
    }
}

TEST(gpu_histogram, host_memory_is_refused)
{
    host_array<int> on_host{1, 2, 3};
    host_array<std::uint64_t> counts(2);
    EXPECT_THROW((void)up::histogram(up::cuda{}, on_host.span(), up::integer_bins{0, 2}, counts.span()), up::error);
}

TEST(gpu_histogram, counters_that_are_not_one_a_bin_are_refused)
{
    target_array<up::cuda, std::uint64_t> counts(2);
    EXPECT_THROW((void)up::histogram(up::cuda{}, std::span<const int>{}, up::integer_bins{0, 3}, counts.span()),
                 up::error);
}

TEST(gpu_histogram, tables_that_are_too_large_are_refused)
{
    constexpr std::size_t bins = std::size_t{1} << 24;
    target_array<up::cuda, std::uint64_t> one(1); // in the place of as many, of which none is touched
    const std::span counts(one.span().data(), bins);
    try {
        (void)up::histogram(up::cuda{}, std::span<const int>{}, up::integer_bins{0, bins}, counts);
        FAIL() << "no error";
    } catch (const up::error& failure) {
        EXPECT_EQ(failure.kind(), up::error_kind::invalid_argument);
        EXPECT_NE(std::string(failure.what()).find("use the target cpu"), std::string::npos) << failure.what();
    }
}

} // namespace upsweep::test
