// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Histograms of bytes that are rows of a matrix, pixels, or a part of an image.
#include <array>

#include <cub/device/device_histogram.cuh>
#include <upsweep/gpu/histogram/channels.cuh>
#include <upsweep/gpu/histogram/rows.cuh>

#include "histograms.cuh"
#include "peers.cuh"

namespace bench {
namespace {

using byte = std::uint8_t;

// The counters of each row, or channel, follow those of the one before.
struct row_places {
    const byte* in;
    std::size_t columns;
    unsigned bins;
    unsigned counters;

    __device__ unsigned operator()(std::size_t i) const
    {
        return in[i] < bins ? static_cast<unsigned>(i / columns) * bins + in[i] : counters;
    }
};
struct channel_places {
    const byte* in;
    unsigned channels;
    unsigned bins;

    __device__ unsigned operator()(std::size_t i) const
    {
        return in[i] < bins ? static_cast<unsigned>(i % channels) * bins + in[i] : channels * bins;
    }
};
struct part_places {
    up::matrix<byte> part;
    unsigned bins;

    __device__ unsigned operator()(std::size_t i) const
    {
        return bin_of_width_one(part.row(i / part.columns)[i % part.columns], bins);
    }
};

// Rows of 256: most of what is moved is the counters. `bins_name` names the bins in the rows of results.
template <class MakeBins>
void measure_rows(session& run, const std::string& bins_name, MakeBins make_bins)
{
    constexpr std::size_t columns = 256;
    const std::vector<unsigned> usual{256};
    if (!run.wants_histogram("rows", "u8"))
        return;
    const cudaStream_t stream = run.stream();
    const up::cuda gpu(stream);
    // Their counters take 8 GiB.
    const std::size_t most_rows = std::min(run.sizes().back() / columns, std::size_t{1} << 22);
    const device_memory in_memory(run.sizes().back());
    const byte* const in = in_memory.data<const byte>();
    tables result(stream, most_rows * std::min(std::ranges::max(run.bins(usual)), 256U), most_rows);

    for_each_histogram(run, usual, [&](unsigned bins, const std::string& distribution, std::size_t n) {
        const std::size_t rows = n / columns;
        if (bins > 256 || rows == 0 || rows > most_rows)
            return;
        const auto counters = static_cast<unsigned>(rows * bins);
        fill_samples(stream, in_memory.data<byte>(), n, distribution, width_one{static_cast<double>(bins)});
        result.expect(row_places{in, columns, bins, counters}, n, counters);

        std::vector<contender> contenders =
            read_and_write_roofs(stream, in, n, result.bytes().data(), result.bytes().size());
        contenders.push_back({"upsweep", "up::histogram_rows", UPSWEEP_VERSION,
                              [&, wanted_bins = make_bins(bins)] {
                                  up::histogram_rows(gpu, up::matrix(in, rows, columns), wanted_bins, result.counts(),
                                                     std::span(result.out_of_range(), rows));
                              },
                              [&] { return result.are_right(); }});
        run.measure({"histogram", "u8", std::to_string(bins) + bins_name + " " + distribution, n,
                     n + result.bytes().size(), "rows"},
                    result.bytes(), contenders);
    });
}

template <std::size_t... Channel>
contender peer_of_channels(const tables& result, const byte* in, std::size_t pixels, unsigned bins, cudaStream_t stream,
                           std::index_sequence<Channel...>)
{
    constexpr int channels = sizeof...(Channel);
    return {"cub", "DeviceHistogram::MultiHistogramEven", cub_version(),
            with_storage([=, counts = result.peer_counts()](void* storage, std::size_t& bytes) {
                const cuda::std::array<std::uint32_t*, channels> histograms{(counts + Channel * bins)...};
                cuda::std::array<int, channels> levels{};
                cuda::std::array<int, channels> low{};
                cuda::std::array<int, channels> high{};
                levels.fill(static_cast<int>(bins) + 1);
                high.fill(static_cast<int>(bins));
                return cub::DeviceHistogram::MultiHistogramEven<channels, channels>(
                    storage, bytes, in, histograms, levels, low, high, static_cast<std::int64_t>(pixels), stream);
            }),
            [&] { return result.peer_counts_are_right(); }};
}

template <unsigned Channels>
void measure_channels(session& run)
{
    const std::vector<unsigned> usual{256};
    if (!run.wants_histogram("channels", "u8"))
        return;
    const cudaStream_t stream = run.stream();
    const up::cuda gpu(stream);
    const device_memory in_memory(run.sizes().back());
    const byte* const in = in_memory.data<const byte>();
    tables result(stream, Channels * 256, Channels);

    for_each_histogram(run, usual, [&](unsigned bins, const std::string& distribution, std::size_t size) {
        if (bins > 256 || size < 256)
            return;
        const std::size_t n = size / (16 * Channels) * (16 * Channels); // the roof reads vectors
        fill_samples(stream, in_memory.data<byte>(), n, distribution, width_one{static_cast<double>(bins)});
        result.expect(channel_places{in, Channels, bins}, n, Channels * bins);

        std::vector<contender> contenders = read_roofs(stream, in, n);
        contenders.push_back({"upsweep", "up::histogram_channels", UPSWEEP_VERSION,
                              [&, wanted_bins = even_bins_of(bins)] {
                                  up::histogram_channels(gpu, up::matrix(in, 1, n), Channels, wanted_bins,
                                                         result.counts(), std::span(result.out_of_range(), Channels));
                              },
                              [&] { return result.are_right(); }});
        if constexpr (Channels <= 4)
            contenders.push_back(
                peer_of_channels(result, in, n / Channels, bins, stream, std::make_index_sequence<Channels>{}));
        run.measure({"histogram", "u8", std::to_string(Channels) + "x" + std::to_string(bins) + " " + distribution, n,
                     n, "channels"},
                    result.bytes(), contenders);
    });
}

// A part of an image that is a quarter wider, from a column where no vector begins.
void measure_part(session& run)
{
    constexpr std::size_t columns = 16384;
    constexpr std::size_t pitch = 20480;
    constexpr std::size_t first_column = 1001;
    const std::vector<unsigned> usual{256};
    if (!run.wants_histogram("pitched", "u8"))
        return;
    const cudaStream_t stream = run.stream();
    const up::cuda gpu(stream);
    const device_memory in_memory(std::max<std::size_t>(run.sizes().back() / columns, 1) * pitch);
    const byte* const in = in_memory.data<const byte>();
    tables result(stream, 256);

    for_each_histogram(run, usual, [&](unsigned bins, const std::string& distribution, std::size_t size) {
        const std::size_t rows = size / columns;
        const std::size_t n = rows * columns;
        if (bins > 256 || rows < 2)
            return;
        const up::matrix<byte> part(in + first_column, rows, columns, pitch);
        fill_samples(stream, in_memory.data<byte>(), rows * pitch, distribution, width_one{static_cast<double>(bins)});
        result.expect(part_places{part, bins}, n, bins);

        std::vector<contender> contenders = read_roofs(stream, in, n);
        contenders.push_back({"upsweep", "up::histogram", UPSWEEP_VERSION,
                              [&, wanted_bins = even_bins_of(bins)] {
                                  up::histogram(gpu, part, wanted_bins, result.counts(), result.out_of_range());
                              },
                              [&] { return result.are_right(); }});
        contenders.push_back({"cub", "DeviceHistogram::HistogramEven", cub_version(),
                              with_storage([=, counts = result.peer_counts()](void* storage, std::size_t& bytes) {
                                  return cub::DeviceHistogram::HistogramEven(
                                      storage, bytes, part.data, counts, static_cast<int>(bins) + 1, 0,
                                      static_cast<int>(bins), static_cast<std::int64_t>(columns),
                                      static_cast<std::int64_t>(rows), pitch, stream);
                              }),
                              [&] { return result.peer_counts_are_right(); }});
        run.measure({"histogram", "u8", std::to_string(bins) + " " + distribution, n, n, "pitched"}, result.bytes(),
                    contenders);
    });
}

} // namespace

void measure_histograms_of_matrices(session& run)
{
    measure_rows(run, "", even_bins_of);
    measure_rows(run, " integers", integer_bins_of);
    measure_channels<4>(run);
    measure_channels<5>(run);
    measure_part(run);
}

} // namespace bench
