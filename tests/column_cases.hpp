// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include "axis_cases.hpp"

namespace upsweep::test {

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

// Sums of the narrowest and widest integers of a type, in an accumulator that holds them all.
template <class T>
void expect_sums_of_extremes(std::size_t rows, std::size_t columns, std::size_t gap)
{
    using sum = accumulator_t<plus, T>;
    const std::size_t row = columns + gap;
    host_array<T> values(rows * row);
    host_array<sum> expected(columns), sums(columns);
    std::ranges::fill(expected.span(), sum{0});
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < row; ++c) {
            constexpr T least = std::numeric_limits<T>::min();
            constexpr T most = std::numeric_limits<T>::max();
            values[r * row + c] = c % 3 == 0 ? least : c % 3 == 1 ? most : static_cast<T>(r * 7 + c);
            if (c < columns)
                expected[c] = static_cast<sum>(expected[c] + static_cast<sum>(values[r * row + c]));
        }
    const view<const T, 2> matrix(values.span().data(), {rows, columns}, {static_cast<std::ptrdiff_t>(row), 1});
    for (const cpu& target : {cpu{1}, cpu{3}}) {
        std::ranges::fill(sums.span(), sum{99});
        reduce(target, matrix, axis{0}, view<sum, 1>(sums.span()), plus{});
        ASSERT_TRUE(bits_equal(sums, expected)) << rows << " x " << columns << ", " << gap << " between";
    }
}
template <class... Ts>
void expect_sums_of_extremes_of()
{
    for (const std::size_t rows : {1, 7, 31, 32, 300, 20001})
        for (const std::size_t columns : {1, 5, 16, 31, 32, 33, 100})
            for (const std::size_t gap : {0, 3})
                (expect_sums_of_extremes<Ts>(rows, columns, gap), ...);
}

} // namespace upsweep::test
