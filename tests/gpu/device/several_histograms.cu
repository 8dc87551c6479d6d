// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// As histograms.cu, with weights, of several inputs, of rows and of channels: in graphs, and of more than 2^32 samples.
#include <cstdint>
#include <tuple>

#include "device.cuh"
#include "remainders.cuh"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

constexpr std::uint64_t two_to_32 = std::uint64_t{1} << 32;
constexpr std::uint64_t beyond = two_to_32 + 1'234'567;

// Weights that are the samples themselves: each bin has a sum of its own.
template <class Weight>
void expect_weighted(std::uint32_t kinds)
{
    using sum = up::weight_sum_t<Weight>;
    const std::size_t bins = kinds - 2; // one is left out at either end
    target_array<up::cuda, sum> sums(bins);
    const auto out_of_range =
        up::weighted_histogram(up::cuda{}, remainder_range(beyond, kinds), remainder_range<Weight>(beyond, kinds),
                               up::integer_bins{1, bins}, sums.span());
    std::vector<std::uint64_t> expected(kinds, beyond / kinds);
    for (std::uint64_t i = 0; i < beyond % kinds; ++i)
        ++expected[*remainders<>(i, kinds)];
    for (std::uint64_t kind = 0; kind < kinds; ++kind)
        expected[kind] *= kind;
    const auto rounded = [](std::uint64_t exact) { return static_cast<sum>(exact); };
    EXPECT_EQ(out_of_range, (up::weight_outside<sum>{0, rounded(expected.back()), 0})) << kinds;
    EXPECT_TRUE(std::ranges::equal(sums.to_host(), std::span(expected).subspan(1, bins), {}, {}, rounded)) << kinds;
}

TEST(large_histogram, more_than_2_to_32_weights)
{
    for (const std::uint32_t kinds : {256U, 5000U}) {
        expect_weighted<std::uint32_t>(kinds);
        expect_weighted<float>(kinds);
    }
    expect_weighted<std::uint32_t>(30'000); // in device memory
}

// Each pair of remainders comes once in as many points as there are pairs, since the numbers have no factor in common.
TEST(large_histogram, more_than_2_to_32_points)
{
    for (const std::uint32_t side : {16U, 100U, 300U}) {
        const std::uint32_t other = side + 1;
        const std::uint64_t pairs = std::uint64_t{side} * other;
        std::vector<std::uint64_t> expected(pairs, beyond / pairs);
        const remainders<> first(0, side);
        const remainders<> second(0, other);
        for (std::uint64_t i = 0; i < beyond % pairs; ++i)
            ++expected[first[static_cast<std::ptrdiff_t>(i)] * other + second[static_cast<std::ptrdiff_t>(i)]];
        target_array<up::cuda, std::uint64_t> counts(pairs);
        EXPECT_EQ(up::joint_histogram(up::cuda{},
                                      std::tuple{remainder_range(beyond, side), remainder_range(beyond, other)},
                                      std::tuple{up::integer_bins{0, side}, up::integer_bins{0, other}}, counts.span()),
                  up::outside{});
        EXPECT_TRUE(std::ranges::equal(counts.to_host(), expected)) << pairs;
    }
}

constexpr std::uint8_t kinds = 8;
constexpr std::uint8_t inner_bins = kinds - 2; // one kind is left out at either end
constexpr up::integer_bins inside{1, inner_bins};

__global__ void fill_rows(std::uint8_t* out, std::uint64_t rows, std::uint64_t columns)
{
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * columns;
         i += std::uint64_t{gridDim.x} * blockDim.x)
        out[i] = static_cast<std::uint8_t>((i / columns + i % columns) % kinds);
}

// Of `columns` elements that go round the kinds, from that of the row on: the others come as often or once less.
__global__ void count_wrong_rows(const std::uint64_t* counts, const up::outside* out_of_range, std::uint64_t rows,
                                 std::uint64_t columns, unsigned long long* wrong)
{
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * kinds;
         i += std::uint64_t{gridDim.x} * blockDim.x) {
        const std::uint64_t row = i / kinds;
        const std::uint64_t kind = i % kinds;
        const std::uint64_t distance = (kind + kinds - row % kinds) % kinds;
        const std::uint64_t counted = kind == 0           ? out_of_range[row].below
                                      : kind > inner_bins ? out_of_range[row].above
                                                          : counts[row * inner_bins + kind - 1];
        if (counted != columns / kinds + (distance < columns % kinds ? 1 : 0) || out_of_range[row].nan != 0)
            atomicAdd(wrong, 1);
    }
}

