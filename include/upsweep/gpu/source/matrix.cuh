// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/few.cuh>
#include <upsweep/gpu/source/matrix_words.cuh>
#include <upsweep/matrix.hpp>

// The elements of a matrix, whose rows may lie apart, for kernels to which their order does not matter: first all
// vectors that are aligned in memory, wherever the rows begin, then the few elements before and behind the vectors of
// each row. Neither needs a mask.
//
//     row 0   ..|vector|vector|vector|.        each dot is an element beside the vectors
//     row 1    ...|vector|vector|vector|
namespace upsweep::gpu {

template <class T>
struct row_vectors {
    static constexpr int elements = vector_elements<sizeof(T)>;
    static constexpr bool are_words = has_words<elements, const T*>;
    static constexpr bool can_be_misaligned = !are_words || alignof(T) < sizeof(T);
    using vector = lane_vector<T, elements>;

    // Returns how many elements of a row stand before its first vector. Where no element is aligned as vectors are,
    // that begins with the row.
    __device__ static unsigned before(const T* row)
    {
        if constexpr (are_words) {
            const auto misplaced =
                static_cast<unsigned>(-reinterpret_cast<std::uintptr_t>(row)) % (elements * sizeof(T));
            return misplaced % sizeof(T) == 0 ? static_cast<unsigned>(misplaced / sizeof(T)) : 0;
        } else {
            return 0;
        }
    }
    __device__ static vector load(const T* from)
    {
        return can_be_misaligned && !is_aligned<elements>(from) ? gather_vector<elements>(from)
                                                                : load_vector<elements>(from);
    }
};

// Calls f(piece) for pieces of a matrix whose rows and columns can be counted in 32 bits, which halves the instructions
// that it takes to find a vector. Columns are cut at multiples of `unit`.
template <class T, class F>
void for_each_piece(const matrix<T>& in, std::size_t unit, F f)
{
    constexpr std::size_t most = std::size_t{1} << 30;
    const std::size_t most_columns = most / unit * unit;
    if (in.size() == 0)
        return f(matrix<T>(in.data, 0, 0));
    if (in.has_gaps()) {
        for (std::size_t row = 0; row < in.rows; row += most)
            for (std::size_t column = 0; column < in.columns; column += most_columns)
                f(matrix<T>(in.row(row) + column, std::min(in.rows - row, most),
                            std::min(in.columns - column, most_columns), in.pitch));
        return;
    }
    const std::size_t whole = in.size() / most_columns;
    const std::size_t rest = in.size() % most_columns;
    if (whole != 0)
        f(matrix<T>(in.data, whole, most_columns));
    if (rest != 0)
        f(matrix<T>(in.data + whole * most_columns, 1, rest));
}

// Walks through the vectors of a piece that fall to a thread: of all vectors, row by row, the one whose number is the
// thread's, and every stride-th one after it.
template <class T>
class vector_cursor {
    using vectors = row_vectors<T>;
    static constexpr auto elements = static_cast<unsigned>(vectors::elements);

public:
    __device__ vector_cursor(const matrix<T>& in, std::uint64_t thread, std::uint64_t stride)
        : in_(in), rows_(static_cast<std::uint32_t>(in.rows)), columns_(static_cast<std::uint32_t>(in.columns)),
          of_row_(columns_ / elements), at_{rows_, 0}, stride_{0, 0}
    {
        if (of_row_ == 0)
            return;
        const std::uint64_t row = thread / of_row_;
        at_ = {row < rows_ ? static_cast<std::uint32_t>(row) : rows_,
               static_cast<std::uint32_t>(thread - row * of_row_)};
        stride_ = {static_cast<std::uint32_t>(stride / of_row_), static_cast<std::uint32_t>(stride % of_row_)};
    }

    __device__ bool is_within() const { return at_.row < rows_; }

