// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Histograms along an axis and of segments, beside kernels that read the samples and write the counters.
#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include <upsweep/axis_histogram.hpp>
#include <upsweep/segmented_histogram.hpp>

#include "histograms.cuh"

namespace bench {
namespace {

// The counters of an array of outer x length x inner samples, of which the bins take the place of the length.
template <class T>
struct line_counters {
    const T* in;
    std::size_t length;
    std::size_t inner;
    unsigned bins;
    unsigned counters;

    __device__ unsigned operator()(std::size_t i) const
    {
        const unsigned bin = bin_of_width_one(in[i], bins);
        const std::size_t outer = i / (length * inner);
        return bin < bins ? static_cast<unsigned>((outer * bins + bin) * inner + i % inner) : counters;
    }
};

struct segment_counters {
    const float* in;
    const std::int64_t* offsets;
    std::size_t segments;
    unsigned bins;
    unsigned counters;

    __device__ unsigned operator()(std::size_t i) const
    {
        std::size_t low = 0; // the last segment that begins at i or before
        for (std::size_t count = segments; count > 1;) {
            const std::size_t half = count / 2;
            low += offsets[low + half] <= static_cast<std::int64_t>(i) ? half : 0;
            count -= half;
        }
        const unsigned bin = bin_of_width_one(in[i], bins);
        return bin < bins ? static_cast<unsigned>(low * bins + bin) : counters;
    }
};

std::size_t multiple_of_16(std::size_t bytes) { return bytes / 16 * 16; }

// Room for the counters of so many histograms, and for what is beside their bins, which the roof writes, too.
std::size_t words_of(std::size_t histograms, std::size_t bins) { return histograms * (bins + 3); }

struct split {
    std::size_t outer;
    std::size_t length;
    std::size_t inner;
    unsigned bins;
};

template <class T>
void measure_axis(session& run, const char* type, const split& s)
{
    const cudaStream_t stream = run.stream();
    const up::cuda gpu(stream);
    const std::size_t n = s.outer * s.length * s.inner;
    const std::size_t lines = s.outer * s.inner;
    const std::size_t counters = lines * s.bins;
    const device_memory memory(n * sizeof(T));
    T* const in = memory.data<T>();
    fill_samples(stream, in, n, "uniform", width_one{static_cast<double>(s.bins)});
    tables result(stream, words_of(lines, s.bins), lines);
    result.expect(line_counters<T>{in, s.length, s.inner, s.bins, static_cast<unsigned>(counters)}, n, counters);
    const std::size_t written = words_of(lines, s.bins) * sizeof(std::uint64_t);
    std::vector<contender> contenders =
        read_and_write_roofs(stream, in, multiple_of_16(n * sizeof(T)), result.bytes().data(), multiple_of_16(written));
    contenders.push_back({"upsweep", "up::histogram", UPSWEEP_VERSION,
                          [=, &result, wanted_bins = even_bins_of(s.bins)] {
                              up::histogram(gpu, up::view(static_cast<const T*>(in), {s.outer, s.length, s.inner}),
                                            up::axis{1}, wanted_bins,
                                            up::view(result.counts().data(), {s.outer, std::size_t{s.bins}, s.inner}),
                                            std::span(result.out_of_range(), lines));
                          },
                          [&] { return result.are_right(); }});
    run.measure({"histogram", type,
                 std::to_string(s.bins) + " along " + std::to_string(s.outer) + " x (" + std::to_string(s.length) +
                     ") x " + std::to_string(s.inner),
                 n, n * sizeof(T) + written, "axis"},
                result.bytes(), contenders);
}

void measure_segments(session& run, const std::string& name, const std::vector<std::int64_t>& offsets, unsigned bins)
{
    const cudaStream_t stream = run.stream();
    const up::cuda gpu(stream);
    const auto n = static_cast<std::size_t>(offsets.back());
    const std::size_t segments = offsets.size() - 1;
    const std::size_t counters = segments * bins;
    const std::size_t read = n * sizeof(float) + offsets.size() * sizeof(std::int64_t);
    const device_memory memory(read + 16);
    auto* const of_segments = memory.data<std::int64_t>();
    auto* const in = reinterpret_cast<float*>(of_segments + (offsets.size() + 1) / 2 * 2);
    check(cudaMemcpy(of_segments, offsets.data(), offsets.size() * sizeof(std::int64_t), cudaMemcpyHostToDevice),
          "cudaMemcpy");
    fill_samples(stream, in, n, "uniform", width_one{static_cast<double>(bins)});
    tables result(stream, words_of(segments, bins), segments);
    result.expect(segment_counters{in, of_segments, segments, bins, static_cast<unsigned>(counters)}, n, counters);
    const std::size_t written = words_of(segments, bins) * sizeof(std::uint64_t);
    std::vector<contender> contenders =
        read_and_write_roofs(stream, of_segments, multiple_of_16(read), result.bytes().data(), multiple_of_16(written));
    contenders.push_back({"upsweep", "up::segmented_histogram", UPSWEEP_VERSION,
                          [=, &result, count = offsets.size(), wanted_bins = even_bins_of(bins)] {
                              up::segmented_histogram(gpu, std::span<const float>(in, n),
                                                      std::span<const std::int64_t>(of_segments, count), wanted_bins,
                                                      result.counts(), std::span(result.out_of_range(), segments));
                          },
                          [&] { return result.are_right(); }});
    run.measure({"histogram", "f32", std::to_string(bins) + " of segments of " + name, n, read + written, "segments"},
                result.bytes(), contenders);
}

template <class Length>
std::vector<std::int64_t> offsets_of(std::size_t n, Length length_of_next)
{
    std::vector<std::int64_t> offsets{0};
    while (offsets.back() < static_cast<std::int64_t>(n))
        offsets.push_back(std::min(offsets.back() + length_of_next(), static_cast<std::int64_t>(n)));
    return offsets;
}

} // namespace

void measure_histograms_of_lines(session& run)
{
    for (const std::size_t n : run.sizes()) {
        std::size_t side = 1;
        while (side * side < n)
            side *= 2;
        if (run.wants_histogram("axis", "f32"))
            for (const split& s :
                 {split{side, n / side, 1, 256}, split{1, side, n / side, 256}, split{1, side, n / side, 1024},
                  split{64, side / 8, n / side / 8, 256}, split{1, n / 16, 16, 256}, split{n / 16, 16, 1, 16},
                  split{16, n / 16, 1, 256}, split{1, 16, n / 16, 16}, split{1, n / 3, 3, 256}})
                measure_axis<float>(run, "f32", s);
        if (run.wants_histogram("axis", "u8"))
            for (const split& s : {split{1, n / 3, 3, 256}, split{1, side, n / side, 256}})
                measure_axis<std::uint8_t>(run, "u8", s);
        if (run.wants_histogram("segments", "f32")) {
            const auto always = [&](std::int64_t length) { return offsets_of(n, [=] { return length; }); };
            measure_segments(run, "1", always(1), 4);
            measure_segments(run, "64", always(64), 64);
            measure_segments(run, "4096", always(4096), 256);
            std::mt19937_64 random(1);
            measure_segments(run, "a power law",
                             offsets_of(n,
                                        [&] {
                                            const double u = static_cast<double>(random() >> 11) * 0x1p-53;
                                            return static_cast<std::int64_t>(std::min(1e7, 1 / std::max(u, 1e-7)));
                                        }),
                             16);
        }
    }
}

} // namespace bench
