// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include <gtest/gtest.h>
#include <upsweep/axis.hpp>

#include "../view_shapes.hpp"
#include "operators.cuh"

namespace upsweep::test {

// Rows of random elements, `pitch` elements apart from number `offset` on, in memory of the GPU that ends with the last one: nothing behind it is read.
template <class T>
struct rows_of_elements {
    std::size_t rows;
    std::size_t length;
    std::size_t pitch;
    std::size_t offset;
    host_array<T> values = random_values(offset + (rows - 1) * pitch + length);
    target_array<cuda, T> in{values.span()};

    static host_array<T> random_values(std::size_t count)
    {
        auto random = generator();
        return random_array<T>(random, count);
    }
    std::span<const T> row(std::size_t i) const { return values.span().subspan(offset + i * pitch, length); }
    view<const T, 2> matrix() const
    {
        return {in.const_span().data() + offset, std::array{rows, length}, {static_cast<std::ptrdiff_t>(pitch), 1}};
    }

    // reduce(lines, op, finish) reduces them.
    template <class Op, class Reduce>
    void expect_totals(const Op& op, Reduce reduce) const
    {
        using sum = accumulator_t<Op, T>;
        target_array<cuda, sum> totals(rows);
        reduce(detail::lines_of(matrix(), axis{1}, totals.span().data(), 1, {1, 0}), op, detail::as_results_of<Op>{});
        const host_array<sum> sums = totals.to_host();
        for (std::size_t i = 0; i < rows; ++i)
            ASSERT_TRUE(bits_equal(sums[i], as_expected<sum>(literal_fold(converted<sum>(row(i)).span(), op))))
                << "row " << i << " of " << length;
    }

    // scan(lines, op) scans them. Results lie out_pitch elements apart from number out_offset on; what lies between them stays.
    template <class Result = T, class Op, class Scan>
    void expect_scans(const Op& op, std::size_t out_pitch, std::size_t out_offset, Scan scan) const
    {
        using scanned = scan_accumulator_t<Op, Result>;
        target_array<cuda, Result> results(out_offset + rows * out_pitch + 3);
        host_array<Result> expected = results.to_host();
        scan(detail::lines_of(matrix(), axis{1}, results.span().data() + out_offset, length,
                              {static_cast<std::ptrdiff_t>(out_pitch), 1}),
             op);
        for (std::size_t i = 0; i < rows; ++i)
            std::ranges::copy(converted<Result>(literal_folds(converted<scanned>(row(i)).span(), op).span()),
                              expected.begin() + static_cast<std::ptrdiff_t>(out_offset + i * out_pitch));
        ASSERT_TRUE(bits_equal(results.to_host(), expected)) << "rows of " << length;
    }
};

template <class Acc, class Op>
gpu::line_start<Acc> inclusive(const Op& op)
{
    return gpu::start_of_lines<Acc>(scan_kind::inclusive, op, nullptr);
}
template <class Acc, class Op>
gpu::line_start<Acc> exclusive(const Op& op, const Acc& init)
{
    return gpu::start_of_lines<Acc>(scan_kind::exclusive, op, &init);
}

} // namespace upsweep::test
