// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "column_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, along_axis, ::testing::Types<cpu>);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, scans_along_axis, ::testing::Types<cpu>);

TEST(columns, close_together)
{
    for (const std::size_t rows : {31, 32, 33, 64, 97, 8000})
        for (const std::size_t columns : {2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 100, 130})
            expect_columns<float>(rows, columns, plus{});
    for (const std::size_t columns : {2, 3, 4, 5})
        expect_columns<std::int16_t>(300001, columns, minimum{});
}
TEST(columns, of_narrow_integers) { expect_sums_of_extremes_of<std::uint8_t, std::int16_t>(); }

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
