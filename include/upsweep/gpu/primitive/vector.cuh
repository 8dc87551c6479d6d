// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/range.hpp>

// Elements in registers. A lane holds a vector of consecutive elements, 16 bytes of them where they are small enough; a
// row is the vectors of a warp; a warp has several consecutive rows in flight.
namespace upsweep::gpu {

// The bytes of an element of Source or of Out, whichever has more.
template <class Source, class Out>
inline constexpr std::size_t larger_element = sizeof(std::iter_value_t<Source>) < sizeof(std::iter_value_t<Out>)
                                                  ? sizeof(std::iter_value_t<Out>)
                                                  : sizeof(std::iter_value_t<Source>);

// The number of elements in a lane's vector, a power of two, where the largest type involved has that many bytes.
template <std::size_t Bytes>
inline constexpr int vector_elements = static_cast<int>(std::bit_floor(Bytes < 16 ? 16 / Bytes : 1));

// The machine word of so many bytes, which is loaded and stored by one instruction.
template <std::size_t Bytes>
using word_t = std::conditional_t<
    Bytes == 16, uint4,
    std::conditional_t<
        Bytes == 8, uint2,
        std::conditional_t<Bytes == 4, unsigned, std::conditional_t<Bytes == 2, unsigned short, unsigned char>>>>;

// Whether Count elements of a type are one machine word.
template <int Count, class T>
inline constexpr bool are_word = sizeof(T) * Count <= 16 && std::has_single_bit(sizeof(T));

// A lane's vector as it lies in memory. It is kept in machine words, out of which elements are cut where they are used.
template <class T, int Count>
struct lane_vector {
    static constexpr bool is_word = are_word<Count, T>;
    struct elements {
        T element[Count];
    };
    std::conditional_t<is_word, word_t<Count * sizeof(T)>, elements> memory;

    __device__ static lane_vector of(const elements& all)
    {
        lane_vector vector;
        std::memcpy(static_cast<void*>(&vector.memory), &all, sizeof(all));
        return vector;
    }
    __device__ T operator[](int i) const
    {
        elements all;
        std::memcpy(static_cast<void*>(&all), &memory, sizeof(all));
        return all.element[i];
    }
};

// Stores a vector at an aligned place in global memory, by one instruction. Of an assignment the compiler makes one for each
// element where it loses sight of the alignment.
template <int Count, class T>
__device__ void store_vector(T* to, const lane_vector<T, Count>& from)
{
    __stwb(reinterpret_cast<word_t<Count * sizeof(T)>*>(to), from.memory);
}

// A warp tile is `Rows` vectors a lane. Memory is read and written at its full width in the striped arrangement: a lane
// has the vectors lane, 32 + lane, 64 + lane and so on. In the blocked arrangement it has vectors that follow one
// another.
//
// These are the places in shared memory of a vector of the warp tile, and of a lane's vectors. They are swizzled, so that
// in neither arrangement two lanes meet in a bank.
template <int Rows>
__device__ int swizzled(int vector)
{
    static_assert(std::has_single_bit(static_cast<unsigned>(Rows)) && Rows <= 8);
    const int of_lane = vector / Rows * Rows;
    return of_lane + (vector % Rows ^ (of_lane / 8 % Rows));
}
template <int Rows>
__device__ int blocked(int r, int lane = lane_id())
{
    return lane * Rows + (r ^ (lane * Rows / 8 % Rows));
}
template <int Rows>
__device__ int striped(int r)
{
    return swizzled<Rows>(r * lanes + lane_id());
}

// From one arrangement to the other by way of shared memory that the warp has for itself.
template <class Vector, int Rows>
__device__ void striped_to_blocked(Vector (&vectors)[Rows], Vector* shared)
{
    if constexpr (Rows > 1) {
#pragma unroll
        for (int r = 0; r < Rows; ++r)
            shared[striped<Rows>(r)] = vectors[r];
        __syncwarp();
#pragma unroll
        for (int r = 0; r < Rows; ++r)
            vectors[r] = shared[blocked<Rows>(r)];
    }
}
template <class Vector, int Rows>
__device__ void blocked_to_striped(Vector (&vectors)[Rows], Vector* shared)
{
    if constexpr (Rows > 1) {
#pragma unroll
        for (int r = 0; r < Rows; ++r)
            shared[blocked<Rows>(r)] = vectors[r];
        __syncwarp();
#pragma unroll
        for (int r = 0; r < Rows; ++r)
            vectors[r] = shared[striped<Rows>(r)];
    }
}

} // namespace upsweep::gpu
