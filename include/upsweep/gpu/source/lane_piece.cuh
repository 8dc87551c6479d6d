// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

#include <cuda_pipeline.h>

#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/source/array.cuh>

// How a warp reads a whole warp tile of bytes of which wider results are made. A vector has 2 bytes if the results have 8: too few for an asynchronous
// copy, which takes 4 at least. But a lane folds several vectors that follow one another, its piece of the tile. Lanes copy their pieces to shared memory,
// one behind the other: each by one copy where it is aligned, and else by the words of 4 bytes in which it lies, which are one more than it has.
namespace upsweep::gpu {

template <int Elements, int Rows, class Source>
class lane_piece {
    using element = std::iter_value_t<Source>;
    static constexpr int words = Elements * Rows / 4;
    static constexpr int piece = 4 * words; // bytes

public:
    static constexpr bool exists = has_words<Elements, Source> && sizeof(element) == 1 && Elements < 4 &&
                                   Elements * Rows >= 4 && Elements * Rows <= 16;

    __device__ explicit lane_piece(Source array)
        : is_aligned_(reinterpret_cast<std::uintptr_t>(array) % piece == 0),
          shift_(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(array) % 4))
    {
    }

    // Whether the words of the warp tile at `first` have nothing but elements of the array, of so many.
    __device__ bool is_possible(std::uint64_t first, std::uint64_t count) const
    {
        return shift_ == 0 || (first != 0 && first + (piece * lanes + 4) <= count);
    }

    // Begins to copy this lane's piece of the warp tile at `first` to shared memory of the warp.
    __device__ void copy(std::byte* to, Source first) const
    {
        const auto* const from = reinterpret_cast<const std::byte*>(first) + lane_id() * piece;
        if (is_aligned_) {
            __pipeline_memcpy_async(to + lane_id() * piece, from, piece);
            return;
        }
        std::byte* const mine = to + lane_id() * (piece + 4);
#pragma unroll
        for (int k = 0; k < words; ++k)
            __pipeline_memcpy_async(mine + 4 * k, from - shift_ + 4 * k, 4);
        if (shift_ != 0)
            __pipeline_memcpy_async(mine + piece, from - shift_ + piece, 4);
    }

    // Loads the vectors of a lane's piece, when it has been copied.
    __device__ void load(const std::byte* at, int lane, lane_vector<element, Elements> (&vectors)[Rows]) const
    {
        unsigned numbers[words + 1] = {};
        if (is_aligned_) {
            const auto all = *reinterpret_cast<const word_t<piece>*>(at + lane * piece);
            std::memcpy(numbers, &all, sizeof(all));
        } else {
            const auto* const mine = reinterpret_cast<const unsigned*>(at + lane * (piece + 4));
#pragma unroll
            for (int k = 0; k < words; ++k)
                numbers[k] = mine[k];
            if (shift_ != 0)
                numbers[words] = mine[words];
#pragma unroll
            for (int k = 0; k < words; ++k)
                numbers[k] = __funnelshift_r(numbers[k], numbers[k + 1], 8 * shift_);
        }
        std::memcpy(static_cast<void*>(vectors), numbers, piece);
    }

private:
    bool is_aligned_;
    unsigned shift_; // bytes before the array in the word in which it begins
};

} // namespace upsweep::gpu
