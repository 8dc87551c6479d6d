// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cub/device/device_histogram.cuh>

#include "histograms.cuh"
#include "peers.cuh"

namespace bench {
namespace {

// The bin by halving.
struct places_by_edges {
    const float* in;
    const double* edges;
    unsigned bins;

    __device__ unsigned operator()(std::size_t i) const
    {
        const double x = in[i];
        if (!(x >= edges[0] && x < edges[bins]))
            return bins;
        unsigned low = 0;
        unsigned high = bins;
        while (high - low > 1) {
            const unsigned middle = (low + high) / 2;
            (edges[middle] <= x ? low : high) = middle;
        }
        return low;
    }
};

template <class T>
void upload(cudaStream_t stream, const std::vector<double>& edges, device_memory& to)
{
    const std::vector<T> values(edges.begin(), edges.end());
    check(cudaMemcpyAsync(to.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice, stream),
          "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

} // namespace

void measure_histograms_by_edges(session& run)
{
    const std::vector<unsigned> usual{256};
    if (!run.wants_histogram("edges", "f32"))
        return;
    const cudaStream_t stream = run.stream();
    const up::cuda gpu(stream);
    const device_memory in_memory(run.sizes().back() * sizeof(float));
    const std::size_t most = std::ranges::max(run.bins(usual));
    device_memory edges_memory((most + 1) * sizeof(double));
    device_memory levels_memory((most + 1) * sizeof(float));
    tables result(stream, most);
    const float* const in = in_memory.data<const float>();

    for_each_histogram(run, usual, [&](unsigned bins, const std::string& distribution, std::size_t n) {
        const rising_widths widths{static_cast<double>(bins)};
        std::vector<double> values(bins + 1);
        for (unsigned k = 0; k <= bins; ++k)
            values[k] = widths.sample_at(k);
        upload<double>(stream, values, edges_memory);
        upload<float>(stream, values, levels_memory);
        fill_samples(stream, in_memory.data<float>(), n, distribution, widths);
        result.expect(places_by_edges{in, edges_memory.data<const double>(), bins}, n, bins);

        std::vector<contender> contenders = read_roofs(stream, in, n * sizeof(float));
        contenders.push_back({"upsweep", "up::histogram", UPSWEEP_VERSION,
                              [&, wanted_bins = up::edges(values)] {
                                  up::histogram(gpu, std::span<const float>(in, n), wanted_bins, result.counts(),
                                                result.out_of_range());
                              },
                              [&] { return result.are_right(); }});
        contenders.push_back(
            {"cub", "DeviceHistogram::HistogramRange", cub_version(),
             with_storage([=, counts = result.peer_counts(),
                           levels = levels_memory.data<const float>()](void* storage, std::size_t& bytes) {
                 return cub::DeviceHistogram::HistogramRange(storage, bytes, in, counts, static_cast<int>(bins) + 1,
                                                             levels, static_cast<std::int64_t>(n), stream);
             }),
             [&] { return result.peer_counts_are_right(); }});
        run.measure({"histogram", "f32", std::to_string(bins) + " " + distribution, n, n * sizeof(float), "edges"},
                    result.bytes(), contenders);
    });
}

} // namespace bench
