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
    expect_sums_of_extremes_of<std::int8_t, std::uint32_t, std::int32_t>();
    expect_sums_of_extremes<std::uint16_t>(40, 70000, 0);
}

} // namespace upsweep::test
