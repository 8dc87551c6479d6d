// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Histograms of matrices on a GPU: the cases of the other targets that do not depend on the type of the elements, and
// what only a GPU has. matrix_histogram_of_*.cu has the types.
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "../matrix_histogram_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, matrix_histogram, ::testing::Types<up::cuda>);

// An image in the middle of another, counted by every strategy for large tables.
TEST(gpu_matrix_histogram, tables_of_every_size)
{
    auto random = generator();
    const matrix_in_memory<up::cuda, std::uint16_t> memory(random, {90, 190, 3, 1});
    for (const std::size_t bins : {50, 5000, 70000, 120000})
        expect_one_histogram<up::cuda>(memory.view(), memory.host_view(), up::integer_bins{-7, bins}, bins);
    const matrix_in_memory<up::cuda, std::uint8_t> bytes(random, {90, 190, 3, 1});
    expect_one_histogram<up::cuda>(bytes.view(), bytes.host_view(), up::integer_bins{-7, 5000}, 5000);
}

// Edges that are in shared memory where there is room for them, beside tables that need all of it.
TEST(gpu_matrix_histogram, channels_of_many_edges)
{
    auto random = generator();
    const matrix_in_memory<up::cuda, float> memory(random, {30, 80, 3, 1});
    std::vector<double> many(9001);
    for (std::size_t k = 0; k < many.size(); ++k)
        many[k] = -20 + 0.0137 * static_cast<double>(k) + (k % 3 == 0 ? 0.001 : 0.0);
    for (const std::size_t channels : {1, 4, 8, 10})
        expect_channel_histograms<up::cuda>(memory.view(), memory.host_view(), channels, up::edges(many), 9000);
    const matrix_in_memory<up::cuda, std::uint8_t> bytes(random, {30, 80, 3, 1});
    many.resize(13001);
    for (std::size_t k = 9001; k < many.size(); ++k)
        many[k] = static_cast<double>(k);
    expect_channel_histograms<up::cuda>(bytes.view(), bytes.host_view(), 2, up::edges(many), 13000);
}

// Few elements are counted in other tables than many.
TEST(gpu_matrix_histogram, channels_of_few_and_of_many_bytes)
{
    auto random = generator();
    for (const std::size_t rows : {3, 120}) {
        const matrix_in_memory<up::cuda, std::uint8_t> memory(random, {rows, 2400, 5, 1});
        for (const std::size_t channels : {3, 4, 6})
            expect_channel_histograms<up::cuda>(memory.view(), memory.host_view(), channels, up::even_bins{3, 200, 50},
                                                50);
    }
}

// All elements are in pieces, once each, that begin with whole pixels.
TEST(gpu_matrix_histogram, pieces_are_counted_in_32_bits)
{
    constexpr std::size_t most = std::size_t{1} << 30;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): nobody reads them
    const auto* const data = reinterpret_cast<const std::uint16_t*>(std::uintptr_t{1} << 40);
    for (const up::matrix<std::uint16_t>& in :
         {up::matrix(data, 7, 100), up::matrix(data, 1, 5 * most + 6), up::matrix(data, most, 9, 18),
          up::matrix(data, 3, 12 * (most / 4), 8 * most), up::matrix(data, 2 * most + 5, 3, 8)}) {
        std::size_t elements = 0;
        std::vector<std::pair<std::uintptr_t, std::uintptr_t>> extents;
        gpu::for_each_piece(in, 3, [&](const up::matrix<std::uint16_t>& piece) {
            EXPECT_LE(piece.rows, most);
            EXPECT_LE(piece.columns, most);
            const auto begin = reinterpret_cast<std::uintptr_t>(piece.data) - reinterpret_cast<std::uintptr_t>(data);
            EXPECT_EQ((in.has_gaps() ? begin % in.pitch : begin) / sizeof(std::uint16_t) % 3, 0U);
            elements += piece.size();
            if (!in.has_gaps())
                extents.emplace_back(begin, begin + piece.size() * sizeof(std::uint16_t));
        });
        EXPECT_EQ(elements, in.size());
        for (std::size_t k = 1; k < extents.size(); ++k)
            EXPECT_EQ(extents[k].first, extents[k - 1].second);
    }
}

