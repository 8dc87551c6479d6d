// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Any random-access range can be folded: here one that computes its elements on the fly, so that no array of squares exists.
#include <cmath>
#include <cstdio>
#include <ranges>
#include <vector>

#include <upsweep/upsweep.hpp>

namespace up = upsweep;

int main()
{
    std::vector<float> wave(10'000'000);
    for (std::size_t i = 0; i < wave.size(); ++i)
        wave[i] = std::sin(static_cast<float>(i));

    const auto squares = wave | std::views::transform([](float x) { return static_cast<double>(x) * x; });
    const double energy = up::reduce(up::cpu{}, squares, up::plus{});

    std::printf("root mean square: %.6f\n", std::sqrt(energy / static_cast<double>(wave.size())));
}

// Prints:
// root mean square: 0.707107
