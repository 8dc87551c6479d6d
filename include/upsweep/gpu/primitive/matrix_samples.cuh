// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <upsweep/gpu/primitive/matrix.cuh>
#include <upsweep/gpu/primitive/samples.cuh>
#include <upsweep/gpu/primitive/tile.cuh>
#include <upsweep/matrix.hpp>

// The elements of a matrix in any order: first all vectors of lanes, which are aligned wherever its rows begin, then the few elements
// before and behind those of each row. Neither needs a mask.
namespace upsweep::gpu {

template <class T>
struct row_vectors {
    static constexpr int elements = vector_elements<sizeof(T)>;
    static constexpr bool can_be_aligned = has_words<elements, const T*>;
    static constexpr bool can_be_misaligned = !can_be_aligned || alignof(T) < sizeof(T);
    using vector = lane_vector<T, elements>;

    // Elements of a row before its first vector, which begins with the row where no element is aligned as vectors are.
    __device__ static unsigned before(const T* row)
    {
        if constexpr (can_be_aligned) {
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

// The vectors of all rows that fall to a thread: that of its number and every stride-th one after it.
template <class T>
class vector_cursor {
    using vectors = row_vectors<T>;
    static constexpr auto elements = static_cast<unsigned>(vectors::elements);

public:
    __device__ vector_cursor(const matrix<T>& in, std::uint64_t thread, std::uint64_t stride)
        : in_(in), of_row_(in.columns / elements), step_{0, 0}, at_(of_row_ != 0 ? thread : in.rows, of_row_ | 1)
    {
        if (of_row_ != 0)
            step_ = word_cursor::of(stride, of_row_), at_ = word_cursor(thread, of_row_);
    }

    __device__ bool is_within() const { return at_.row < in_.rows; }

    // Reads a vector, which begins at a column, and goes on. There may be none at this place.
    __device__ bool read(typename vectors::vector& vector, std::uint64_t& column)
    {
        if (!is_within())
            return false;
        const T* const row = in_.row(at_.row);
        column = at_.word * elements + vectors::before(row);
        const bool is_whole = column + elements <= in_.columns;
        if (is_whole)
            vector = vectors::load(row + column);
        at_.advance(step_, of_row_);
        return is_whole;
    }

private:
    matrix<T> in_;
    std::uint64_t of_row_;
    word_cursor::step step_;
    word_cursor at_;
};

// Calls take(element, column) for the elements in no vector that fall to a thread.
template <class T, class Take>
__device__ void for_each_beside_vectors(const matrix<T>& in, std::uint64_t thread, std::uint64_t stride, Take take)
{
    constexpr auto elements = static_cast<unsigned>(row_vectors<T>::elements);
    constexpr unsigned most = 2 * elements; // of a row, and more
    constexpr int together = 4;
    const auto bytes = static_cast<std::uint64_t>(elements * sizeof(T));
    const bool none = row_vectors<T>::can_be_aligned && reinterpret_cast<std::uintptr_t>(in.data) % bytes == 0 &&
                      in.columns % elements == 0 && (in.rows == 1 || in.pitch % bytes == 0);
    for (std::uint64_t place = thread; !none && place < in.rows * most; place += together * stride) {
        lane_vector<T, 1> element[together];
        std::uint64_t columns[together];
#pragma unroll
        for (int t = 0; t < together; ++t) {
            const std::uint64_t r = (place + t * stride) / most;
            const auto i = static_cast<unsigned>((place + t * stride) % most);
            columns[t] = in.columns;
            if (r >= in.rows)
                continue;
            const T* const row = in.row(r);
            const unsigned aligned = row_vectors<T>::before(row);
            const unsigned before = aligned < in.columns ? aligned : static_cast<unsigned>(in.columns);
            const unsigned all = before + static_cast<unsigned>(in.columns - before) % elements;
            if (i < all) {
                columns[t] = i < before ? i : in.columns - all + i;
                element[t] = gather_vector<1>(row + columns[t]);
            }
        }
#pragma unroll
        for (int t = 0; t < together; ++t)
            if (columns[t] < in.columns)
                take(element[t], columns[t]);
    }
}

// The elements of a matrix as samples.cuh reads them: all of them are taken with the chunks.
template <class T>
struct matrix_rows {
    using value_type = T;
    matrix<T> in;
};

template <int Rows, class T>
class sample_reader<Rows, matrix_rows<T>> {
    using vector = typename row_vectors<T>::vector;

public:
    __device__ sample_reader(const matrix_rows<T>& samples, std::uint64_t, unsigned block, unsigned blocks)
        : in_(samples.in), thread_(std::uint64_t{block} * blockDim.x + threadIdx.x),
          stride_(std::uint64_t{blocks} * blockDim.x), cursor_(in_, thread_, stride_)
    {
#pragma unroll
        for (int r = 0; r < Rows; ++r)
            read(r);
    }

    template <int Every, class F, class Pace>
    __device__ void for_each_of_chunks(F take, Pace)
    {
        static_assert(Every == Rows, "the blocks do not keep pace with one another");
        while (are_read_ != 0 || cursor_.is_within()) {
#pragma unroll
            for (int r = 0; r < Rows; ++r) {
                if ((are_read_ >> r & 1U) != 0)
                    take(vectors_[r]);
                read(r);
            }
        }
        for_each_beside_vectors(in_, thread_, stride_,
                                [&](const lane_vector<T, 1>& element, std::uint64_t) { take(element); });
    }

    template <class F>
    __device__ void for_each_of_rest(F) const
    {
    }

private:
    __device__ void read(int r)
    {
        std::uint64_t column;
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

// The same by their number, row by row, from where kernels take them that have to know it.
template <class T>
struct matrix_elements {
    using value_type = T;
    matrix<T> in;
    std::uint64_t reciprocal; // of the columns, times 2^64
    std::uint64_t first = 0;

    explicit matrix_elements(const matrix<T>& all)
        : in(all), reciprocal(~std::uint64_t{0} / (all.columns != 0 ? all.columns : 1))
    {
    }

    __device__ matrix_elements operator+(std::uint64_t n) const
    {
        matrix_elements there = *this;
        there.first += n;
        return there;
    }
    __device__ T operator[](std::uint64_t n) const
    {
        const word_cursor::step at = place_of(first + n);
        return in.row(at.rows)[at.words];
    }
    // The product is right or one too low.
    __device__ word_cursor::step place_of(std::uint64_t number) const
    {
        const std::uint64_t row = __umul64hi(number, reciprocal);
        const std::uint64_t column = number - row * in.columns;
        const bool is_beyond = column >= in.columns;
        return {is_beyond ? row + 1 : row, is_beyond ? column - in.columns : column};
    }
};

// Whether all vectors from an element on are aligned and in one row each.
template <int Count, class T>
__device__ bool is_aligned(const matrix_elements<T>& it)
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
__device__ auto load_vector(const matrix_elements<T>& from)
{
    const word_cursor::step at = from.place_of(from.first);
    return load_vector<Count>(from.in.row(at.rows) + at.words);
}

} // namespace upsweep::gpu