// Many short rows, few long ones, and one.
TEST(large_histogram, more_than_2_to_32_elements_in_rows)
{
    for (const std::uint64_t rows : {(std::uint64_t{1} << 24) + 5, std::uint64_t{3}, std::uint64_t{1}}) {
        const std::uint64_t columns = beyond / rows + 1;
        const std::uint64_t bytes =
            rows * columns + rows * inner_bins * sizeof(std::uint64_t) + rows * sizeof(up::outside);
        if (free_device_bytes() < bytes + (std::size_t{1} << 30))
            GTEST_SKIP() << "needs " << bytes << " bytes of the GPU's memory";
        const device_bytes memory(rows * columns);
        const device_bytes counts(rows * inner_bins * sizeof(std::uint64_t));
        const device_bytes out_of_range(rows * sizeof(up::outside));
        const device_bytes wrong(sizeof(unsigned long long));
        check(cudaMemset(wrong.as<void>(), 0, wrong.size()));
        fill_rows<<<4096, 256>>>(memory.as<std::uint8_t>(), rows, columns);
        up::histogram_rows(up::cuda{}, up::matrix(memory.as<const std::uint8_t>(), rows, columns), inside,
                           std::span(counts.as<std::uint64_t>(), rows * inner_bins),
                           std::span(out_of_range.as<up::outside>(), rows));
        count_wrong_rows<<<4096, 256>>>(counts.as<std::uint64_t>(), out_of_range.as<up::outside>(), rows, columns,
                                        wrong.as<unsigned long long>());
        unsigned long long count = 0;
        check(cudaMemcpy(&count, wrong.as<void>(), sizeof count, cudaMemcpyDeviceToHost));
        EXPECT_EQ(count, 0U) << rows << " rows";
    }
}

// Channel c of pixel p has the value (3 p + c) % 8.
TEST(large_histogram, more_than_2_to_32_elements_of_pixels)
{
    constexpr std::uint64_t channels = 3;
    constexpr std::uint64_t pixels = beyond / channels;
    if (free_device_bytes() < beyond + (std::size_t{1} << 30))
        GTEST_SKIP() << "needs " << beyond << " bytes of the GPU's memory";
    const device_bytes memory(pixels * channels);
    fill_rows<<<4096, 256>>>(memory.as<std::uint8_t>(), 1, pixels * channels);
    wait_for_contents();
    target_array<up::cuda, std::uint64_t> counts(channels * inner_bins);
    target_array<up::cuda, up::outside> out_of_range(channels);
    up::histogram_channels(up::cuda{}, up::matrix(memory.as<const std::uint8_t>(), 1, pixels * channels), channels,
                           inside, counts.span(), out_of_range.span());
    check(cudaDeviceSynchronize());
    std::vector<std::uint64_t> of_kinds(channels * kinds, pixels / kinds);
    for (std::uint64_t i = pixels / kinds * kinds * channels; i < pixels * channels; ++i)
        ++of_kinds[i % channels * kinds + i % kinds];
    const auto counted = counts.to_host();
    const auto counted_out_of_range = out_of_range.to_host();
    for (std::uint64_t c = 0; c < channels; ++c) {
        const std::span<const std::uint64_t> expected(of_kinds.data() + c * kinds, kinds);
        EXPECT_TRUE(std::equal(expected.begin() + 1, expected.end() - 1, counted.begin() + c * inner_bins)) << c;
        EXPECT_EQ(counted_out_of_range[c], (up::outside{expected.front(), expected.back(), 0})) << c;
    }
}

constexpr std::size_t n = 300'006;

template <class T>
host_array<T> random_samples(std::mt19937_64& random, double end)
{
    host_array<T> samples(n);
    for (T& sample : samples)
        sample = static_cast<T>(static_cast<double>(random() % 1'000'003) / 1'000'000 * end);
    return samples;
}

// A call in a graph that is replayed with other samples up to `end`, and beside it.
template <class T, class Call, class Expect>
void expect_replayed(double end, const Call& call, const Expect& expect)
{
    auto random = generator();
    const stream on;
    const up::cuda gpu(on);
    target_array<up::cuda, T> in(n);
    call(gpu, in.const_span());
    const captured graph(on, [&] { call(gpu, in.const_span()); });
    for (int replay = 0; replay < 4; ++replay) {
        const host_array<T> samples = random_samples<T>(random, end);
        check(cudaMemcpyAsync(in.span().data(), samples.begin(), n * sizeof(T), cudaMemcpyHostToDevice, on));
        graph.launch();
        if (replay % 2 == 0)
            call(gpu, in.const_span()); // beside the graph, with the same workspace
        on.wait();
        expect(samples.span());
    }
}

