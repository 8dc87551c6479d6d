// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Prints the machine's memory bandwidth in GB/s as JSON, {"read": ..., "copy": ...}, in about two seconds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <vector>

#include "buffer.hpp"
#include "roof.hpp"

namespace {

double seconds_of(const std::function<void()>& work)
{
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The median of the best kernel, in interleaved rounds.
double best_gbps(std::size_t bytes, const std::vector<std::function<void()>>& kernels)
{
    constexpr std::size_t rounds = 15;
    std::vector<std::vector<double>> seconds(kernels.size());
    for (std::size_t round = 0; round < rounds; ++round)
        for (std::size_t k = 0; k < kernels.size(); ++k)
            seconds[k].push_back(seconds_of(kernels[k]));

    double best = std::numeric_limits<double>::infinity();
    for (std::vector<double>& mine : seconds) {
        std::ranges::nth_element(mine, mine.begin() + rounds / 2);
        best = std::min(best, mine[rounds / 2]);
    }
    return static_cast<double>(bytes) / best * 1e-9;
}

} // namespace

int main()
{
    constexpr std::size_t bytes = std::size_t{256} << 20;

    bench::buffer<std::byte> in(bytes);
    bench::buffer<std::byte> out(bytes);
    std::ranges::fill(in.span(), std::byte{1});
    std::ranges::fill(out.span(), std::byte{2});

    // Volatile: the compiler must not find out that nobody needs the sums.
    volatile std::size_t sink = 0;
    std::vector<std::function<void()>> readers;
    for (const auto& kernel : bench::read_kernels())
        readers.emplace_back([&] { sink = kernel.run(in.span()); });
    std::vector<std::function<void()>> copiers;
    for (const auto& kernel : bench::copy_kernels())
        copiers.emplace_back([&] { kernel.run(in.span(), out.span()); });

    const double read_gbps = best_gbps(bytes, readers);
    const double copy_gbps = best_gbps(2 * bytes, copiers);
    std::printf("{\"read\": %.1f, \"copy\": %.1f}\n", read_gbps, copy_gbps);
}
