// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <upsweep/scan.hpp>

namespace upsweep {
namespace {

// A child of fork() has none of the threads of oneTBB, and locks that they held at that moment stay locked in it.
TEST(forked_process, folds)
{
    std::vector<std::uint32_t> values(std::size_t{1} << 20);
    std::iota(values.begin(), values.end(), 1U);
    const auto sums = [&] {
        std::vector<std::uint32_t> result(values.size(), 0xdead);
        inclusive_scan(cpu{4}, values, result, plus{});
        return result;
    };
    const auto want = sums();
    std::atomic<bool> stop{false};
    std::thread folding([&] {
        while (!stop)
            sums();
    });
    for (int k = 0; k < 20; ++k) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            _exit(sums() == want ? 0 : 1);
        }
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    stop = true;
    folding.join();
}

} // namespace
} // namespace upsweep
