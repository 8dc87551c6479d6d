// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks of histograms share: samples of every distribution, and what is counted of them in the plainest
// way.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <upsweep/gpu/histogram/histogram.cuh>

#include "contenders.hpp"
#include "generated.cuh"
#include "roof.hpp"

namespace bench {

namespace up = upsweep;

// Where sample i of n is, in bins: where uniform bits are `u` and `v`, in [0, 1).
inline __device__ double place_of(char distribution, double u, double v, double i, double n, double bins)
{
    const double hot = floor(bins / 3);
    switch (distribution) {
    case 'u': return u * bins;                             // uniform
    case 'c': return hot;                                  // constant
    case 't': return u < 0.5 ? hot : fmod(hot + 32, bins); // two-valued, in one bank of shared memory
    case 'z': return exp(u * log(bins + 1)) - 1;           // Zipf: the density falls with 1 / place
    case 'n': return bins * (0.5 + 0.125 * sqrt(-2 * log(1 - u)) * cospi(2 * v)); // normal, the range is 4 sigma
    case 's': return i / n * bins;                                                // sorted
    default: return u < 0.5 ? hot : v * bins;                                     // one hot bin
    }
}

// The two ways to give bins of width one.
inline up::even_bins even_bins_of(unsigned bins) { return {0, static_cast<double>(bins), bins}; }
inline up::integer_bins integer_bins_of(unsigned bins) { return {0, bins}; }

// Bins of width one.
struct width_one {
    double bins;

    __device__ double sample_at(double place) const { return place; }
};

// Rising widths, from half of that to one and a half of it.
struct rising_widths {
    double bins;

    __host__ __device__ double sample_at(double place) const { return place * (place + bins) / (2 * bins); }
};

template <class T, class Widths>
__global__ void fill_samples_kernel(T* out, std::size_t n, char distribution, Widths widths, std::uint64_t seed)
{
    const double bins = widths.bins;
    for (std::size_t i = std::size_t{blockIdx.x} * block + threadIdx.x; i < n; i += std::size_t{grid} * block) {
        const double u = static_cast<double>(scattered(seed + 2 * i) >> 11) * 0x1p-53;
        const double v = static_cast<double>(scattered(seed + 2 * i + 1) >> 11) * 0x1p-53;
        const double place = place_of(distribution, u, v, static_cast<double>(i), static_cast<double>(n), bins);
        if constexpr (std::integral<T>) {
            out[i] = static_cast<T>(floor(fmin(fmax(place, 0.0), bins - 1.0)));
        } else {
            const auto sample = static_cast<T>(widths.sample_at(place));
            // The end of the range is in the last bin here, and in none of CUB's.
            out[i] = sample == static_cast<T>(bins) ? static_cast<T>(bins - 0.5) : sample;
        }
    }
}

template <class T, class Widths>
void fill_samples(cudaStream_t stream, T* out, std::size_t n, const std::string& distribution, const Widths& widths,
                  std::uint64_t seed = 0)
{
    fill_samples_kernel<<<grid, block, 0, stream>>>(out, n, distribution.front(), widths, seed);
    check(cudaGetLastError(), "fill_samples_kernel");
}

// The bin of a sample among bins of width one, or `bins` for one outside.
template <class T>
__device__ unsigned bin_of_width_one(T sample, unsigned bins)
{
    const auto x = static_cast<double>(sample);
    return x >= 0 && x < bins ? static_cast<unsigned>(x) : bins;
}

template <class T>
struct even_places {
    const T* in;
    unsigned bins;

    __device__ unsigned operator()(std::size_t i) const { return bin_of_width_one(in[i], bins); }
};

// In the simplest way that constant samples do not bring to a halt: a warp adds once for each counter. bin_of(i) is
// that of element i, or `counters` for none.
template <class BinOf>
__global__ void plain_count_kernel(BinOf bin_of, std::size_t n, unsigned counters, unsigned long long* counts)
{
    const std::size_t threads = std::size_t{grid} * block;
    for (std::size_t first = 0; first < n; first += threads) {
        const std::size_t i = first + std::size_t{blockIdx.x} * block + threadIdx.x;
        const unsigned bin = i < n ? bin_of(i) : counters;
        const unsigned same = __match_any_sync(~0U, bin);
        if (bin < counters && __ffs(static_cast<int>(same)) - 1 == static_cast<int>(threadIdx.x % 32))
            atomicAdd(counts + bin, static_cast<unsigned long long>(__popc(same)));
    }
}

template <class Counter>
__global__ void count_wrong_kernel(const Counter* counts, const unsigned long long* expected, std::size_t counters,
                                   unsigned long long* wrong)
{
    for (std::size_t k = std::size_t{blockIdx.x} * block + threadIdx.x; k < counters; k += std::size_t{grid} * block)
        if (counts[k] != expected[k])
            atomicAdd(wrong, 1);
}

// Where contenders write the counts of so many bins at most, and what is expected there.
class tables {
public:
    tables(cudaStream_t stream, std::size_t most, std::size_t histograms = 1)
        : stream_(stream), counts_(most * sizeof(std::uint64_t)), expected_(most * sizeof(std::uint64_t)),
          out_of_range_(histograms * sizeof(up::outside)), wrong_(sizeof(std::uint64_t))
    {
    }

    template <class BinOf>
    void expect(const BinOf& bin_of, std::size_t n, std::size_t counters)
    {
        counters_ = counters;
        auto* const expected = expected_.data<unsigned long long>();
        check(cudaMemsetAsync(expected, 0, counters * sizeof(std::uint64_t), stream_), "cudaMemsetAsync");
        plain_count_kernel<<<grid, block, 0, stream_>>>(bin_of, n, static_cast<unsigned>(counters), expected);
        check(cudaGetLastError(), "plain_count_kernel");
    }

    std::span<std::uint64_t> counts() const { return {counts_.data<std::uint64_t>(), counters_}; }
    std::uint32_t* peer_counts() const { return counts_.data<std::uint32_t>(); }
    up::outside* out_of_range() const { return out_of_range_.data<up::outside>(); }
    std::span<std::byte> bytes() const { return std::as_writable_bytes(counts()); }

    bool are_right() const { return are_right(counts().data()); }
    bool peer_counts_are_right() const { return are_right(peer_counts()); }

private:
    template <class Counter>
    bool are_right(const Counter* counts) const
    {
        check(cudaMemsetAsync(wrong_.data(), 0, wrong_.bytes(), stream_), "cudaMemsetAsync");
        count_wrong_kernel<<<grid, block, 0, stream_>>>(counts, expected_.data<unsigned long long>(), counters_,
                                                        wrong_.data<unsigned long long>());
        check(cudaGetLastError(), "count_wrong_kernel");
        return to_host(wrong_.data<std::uint64_t>(), 1).front() == 0;
    }

    cudaStream_t stream_;
    device_memory counts_;
    device_memory expected_;
    device_memory out_of_range_;
    device_memory wrong_;
    std::size_t counters_ = 0;
};

// Calls measure(bins, distribution, n) for all that was asked for. `usual` are the bins if none were.
template <class F>
void for_each_histogram(const session& run, const std::vector<unsigned>& usual, F measure)
{
    for (const unsigned bins : run.bins(usual))
        for (const std::string& distribution : run.distributions())
            for (const std::size_t n : run.sizes())
                measure(bins, distribution, n);
}

} // namespace bench
