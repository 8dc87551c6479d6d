// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>
#include <upsweep/axis.hpp>

#include "../view_shapes.hpp"
#include "operators.cuh"

namespace upsweep::test {

template <bool HasFolders, class Acc, class T, class Out, std::size_t Rank, class Op>
void scan_by_panels(const detail::lines<const T, Out, Rank>& lines, const Op& op, bool in_bulk = true,
                    scan_kind kind = scan_kind::inclusive, const Acc* init = nullptr)
{
    gpu::scan_panel_cuts cuts = gpu::cut_into_scan_panels<Acc>(lines);
    cuts.in_bulk = in_bulk;
    gpu::scan_by_panels<HasFolders>(cuda{}, "scan", lines, cuts, op, gpu::start_of_lines<Acc>(kind, op, init));
}

// Matrices one behind the other, from element `offset` on, whose columns are folded. Between their rows lie `gap` elements.
template <class T>
struct matrices_of_elements {
    std::size_t matrices;
    std::size_t rows;
    std::size_t columns;
    std::size_t offset = 0;
    std::size_t gap = 0;
    host_array<T> values = random_values(offset + matrices * rows * (columns + gap) - gap);
    target_array<cuda, T> in{values.span()};

    static host_array<T> random_values(std::size_t count)
    {
        auto random = generator();
        return random_array<T>(random, count);
    }
    std::size_t lines() const { return matrices * columns; }
    std::size_t size() const { return lines() * rows; }
    // Of a result, among those of a scan.
    std::size_t place(std::size_t line, std::size_t row) const
    {
        return (line / columns * rows + row) * columns + line % columns;
    }
    host_array<T> line(std::size_t i) const
    {
        host_array<T> all(rows);
        for (std::size_t r = 0; r < rows; ++r)
            all[r] = values[offset + place(i, r) + (i / columns * rows + r) * gap];
        return all;
    }
    view<const T, 3> elements() const
    {
        const auto pitch = static_cast<std::ptrdiff_t>(columns + gap);
        return {in.const_span().data() + offset,
                {matrices, rows, columns},
                {static_cast<std::ptrdiff_t>(rows) * pitch, pitch, 1}};
    }

    template <class Op>
    auto expected_folds(const Op& op) const
    {
        using sum = accumulator_t<Op, T>;
        host_array<result_t<Op, T>> all(lines());
        for (std::size_t i = 0; i < lines(); ++i)
            all[i] = as_expected<result_t<Op, T>>(literal_fold(converted<sum>(line(i).span()).span(), op));
        return all;
    }

    // reduce(lines, op, finish) reduces them.
    template <class Op, class Reduce>
    void expect_folds(const Op& op, Reduce reduce) const
    {
        SCOPED_TRACE(std::to_string(matrices) + " x " + std::to_string(rows) + " x " + std::to_string(columns));
        target_array<cuda, result_t<Op, T>> folds(lines());
        const auto stride = static_cast<std::ptrdiff_t>(columns);
        reduce(detail::lines_of(elements(), axis{1}, folds.span().data(), 1, {stride, 0, 1}), op,
               detail::as_results_of<Op>{});
        ASSERT_TRUE(bits_equal(folds.to_host(), expected_folds(op)));
    }
    template <class Op>
    void expect_panels(const Op& op) const
    {
        expect_folds(op, [](const auto& lines, const auto& by, const auto& finish) {
            using sum = accumulator_t<Op, T>;
            ASSERT_TRUE(gpu::are_panels(cuda{}, lines));
            gpu::reduce_panels<sum>(cuda{}, "reduce", lines, by, finish, 1); // in as many groups as fit
        });
    }
    template <class Op>
    void expect_pieces(const Op& op) const
    {
        expect_folds(op, [](const auto& lines, const auto& by, const auto& finish) {
            gpu::reduce_walked_pieces<accumulator_t<Op, T>>(cuda{}, "reduce", lines, by, finish);
        });
    }

    // scan(lines, op) scans them.
    template <class Op, class Scan>
    void expect_scans_by(const Op& op, Scan scan) const
    {
        expect_inclusive([&](const view<T, 3>& results) { scan(lines_into(results), op); }, op);
    }

