// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>

#include "column_cases.hpp"

namespace upsweep::test {

// axis.cpp has these, in another program.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(along_axis);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(scans_along_axis);

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, along_axis_of_more_types, ::testing::Types<cpu>);

TEST(columns_of_more_types, close_together)
{
    for (const std::size_t columns : {32, 45, 100})
        expect_columns<double>(1000, columns, maximum{});
    for (const std::size_t columns : {33, 50, 100})
        expect_columns<wrapping_map>(200, columns, wrapping_composition);
}
TEST(columns_of_more_types, of_integers)
{
    for (const std::size_t rows : {1, 7, 31, 32, 300, 20001})
        for (const std::size_t columns : {1, 5, 16, 31, 32, 33, 100})
            for (const std::size_t gap : {0, 3}) {
                expect_sums_of_extremes<std::int8_t, std::int64_t>(rows, columns, gap);
                expect_sums_of_extremes<std::uint32_t, std::uint64_t>(rows, columns, gap);
                expect_sums_of_extremes<std::int32_t, std::int64_t>(rows, columns, gap);
            }
    expect_sums_of_extremes<std::uint16_t, std::uint64_t>(40, 70000, 0);
}

} // namespace upsweep::test
