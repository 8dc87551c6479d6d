// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/qualifiers.hpp>

// Where kernels read elements from. A *source* of elements of type std::iter_value_t<Source> is what has
//
//     source + n                           the same source, from element n on
//     source[i]                            element i
//     has_words<Count, Source>             whether Count consecutive elements are one machine word in memory
//     is_aligned<Count>(source)            whether each vector from here on can be loaded by load_vector; on the host, too
//     may_have_words<Count, Source>        whether that can hold, which only the run time tells of views
//     address_of(source)                   where the vector of the first Count elements lies then
//     load_vector<Count>(source)           that vector, by one instruction
//     gather_vector<Count>(source, end)    the same element by element, wherever they lie, without those from `end` on
//
// and, where results are written, scatter_within, which is gather_vector the other way round.
//
// A pointer is a source, an array that may begin anywhere; so is every random-access iterator, whose elements are generated
// as they are read. zip.cuh reads several sources as one; strided.cuh and matrix.cuh read views whose elements lie apart. Kernels
// know none of these: they take a source, so a fused transform, a slice or a column needs no kernel of its own. Those for which
// the order of the elements does not matter leave it to a source_reader which thread takes which.
namespace upsweep::gpu {

template <int Count, class Source>
inline constexpr bool has_words = are_word<Count, std::iter_value_t<Source>>&& std::is_pointer_v<Source>;

// Whether is_aligned can hold at all, so that it is worth while to compile for it.
template <int Count, class Source>
inline constexpr bool may_have_words = has_words<Count, Source>;

template <class T>
__device__ T* address_of(T* source)
{
    return source;
}

template <int Count, class Source>
UPSWEEP_HOST_DEVICE bool is_aligned(const Source& source)
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

// --- elements in any order -------------------------------------------------------------------------------------------

// A lane's elements of a row, and a warp's tile: several rows that are on their way at once.
template <class Source, int Rows>
struct reader_shape {
    static constexpr int elements = vector_elements<sizeof(std::iter_value_t<Source>)>;
    static constexpr int row = elements * lanes;
    static constexpr int warp_tile = row * Rows;
};

// How many blocks are useful, of at most so many: a warp's tile for each.
template <class Source, int Rows>
unsigned useful_blocks(int most, std::uint64_t count)
{
    const std::uint64_t tiles = std::max<std::uint64_t>(count / reader_shape<Source, Rows>::warp_tile, 1);
    return static_cast<unsigned>(std::min(tiles, static_cast<std::uint64_t>(most)));
}

// Deals the elements of a source out to the threads of the blocks, for whom their order does not matter. The warps take tiles by
// turns; the last block takes what no tile has. Reading begins as soon as there is a reader, and goes on while elements are
// taken: the registers of a row are filled again when it is done.
template <int Rows, class Source>
class source_reader {
    using element = std::iter_value_t<Source>;
    using shape = reader_shape<Source, Rows>;
    static constexpr int elements = shape::elements;
    static constexpr bool can_be_misaligned = !has_words<elements, Source> || alignof(element) < sizeof(element);

public:
    using vector = lane_vector<element, elements>;

    __device__ source_reader(Source in, std::uint64_t count, unsigned block, unsigned blocks)
        : in_(in), before_(elements_before_alignment<elements>(in, count)),
          tiles_((count - before_) / shape::warp_tile), rest_(count - tiles_ * shape::warp_tile),
          aligned_(!can_be_misaligned || is_aligned<elements>(in + before_)), is_last_(block == blocks - 1),
          stride_(blockDim.x / lanes * blocks), next_(in)
    {
        const unsigned first = block + threadIdx.x / lanes * blocks;
        rounds_ = static_cast<unsigned>((tiles_ + stride_ - 1) / stride_);
        mine_ = rounds_ - (rounds_ != 0 && std::uint64_t{rounds_ - 1} * stride_ + first >= tiles_ ? 1 : 0);
        next_ = in + (before_ + std::uint64_t{first} * shape::warp_tile) + lane_id() * elements;
        if (mine_ != 0)
            read<Rows>(0);
    }

    // Calls take(vectors) for AtOnce vectors of a tile at a time, in order; then all threads, whether they had a tile or not,
    // call pace(taken).
    template <int AtOnce, class F, class Pace>
    __device__ void for_each_batch(F take, Pace pace)
    {
        static_assert(Rows % AtOnce == 0);
        for (unsigned round = 0; round < rounds_; ++round) {
            const bool taken = round < mine_;
            const bool more = round + 1 < mine_;
            next_ = next_ + std::uint64_t{stride_} * shape::warp_tile;
#pragma unroll
            for (int row = 0; row < Rows; row += AtOnce) {
                if (taken)
                    take(vectors_ + row);
                if (more)
                    read<AtOnce>(row);
                pace(taken);
            }
        }
    }

    // Calls take(vector) for every vector that falls to this thread, of one element where that is in no tile.
    template <class F>
    __device__ void for_each(F take)
    {
        if (is_last_)
            for_each_of_rest(take);
        for_each_batch<Rows>(
            [&](const vector* vectors) {
#pragma unroll
                for (int r = 0; r < Rows; ++r)
                    take(vectors[r]);
            },
            [](bool) {});
    }

    // The same for the elements in no tile alone, of which every block that calls this gets all.
    template <class F>
    __device__ void for_each_of_rest(F take) const
    {
        for (std::uint64_t i = threadIdx.x; i < rest_; i += blockDim.x)
            take(gather_vector<1>(in_ + (i < before_ ? i : i + tiles_ * shape::warp_tile)));
    }

private:
    template <int Count>
    __device__ void read(int row)
    {
#pragma unroll
        for (int r = row; r < row + Count; ++r) {
            const Source from = next_ + r * shape::row;
            vectors_[r] = aligned_ ? load_vector<elements>(from) : gather_vector<elements>(from);
        }
    }

    Source in_;
    std::uint64_t before_; // the first element that is aligned
    std::uint64_t tiles_;
    std::uint64_t rest_; // elements in no tile
    bool aligned_;
    bool is_last_;
    unsigned stride_;
    unsigned rounds_; // of tiles for all warps; in the last one, some have none
    unsigned mine_;   // in how many of them this warp has a tile
    Source next_;     // what this lane reads of the next tile of its warp
    vector vectors_[Rows];
};

} // namespace upsweep::gpu
