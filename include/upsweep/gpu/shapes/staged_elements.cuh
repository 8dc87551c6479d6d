// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_pipeline.h>

#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>

// A piece of memory that begins anywhere, in shared memory, from where lanes read what they need of it.
namespace upsweep::gpu {

// Up to Count elements that lie one behind the other, in shared memory of a warp, in words as they are in memory. Behind every 32 words
// there is one more, so that lanes whose elements lie 2, 4 or 8 words apart read different banks. Lanes may read up to `Behind` elements
// that are not there.
template <class T, int Count, int Behind>
class staged_elements {
    static constexpr unsigned size = sizeof(T);
    static constexpr bool may_shift = size < 4;
    static constexpr unsigned words = (Count * size + 6) / 4;                   // that they may touch
    static constexpr unsigned words_read = words + (Behind * size + 3) / 4 + 1; // or read, as others may be left there
    static constexpr int most_turns =
        static_cast<int>(words - 1) / lanes + 2; // of 32 words, which begin at a line of memory
    using element_bits = word_t<may_shift ? size : 4>;
    __device__ static constexpr unsigned place(unsigned word) { return word + word / lanes; }

public:
    // An element on its way that shares its word with others' elements. It may not exist.
    struct edge {
        unsigned byte = no_byte;
        element_bits bits = 0;
    };

    // Where the elements begin in their first word.
    __device__ static unsigned byte_of(const T* at)
    {
        return may_shift ? static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at) % 4) : 0;
    }

    // So that nothing is read that has never been written. The lanes of a warp call this together, and all but read and write.
    __device__ void clear()
    {
        for (auto k = static_cast<unsigned>(lane_id()); k < place(words_read); k += lanes)
            words_[k] = 0;
    }

    // Begins to copy `count` elements from here on, but those at the edges, of which it returns this lane's.
    __device__ edge copy_from(const T* from, unsigned count)
    {
        const whole_words whole(from, count);
        unsigned* to = words_ + whole.my_place(0);
        const std::byte* at = reinterpret_cast<const std::byte*>(from) + whole.my_distance();
#pragma unroll
        for (int k = 0; k < most_turns; ++k)
            if (whole.has(k))
                __pipeline_memcpy_async(to + k * (lanes + 1), at + k * lanes * 4, 4);
        edge mine;
        if (whole.has_edges()) {
            mine.byte = whole.edge_byte();
            if (mine.byte != no_byte)
                mine.bits = reinterpret_cast<const element_bits*>(from)[(mine.byte - whole.head) / size];
        }
        return mine;
    }
    __device__ void put(const edge& mine)
    {
        if constexpr (may_shift)
            if (mine.byte != no_byte)
                element_at(mine.byte) = mine.bits;
    }
    // Writes `count` elements from byte `begin` on, whose place in a word is that of `to`.
    __device__ void copy_to(T* to, unsigned count, unsigned begin)
    {
        const whole_words whole(to, count);
        const unsigned* from = words_ + whole.my_place(static_cast<int>(begin / 4));
        std::byte* at = reinterpret_cast<std::byte*>(to) + whole.my_distance();
#pragma unroll
        for (int k = 0; k < most_turns; ++k)
            if (whole.has(k))
                *reinterpret_cast<unsigned*>(at + k * lanes * 4) = from[k * (lanes + 1)];
        if (whole.has_edges()) {
            const unsigned byte = whole.edge_byte();
            if (byte != no_byte)
                reinterpret_cast<element_bits*>(to)[(byte - whole.head) / size] = element_at(begin - whole.head + byte);
        }
    }

    // The words of the elements from byte `first` on; not all of them need exist.
    template <int Words>
    __device__ void read(unsigned first, unsigned (&to)[Words]) const
    {
        unsigned raw[Words + 1];
        const words_from<const unsigned> from(words_, first / 4);
#pragma unroll
        for (unsigned j = 0; j < Words + (may_shift ? 1 : 0); ++j)
            raw[j] = from.at(j);
#pragma unroll
        for (int j = 0; j < Words; ++j)
            to[j] = may_shift ? __funnelshift_r(raw[j], raw[j + 1], 8 * (first % 4)) : raw[j];
    }

    // Puts `bytes` bytes of these words from byte `first` on. What other lanes put lies before and behind, without gaps: what there is of a
    // word at the end is put as a whole word, before those to which the rest of it belongs put theirs. The lanes of a warp call this together.
    template <int Words>
    __device__ void write(unsigned first, unsigned bytes, const unsigned (&from)[Words])
    {
        unsigned* const unused = words_ + place(words_read) + lane_id();
        const words_from<unsigned> to(words_, first / 4);
        const unsigned shift = may_shift ? first % 4 : 0;
        const unsigned end = bytes + shift;
#pragma unroll
        for (unsigned j = 0; j < Words + (may_shift ? 1 : 0); ++j) {
            const unsigned before = j > 0 ? from[j - 1] : 0;
            const unsigned here = j < Words ? from[j] : 0;
            const unsigned word = may_shift ? __funnelshift_l(before, here, 8 * shift) : here;
            const bool exists = (j > 0 || shift == 0) && 4 * j < end;
            *(exists ? &to.at(j) : unused) = word; // without a branch
        }
        if constexpr (may_shift) {
            __syncwarp();
#pragma unroll
            for (unsigned b = size; b < 4; b += size)
                if (shift != 0 && b >= shift && b < end)
                    element_at(first - shift + b) = static_cast<element_bits>(from[0] >> 8 * (b - shift));
        }
    }

