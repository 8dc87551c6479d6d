// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include <upsweep/gpu/histogram/joint.cuh>

#include "histograms.cuh"

namespace bench {
namespace {

template <class T>
struct joint_places {
    const T* xs;
    const T* ys;
    unsigned bins;

    __device__ unsigned operator()(std::size_t i) const
    {
        const unsigned x = bin_of_width_one(xs[i], bins);
        const unsigned y = bin_of_width_one(ys[i], bins);
        return x < bins && y < bins ? x * bins + y : bins * bins;
    }
};

// Both coordinates have as many bins, and the same distribution. `bins_name` names the bins in the rows.
template <class T, class MakeBins>
void measure_joint(session& run, const std::string& type, const std::vector<unsigned>& usual,
                   const std::string& bins_name, MakeBins make_bins)
{
    if (!run.wants_histogram("joint", type))
        return;
    const cudaStream_t stream = run.stream();
    const up::cuda gpu(stream);
    const device_memory in_memory(2 * run.sizes().back() * sizeof(T));
    const std::size_t largest = sizeof(T) == 1 ? 256 : 4096;
    const std::size_t most = std::min<std::size_t>(std::ranges::max(run.bins(usual)), largest);
    tables result(stream, most * most);

    for_each_histogram(run, usual, [&](unsigned bins, const std::string& distribution, std::size_t n) {
        if (bins > largest)
            return;
        // Side by side, so that a roof reads both.
        T* const xs = in_memory.data<T>();
        T* const ys = xs + n;
        const width_one widths{static_cast<double>(bins)};
        fill_samples(stream, xs, n, distribution, widths);
        fill_samples(stream, ys, n, distribution, widths, 2 * n);
        result.expect(joint_places<T>{xs, ys, bins}, n, std::size_t{bins} * bins);

        std::vector<contender> contenders = read_roofs(stream, xs, 2 * n * sizeof(T));
        contenders.push_back({"upsweep", "up::joint_histogram", UPSWEEP_VERSION,
                              [&, wanted_bins = make_bins(bins)] {
                                  up::joint_histogram(
                                      gpu, std::tuple{std::span<const T>(xs, n), std::span<const T>(ys, n)},
                                      std::tuple{wanted_bins, wanted_bins}, result.counts(), result.out_of_range());
                              },
                              [&] { return result.are_right(); }});
        const std::string side = std::to_string(bins);
        run.measure(
            {"histogram", type, side + "x" + side + bins_name + " " + distribution, n, 2 * n * sizeof(T), "joint"},
            result.bytes(), contenders);
    });
}

} // namespace

void measure_joint_histograms(session& run)
{
    measure_joint<float>(run, "f32", {128}, "", even_bins_of);
    measure_joint<std::uint8_t>(run, "u8", {64, 256}, "", even_bins_of);
    measure_joint<std::uint8_t>(run, "u8", {64, 256}, " integers", integer_bins_of);
}

} // namespace bench
