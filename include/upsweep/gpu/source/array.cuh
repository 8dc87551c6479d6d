// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

#include <upsweep/gpu/primitive/vector.cuh>

// Where kernels read elements from. A *source* of elements of type std::iter_value_t<Source> is what has
//
//     source + n                           the same source, from element n on
//     source[i]                            element i
//     has_words<Count, Source>             whether Count consecutive elements are one machine word in memory
//     is_aligned<Count>(source)            whether each vector from here on can be loaded by load_vector
//     may_have_words<Count, Source>        whether that may hold, which of views only the run time tells
//     address_of(source)                   where the vector of the first Count elements lies then
//     load_vector<Count>(source)           that vector, by one instruction where it may have words
//     gather_vector<Count>(source, end)    the same element by element, wherever they lie, without those from `end` on
//
// and, where results are written, scatter_within, which is gather_vector the other way round.
//
// A pointer is a source, an array that may begin anywhere; so is every random-access iterator, whose elements are generated
// as they are read. zip.cuh reads several sources as one, strided.cuh and matrix.cuh read views whose elements lie apart, and
// reader.cuh deals the elements of any source out where their order does not matter. Kernels know none of these: they take a
// source, so a fused transform, a slice or a column needs no kernel of its own.
namespace upsweep::gpu {

template <int Count, class Source>
inline constexpr bool has_words = are_word<Count, std::iter_value_t<Source>>&& std::is_pointer_v<Source>;

template <int Count, class Source>
inline constexpr bool may_have_words = has_words<Count, Source>;

template <class T>
__device__ T* address_of(T* source)
{
    return source;
}

template <int Count, class Source>
__device__ bool is_aligned(Source source)
{
    if constexpr (has_words<Count, Source>)
        return reinterpret_cast<std::uintptr_t>(source) % (Count * sizeof(std::iter_value_t<Source>)) == 0;
    else
        return false;
}

template <int Count, class Source>
__device__ auto load_vector(Source source)
{
    lane_vector<std::iter_value_t<Source>, Count> vector{};
    if constexpr (has_words<Count, Source>)
        vector.memory = __ldcs(reinterpret_cast<const decltype(vector.memory)*>(source));
    return vector;
}

template <int Count, class Source>
__device__ auto gather_vector(Source source, int end = Count)
{
    using vector_t = lane_vector<std::iter_value_t<Source>, Count>;
    typename vector_t::elements all{};
#pragma unroll
    for (int j = 0; j < Count; ++j)
        if (j < end)
            all.element[j] = source[j];
    vector_t vector;
    std::memcpy(static_cast<void*>(&vector.memory), &all, sizeof(all));
    return vector;
}

// The vector of elements from number `from` on, of `count` that there are. The last element stands in for those behind the end.
template <int Count, class Source, class Number>
__device__ auto gather_within(Source source, Number count, Number from)
{
    using vector_t = lane_vector<std::iter_value_t<Source>, Count>;
    typename vector_t::elements all;
#pragma unroll
    for (int j = 0; j < Count; ++j)
        all.element[j] = source[from + j < count ? from + j : count - 1];
    vector_t vector;
    std::memcpy(static_cast<void*>(&vector.memory), &all, sizeof(all));
    return vector;
}

// Writes the elements of a vector from number `from` on, of `count` that there are.
template <int Count, class Out, class T, class Number>
__device__ void scatter_within(Out out, Number count, Number from, const lane_vector<T, Count>& vector)
{
#pragma unroll
    for (int j = 0; j < Count; ++j)
        if (from + j < count)
            out[from + j] = vector[j];
}

// How many elements stand before the first one from which on is_aligned holds; none where it holds nowhere.
template <int Count, class Source>
__device__ std::uint64_t elements_before_alignment(Source source, std::uint64_t count)
{
    if constexpr (has_words<Count, Source>) {
        constexpr std::uintptr_t bytes = sizeof(std::iter_value_t<Source>);
        const std::uintptr_t misplaced = reinterpret_cast<std::uintptr_t>(source) % (Count * bytes);
        if (misplaced == 0 || misplaced % bytes != 0)
            return 0;
        const std::uint64_t before = Count - misplaced / bytes;
        return before < count ? before : count;
    } else {
        return 0;
    }
}

// A warp loads and stores its part of a tile, which begins at element `first`, at the full width of memory: in the striped
// arrangement of vector.cuh. In place of elements behind the end a lane gets others of the tile, which begins at `tile`: the results
// of a scan do not depend on what follows them.
template <class Source, class T, int Count, int Rows>
__device__ void load_striped(Source in, unsigned first, unsigned tile, unsigned count,
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
        if constexpr (may_have_words<Count, Out>) {
            if (aligned && to + Count <= count) {
                store_vector<Count>(address_of(out + to), vectors[r]);
                continue;
            }
        }
        scatter_within<Count>(out, count, to, vectors[r]);
    }
}

} // namespace upsweep::gpu
