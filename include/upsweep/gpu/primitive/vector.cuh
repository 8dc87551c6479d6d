// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/range.hpp>

// How elements come into registers and leave them. A lane takes a vector of consecutive elements, 16 bytes of them where
// they are small enough; a row is the vectors of a warp; a warp has several consecutive rows in flight.
namespace upsweep::gpu {

// Bytes of an element of In or of Out, whichever has more.
template <class In, class Out>
inline constexpr std::size_t larger_element = sizeof(std::iter_value_t<In>) < sizeof(std::iter_value_t<Out>)
                                                  ? sizeof(std::iter_value_t<Out>)
                                                  : sizeof(std::iter_value_t<In>);

// Elements in a lane's vector, a power of two, where the largest type involved has that many bytes.
template <std::size_t Bytes>
inline constexpr int vector_elements = static_cast<int>(std::bit_floor(Bytes < 16 ? 16 / Bytes : 1));

// The machine word of so many bytes, which is loaded and stored by one instruction.
template <std::size_t Bytes>
using word_t = std::conditional_t<
    Bytes == 16, uint4,
    std::conditional_t<
        Bytes == 8, uint2,
        std::conditional_t<Bytes == 4, unsigned, std::conditional_t<Bytes == 2, unsigned short, unsigned char>>>>;

// Whether vectors of Count elements can be words: of contiguous elements with a suitable size.
template <int Count, class It>
inline constexpr bool has_words = sizeof(std::iter_value_t<It>) * Count <= 16 &&
                                  std::has_single_bit(sizeof(std::iter_value_t<It>)) && std::is_pointer_v<It>;

// Whether they are aligned, too; the elements of a span may begin anywhere.
template <int Count, class It>
__device__ bool is_aligned(It it)
{
    if constexpr (has_words<Count, It>)
        return reinterpret_cast<std::uintptr_t>(it) % (Count * sizeof(std::iter_value_t<It>)) == 0;
    else
        return false;
}

// A lane's vector as it is in memory. It is kept in words, of which elements are cut out where they are used.
template <class T, int Count>
struct lane_vector {
    static constexpr bool is_word = has_words<Count, const T*>;
    struct elements {
        T element[Count];
    };
    std::conditional_t<is_word, word_t<Count * sizeof(T)>, elements> memory;

    __device__ T operator[](int i) const
    {
        elements all;
        std::memcpy(static_cast<void*>(&all), &memory, sizeof(all));
        return all.element[i];
    }
};

// The vector at `from`, which is aligned.
template <int Count, class It>
__device__ auto load_vector(It from)
{
    lane_vector<std::iter_value_t<It>, Count> vector{};
    if constexpr (has_words<Count, It>)
        vector.memory = __ldcs(reinterpret_cast<const decltype(vector.memory)*>(from));
    return vector;
}

// The same element by element, from where they may lie anywhere; elements from `end` on do not exist.
template <int Count, class It>
__device__ auto gather_vector(It from, int end = Count)
{
    using vector_t = lane_vector<std::iter_value_t<It>, Count>;
    typename vector_t::elements all{};
#pragma unroll
    for (int j = 0; j < Count; ++j)
        if (j < end)
            all.element[j] = from[j];
    vector_t vector;
    std::memcpy(static_cast<void*>(&vector.memory), &all, sizeof(all));
    return vector;
}

// The same of so many elements, from element `from` on. In place of those behind the end there is the last one again.
template <int Count, class It>
__device__ auto gather_within(It in, unsigned count, unsigned from)
{
    using vector_t = lane_vector<std::iter_value_t<It>, Count>;
    typename vector_t::elements all;
#pragma unroll
    for (int j = 0; j < Count; ++j)
        all.element[j] = in[from + j < count ? from + j : count - 1];
    vector_t vector;
    std::memcpy(static_cast<void*>(&vector.memory), &all, sizeof(all));
    return vector;
}

// To an aligned place.
template <int Count, class T>
__device__ void store_vector(T* to, const lane_vector<T, Count>& from)
{
    *reinterpret_cast<word_t<Count * sizeof(T)>*>(to) = from.memory;
}

// A warp's chunk is `Rows` vectors a lane. Memory is read and written at its full width in the striped arrangement: a lane has
// the vectors lane, 32 + lane, 64 + lane and so on. In the blocked one it has vectors that follow one another.
//
// Where a vector lies in shared memory: such that in both arrangements the lanes do not meet in a bank.
template <int Rows>
__device__ int blocked(int r, int lane = lane_id())
{
    static_assert(std::has_single_bit(static_cast<unsigned>(Rows)) && Rows <= 8);
    return lane * Rows + (r ^ (lane * Rows / 8 % Rows));
}
template <int Rows>
__device__ int striped(int r)
{
    const int vector = r * lanes + lane_id();
    return blocked<Rows>(vector % Rows, vector / Rows);
}

// From one arrangement to the other by way of the shared memory of the warp.
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

// The chunk that begins at element `first`. In place of elements behind the end a lane gets others of the tile, which begins
// at `tile`: a scan's results do not depend on what follows them.
template <class In, class T, int Count, int Rows>
__device__ void load_striped(In in, unsigned first, unsigned tile, unsigned count,
                             lane_vector<T, Count> (&vectors)[Rows])
{
    const unsigned mine = first + static_cast<unsigned>(lane_id() * Count);
    const bool has_whole = is_aligned<Count>(in) && tile + Count <= count;
    if (has_whole)
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            const unsigned from = mine + r * Count * lanes;
            vectors[r] = load_vector<Count>(in + (from + Count <= count ? from : tile));
        }
    if (!has_whole || count % Count != 0)
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            const unsigned from = mine + r * Count * lanes;
            if (has_whole && (from >= count || from + Count <= count))
                continue;
            vectors[r] = gather_within<Count>(in, count, from);
        }
}

template <class Out, class T, int Count, int Rows>
__device__ void store_striped(Out out, unsigned first, unsigned count, const lane_vector<T, Count> (&vectors)[Rows])
{
    const bool aligned = is_aligned<Count>(out);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        const unsigned to = first + static_cast<unsigned>((r * lanes + lane_id()) * Count);
        if constexpr (has_words<Count, Out>) {
            if (aligned && to + Count <= count) {
                store_vector<Count>(out + to, vectors[r]);
                continue;
            }
        }
#pragma unroll
        for (int j = 0; j < Count; ++j)
            if (to + j < count)
                out[to + j] = vectors[r][j];
    }
}

// Whether every order of the operands gives the same bits, so that the cheapest may be taken.
template <class Op, class Acc>
inline constexpr bool is_any_order = detail::is_exact<Op, Acc> ||
                                     (detail::is_extremum<Op> && std::is_floating_point_v<Acc>);

} // namespace upsweep::gpu
