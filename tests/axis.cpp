// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "axis_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, along_axis, ::testing::Types<cpu>);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, scans_along_axis, ::testing::Types<cpu>);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, along_axis_of_more_types, ::testing::Types<cpu>);

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
        for (const std::size_t columns : {2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 100, 130})
            expect_columns<float>(rows, columns, plus{});
    for (const std::size_t columns : {2, 3, 4, 5})
        expect_columns<std::int16_t>(300001, columns, minimum{});
    for (const std::size_t columns : {32, 45, 100})
        expect_columns<double>(1000, columns, maximum{});
    for (const std::size_t columns : {33, 50, 100})
        expect_columns<wrapping_map>(200, columns, wrapping_composition);
}

// Sums of the narrowest and widest integers of a type, in an accumulator that holds them all.
template <class T, class Acc>
void expect_sums_of_extremes(std::size_t rows, std::size_t columns, std::size_t gap)
{
    const std::size_t row = columns + gap;
    host_array<T> values(rows * row);
    host_array<Acc> expected(columns), sums(columns);
    std::ranges::fill(expected.span(), Acc{0});
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < row; ++c) {
            constexpr T least = std::numeric_limits<T>::min();
            constexpr T most = std::numeric_limits<T>::max();
            values[r * row + c] = c % 3 == 0 ? least : c % 3 == 1 ? most : static_cast<T>(r * 7 + c);
            if (c < columns)
                expected[c] = static_cast<Acc>(expected[c] + static_cast<Acc>(values[r * row + c]));
        }
    const view<const T, 2> matrix(values.span().data(), {rows, columns}, {static_cast<std::ptrdiff_t>(row), 1});
    for (const cpu& target : {cpu{1}, cpu{3}}) {
        std::ranges::fill(sums.span(), Acc{99});
        reduce(target, matrix, axis{0}, view<Acc, 1>(sums.span()), plus{});
        ASSERT_TRUE(bits_equal(sums, expected)) << rows << " x " << columns << ", " << gap << " between";
    }
}
TEST(columns, of_narrow_integers)
{
    for (const std::size_t rows : {1, 7, 31, 32, 300, 20001})
        for (const std::size_t columns : {1, 5, 16, 31, 32, 33, 100})
            for (const std::size_t gap : {0, 3}) {
                expect_sums_of_extremes<std::uint8_t, std::uint64_t>(rows, columns, gap);
                expect_sums_of_extremes<std::int8_t, std::int64_t>(rows, columns, gap);
                expect_sums_of_extremes<std::int16_t, std::int64_t>(rows, columns, gap);
                expect_sums_of_extremes<std::uint32_t, std::uint64_t>(rows, columns, gap);
                expect_sums_of_extremes<std::int32_t, std::int64_t>(rows, columns, gap);
            }
    expect_sums_of_extremes<std::uint16_t, std::uint64_t>(40, 70000, 0);
}

// Scans of columns whose results are so large that they are written around the caches: rows that are whole lines of memory and others, with gaps
// between them and without, from any address on.
struct large_columns {
    std::size_t columns;
    std::size_t gap;   // elements between rows of results
    std::size_t first; // elements from the beginning of a line of memory on to the results
};
template <class T, class Op>
void expect_large_scans(const large_columns& s, scan_kind kind, const Op& op)
{
    const std::size_t rows = (std::size_t{33} << 20) / sizeof(T) / s.columns + 1;
    const std::size_t row = s.columns + s.gap;
    constexpr std::size_t line = 64 / sizeof(T);
    auto random = generator();
    const host_array<T> some = random_array<T>(random, 65537); // so many take as long to make as to scan many times
    host_array<T> values(rows * s.columns);
    for (std::size_t at = 0; at < values.size(); at += some.size())
        std::ranges::copy(some.span().first(std::min(some.size(), values.size() - at)), values.span().data() + at);
    const view<const T, 2> in(std::as_const(values).span().data(), {rows, s.columns});
    const auto scan = [&](const cpu& target, const auto& from, const auto& to, auto... along) {
        if (kind == scan_kind::inclusive)
            inclusive_scan(target, from, along..., to, op);
        else
            exclusive_scan(target, from, along..., to, op);
    };
    host_array<T> expected(rows * s.columns), column(rows), folds(rows);
    for (std::size_t c = 0; c < s.columns; ++c) {
        for (std::size_t r = 0; r < rows; ++r)
            column[r] = values[r * s.columns + c];
        scan(cpu{1}, std::as_const(column).span(), folds.span());
        for (std::size_t r = 0; r < rows; ++r)
            expected[r * s.columns + c] = folds[r];
    }
    host_array<T> memory(line + s.first + rows * row);
    const std::size_t from_line = reinterpret_cast<std::uintptr_t>(memory.span().data()) % 64 / sizeof(T);
    T* const results = memory.span().data() + (line - from_line) + s.first;
    for (const cpu& target : {cpu{1}, cpu{3}}) {
        const T poison = random_array<T>(random, 1)[0];
        std::ranges::fill(memory.span(), poison);
        scan(target, in, view<T, 2>(results, {rows, s.columns}, {static_cast<std::ptrdiff_t>(row), 1}), axis{0});
        std::size_t wrong = 0;
        for (std::size_t r = 0; r < rows; ++r) {
            const bool are_equal = std::memcmp(results + r * row, &expected[r * s.columns], s.columns * sizeof(T)) == 0;
            wrong += are_equal ? 0 : 1;
            for (std::size_t c = s.columns; c < row && r + 1 < rows; ++c)
                wrong += same_bits(results[r * row + c], poison) ? 0 : 1;
        }
        for (T* beside = memory.span().data(); beside < results; ++beside)
            wrong += same_bits(*beside, poison) ? 0 : 1;
        ASSERT_EQ(wrong, 0U) << rows << " x " << s.columns << ", " << s.gap << " between, from " << s.first;
    }
}
TEST(columns, of_large_results)
{
    for (const large_columns& s :
         {large_columns{2, 0, 1}, {5, 0, 3}, {9, 0, 0}, {100, 0, 1}, {500, 524, 0}, {1024, 0, 0}})
        expect_large_scans<float>(s, s.columns % 2 == 0 ? scan_kind::inclusive : scan_kind::exclusive, plus{});
    expect_large_scans<double>({1001, 0, 5}, scan_kind::inclusive, maximum{});
}

} // namespace upsweep::test
