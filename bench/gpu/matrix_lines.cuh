// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Which rows and columns of matrices are folded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <upsweep/view.hpp>

#include "lines.cuh"

namespace bench {

// The rows of a matrix of floats, along its axis 1, or its columns, along its axis 0.
struct matrix_lines {
    std::size_t rows;
    std::size_t columns;
    std::size_t axis;

    std::size_t elements() const { return rows * columns; }
    std::size_t count() const { return axis == 0 ? columns : rows; }
    std::string name() const
    {
        return (axis == 0 ? "columns of " : "rows of ") + std::to_string(rows) + " x " + std::to_string(columns);
    }
    template <class T>
    upsweep::view<T, 2> of(T* first) const
    {
        return {first, {rows, columns}};
    }

    // The first rows, or all of them where lines are columns, whose results are compared with the CPU's; none where they are too many.
    matrix_lines compared_part() const
    {
        const std::size_t some = axis == 0 ? rows : std::min(rows, compared / columns);
        return {some * columns <= 4 * compared ? some : 0, columns, axis};
    }
};

// Whether results begin with those of fold(in, lines), a call on the CPU, of the part that is compared.
template <class Fold>
bool begins_with_fold(const float* in, const float* results, const matrix_lines& lines, const Fold& fold)
{
    const matrix_lines part = lines.compared_part();
    if (part.rows == 0)
        return true;
    const std::vector<float> elements = to_host(in, part.elements());
    return begins_with(results, fold(part.of(elements.data()), part));
}

// Calls measure(memory, lines) of all matrices.
template <class Measure>
void for_each_matrix(session& run, const Measure& measure)
{
    if (!run.wants("lines", "f32"))
        return;
    const line_arrays memory(run.largest());
    for (const std::size_t n : run.sizes())
        for (const std::size_t columns : {2, 3, 16, 100, 1000, 16384})
            for (const std::size_t axis : {1, 0}) {
                measure(memory, matrix_lines{n / columns, columns, axis});
                measure(memory, matrix_lines{columns, n / columns, axis});
            }
}

} // namespace bench
