// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Histograms of one type of samples in bins of width one, given as even bins or, of integers, as integer bins.
#pragma once

#include <cub/device/device_histogram.cuh>

#include "histograms.cuh"
#include "peers.cuh"

namespace bench {

template <class T, class MakeBins>
void measure_histogram(session& run, const std::string& kind, const std::string& type,
                       const std::vector<unsigned>& usual, MakeBins make_bins)
{
    if (!run.wants_histogram(kind, type))
        return;
    const cudaStream_t stream = run.stream();
    const up::cuda gpu(stream);
    const device_memory in_memory(run.sizes().back() * sizeof(T));
    tables result(stream, std::ranges::max(run.bins(usual)));
    const T* const in = in_memory.data<const T>();

    for_each_histogram(run, usual, [&](unsigned bins, const std::string& distribution, std::size_t n) {
        if (sizeof(T) == 1 && bins > 256)
            return;
        fill_samples(stream, in_memory.data<T>(), n, distribution, width_one{static_cast<double>(bins)});
        result.expect(even_places<T>{in, bins}, n, bins);

        std::vector<contender> contenders = read_roofs(stream, in, n * sizeof(T));
        contenders.push_back({"upsweep", "up::histogram", UPSWEEP_VERSION,
                              [&, wanted_bins = make_bins(bins)] {
                                  up::histogram(gpu, std::span<const T>(in, n), wanted_bins, result.counts(),
                                                result.out_of_range());
                              },
                              [&] { return result.are_right(); }});
        contenders.push_back({"cub", "DeviceHistogram::HistogramEven", cub_version(),
                              with_storage([=, counts = result.peer_counts()](void* storage, std::size_t& bytes) {
                                  using level = std::conditional_t<std::integral<T>, int, T>;
                                  return cub::DeviceHistogram::HistogramEven(
                                      storage, bytes, in, counts, static_cast<int>(bins) + 1, level{0},
                                      static_cast<level>(bins), static_cast<std::int64_t>(n), stream);
                              }),
                              [&] { return result.peer_counts_are_right(); }});
        run.measure({"histogram", type, std::to_string(bins) + " " + distribution, n, n * sizeof(T), kind},
                    result.bytes(), contenders);
    });
}

template <class T>
void measure_even_histogram(session& run, const std::string& type)
{
    measure_histogram<T>(run, "even", type, {2, 256, 2048, 16384, 65536, 1048576}, even_bins_of);
}

template <class T>
void measure_integer_histogram(session& run, const std::string& type)
{
    measure_histogram<T>(run, "integer", type, {65536, 1048576}, integer_bins_of);
}

} // namespace bench
