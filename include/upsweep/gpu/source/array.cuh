// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/qualifiers.hpp>

// A *source* is where a kernel reads elements from, of type std::iter_value_t<Source>. For a source there are
//
//     source + n                           the same source, from element n on
//     source[i]                            element i
//     has_words<Count, Source>             whether Count consecutive elements are one machine word in memory
//     is_aligned<Count>(source)            whether load_vector can load each vector from here on; on the host, too
//     may_have_words<Count, Source>        whether is_aligned can hold at all, as far as the compiler can tell
//     address_of(source)                   where the vector of the first Count elements lies, if it is aligned
//     load_vector<Count>(source)           that vector, by one instruction where elements are words
//     gather_vector<Count>(source, end)    that vector, read element by element, without elements from `end` on
//
// and, where results are written, scatter_within, which is gather_vector the other way round.
//
// A pointer is a source, an array that may begin at any address; so is every random-access iterator, whose elements are
// generated as they are read. zip.cuh reads several sources as one; strided.cuh and matrix.cuh read views whose
// elements lie apart. Kernels know none of these: they take a source, so that a fused transform, a slice or a column
// needs no kernel of its own. A kernel for which the order of the elements does not matter leaves it to a source_reader
// which thread takes which elements; few.cuh and matrix.cuh have readers of their own.
namespace upsweep::gpu {

template <int Count, class Source>
inline constexpr bool has_words = are_word<Count, std::iter_value_t<Source>>&& std::is_pointer_v<Source>;

// Whether is_aligned can hold at all. Where it cannot, kernels are not compiled for it.
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

// How many elements there are before one in the line of memory that a warp reads at once, or 0 where nobody can tell.
template <class Source>
__device__ int place_in_line([[maybe_unused]] const Source& source)
{
    if constexpr (has_words<1, Source>)
        return static_cast<int>(reinterpret_cast<std::uintptr_t>(source) / sizeof(*source) % lanes);
    else
        return 0;
}

// Elements are read once: the second-level cache evicts them before anything else.
template <int Count, class Source>
__device__ auto load_vector(Source source)
{
    lane_vector<std::iter_value_t<Source>, Count> vector{};
    if constexpr (has_words<Count, Source>)
        vector.memory = __ldcs(reinterpret_cast<const decltype(vector.memory)*>(source));
    return vector;
}

// The same, but the cache evicts them as others. What other kernels have left there then has to go to memory meanwhile, from
// where an H200 reads 64 MiB an eighth slower; a gigabyte it reads 4 % faster.
template <int Count, class Source>
__device__ auto load_vector_of_many(Source source)
{
    if constexpr (has_words<Count, Source> && std::is_pointer_v<Source>) {
        lane_vector<std::iter_value_t<Source>, Count> vector{};
        vector.memory = *reinterpret_cast<const decltype(vector.memory)*>(source);
        return vector;
    } else {
        return load_vector<Count>(source);
    }
}
inline constexpr std::uint64_t many_bytes = std::uint64_t{512} << 20;

template <int Count, class Source>
__device__ auto gather_vector(Source source, int end = Count)
{
    using vector_t = lane_vector<std::iter_value_t<Source>, Count>;
    typename vector_t::elements all{};
#pragma unroll
    for (int j = 0; j < Count; ++j)
        if (j < end)
            all.element[j] = source[j];
    return vector_t::of(all);
}

// Returns the vector of elements from number `from` on, of `count` elements. The last element stands in for those
// behind the end.
template <int Count, class Source, class Number>
__device__ auto gather_within(Source source, Number count, Number from)
{
    using vector_t = lane_vector<std::iter_value_t<Source>, Count>;
    typename vector_t::elements all;
#pragma unroll
    for (int j = 0; j < Count; ++j)
        all.element[j] = source[from + j < count ? from + j : count - 1];
    return vector_t::of(all);
}

// Writes a vector to the elements from number `from` on, of `count` elements; what would be behind the end is not
// written.
template <int Count, class Out, class T, class Number>
__device__ void scatter_within(Out out, Number count, Number from, const lane_vector<T, Count>& vector)
{
#pragma unroll
    for (int j = 0; j < Count; ++j)
        if (from + j < count)
            out[from + j] = vector[j];
}

// Returns how many elements stand before the first one from which on is_aligned holds; none if it holds nowhere.
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

// --- elements in any order -------------------------------------------------------------------------------------------

// How elements of a source are cut into warp tiles, which the warps of all blocks take by turns. A row is a vector for
// each lane of a warp; a tile is several rows, which are on their way at once. The first tile begins where vectors are
// aligned; the elements before it and those behind the last tile are the rest.
template <int Elements, int Rows>
struct warp_tiles {
    static constexpr int row = Elements * lanes;
    static constexpr int tile = row * Rows;

    std::uint64_t before; // how many elements stand before the first tile
    std::uint64_t tiles;
    std::uint64_t rest; // how many elements are in no tile

