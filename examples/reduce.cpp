// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <vector>

#include <upsweep/upsweep.hpp>

namespace up = upsweep;

int main()
{
    std::vector<float> wave(10'000'000);
    for (std::size_t i = 0; i < wave.size(); ++i)
        wave[i] = std::sin(static_cast<float>(i));

    // All cores, or one thread: the same bits.
    const float sum = up::reduce(up::cpu{}, wave, up::plus{});
    const float sum_by_one_thread = up::reduce(up::cpu{1}, wave, up::plus{});
    const float highest = up::reduce(up::cpu{}, wave, up::maximum{});

    std::printf("the same sum: %s\n", sum == sum_by_one_thread ? "yes" : "no");
    std::printf("maximum: %.6f\n", highest);
}

// Prints:
// the same sum: yes
// maximum: 1.000000
