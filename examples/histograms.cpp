// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdio>
#include <tuple>
#include <vector>

#include <upsweep/upsweep.hpp>

namespace up = upsweep;

int main()
{
    // What was spent in each month: the sums are exact, and rounded once.
    const std::vector<int> months = {1, 3, 1, 2, 1, 3, 13};
    const std::vector<double> amounts = {1e17, 19.99, 0.25, 7, -1e17, 0.01, 3};
    std::vector<double> spent(3);
    const auto elsewhere =
        up::weighted_histogram(up::cpu{}, months, amounts, up::integer_bins{.first = 1, .count = 3}, spent);
    std::printf("January %.2f, February %.2f, March %.2f, no month %.2f\n", spent[0], spent[1], spent[2],
                elsewhere.above);

    // Heights and weights together: a table of two rows and three columns.
    const std::vector<float> heights = {1.58F, 1.63F, 1.75F, 1.81F, 1.92F};
    const std::vector<float> weights = {55, 82, 71, 68, 96};
    std::vector<std::uint64_t> table(6);
    up::joint_histogram(up::cpu{}, std::tuple{std::span(heights), std::span(weights)},
                        std::tuple{up::edges{1.5, 1.7, 2.0}, up::even_bins{50, 110, 3}}, table);
    for (std::size_t row = 0; row < 2; ++row)
        std::printf("%s: %d %d %d\n", row == 0 ? "shorter" : "taller", static_cast<int>(table[3 * row]),
                    static_cast<int>(table[3 * row + 1]), static_cast<int>(table[3 * row + 2]));

    // The left half of an image of two rows of four pixels, a byte each: one histogram, and one a row.
    const std::vector<std::uint8_t> image = {0, 200, 90, 90, 255, 255, 0, 0};
    const up::matrix left(image.data(), 2, 2, 4);
    const up::even_bins dark_or_light{0, 256, 2};
    std::vector<std::uint64_t> counts(2);
    up::histogram(up::cpu{}, left, dark_or_light, counts);
    std::vector<std::uint64_t> by_row(4);
    std::vector<up::outside> outside(2);
    up::histogram_rows(up::cpu{}, left, dark_or_light, by_row, outside);
    std::printf("dark %d, light %d; in the first row %d and %d\n", static_cast<int>(counts[0]),
                static_cast<int>(counts[1]), static_cast<int>(by_row[0]), static_cast<int>(by_row[1]));
}

// Prints:
// January 0.25, February 7.00, March 20.00, no month 3.00
// shorter: 1 1 0
// taller: 1 1 1
// dark 1, light 3; in the first row 1 and 1