    template <class Source>
    __device__ warp_tiles(const Source& in, std::uint64_t count)
        : before(elements_before_alignment<Elements>(in, count)), tiles((count - before) / tile),
          rest(count - tiles * tile)
    {
    }

    // Calls f(number of the lane's first element) for each tile that falls to this warp.
    template <class F>
    __device__ void for_each(unsigned block, unsigned blocks, F f) const
    {
        const std::uint64_t stride = std::uint64_t{blockDim.x / lanes * blocks} * tile;
        const std::uint64_t end = before + tiles * tile;
        for (std::uint64_t first = before + std::uint64_t{block + threadIdx.x / lanes * blocks} * tile +
                                   static_cast<unsigned>(lane_id() * Elements);
             first < end; first += stride)
            f(first);
    }

    // Calls f(number) for the elements of the rest that fall to this thread of one block.
    template <class F>
    __device__ void for_each_of_rest(F f) const
    {
        for (std::uint64_t i = threadIdx.x; i < rest; i += blockDim.x)
            f(i < before ? i : i + tiles * tile);
    }
};

// The elements of a vector of a source.
template <class Source>
inline constexpr int elements_of = vector_elements<sizeof(std::iter_value_t<Source>)>;

// Returns how many blocks are useful, of at most so many: each has a warp tile at least.
template <int Rows, class Source>
unsigned useful_blocks(const Source&, int most, std::uint64_t count)
{
    const std::uint64_t tiles = std::max<std::uint64_t>(count / warp_tiles<elements_of<Source>, Rows>::tile, 1);
    return static_cast<unsigned>(std::min(tiles, static_cast<std::uint64_t>(most)));
}

// Deals the elements of a source out to the threads of all blocks, for a kernel to which their order does not matter.
// The warps of all blocks take warp tiles by turns; the last block takes the elements in no warp tile. Reading begins
// when the reader is constructed, so that a kernel can do other things while the first tile is on its way. It goes on
// while elements are taken: as soon as a row has been taken, its registers are loaded from the next tile.
template <int Rows, class Source>
class source_reader {
    using element = std::iter_value_t<Source>;
    static constexpr int elements = elements_of<Source>;
    using warp_tiles_t = warp_tiles<elements, Rows>;
    static constexpr bool can_be_misaligned = !has_words<elements, Source> || alignof(element) < sizeof(element);

public:
    using vector = lane_vector<element, elements>;

    __device__ source_reader(Source in, std::uint64_t count, unsigned block, unsigned blocks)
        : in_(in), tiles_(in, count), aligned_(!can_be_misaligned || is_aligned<elements>(in + tiles_.before)),
          is_last_(block == blocks - 1), stride_(blockDim.x / lanes * blocks), next_(in)
    {
        const unsigned first = block + threadIdx.x / lanes * blocks;
        rounds_ = static_cast<unsigned>((tiles_.tiles + stride_ - 1) / stride_);
        mine_ = rounds_ - (rounds_ != 0 && std::uint64_t{rounds_ - 1} * stride_ + first >= tiles_.tiles ? 1 : 0);
        next_ = in + (tiles_.before + std::uint64_t{first} * warp_tiles_t::tile) + lane_id() * elements;
        if (mine_ != 0)
            read<Rows>(0);
    }

    // Calls take(vectors) for AtOnce vectors of a tile at a time, in order. After each turn all threads call
    // pace(taken), whether they had a tile or not, so that pace may wait for other threads.
    template <int AtOnce, class F, class Pace>
    __device__ void for_each_batch(F take, Pace pace)
    {
        static_assert(Rows % AtOnce == 0);
        for (unsigned round = 0; round < rounds_; ++round) {
            const bool taken = round < mine_;
            const bool more = round + 1 < mine_;
            next_ = next_ + std::uint64_t{stride_} * warp_tiles_t::tile;
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

    // Calls take(vector) for every vector that falls to this thread; elements in no warp tile come as vectors of one
    // element.
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

    // Calls take(vector) for the elements in no warp tile alone. Every block that calls this is given all of them.
    template <class F>
    __device__ void for_each_of_rest(F take) const
    {
        tiles_.for_each_of_rest([&](std::uint64_t i) { take(gather_vector<1>(in_ + i)); });
    }

private:
    template <int Count>
    __device__ void read(int row)
    {
#pragma unroll
        for (int r = row; r < row + Count; ++r) {
            const Source from = next_ + r * warp_tiles_t::row;
            vectors_[r] = aligned_ ? load_vector<elements>(from) : gather_vector<elements>(from);
        }
    }

    Source in_;
    warp_tiles_t tiles_;
    bool aligned_;
    bool is_last_;
    unsigned stride_;
    unsigned rounds_; // how often the warps take tiles; in the last round some find none
    unsigned mine_;   // in how many rounds this warp has a tile
    Source next_;     // where this lane's part of its warp's next tile begins
    vector vectors_[Rows];
};

} // namespace upsweep::gpu
