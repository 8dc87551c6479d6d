// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <upsweep/gpu/primitive/samples.cuh>
#include <upsweep/gpu/primitive/tile.cuh>
#include <upsweep/matrix.hpp>

// The elements of a matrix by vectors of a lane, which are aligned wherever its rows begin: a row is covered by as many words of 16
// bytes as the worst placed of the rows needs, of which the first and the last may have elements that are not the row's.
namespace upsweep::gpu {

// A place in rows of so many words, and how it moves on by a number of words without a division.
struct word_cursor {
    std::uint64_t row;
    std::uint64_t word;

    struct step {
        std::uint64_t rows;
        std::uint64_t words;
    };

    __device__ static step of(std::uint64_t number, std::uint64_t words)
    {
        const bool is_small = (number | words) >> 32 == 0; // a quarter of the time
        const std::uint64_t rows =
            is_small ? static_cast<std::uint32_t>(number) / static_cast<std::uint32_t>(words) : number / words;
        return {rows, number - rows * words};
    }
    __device__ word_cursor(std::uint64_t number, std::uint64_t words) : word_cursor(of(number, words)) {}
    __device__ void advance(const step& by, std::uint64_t words)
    {
        row += by.rows;
        word += by.words;
        const bool is_beyond = word >= words;
        row += is_beyond ? 1 : 0;
        word -= is_beyond ? words : 0;
    }

private:
    __device__ explicit word_cursor(const step& at) : row(at.rows), word(at.words) {}
};

// A word of a row: its elements [begin, end) are the row's, the first of them all would be in this column.
template <class T>
struct row_vector {
    static constexpr int elements = vector_elements<sizeof(T)>;
    lane_vector<T, elements> vector;
    std::int64_t column;
    int begin;
    int end;

    // Calls take(j, element j) for those of the row.
    template <class F>
    __device__ void for_each(F take) const
    {
        if (begin == 0 && end == elements) {
#pragma unroll
            for (int j = 0; j < elements; ++j)
                take(j, vector[j]);
        } else {
#pragma unroll
            for (int j = 0; j < elements; ++j)
                if (j >= begin && j < end)
                    take(j, vector[j]);
        }
    }
};

template <class T>
struct matrix_words {
    static constexpr int elements = row_vector<T>::elements;

    matrix<T> in;
    std::uint64_t words; // of a row
    std::uint64_t
        joined; // columns from one row to the next without a gap: words may then reach into another row; else 0

    explicit matrix_words(const matrix<T>& all)
        : in(all), words(words_of(all)), joined(all.has_gaps() ? 0 : all.columns)
    {
    }

    __device__ row_vector<T> load(std::uint64_t row, std::uint64_t word) const
    {
        row_vector<T> result{};
        const T* const first = in.row(row);
        std::int64_t before = 0; // elements of the first word that are not the row's
        bool aligned = false;
        if constexpr (has_words<elements, const T*>) {
            const std::uintptr_t misplaced = reinterpret_cast<std::uintptr_t>(first) % (elements * sizeof(T));
            aligned = misplaced % sizeof(T) == 0;
            before = aligned ? static_cast<std::int64_t>(misplaced / sizeof(T)) : 0;
        }
        result.column = static_cast<std::int64_t>(word) * elements - before;
        const std::int64_t left = static_cast<std::int64_t>(in.columns) - result.column;
        result.begin = result.column < 0 ? static_cast<int>(-result.column) : 0;
        result.end = left < elements ? static_cast<int>(left) : elements;
        if (result.end <= result.begin) {
            result.end = result.begin;
            return result;
        }
        const std::int64_t place = static_cast<std::int64_t>(row * joined) + result.column;
        const auto size = static_cast<std::int64_t>(joined != 0 ? in.rows * joined : in.columns);
        if (aligned && place >= 0 && place + elements <= size) {
            result.vector = load_vector<elements>(first + result.column);
        } else {
            typename lane_vector<T, elements>::elements all{};
#pragma unroll
            for (int j = 0; j < elements; ++j)
                if (j >= result.begin && j < result.end)
                    all.element[j] = first[result.column + j];
            std::memcpy(static_cast<void*>(&result.vector.memory), &all, sizeof(all));
        }
        return result;
    }

    // Calls take(row, row_vector) for the words of the rows from `first` on whose numbers are begin + thread, and every stride-th one
    // after it, below `end`. All threads call pace(round) after each round of Rows words; returns how many rounds there were.
    template <int Rows, class Take, class Pace>
    __device__ std::uint64_t for_each_word(std::uint64_t first, std::uint64_t begin, std::uint64_t end,
                                           std::uint64_t thread, std::uint64_t stride, Take take, Pace pace) const
    {
        std::uint64_t round = 0;
        if (begin >= end)
            return round;
        const word_cursor::step step = word_cursor::of(stride, words);
        word_cursor at(begin + thread, words);
        for (std::uint64_t base = begin; base < end; base += stride * Rows, ++round) {
            row_vector<T> vectors[Rows];
            std::uint64_t rows[Rows];
#pragma unroll
            for (int r = 0; r < Rows; ++r) {
                rows[r] = first + at.row;
                vectors[r].begin = vectors[r].end = 0;
                if (base + r * stride + thread < end)
                    vectors[r] = load(first + at.row, at.word);
                at.advance(step, words);
            }
#pragma unroll
            for (int r = 0; r < Rows; ++r)
                if (vectors[r].begin != vectors[r].end)
                    take(rows[r], vectors[r]);
            pace(round);
        }
        return round;
    }
    template <int Rows, class Take>
    __device__ void for_each_word(std::uint64_t first, std::uint64_t begin, std::uint64_t end, unsigned thread,
                                  unsigned stride, Take take) const
    {
        for_each_word<Rows>(first, begin, end, thread, stride, take, [](std::uint64_t) {});
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

// The elements of a matrix, row by row, for a histogram of them all.
template <class T>
struct matrix_iterator {
    using value_type = T;

    matrix_words<T> words;
    std::uint64_t first = 0;

    __device__ matrix_iterator operator+(std::uint64_t n) const { return {words, first + n}; }
    __device__ T operator[](std::uint64_t n) const
    {
        const word_cursor at(first + n, words.in.columns);
        return words.in.row(at.row)[at.word];
    }
};

// The words are taken in turn by the threads of all blocks.
template <int Rows, class T, class F, class Pace>
__device__ std::uint64_t for_each_sample(const matrix_iterator<T>& in, std::uint64_t, unsigned block, unsigned blocks,
                                         F take, Pace pace)
{
    return in.words.template for_each_word<Rows / 2>(
        0, 0, in.words.in.rows * in.words.words, std::uint64_t{block} * blockDim.x + threadIdx.x,
        std::uint64_t{blocks} * blockDim.x,
        [&](std::uint64_t, const row_vector<T>& vector) { vector.for_each([&](int, const T& x) { take(x); }); }, pace);
}

} // namespace upsweep::gpu
