// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/matrix.hpp>

// The elements of a matrix by *words* of 16 bytes, which are aligned wherever the rows begin. All rows are covered by
// the same number of words: as many as the worst placed row needs. The first and the last word of a row may hold
// elements that are not the row's.
//
//     row 0   |..aa|aaaa|aaaa|a...|        the dots are elements of other rows, or none
//     row 1   |.bbb|bbbb|bbbb|....|
namespace upsweep::gpu {

// A place among rows of so many words each, which moves on by a fixed number of words without a division. That number
// is given as a place, too: so many rows, and so many words.
template <class Number>
struct row_cursor {
    Number row;
    Number word;

    // The place of the word of this number, when all words are counted row by row.
    __device__ static row_cursor of(Number number, Number words)
    {
        const bool is_small = std::uint64_t{number | words} >> 32 == 0; // then a division takes a quarter of the time
        const Number row =
            is_small ? static_cast<std::uint32_t>(number) / static_cast<std::uint32_t>(words) : number / words;
        return {row, number - row * words};
    }
    __device__ void advance(const row_cursor& by, Number words)
    {
        row += by.row;
        word += by.word;
        const bool is_beyond = word >= words;
        row += is_beyond ? 1 : 0;
        word -= is_beyond ? words : 0;
    }
};

// A word of a row, of which the elements [begin, end) are the row's.
template <class T>
struct row_vector {
    static constexpr int elements = vector_elements<sizeof(T)>;
    lane_vector<T, elements> vector;
    int begin;
    int end;

    // Reads them one by one, of a word whose first element would be in[first].
    template <class Source, class Number>
    __device__ void gather(const Source& in, Number first)
    {
        typename lane_vector<T, elements>::elements all{};
#pragma unroll
        for (int j = 0; j < elements; ++j)
            if (j >= begin && j < end)
                all.element[j] = in[first + j];
        vector = lane_vector<T, elements>::of(all);
    }

    // Calls take(element) for the elements that are the row's.
    template <class F>
    __device__ void for_each(F take) const
    {
        if (begin == 0 && end == elements) {
#pragma unroll
            for (int j = 0; j < elements; ++j)
                take(vector[j]);
        } else {
#pragma unroll
            for (int j = 0; j < elements; ++j)
                if (j >= begin && j < end)
                    take(vector[j]);
        }
    }
};

// A matrix whose rows are read by words. Where its rows follow one another without gaps, a word may be loaded as a
// whole even if it reaches into the row before or after.
template <class T>
struct matrix_words {
    static constexpr int elements = row_vector<T>::elements;

    matrix<T> in;
    std::uint64_t words;  // words of a row
    std::uint64_t joined; // columns of a row, if rows follow one another without gaps; else 0

    explicit matrix_words(const matrix<T>& all)
        : in(all), words(words_of(all)), joined(all.has_gaps() ? 0 : all.columns)
    {
    }

    // Where a row lies.
    struct place {
        const T* first;
        int before;         // elements of its first word that come before the row
        bool is_aligned;    // whether its words can be loaded as such
        std::int64_t least; // columns from `least` on and below `most` can be read, even if they are another row's
        std::int64_t most;
    };

    __device__ place place_of(std::uint64_t row) const
    {
        place at{in.row(row), 0, false, 0, static_cast<std::int64_t>(in.columns)};
        if constexpr (has_words<elements, const T*>) {
            const std::uintptr_t misplaced = reinterpret_cast<std::uintptr_t>(at.first) % (elements * sizeof(T));
            at.is_aligned = misplaced % sizeof(T) == 0;
            at.before = at.is_aligned ? static_cast<int>(misplaced / sizeof(T)) : 0;
        }
        if (joined != 0) {
            at.least = -static_cast<std::int64_t>(row * joined);
            at.most = static_cast<std::int64_t>((in.rows - row) * joined);
        }
        return at;
    }

    __device__ row_vector<T> load(const place& at, std::uint64_t word) const
    {
        row_vector<T> result{};
        const std::int64_t column = static_cast<std::int64_t>(word) * elements - at.before;
        const std::int64_t left = static_cast<std::int64_t>(in.columns) - column;
        result.begin = column < 0 ? static_cast<int>(-column) : 0;
        result.end = left < elements ? static_cast<int>(left) : elements;
        if (result.end <= result.begin) {
            result.end = result.begin;
        } else if (at.is_aligned && column >= at.least && column + elements <= at.most) {
            result.vector = load_vector<elements>(at.first + column);
        } else {
            result.gather(at.first, column);
        }
        return result;
    }

    // Calls take(row, row_vector) for those words of so many rows from `first` on that fall to a lane of a warp; rows
    // are counted from `first`. All these rows together have fewer than 2^32 words.
    template <int Rows, class Take>
    __device__ void for_each_word_of_rows(std::uint64_t first, std::uint32_t rows, Take take) const
    {
        using cursor = row_cursor<std::uint32_t>;
        const auto of_row = static_cast<std::uint32_t>(words);
        const auto lane = static_cast<std::uint32_t>(lane_id());
        const cursor step{lanes / of_row, lanes % of_row};
        cursor at{lane / of_row, lane % of_row};
        while (at.row < rows) {
            row_vector<T> vectors[Rows];
            std::uint32_t row_of[Rows];
#pragma unroll
            for (int r = 0; r < Rows; ++r) {
                row_of[r] = at.row;
                vectors[r].begin = vectors[r].end = 0;
                if (at.row < rows)
                    vectors[r] = load(place_of(first + at.row), at.word);
                at.advance(step, of_row);
            }
#pragma unroll
            for (int r = 0; r < Rows; ++r)
                if (vectors[r].begin != vectors[r].end)
                    take(row_of[r], vectors[r]);
        }
    }

    // Calls take(row_vector) for those of the words [begin, end) of a row that fall to a thread: every stride-th one
    // from its number on.
    template <int Rows, class Take>
    __device__ void for_each_word_of_row(std::uint64_t row, std::uint64_t begin, std::uint64_t end,
                                         std::uint64_t thread, std::uint64_t stride, Take take) const
    {
        const place at = place_of(row);
        for (std::uint64_t number = begin + thread; number < end; number += Rows * stride) {
            row_vector<T> vectors[Rows];
#pragma unroll
            for (int r = 0; r < Rows; ++r) {
                vectors[r].begin = vectors[r].end = 0;
                if (number + r * stride < end)
                    vectors[r] = load(at, number + r * stride);
            }
#pragma unroll
            for (int r = 0; r < Rows; ++r)
                take(vectors[r]);
        }
    }

private:
    static std::uint64_t words_of(const matrix<T>& all)
    {
        const std::size_t bytes = elements * sizeof(T);
        std::size_t misplaced = 0;
        if (has_words<elements, const T*>)
            misplaced = all.rows <= 1 || all.pitch % bytes == 0 ? reinterpret_cast<std::uintptr_t>(all.data) % bytes
                                                                : bytes - alignof(T);
        return (all.columns * sizeof(T) + misplaced + bytes - 1) / bytes;
    }
};

} // namespace upsweep::gpu