TEST(graph_of_histograms, with_weights)
{
    auto random = generator();
    const host_array<float> weights = random_array<float>(random, n);
    const target_array<up::cuda, float> weights_there(weights.span());
    for (const std::size_t bins : {200, 5000, 30'000}) {
        const up::even_bins even{0, static_cast<double>(bins), bins};
        target_array<up::cuda, float> sums(bins);
        target_array<up::cuda, up::weight_outside<float>> out_of_range(1);
        expect_replayed<float>(
            static_cast<double>(bins),
            [&](const up::cuda& gpu, auto samples) {
                up::weighted_histogram(gpu, samples, weights_there.const_span(), even, sums.span(),
                                       out_of_range.span().data());
            },
            [&](auto samples) {
                std::vector<float> expected(bins);
                const auto expected_out_of_range =
                    up::weighted_histogram(up::cpu{}, samples, weights.span(), even, std::span<float>(expected));
                ASSERT_TRUE(std::ranges::equal(sums.to_host(), expected)) << bins << " bins";
                ASSERT_EQ(out_of_range.to_host()[0], expected_out_of_range) << bins << " bins";
            });
    }
}

// Pairs of neighbours.
TEST(graph_of_histograms, of_two_inputs)
{
    for (const std::size_t bins : {15, 100, 300}) {
        const up::even_bins even{0, static_cast<double>(bins), bins};
        target_array<up::cuda, std::uint64_t> counts(bins * bins);
        target_array<up::cuda, up::outside> out_of_range(1);
        const auto neighbours = [](auto samples) { return std::tuple{samples.first(n - 1), samples.subspan(1)}; };
        expect_replayed<float>(
            static_cast<double>(bins),
            [&](const up::cuda& gpu, auto samples) {
                up::joint_histogram(gpu, neighbours(samples), std::tuple{even, even}, counts.span(),
                                    out_of_range.span().data());
            },
            [&](auto samples) {
                std::vector<std::uint64_t> expected(bins * bins);
                const auto expected_out_of_range = up::joint_histogram(
                    up::cpu{}, neighbours(samples), std::tuple{even, even}, std::span<std::uint64_t>(expected));
                ASSERT_TRUE(std::ranges::equal(counts.to_host(), expected)) << bins << " x " << bins << " bins";
                ASSERT_EQ(out_of_range.to_host()[0], expected_out_of_range) << bins << " x " << bins << " bins";
            });
    }
}

template <class T, class Count>
void expect_several_replayed(std::size_t histograms, std::size_t columns, std::size_t bins, const Count& count)
{
    target_array<up::cuda, std::uint64_t> counts(histograms * bins);
    target_array<up::cuda, up::outside> out_of_range(histograms);
    const auto matrix_of = [&](auto samples) { return up::matrix<T>(samples.data(), n / columns, columns); };
    expect_replayed<T>(
        static_cast<double>(bins),
        [&](const up::cuda& gpu, auto samples) { count(gpu, matrix_of(samples), counts.span(), out_of_range.span()); },
        [&](auto samples) {
            std::vector<std::uint64_t> expected(histograms * bins);
            std::vector<up::outside> expected_out_of_range(histograms);
            count(up::cpu{}, matrix_of(samples), std::span(expected), std::span(expected_out_of_range));
            ASSERT_TRUE(std::ranges::equal(counts.to_host(), expected)) << columns << " columns, " << bins << " bins";
            ASSERT_TRUE(std::ranges::equal(out_of_range.to_host(), expected_out_of_range)) << columns << " columns";
        });
}

TEST(graph_of_histograms, of_rows)
{
    for (const std::size_t columns : {std::size_t{66}, n / 6, n}) { // by warps, by blocks
        const auto rows = [](std::size_t bins) {
            return [=](const auto& target, const auto& in, auto counts, auto out_of_range) {
                up::histogram_rows(target, in, up::even_bins{0, static_cast<double>(bins), bins}, counts, out_of_range);
            };
        };
        expect_several_replayed<std::uint8_t>(n / columns, columns, 200, rows(200));
        expect_several_replayed<float>(n / columns, columns, 50, rows(50));
    }
}

TEST(graph_of_histograms, of_channels)
{
    for (const std::size_t bins : {200, 30'000}) {
        const auto pixels = [=](const auto& target, const auto& in, auto counts, auto out_of_range) {
            up::histogram_channels(target, in, 3, up::even_bins{0, static_cast<double>(bins), bins}, counts,
                                   out_of_range);
        };
        expect_several_replayed<float>(3, 66, bins, pixels);
        if (bins <= 256)
            expect_several_replayed<std::uint8_t>(3, 66, bins, pixels);
    }
}

} // namespace