private:
    // Words one behind the other, at most 32, of which the idle one lies behind number `before_idle_`.
    template <class Word>
    class words_from {
    public:
        __device__ words_from(Word* all, unsigned first)
            : first_(all + place(first)), before_idle_(lanes - first % lanes)
        {
        }
        __device__ Word& at(unsigned j) const { return (j < before_idle_ ? first_ : first_ + 1)[j]; }

    private:
        Word* first_;
        unsigned before_idle_;
    };

    static constexpr unsigned no_byte = ~0U;

    __device__ element_bits& element_at(unsigned byte)
    {
        return *reinterpret_cast<element_bits*>(reinterpret_cast<std::byte*>(words_ + place(byte / 4)) + byte % 4);
    }

    // Which words have nothing but the elements. Those of a warp begin at a line of memory.
    struct whole_words {
        unsigned head;  // bytes before the elements in their first word
        unsigned bytes; // up to the end of the elements
        int first;      // whole word
        int end;        // behind the last one
        int mine;       // the first one of this lane; it may not exist

        __device__ whole_words(const T* at, unsigned count)
            : head(byte_of(at)), bytes(head + count * size), first(head != 0 ? 1 : 0), end(static_cast<int>(bytes / 4)),
              mine(lane_id() - static_cast<int>(reinterpret_cast<std::uintptr_t>(at) / 4 % lanes))
        {
        }
        // Whether word mine + 32 k is one.
        __device__ bool has(int k) const { return (k > 0 || mine >= first) && k * lanes < end - mine; }
        // The place of word `mine`, where the first of them is that number of all.
        __device__ int my_place(int of_first) const { return of_first + mine + ((of_first + mine) >> 5); }
        __device__ std::ptrdiff_t my_distance() const { return 4 * mine - static_cast<int>(head); }
        __device__ bool has_edges() const { return may_shift && (head | bytes) % 4 != 0; }
        // The byte at which this lane's element of the first or of the last word begins, if it has one.
        __device__ unsigned edge_byte() const
        {
            const auto behind = static_cast<unsigned>(lane_id() % 4) * size;
            if (lane_id() < 4)
                return head != 0 && behind >= head && behind < 4 && behind < bytes ? behind : no_byte;
            const unsigned byte = bytes / 4 * 4 + behind;
            return lane_id() < 8 && end >= first && byte < bytes ? byte : no_byte;
        }
    };

    unsigned words_[place(words_read) + lanes];
};

} // namespace upsweep::gpu
