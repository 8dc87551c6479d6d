// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <upsweep/upsweep.hpp>

namespace up = upsweep;

int main()
{
    const std::vector<float> delays = {-5, -3, 0, 2, 4, 7, 12, 14.5F, 29, 30, 31, 260, NAN, 30, -40};

    // Six bins of five minutes; the last one is closed, so 30 belongs to it.
    std::vector<std::uint64_t> counts(6);
    const up::outside outside = up::histogram(up::cpu{}, delays, up::even_bins{0, 30, 6}, counts);
    for (std::size_t bin = 0; bin < counts.size(); ++bin)
        std::printf("%2zu to %2zu minutes: %d\n", 5 * bin, 5 * bin + 5, static_cast<int>(counts[bin]));
    std::printf("below %d, above %d, not a number %d\n", static_cast<int>(outside.below),
                static_cast<int>(outside.above), static_cast<int>(outside.nan));

    // Bins by their edges, and by a function.
    std::vector<std::uint64_t> grades(3);
    up::histogram(up::cpu{}, delays, up::edges{-60, 0, 15, 300}, grades);
    std::printf("early %d, punctual %d, late %d\n", static_cast<int>(grades[0]), static_cast<int>(grades[1]),
                static_cast<int>(grades[2]));

    std::vector<std::uint64_t> parity(2);
    const auto odd_or_even = [](float x) { return std::isnan(x) ? -1 : static_cast<int>(std::abs(x)) % 2; };
    up::histogram(up::cpu{}, delays, up::bins_by{odd_or_even, 2}, parity);
    std::printf("even %d, odd %d\n", static_cast<int>(parity[0]), static_cast<int>(parity[1]));
}

// Prints:
//  0 to  5 minutes: 3
//  5 to 10 minutes: 1
// 10 to 15 minutes: 2
// 15 to 20 minutes: 0
// 20 to 25 minutes: 0
// 25 to 30 minutes: 3
// below 3, above 2, not a number 1
// early 3, punctual 6, late 5
// even 9, odd 5
