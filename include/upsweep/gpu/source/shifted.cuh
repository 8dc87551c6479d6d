// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <iterator>

#include <upsweep/gpu/primitive/ptx.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/source/array.cuh>

// How a warp reads and writes a whole warp tile of an array that begins at any element, x[1:] for example, at the full
// width of memory.
//
// Memory is accessed by words, of 16 bytes for example, and by lines of 128, which begin at multiples of their size; the
// tile does not. Cut into V pieces of the size of a word, it has the beginning of a word in each of them:
//
//     the tile    | piece 0         | piece 1         |  ...  | piece V - 1     |
//     its words   | head |  word 0  |  word 1  |      ...       | word V - 2 | tail |
//
// Word k has the end of piece k and the beginning of piece k + 1. What would be word V - 1 has the tail of the tile and
// then its head, as if piece 0 came again. It shares its memory with other tiles: its elements are read and written one
// by one, a lane each, so that nothing is touched that belongs to others. Where the tile begins with a word there is no
// head, and the last word is one like the others.
//
// Stores of a warp begin with a line of memory: an H200 then writes 3.4 TB/s, and 2.5 where they begin within one.
namespace upsweep::gpu {

// Moves `bytes` bytes, at most 4 Most + 3, out of the front of an array of 32-bit numbers; what was in the last Most + 1 of them
// moves up. Each number is put together from two others by one instruction, in a branch for each distance between old and new
// place, which takes fewer than moving whole numbers first.
template <int Most, int Numbers>
__device__ void funnel_out(unsigned (&numbers)[Numbers], unsigned bytes)
{
    if (bytes / 4 == Most) {
#pragma unroll
        for (int i = 0; i + Most + 1 < Numbers; ++i)
            numbers[i] = __funnelshift_r(numbers[i + Most], numbers[i + Most + 1], 8 * (bytes % 4));
    } else if constexpr (Most > 0) {
        funnel_out<Most - 1>(numbers, bytes);
    }
}

// Moves `bytes` bytes, fewer than Count times 4 and a multiple of Unit, out of the front of an array of 32-bit numbers; what
// was in the last Count of them moves up. Where Unit is less than 4, all lanes move as many, since they take a branch for it.
template <int Count, int Unit, int Numbers>
__device__ void shift_out(unsigned (&numbers)[Numbers], unsigned bytes)
{
    if constexpr (Unit < 4) {
        funnel_out<Count - 1>(numbers, bytes);
    } else if constexpr (Count > 1) {
        constexpr int step = Count / 2;
        if constexpr (4 * step >= Unit) {
            const bool moves = (bytes / 4 & unsigned{step}) != 0;
#pragma unroll
            for (int i = 0; i + step < Numbers; ++i)
                numbers[i] = moves ? numbers[i + step] : numbers[i];
        }
        shift_out<step, Unit>(numbers, bytes);
    }
}

// The same where each lane moves as many bytes as it has to: whole numbers by selections, and then parts of one.
template <int Count, int Unit, int Numbers>
__device__ void shift_out_of_lane(unsigned (&numbers)[Numbers], unsigned bytes)
{
    shift_out<Count, (Unit < 4 ? 4 : Unit)>(numbers, bytes);
    if constexpr (Unit < 4)
#pragma unroll
        for (int i = 0; i + 1 < Numbers; ++i)
            numbers[i] = __funnelshift_r(numbers[i], numbers[i + 1], 8 * (bytes % 4));
}

// Whether arrays can be accessed in this way at all, as far as the compiler can tell: by words of so many elements, of
// which each lane has so many.
template <int Elements, int Words, class Array>
inline constexpr bool may_be_shifted = has_words<Elements, Array>&& Elements * sizeof(std::iter_value_t<Array>) >= 4 &&
                                       Elements * sizeof(std::iter_value_t<Array>) * Words* lanes % 128 == 0;

template <int Elements, int Words, class Array>
class shifted_tile {
    using element = std::iter_value_t<Array>;
    static constexpr int words = Words * lanes;
    static constexpr int tile = words * Elements;
    static constexpr unsigned line_bytes = 128;

public:
    using word = lane_vector<element, Elements>; // and a piece of the tile

