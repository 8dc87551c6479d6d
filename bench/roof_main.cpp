// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Prints the machine's memory bandwidth in GB/s as JSON: {"read_gbps": ..., "copy_gbps": ...}. About two seconds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
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

// The best of all kernels in all rounds: a roof is what the machine can do, not what it does on average.
double best_gbps(std::size_t bytes, int rounds, const std::vector<std::function<void()>>& kernels)
{
    double best = seconds_of(kernels.front());
    for (int round = 0; round < rounds; ++round)
        for (const auto& kernel : kernels)
            best = std::min(best, seconds_of(kernel));
    return static_cast<double>(bytes) / best * 1e-9;
}

} // namespace

int main()
{
    constexpr std::size_t bytes = std::size_t{256} << 20;
    constexpr int rounds = 15;

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

    const double read_gbps = best_gbps(bytes, rounds, readers);
    const double copy_gbps = best_gbps(2 * bytes, rounds, copiers);
    std::printf("{\"read_gbps\": %.1f, \"copy_gbps\": %.1f}\n", read_gbps, copy_gbps);
}