    template <class Op>
    void expect_panel_scans(const Op& op) const
    {
        using accumulator = scan_accumulator_t<Op, T>;
        expect_scans_by(op, [](const auto& lines, const auto& by) { scan_by_panels<false, accumulator>(lines, by); });
        if constexpr (gpu::may_have_folders<accumulator>)
            for (const bool in_bulk : {true, false})
                expect_scans_by(op, [&](const auto& lines, const auto& by) {
                    scan_by_panels<true, accumulator>(lines, by, in_bulk);
                });
    }

    // As the verbs choose.
    template <class Op>
    void expect_reductions(const Op& op) const
    {
        expect_folds(op, [](const auto& lines, const auto& by, const auto& finish) {
            detail::engine<cuda, detail::verb::reduce_lines>::template fold<accumulator_t<Op, T>>(cuda{}, lines, by,
                                                                                                  finish);
        });
    }
    template <class Op>
    void expect_scans(const Op& op) const
    {
        expect_inclusive([&](const auto& results) { inclusive_scan(cuda{}, elements(), axis{1}, results, op); }, op);
    }
    template <class Op>
    void expect_exclusive_scans(const Op& op) const
    {
        expect_exclusive(
            [&](const auto& results) { exclusive_scan(cuda{}, elements(), axis{1}, results, op, values[0]); }, op);
    }
    template <class Op>
    void expect_exclusive_panel_scans(const Op& op) const
    {
        using accumulator = scan_accumulator_t<Op, T>;
        const auto init = convert<accumulator>(values[0]);
        expect_exclusive(
            [&](const view<T, 3>& results) {
                scan_by_panels<true, accumulator>(lines_into(results), op, true, scan_kind::exclusive, &init);
            },
            op);
    }

    // The columns, whose results lie without gaps.
    auto lines_into(const view<T, 3>& results) const
    {
        const auto stride = static_cast<std::ptrdiff_t>(columns);
        const auto of_matrix = static_cast<std::ptrdiff_t>(rows) * stride;
        return detail::lines_of(elements(), axis{1}, results.data(), rows, {of_matrix, stride, 1});
    }

private:
    // scan(view) writes the results of an exclusive scan that begins with the first element of all.
    template <class Scan, class Op>
    void expect_exclusive(Scan scan, const Op& op) const
    {
        expect_results(
            scan,
            [&](const auto& folds, std::size_t r) {
                using accumulator = std::remove_cvref_t<decltype(folds[0])>;
                return r == 0 ? values[0]
                              : as_expected<T>(
                                    static_cast<accumulator>(op(convert<accumulator>(values[0]), folds[r - 1])));
            },
            op);
    }
    // scan(view) writes the results of an inclusive scan.
    template <class Scan, class Op>
    void expect_inclusive(Scan scan, const Op& op) const
    {
        expect_results(
            scan, [&](const auto& folds, std::size_t r) { return as_expected<T>(folds[r]); }, op);
    }

    // scan(view) writes results, of which that of row r of a line is expected(folds of the line, r).
    template <class Scan, class Expected, class Op>
    void expect_results(Scan scan, Expected expected, const Op& op) const
    {
        SCOPED_TRACE(std::to_string(matrices) + " x " + std::to_string(rows) + " x " + std::to_string(columns));
        host_array<T> all(offset + size());
        for (std::size_t i = 0; i < lines(); ++i) {
            const auto folds = literal_folds(converted<scan_accumulator_t<Op, T>>(line(i).span()).span(), op);
            for (std::size_t r = 0; r < rows; ++r)
                all[offset + place(i, r)] = expected(folds, r);
        }
        target_array<cuda, T> out(offset + size());
        const host_array<T> before = out.to_host();
        std::copy(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(offset), all.begin()); // stays
        scan(view<T, 3>(out.span().data() + offset, {matrices, rows, columns}));
        ASSERT_TRUE(bits_equal(out.to_host(), all));
    }
};

} // namespace upsweep::test
