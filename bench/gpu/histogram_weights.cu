// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Weights are multiples of 2^-25, so that their sums are known exactly: as integers.
#include <upsweep/gpu/histogram/weighted.cuh>

#include "histograms.cuh"

namespace bench {
namespace {

__global__ void fill_weights_kernel(float* out, std::size_t n)
{
    for (std::size_t i = std::size_t{blockIdx.x} * block + threadIdx.x; i < n; i += std::size_t{grid} * block)
        out[i] = small_float(scattered(~i));
}

// As plain_count_kernel. The sum of a warp's weights fits into 32 bits.
__global__ void plain_sum_kernel(even_places<float> bin_of, const float* weights, std::size_t n,
                                 unsigned long long* sums)
{
    const std::size_t threads = std::size_t{grid} * block;
    for (std::size_t first = 0; first < n; first += threads) {
        const std::size_t i = first + std::size_t{blockIdx.x} * block + threadIdx.x;
        const unsigned bin = i < n ? bin_of(i) : bin_of.bins;
        const int weight = i < n ? static_cast<int>(weights[i] * 0x1p25f) : 0;
        const unsigned same = __match_any_sync(~0U, bin);
        const int sum = __reduce_add_sync(same, weight);
        if (bin < bin_of.bins && __ffs(static_cast<int>(same)) - 1 == static_cast<int>(threadIdx.x % 32))
            atomicAdd(sums + bin, static_cast<unsigned long long>(static_cast<long long>(sum)));
    }
}

} // namespace

void measure_weighted_histograms(session& run)
{
    const std::vector<unsigned> usual{256, 1024, 4096, 16384};
    if (!run.wants_histogram("weights", "f32"))
        return;
    const cudaStream_t stream = run.stream();
    const up::cuda gpu(stream);
    const device_memory in_memory(2 * run.sizes().back() * sizeof(float));
    const std::size_t most = std::ranges::max(run.bins(usual));
    const device_memory sums_memory(most * sizeof(float));
    const device_memory plain_memory(most * sizeof(std::int64_t));
    const device_memory out_of_range_memory(sizeof(up::weight_outside<float>));

    for_each_histogram(run, usual, [&](unsigned bins, const std::string& distribution, std::size_t n) {
        // Side by side, so that a roof reads both.
        auto* const samples = in_memory.data<float>();
        float* const weights = samples + n;
        fill_samples(stream, samples, n, distribution, width_one{static_cast<double>(bins)});
        fill_weights_kernel<<<grid, block, 0, stream>>>(weights, n);
        check(cudaMemsetAsync(plain_memory.data(), 0, plain_memory.bytes(), stream), "cudaMemsetAsync");
        plain_sum_kernel<<<grid, block, 0, stream>>>(even_places<float>{samples, bins}, weights, n,
                                                     plain_memory.data<unsigned long long>());
        check(cudaGetLastError(), "plain_sum_kernel");
        const std::vector<std::int64_t> expected = to_host(plain_memory.data<std::int64_t>(), bins);
        const std::span<float> sums(sums_memory.data<float>(), bins);

        std::vector<contender> contenders = read_roofs(stream, samples, 2 * n * sizeof(float));
        contenders.push_back(
            {"upsweep", "up::weighted_histogram", UPSWEEP_VERSION,
             [&, wanted_bins = even_bins_of(bins)] {
                 up::weighted_histogram(gpu, std::span<const float>(samples, n), std::span<const float>(weights, n),
                                        wanted_bins, sums, out_of_range_memory.data<up::weight_outside<float>>());
             },
             [&] {
                 // Below 2^53 they are doubles, which are rounded once.
                 return std::ranges::equal(to_host(sums.data(), bins), expected, {}, {}, [](std::int64_t sum) {
                     return static_cast<float>(static_cast<double>(sum) * 0x1p-25);
                 });
             }});
        run.measure(
            {"histogram", "f32", std::to_string(bins) + " " + distribution, n, 2 * n * sizeof(float), "weights"},
            std::as_writable_bytes(sums), contenders);
    });
}

} // namespace bench