    // Where the first tile begins, or any other one.
    UPSWEEP_HOST_DEVICE explicit shifted_tile(const element* first)
    {
        const auto to_line =
            (line_bytes - static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(first) % line_bytes)) % line_bytes;
        head_ = static_cast<int>(to_line % sizeof(word) / sizeof(element));
        words_to_line_ = static_cast<int>(to_line / sizeof(word));
        is_possible_ = to_line % sizeof(element) == 0;
    }

    // Elements that do not lie at multiples of their own size are cut by words.
    UPSWEEP_HOST_DEVICE bool is_possible() const { return is_possible_; }

    UPSWEEP_HOST_DEVICE bool has_head() const { return head_ != 0; }
    UPSWEEP_HOST_DEVICE bool begins_at_line() const { return head_ == 0 && words_to_line_ == 0; }
    __device__ int words_to_line() const { return words_to_line_; } // before the first that begins at a line of memory

    // Calls take(r, place, at) for each word of the tile at `first` that falls to this lane, without the edges: its row, its
    // swizzled place in shared memory and where it begins. Words are dealt out from word `from` on, less than 32, and
    // those of the lanes of a warp follow one another.
    template <class F>
    __device__ void for_each_word(const Array& first, int from, F take) const
    {
        // What is added to these below are constants, which loads and stores add themselves.
        const int mine = from + lane_id();
        const Array at = keep(first + (head_ + mine * Elements));
        const int swizzled_mine = swizzled<Words>(mine);
        const auto place = [&](int word) { return Words <= 4 ? swizzled_mine + word : swizzled<Words>(mine + word); };
#pragma unroll
        for (int r = 0; r + 1 < Words; ++r)
            take(r, place(r * lanes), at + r * lanes * Elements);
        constexpr int last = words - lanes;
        if (mine + last < words - 1 || (mine + last == words - 1 && !has_head()))
            take(Words - 1, place(last), at + last * Elements);
        else if (mine + last >= words) // the words before `from`
            take(Words - 1, place(-lanes), at - lanes * Elements);
    }

    // Calls take(j, number of the element in the tile) for element j of the last word, by lane j, if it is the edges.
    template <class F>
    __device__ void for_each_edge(F take) const
    {
        if (has_head() && lane_id() < Elements)
            take(lane_id(), (lane_id() + head_ + tile - Elements) % tile);
    }

    // Of the words of this lane in the blocked arrangement, and the one before them, its pieces of a tile that has a head.
    __device__ void to_pieces(const word (&words)[Words + 1], word (&pieces)[Words]) const
    {
        shift(words, static_cast<unsigned>((Elements - head_) * sizeof(element)), pieces);
    }

    // Of the pieces of this lane in the blocked arrangement, its words. The lanes of a warp call this together, each with the one that has the next
    // pieces.
    __device__ void to_words(word (&pieces)[Words], int next_lane = (lane_id() + 1) % lanes) const
    {
        word from[Words + 1];
#pragma unroll
        for (int r = 0; r < Words; ++r)
            from[r] = pieces[r];
        from[Words].memory = shuffle(pieces[0].memory, next_lane);
        shift(from, static_cast<unsigned>(head_ * sizeof(element)), pieces);
    }

private:
    __device__ static void shift(const word (&from)[Words + 1], unsigned bytes, word (&to)[Words])
    {
        constexpr int count = sizeof(word) / 4;
        unsigned numbers[(Words + 1) * count];
#pragma unroll
        for (int r = 0; r <= Words; ++r)
            std::memcpy(numbers + r * count, &from[r].memory, sizeof(word));
        shift_out<count, sizeof(element)>(numbers, bytes);
#pragma unroll
        for (int r = 0; r < Words; ++r)
            std::memcpy(static_cast<void*>(&to[r].memory), numbers + r * count, sizeof(word));
    }

    int head_;          // the elements of the tile before word 0
    int words_to_line_; // the words before the first line of memory that begins in the tile
    bool is_possible_;
};

} // namespace upsweep::gpu
