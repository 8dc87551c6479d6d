// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Histograms where only a GPU can go: more than 2^32 samples, tables of every kind in graphs, and many samples in large
// tables.
#include <cstdint>

#include "device.cuh"
#include "remainders.cuh"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

constexpr std::uint64_t two_to_32 = std::uint64_t{1} << 32;

// One bin is left out of the range at either end, so that there are samples beside.
TEST(large_histogram, more_than_2_to_32_samples_in_tables_of_every_kind)
{
    constexpr std::uint64_t beyond = two_to_32 + 1'234'567;
    const up::cuda gpu;
    for (const std::uint32_t kinds : {256U, 5000U, 65536U, 300'000U}) {
        const std::size_t bins = kinds - 2;
        target_array<up::cuda, std::uint64_t> counts(bins);
        const auto out_of_range =
            up::histogram(gpu, remainder_range(beyond, kinds), up::integer_bins{1, bins}, counts.span());
        // The first `beyond % kinds` of the sequence come once more than the others.
        std::vector<std::uint64_t> expected(kinds, beyond / kinds);
        for (std::uint64_t i = 0; i < beyond % kinds; ++i)
            ++expected[*remainders<>(i, kinds)];
        EXPECT_EQ(out_of_range, (up::outside{expected.front(), expected.back(), 0})) << kinds;
        EXPECT_TRUE(std::ranges::equal(counts.to_host(), std::span(expected).subspan(1, bins))) << kinds;
    }
}

TEST(large_histogram, more_than_2_to_32_samples_in_one_bin)
{
    constexpr std::uint64_t beyond = two_to_32 + 77;
    if (free_device_bytes() < beyond + (std::size_t{1} << 30))
        GTEST_SKIP() << "needs " << beyond << " bytes of the GPU's memory";
    const device_bytes memory(beyond);
    check(cudaMemset(memory.as<void>(), 5, beyond));
    check(cudaMemset(memory.as<void>(), 200, 1000));
    target_array<up::cuda, std::uint64_t> counts(10);
    EXPECT_EQ(up::histogram(up::cuda{}, std::span<const std::uint8_t>(memory.as<std::uint8_t>(), beyond),
                            up::integer_bins{0, 10}, counts.span()),
              (up::outside{0, 1000, 0}));
    EXPECT_EQ(counts.to_host()[5], beyond - 1000);
}

// Most samples are in few bins of a large table: the lists of the others have an entry or two in some tiles and none in
// the rest.
TEST(large_histogram, many_samples_in_few_bins_of_large_tables)
{
    auto random = generator();
    constexpr std::size_t n = 20'000'003;
    for (const std::size_t bins : {300'000U, 1U << 20, (1U << 24) - 3}) {
        host_array<std::int32_t> samples(n);
        for (std::int32_t& sample : samples) {
            const std::uint64_t number = random();
            const std::uint64_t bin = number % 4096 == 0 ? number / 4096 % (bins + 2) : bins / 3 + number / 4096 % 1000;
            sample = static_cast<std::int32_t>(bin) - 1;
        }
        const up::integer_bins integers{0, bins};
        std::vector<std::uint64_t> expected(bins);
        const auto out_of_range = up::histogram(up::cpu{}, samples.span(), integers, expected);
        const target_array<up::cuda, std::int32_t> in(samples.span());
        target_array<up::cuda, std::uint64_t> counts(bins);
        EXPECT_EQ(up::histogram(up::cuda{}, in.const_span(), integers, counts.span()), out_of_range) << bins;
        EXPECT_TRUE(std::ranges::equal(counts.to_host(), expected)) << bins;
    }
}

// The histogram of random samples, of which a few are beside the bins, in a graph that is replayed with others.
template <class T, class Bins>
void expect_replayed(const Bins& bins, std::size_t count, double scale)
{
    auto random = generator();
    constexpr std::size_t n = 300'007;
    const stream on;
    const up::cuda gpu(on);
    target_array<up::cuda, T> in(n);
    target_array<up::cuda, std::uint64_t> counts(count);
    target_array<up::cuda, up::outside> out_of_range(1);
    const auto call = [&] { up::histogram(gpu, in.const_span(), bins, counts.span(), out_of_range.span().data()); };
    call();

    const captured graph(on, call);
    for (int replay = 0; replay < 5; ++replay) {
        host_array<T> samples(n);
        for (T& sample : samples)
            sample = static_cast<T>(static_cast<double>(random() % 1'000'003) / 1'000'000 * scale);
        std::vector<std::uint64_t> expected(count);
        const up::outside expected_out_of_range = up::histogram(up::cpu{}, samples.span(), bins, expected);
        check(cudaMemcpyAsync(in.span().data(), samples.begin(), n * sizeof(T), cudaMemcpyHostToDevice, on));
        graph.launch();
        if (replay % 2 == 0)
            call(); // beside the graph, with the same workspace
        on.wait();
        ASSERT_TRUE(std::ranges::equal(counts.to_host(), expected)) << count << " bins";
        ASSERT_EQ(out_of_range.to_host()[0], expected_out_of_range) << count << " bins";
    }
}

TEST(graph_of_histograms, tables_of_every_kind)
{
    expect_replayed<std::uint8_t>(up::integer_bins{0, 200}, 200, 250);
    for (const std::size_t bins : {200, 5000, 65536, 300'000}) {
        const auto end = static_cast<double>(bins);
        expect_replayed<std::int32_t>(up::integer_bins{0, bins}, bins, end);
        expect_replayed<std::int32_t>(up::even_bins{0, end, bins}, bins, end);
        expect_replayed<float>(up::even_bins{0, end / 3, bins}, bins, end / 3);
    }
    expect_replayed<float>(up::edges{-1, 0.1, 0.5, 2, 3}, 4, 3.1);
}

} // namespace
