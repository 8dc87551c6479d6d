// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include <upsweep/error.hpp>
#include <upsweep/qualifiers.hpp>

namespace upsweep {

// Names rows of elements in memory, a part of an image for one: row r begins r * pitch bytes after `data`. The pitch is
// at least the bytes of a row, and a multiple of alignof(T); calls refuse another one (invalid_argument). What lies
// between the rows is not read.
template <class T>
struct matrix {
    using value_type = T;

    const T* data;
    std::size_t rows;
    std::size_t columns;
    std::size_t pitch;

    // Without a pitch there are no gaps between the rows.
    constexpr matrix(const T* first, std::size_t row_count, std::size_t column_count)
        : matrix(first, row_count, column_count, column_count * sizeof(T))
    {
    }
    constexpr matrix(const T* first, std::size_t row_count, std::size_t column_count, std::size_t pitch_bytes)
        : data(first), rows(row_count), columns(column_count), pitch(pitch_bytes)
    {
    }

    UPSWEEP_HOST_DEVICE const T* row(std::size_t r) const
    {
        return reinterpret_cast<const T*>(reinterpret_cast<const char*>(data) + r * pitch);
    }
    constexpr std::size_t size() const { return rows * columns; }
    constexpr bool has_gaps() const { return rows > 1 && pitch != columns * sizeof(T); }
};

namespace detail {

template <class In>
inline constexpr bool is_matrix = false;
template <class T>
inline constexpr bool is_matrix<matrix<T>> = true;

template <class T>
void check_matrix(std::string_view call, const matrix<T>& in)
{
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    if (in.columns > most / sizeof(T) || (in.rows > 1 && in.pitch > most / in.rows) ||
        (in.columns != 0 && in.rows > most / (in.columns * sizeof(T))))
        throw error(error_kind::invalid_argument, call,
                    std::to_string(in.rows) + " rows of " + std::to_string(in.columns) +
                        " elements are more than memory can hold",
                    "check the numbers of rows and columns, and the pitch");
    if (in.rows <= 1)
        return;
    if (in.pitch < in.columns * sizeof(T))
        throw error(error_kind::invalid_argument, call,
                    "rows " + std::to_string(in.pitch) + " bytes apart overlap: one has " +
                        std::to_string(in.columns * sizeof(T)) + " bytes",
                    "give the pitch in bytes, from the beginning of one row to that of the next");
    if (in.pitch % alignof(T) != 0)
        throw error(error_kind::invalid_argument, call,
                    "a pitch of " + std::to_string(in.pitch) + " bytes misaligns elements of " +
                        std::to_string(sizeof(T)) + " bytes",
                    "give a multiple of " + std::to_string(alignof(T)));
}

} // namespace detail
} // namespace upsweep
