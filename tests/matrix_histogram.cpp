// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What does not depend on the type of the elements; matrix_histogram_of_*.cpp has the types.
#include <cstdint>

#include "matrix_histogram_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, matrix_histogram, ::testing::Types<up::cpu>);

// Rows and images that are work for all threads.
TEST(matrix_histogram, large_ones)
{
    auto random = generator();
    for (const matrix_shape& shape : {matrix_shape{2, 600001, 0, 0}, matrix_shape{3000, 300, 9, 1}}) {
        const matrix_in_memory<up::cpu, std::uint8_t> bytes(random, shape);
        const matrix_in_memory<up::cpu, float> floats(random, shape);
        const up::integer_bins integers{5, 100};
        const up::even_bins even{-20, 110, 30};
        expect_one_histogram<up::cpu>(bytes.view(), bytes.view(), integers, 100);
        expect_one_histogram<up::cpu>(floats.view(), floats.view(), even, 30);
        expect_row_histograms<up::cpu>(bytes.view(), bytes.view(), integers, 100);
        expect_row_histograms<up::cpu>(floats.view(), floats.view(), even, 30);
        expect_channel_histograms<up::cpu>(bytes.view(), bytes.view(), 1, integers, 100);
    }
}

TEST(matrix_histogram, large_images)
{
    auto random = generator();
    const matrix_in_memory<up::cpu, float> pixels(random, {700, 3 * 333, 4, 1});
    expect_channel_histograms<up::cpu>(pixels.view(), pixels.view(), 3, up::even_bins{-20, 110, 30}, 30);
    const std::vector own{up::even_bins{-20, 110, 30}, up::even_bins{0, 1, 7}, up::even_bins{-100, 100, 2000}};
    for (const matrix_shape& shape : {matrix_shape{10000, 3, 0, 0}, matrix_shape{180'000, 3, 0, 1},
                                      matrix_shape{180'000, 3, 1, 0}, matrix_shape{700, 3 * 333, 4, 1}}) {
        const matrix_in_memory<up::cpu, float> of_own(random, shape);
        expect_channel_histograms<up::cpu>(of_own.view(), of_own.view(), own);
    }
}

} // namespace upsweep::test
