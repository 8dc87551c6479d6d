// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include <upsweep/op.hpp>

#include "expected.hpp"
#include "targets.hpp"

// What integral images are compared with.
namespace upsweep::test {

// The inclusive scans of columns in the canonical order.
template <class Sum>
host_array<Sum> expected_columns(host_array<Sum> all, std::size_t rows, std::size_t columns)
{
    host_array<Sum> column(rows);
    for (std::size_t c = 0; c < columns; ++c) {
        for (std::size_t r = 0; r < rows; ++r)
            column[r] = all[r * columns + c];
        const auto folds = literal_folds(std::span<const Sum>(column.span()), plus{});
        for (std::size_t r = 0; r < rows; ++r)
            all[r * columns + c] = folds[r];
    }
    return all;
}

// Those of rows, and then of columns.
template <class Sum>
host_array<Sum> expected_integral(const host_array<Sum>& elements, std::size_t rows, std::size_t columns)
{
    host_array<Sum> all = elements;
    for (std::size_t r = 0; r < rows; ++r)
        std::ranges::copy(literal_folds(std::span<const Sum>(all.span()).subspan(r * columns, columns), plus{}).span(),
                          all.begin() + r * columns);
    return expected_columns(std::move(all), rows, columns);
}

} // namespace upsweep::test