TEST(gpu_matrix_histogram, counters_of_32_bits)
{
    auto random = generator();
    const up::even_bins even{-20, 110, 9};
    const matrix_in_memory<up::cuda, std::uint8_t> memory(random, {30, 60, 1, 1});
    const auto by_row = expected_histograms(memory.host_view(), even, 9, 30, [](auto row, auto) { return row; });
    expect_histograms<up::cuda, std::uint32_t>(by_row, [&](const up::cuda& target, auto counts, auto out_of_range) {
        up::histogram_rows(target, memory.view(), even, counts, out_of_range);
    });
    const auto by_channel =
        expected_histograms(memory.host_view(), even, 9, 3, [](auto, auto column) { return column % 3; });
    expect_histograms<up::cuda, std::uint32_t>(by_channel, [&](const up::cuda& target, auto counts, auto out_of_range) {
        up::histogram_channels(target, memory.view(), 3, even, counts, out_of_range);
    });
}

// In order of the stream: nobody waits between images.
TEST(gpu_matrix_histogram, images_accumulate)
{
    auto random = generator();
    const matrix_in_memory<up::cuda, float> first(random, {20, 30, 0, 0});
    const matrix_in_memory<up::cuda, float> second(random, {25, 31, 3, 1});
    const up::even_bins even{-20, 110, 9};
    target_array<up::cuda, std::uint64_t> counts(9);
    target_array<up::cuda, up::outside> out_of_range(1);
    const up::cuda gpu;
    up::histogram(gpu, first.view(), even, counts.span(), out_of_range.span().data());
    up::histogram_accumulate(gpu, second.view(), even, counts.span(), out_of_range.span().data());
    gpu::check("cudaStreamSynchronize", cudaStreamSynchronize(gpu.stream()));

    std::vector<std::uint64_t> expected(9);
    up::outside expected_out_of_range = up::histogram(up::cpu{}, first.host_view(), even, expected);
    up::histogram_accumulate(up::cpu{}, second.host_view(), even, expected, expected_out_of_range);
    EXPECT_TRUE(std::ranges::equal(counts.to_host(), expected));
    EXPECT_EQ(out_of_range.to_host()[0], expected_out_of_range);
}

// One target for many calls: what one leaves in the workspace is nothing to the next.
TEST(gpu_matrix_histogram, one_target_for_many_calls)
{
    auto random = generator();
    const up::cuda gpu;
    for (const std::size_t bins : {10, 3000, 2, 700}) {
        const matrix_in_memory<up::cuda, std::uint16_t> memory(random, {12, 36, 1, 0});
        const up::integer_bins integers{1, bins};
        const auto by_row = expected_histograms(memory.host_view(), integers, bins, 12, [](auto r, auto) { return r; });
        const auto by_channel =
            expected_histograms(memory.host_view(), integers, bins, 9, [](auto, auto c) { return c % 9; });
        expect_histograms<up::cuda>(by_channel, [&](const up::cuda&, auto counts, auto out_of_range) {
            up::histogram_channels(gpu, memory.view(), 9, integers, counts, out_of_range);
        });
        expect_histograms<up::cuda>(by_row, [&](const up::cuda&, auto counts, auto out_of_range) {
            up::histogram_rows(gpu, memory.view(), integers, counts, out_of_range);
        });
    }
}

TEST(gpu_matrix_histogram, host_memory_is_refused)
{
    const host_array<int> on_host{1, 2, 3, 4};
    target_array<up::cuda, std::uint64_t> counts(4);
    target_array<up::cuda, up::outside> out_of_range(2);
    const up::matrix<int> in(on_host.begin(), 2, 2);
    const up::integer_bins bins{0, 2};
    EXPECT_THROW((void)up::histogram(up::cuda{}, in, bins, counts.span().first(2)), up::error);
    EXPECT_THROW(up::histogram_rows(up::cuda{}, in, bins, counts.span(), out_of_range.span()), up::error);
    EXPECT_THROW(up::histogram_channels(up::cuda{}, in, 2, bins, counts.span(), out_of_range.span()), up::error);
}

} // namespace upsweep::test
