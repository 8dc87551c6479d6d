// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Histograms of one type of samples, in even bins of width one, for every number of bins and distribution that was asked for.
#pragma once

#include "folds.cuh"

namespace bench {

// Where sample i of n is, in bins: where uniform bits are `u` and `v`, in [0, 1).
inline __device__ double place_of(char kind, double u, double v, double i, double n, double bins)
{
    const double hot = floor(bins / 3);
    switch (kind) {
    case 'u': return u * bins;                             // uniform
    case 'c': return hot;                                  // constant
    case 't': return u < 0.5 ? hot : fmod(hot + 32, bins); // two-valued, in one bank of shared memory
    case 'z': return exp(u * log(bins + 1)) - 1;           // Zipf: the density falls with 1 / place
    case 'n': return bins * (0.5 + 0.125 * sqrt(-2 * log(1 - u)) * cospi(2 * v)); // normal, the range is 4 sigma
    case 's': return i / n * bins;                                                // sorted
    default: return u < 0.5 ? hot : v * bins;                                     // one hot bin
    }
}

template <class T>
__global__ void fill_places_kernel(T* out, std::size_t n, char kind, unsigned bins)
{
    for (std::size_t i = std::size_t{blockIdx.x} * block + threadIdx.x; i < n; i += std::size_t{grid} * block) {
        const double u = static_cast<double>(scattered(2 * i) >> 11) * 0x1p-53;
        const double v = static_cast<double>(scattered(2 * i + 1) >> 11) * 0x1p-53;
        const double place = place_of(kind, u, v, static_cast<double>(i), static_cast<double>(n), bins);
        out[i] = static_cast<T>(std::integral<T> ? floor(fmin(fmax(place, 0.0), bins - 1.0)) : place);
    }
}

// In the simplest way that constant samples do not bring to a halt: a warp adds once for each bin.
template <class T>
__global__ void plain_histogram_kernel(const T* in, std::size_t n, unsigned bins, unsigned long long* counts)
{
    const std::size_t threads = std::size_t{grid} * block;
    for (std::size_t first = 0; first < n; first += threads) {
        const std::size_t i = first + std::size_t{blockIdx.x} * block + threadIdx.x;
        const double x = i < n ? static_cast<double>(in[i]) : -1.0;
        const unsigned bin = x >= 0 && x < bins ? static_cast<unsigned>(x) : x == bins ? bins - 1 : bins;
        const unsigned same = __match_any_sync(~0U, bin);
        if (bin < bins && __ffs(static_cast<int>(same)) - 1 == static_cast<int>(threadIdx.x % 32))
            atomicAdd(counts + bin, static_cast<unsigned long long>(__popc(same)));
    }
}

template <class T>
void measure_histogram(session& run, const std::string& type)
{
    if (!run.wants("histogram", type))
        return;
    const cudaStream_t stream = run.stream();
    const up::cuda gpu(stream);
    const unsigned most = *std::ranges::max_element(run.bins());
    const device_memory in_memory(run.sizes().back() * sizeof(T));
    const device_memory counts_memory(most * sizeof(std::uint64_t));
    const device_memory plain_memory(most * sizeof(std::uint64_t));
    const device_memory beside_memory(sizeof(up::outside));
    const T* const in = in_memory.data<const T>();
    up::outside* const beside = beside_memory.data<up::outside>();

    for (const unsigned bins : run.bins())
        for (const std::string& distribution : run.distributions())
            for (const std::size_t n : run.sizes()) {
                if (sizeof(T) == 1 && bins > 256)
                    continue;
                fill_places_kernel<<<grid, block, 0, stream>>>(in_memory.data<T>(), n, distribution.front(), bins);
                check(cudaMemsetAsync(plain_memory.data(), 0, plain_memory.bytes(), stream), "cudaMemsetAsync");
                plain_histogram_kernel<<<grid, block, 0, stream>>>(in, n, bins,
                                                                   plain_memory.data<unsigned long long>());
                const std::vector<std::uint64_t> expected = to_host(plain_memory.data<std::uint64_t>(), bins);
                const auto is_right = [&]<class Counter>(const Counter* counts) {
                    return std::ranges::equal(to_host(counts, bins), expected);
                };
                auto* const counts = counts_memory.data<std::uint64_t>();
                auto* const peer_counts = counts_memory.data<std::uint32_t>();
                const up::even_bins even{0, static_cast<double>(bins), bins};

                std::vector<contender> contenders = read_roofs(stream, in, n * sizeof(T));
                contenders.push_back(
                    {"upsweep", "up::histogram", UPSWEEP_VERSION,
                     [=] { up::histogram(gpu, std::span<const T>(in, n), even, std::span(counts, bins), beside); },
                     [=] { return is_right(counts); }});
                contenders.push_back({"cub", "DeviceHistogram::HistogramEven", cub_version(),
                                      with_storage([=](void* storage, std::size_t& bytes) {
                                          using level = std::conditional_t<std::integral<T>, int, T>;
                                          return cub::DeviceHistogram::HistogramEven(
                                              storage, bytes, in, peer_counts, static_cast<int>(bins) + 1, level{0},
                                              static_cast<level>(bins), static_cast<std::int64_t>(n), stream);
                                      }),
                                      [=] { return is_right(peer_counts); }});
                run.measure({"histogram", type, std::to_string(bins) + " " + distribution, n, n * sizeof(T)},
                            {counts_memory.data(), bins * sizeof(std::uint64_t)}, contenders);
            }
}

} // namespace bench
