// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>

#include "axis_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, along_axis, ::testing::Types<cpu>);

// Columns of rows that lie close together, as many as are folded by blocks of 32 rows where they lie: whole and begun blocks, and columns that
// fill no vector, behind the last of which there is nothing to read.
template <class T, class Op>
void expect_columns(std::size_t rows, std::size_t columns, const Op& op)
{
    auto random = generator();
    const host_array<T> values = random_array<T>(random, rows * columns);
    host_array<T> expected(columns);
    for (std::size_t c = 0; c < columns; ++c) {
        host_array<T> column(rows);
        for (std::size_t r = 0; r < rows; ++r)
            column[r] = values[r * columns + c];
        expected[c] = as_expected<T>(literal_fold(column.span(), op));
    }
    const view<const T, 2> matrix(values.span().data(), {rows, columns});
    for (const cpu& target : {cpu{1}, cpu{3}}) {
        host_array<T> sums(columns);
        reduce(target, matrix, axis{0}, view<T, 1>(sums.span()), op);
        ASSERT_TRUE(bits_equal(sums, expected)) << rows << " x " << columns;
    }
}
TEST(columns, close_together)
{
    for (const std::size_t rows : {31, 32, 33, 64, 97, 8000})
        for (const std::size_t columns : {63, 64, 65, 100, 130})
            expect_columns<float>(rows, columns, plus{});
    for (const std::size_t columns : {32, 45, 100})
        expect_columns<double>(1000, columns, maximum{});
    for (const std::size_t columns : {33, 50, 100})
        expect_columns<wrapping_map>(200, columns, wrapping_composition);
}

} // namespace upsweep::test