    // Reads the current vector, sets the column at which it begins, and moves on. Returns false where there is no
    // vector: a row with elements before its first vector may have one vector fewer than others.
    __device__ bool read(typename vectors::vector& vector, std::uint32_t& column)
    {
        const T* const row = in_.row(at_.row);
        column = at_.word * elements + vectors::before(row);
        const bool is_whole = is_within() && column + elements <= columns_;
        if (is_whole)
            vector = vectors::load(row + column);
        at_.advance(stride_, of_row_);
        return is_whole;
    }

private:
    matrix<T> in_;
    std::uint32_t rows_;
    std::uint32_t columns_;
    std::uint32_t of_row_; // vectors of a row
    row_cursor<std::uint32_t> at_;
    row_cursor<std::uint32_t> stride_;
};

// Calls take(element, column) for those elements beside the vectors that fall to a thread, one of `threads` threads, a
// multiple of a warp. A thread has one place before or behind the vectors, which it visits in some of the rows.
template <class T, class Take>
__device__ void for_each_beside_vectors(const matrix<T>& in, std::uint64_t thread, std::uint64_t threads, Take take)
{
    constexpr auto elements = static_cast<unsigned>(row_vectors<T>::elements);
    constexpr unsigned places = 2 * elements; // as many as a row can have, and more
    constexpr int rows_at_once = 4;           // so that several loads are under way
    constexpr std::uint64_t bytes = elements * sizeof(T);
    if (row_vectors<T>::are_words && reinterpret_cast<std::uintptr_t>(in.data) % bytes == 0 &&
        in.columns % elements == 0 && (in.rows == 1 || in.pitch % bytes == 0))
        return;
    const auto rows = static_cast<std::uint32_t>(in.rows);
    const auto columns = static_cast<std::uint32_t>(in.columns);
    const auto place = static_cast<std::uint32_t>(thread % places);
    const auto stride = static_cast<std::uint32_t>(threads / places);
    for (auto first = static_cast<std::uint32_t>(thread / places); first < rows; first += rows_at_once * stride) {
        lane_vector<T, 1> element[rows_at_once];
        std::uint32_t column[rows_at_once];
#pragma unroll
        for (int t = 0; t < rows_at_once; ++t) {
            const std::uint32_t r = first + t * stride;
            column[t] = columns;
            if (r >= rows)
                continue;
            const T* const row = in.row(r);
            const std::uint32_t aligned = row_vectors<T>::before(row);
            const std::uint32_t before = aligned < columns ? aligned : columns;
            const std::uint32_t all = before + (columns - before) % elements;
            if (place < all) {
                column[t] = place < before ? place : columns - all + place;
                element[t] = gather_vector<1>(row + column[t]);
            }
        }
#pragma unroll
        for (int t = 0; t < rows_at_once; ++t)
            if (column[t] < columns)
                take(element[t], column[t]);
    }
}

// The elements of a matrix as a source: they are found by their number, row by row.
template <class T>
struct matrix_source {
    using value_type = T;
    struct place {
        std::uint64_t row;
        std::uint64_t column;
    };

    matrix<T> in;
    divider columns;
    std::uint64_t first = 0;

    explicit matrix_source(const matrix<T>& all) : in(all), columns(std::max<std::uint64_t>(all.columns, 1)) {}

