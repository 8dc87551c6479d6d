// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "../axis_cases.hpp"
#include "operators.cuh"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, along_axis, ::testing::Types<cuda>);

// Rows as the kernels take them of which each warp folds its own: they are chosen for more rows than a test has.
template <class T, class Op>
void expect_warp_rows(std::size_t rows, std::size_t length, std::size_t pitch, std::size_t offset, const Op& op)
{
    using sum = accumulator_t<Op, T>;
    using scanned = scan_accumulator_t<Op, T>;
    auto random = generator();
    const host_array<T> values = random_array<T>(random, offset + rows * pitch + 3);
    const target_array<cuda, T> in(values.span());
    const auto row_stride = static_cast<std::ptrdiff_t>(pitch);
    const view<const T, 2> matrix(in.const_span().data() + offset, std::array{rows, length}, {row_stride, 1});
    const auto row = [&](std::size_t i) { return values.span().subspan(offset + i * pitch, length); };

    target_array<cuda, sum> totals(rows);
    gpu::reduce_warp_rows<sum>(cuda{}, "reduce", detail::lines_of(matrix, axis{1}, totals.span().data(), 1, {1, 0}), op,
                               detail::as_results_of<Op>{});
    const host_array<sum> sums = totals.to_host();
    for (std::size_t i = 0; i < rows; ++i)
        ASSERT_TRUE(bits_equal(sums[i], as_expected<sum>(literal_fold(converted<sum>(row(i)).span(), op))))
            << "row " << i << " of " << length;

    target_array<cuda, T> results(values.span()); // what lies between the rows stays
    gpu::scan_warp_rows<scan_kind::inclusive>(
        cuda{}, "scan", detail::lines_of(matrix, axis{1}, results.span().data() + offset, length, {row_stride, 1}), op,
        gpu::start_of_scan<scanned>(op, static_cast<const scanned*>(nullptr)));
    host_array<T> expected = values;
    for (std::size_t i = 0; i < rows; ++i)
        std::ranges::copy(converted<T>(literal_folds(converted<scanned>(row(i)).span(), op).span()),
                          expected.begin() + static_cast<std::ptrdiff_t>(offset + i * pitch));
    ASSERT_TRUE(bits_equal(results.to_host(), expected)) << "rows of " << length;
}

TEST(gpu_rows, a_warp_each)
{
    // Vectors, rows of vectors and blocks that are whole, begun, and one short of whole; of several blocks, too.
    for (const std::size_t length : {1, 33, 63, 64, 65, 100, 128, 129, 192, 255, 256, 257, 512, 850})
        expect_warp_rows<affine>(length < 100 ? 21 : 5, length, length, 0, composition);
    expect_warp_rows<affine>(9, 51, 52, 1, composition); // begin anywhere, and lie apart
    expect_warp_rows<affine>(9, 300, 303, 1, composition);
    for (const std::size_t length : {300, 4000})
        expect_warp_rows<std::uint8_t>(6, length, length + 16, 16, plus{});
}

} // namespace upsweep::test
