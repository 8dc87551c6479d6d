// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/shifted.cuh>

// How a warp reads rows of vectors of narrow elements that begin anywhere, for a reduction. Element by element, a vector takes eight or sixteen loads, for
// each of which the first-level cache looks at four of its lines: that is slower than memory. By the words of memory in which a row lies it takes one:
//
//     its words      |  lane 0  |  lane 1  |   ...   | lane 31  | lane 0 of the next row |
//     its vectors       |  lane 0  |  lane 1  |   ...   | lane 31  |
//
// A vector is the end of the word of its own lane and the beginning of that of the next one.
namespace upsweep::gpu {

// Elements that may lie at other places than multiples of their size could be cut by words.
template <int Elements, class Source>
inline constexpr bool may_be_shifted_rows = false;
template <int Elements, class T>
inline constexpr bool
    may_be_shifted_rows<Elements, T*> = has_words<Elements, T*> && sizeof(T) < sizeof(unsigned) &&
                                        alignof(T) == sizeof(T) && Elements * sizeof(T) == sizeof(uint4);

// Calls take(r, where the word lies) for this lane's words of rows of which its first vector begins at `mine`, which is not aligned.
template <int Elements, int Words, class T, class Take>
__device__ void for_each_shifted_word(const T* mine, Take take)
{
    const auto before = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(mine) % sizeof(uint4) / sizeof(T));
    const T* const first = mine - before;
#pragma unroll
    for (int r = 0; r < Words; ++r)
        if (r + 1 < Words || lane_id() == 0)
            take(r, first + r * lanes * Elements);
}

// Loads the words of whole rows. What lies up to 15 bytes before and behind the rows is read with them, and must be memory that may be read. Load is how
// a word is loaded.
template <int Elements, int Words, class T, class Load>
__device__ void load_shifted_rows(const T* mine, lane_vector<T, Elements> (&words)[Words], Load load)
{
    for_each_shifted_word<Elements, Words>(mine, [&](int r, const T* from) { words[r] = load(from); });
}
// The same of rows of which there are `left` elements from `mine` on: of words that have none of these, none is loaded.
template <int Elements, int Words, class T, class Load>
__device__ void load_shifted_rows(const T* mine, int left, lane_vector<T, Elements> (&words)[Words], Load load)
{
    for_each_shifted_word<Elements, Words>(mine, [&](int r, const T* from) {
        if (from - mine < left)
            words[r] = load(from);
    });
}

// The vector that begins so many bytes behind the beginning of a word, of that word and the one behind it. All lanes of a warp take a branch for
// the number of bytes.
template <int Elements, class T>
__device__ lane_vector<T, Elements> shifted_vector(const lane_vector<T, Elements>& word,
                                                   const lane_vector<T, Elements>& behind, unsigned bytes)
{
    constexpr int count = Elements * sizeof(T) / sizeof(unsigned);
    unsigned numbers[2 * count];
    std::memcpy(numbers, &word.memory, sizeof(word));
    std::memcpy(numbers + count, &behind.memory, sizeof(word));
    shift_out<count, sizeof(T)>(numbers, bytes);
    lane_vector<T, Elements> vector;
    std::memcpy(static_cast<void*>(&vector.memory), numbers, sizeof(word));
    return vector;
}

// The vector of this lane in row r, of words that have so many bytes before their vectors. The lanes of a warp call this together.
template <int Elements, int Words, class T>
__device__ lane_vector<T, Elements> shifted_row(const lane_vector<T, Elements> (&words)[Words], int r, unsigned bytes)
{
    const uint4 given = lane_id() == 0 ? words[r + 1].memory : words[r].memory;
    const uint4 behind = shuffle(given, (lane_id() + 1) % lanes);
    return shifted_vector(words[r], lane_vector<T, Elements>{behind}, bytes);
}

} // namespace upsweep::gpu