    __device__ matrix_source operator+(std::uint64_t n) const
    {
        matrix_source there = *this;
        there.first += n;
        return there;
    }
    __device__ T operator[](std::uint64_t n) const
    {
        const place at = place_of(n);
        return in.row(at.row)[at.column];
    }
    __device__ place place_of(std::uint64_t n) const
    {
        const std::uint64_t row = columns.quotient(first + n);
        return {row, first + n - row * columns.divisor};
    }
};

template <int Count, class T>
inline constexpr bool may_have_words<Count, matrix_source<T>> = are_word<Count, T>;

// Returns whether all vectors from an element on are aligned, each in one row.
template <int Count, class T>
UPSWEEP_HOST_DEVICE bool is_aligned(const matrix_source<T>& it)
{
    if constexpr (has_words<Count, const T*>) {
        constexpr std::uint64_t bytes = Count * sizeof(T);
        return it.first % Count == 0 && it.in.columns % Count == 0 && it.in.pitch % bytes == 0 &&
               reinterpret_cast<std::uintptr_t>(it.in.data) % bytes == 0;
    } else {
        return false;
    }
}
template <int Count, class T>
__device__ auto load_vector(const matrix_source<T>& from)
{
    const auto at = from.place_of(0);
    return load_vector<Count>(from.in.row(at.row) + at.column);
}

// A piece of a matrix, for kernels to which the order of the elements does not matter.
template <class T>
struct matrix_rows {
    using value_type = T;
    matrix<T> in;
};

// Reads the vectors of all rows, several at once, and then the elements beside them.
template <int Rows, class T>
class source_reader<Rows, matrix_rows<T>> {
    using vector = typename row_vectors<T>::vector;

public:
    __device__ source_reader(const matrix_rows<T>& samples, std::uint64_t, unsigned block, unsigned blocks)
        : source_reader(samples.in, std::uint64_t{block} * blockDim.x + threadIdx.x, blocks)
    {
    }

    template <class F>
    __device__ void for_each(F take)
    {
        while (are_read_ != 0 || cursor_.is_within()) {
#pragma unroll
            for (int r = 0; r < Rows; ++r) {
                if ((are_read_ >> r & 1U) != 0)
                    take(vectors_[r]);
                read(r);
            }
        }
        for_each_beside_vectors(in_, thread_, stride_,
                                [&](const lane_vector<T, 1>& element, std::uint32_t) { take(element); });
    }

protected:
    __device__ source_reader(const matrix<T>& in, std::uint64_t thread, unsigned blocks)
        : in_(in), thread_(thread), stride_(std::uint64_t{blocks} * blockDim.x), cursor_(in_, thread_, stride_)
    {
#pragma unroll
        for (int r = 0; r < Rows; ++r)
            read(r);
    }

private:
    __device__ void read(int r)
    {
        std::uint32_t column;
        const unsigned bit = 1U << r;
        are_read_ = cursor_.read(vectors_[r], column) ? are_read_ | bit : are_read_ & ~bit;
    }

    matrix<T> in_;
    std::uint64_t thread_;
    std::uint64_t stride_;
    vector_cursor<T> cursor_;
    unsigned are_read_ = 0;
    vector vectors_[Rows];
};

// The few elements of a matrix, wherever its rows begin: a thread has one vector.
template <class T>
struct few_elements<matrix_source<T>> {
    using value_type = T;
    static constexpr int elements = elements_of<const T*>;
    static constexpr int rows = 1;
    static constexpr int threads = 1024;
    static constexpr bool is_possible = true;

    matrix<T> in;

    explicit few_elements(const matrix_source<T>& all) : in(all.in) {}

    bool are_few(int blocks, std::uint64_t count) const
    {
        return in.columns != 0 && count <= static_cast<std::uint64_t>(blocks) * threads * elements;
    }
};

template <int Rows, class T>
unsigned useful_blocks(const few_elements<matrix_source<T>>& few, int most, std::uint64_t count)
{
    return useful_blocks<Rows>(matrix_rows<T>{few.in}, most, count);
}

// The warps of all blocks take vectors by turns, so that each block has about as many as the others.
template <int Rows, class T>
class source_reader<Rows, few_elements<matrix_source<T>>> : public source_reader<Rows, matrix_rows<T>> {
public:
    __device__ source_reader(const few_elements<matrix_source<T>>& from, std::uint64_t, unsigned block, unsigned blocks)
        : source_reader<Rows, matrix_rows<T>>(
              from.in, (std::uint64_t{threadIdx.x / lanes} * blocks + block) * lanes + threadIdx.x % lanes, blocks)
    {
    }
};

} // namespace upsweep::gpu
