// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/fold/scan.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>

// Where runs of equal keys begin: a bit for each key, and for each tile of 1024 of them how many heads it has and where the last one is.
// That takes one reading of the keys, in which no warp waits for another. A scan of what the tiles have then tells every warp of later
// kernels all that it must know of the keys before its own.
namespace upsweep::gpu {

inline constexpr int head_tile = lanes * lanes; // a word of bits for each lane of a warp

UPSWEEP_HOST_DEVICE inline std::uint64_t head_tiles(std::uint64_t keys) { return (keys + head_tile - 1) / head_tile; }

// How many of so many keys lie in a tile.
__device__ inline int elements_of_tile(std::uint64_t tile, std::uint64_t keys)
{
    const std::uint64_t left = keys - tile * head_tile;
    return left < head_tile ? static_cast<int>(left) : head_tile;
}

// The heads among some keys.
template <class Index>
struct run_heads {
    Index count;
    Index last; // where the last one is, if there is one
};
struct join_heads {
    template <class Index>
    UPSWEEP_HOST_DEVICE run_heads<Index> operator()(const run_heads<Index>& a, const run_heads<Index>& b) const
    {
        return {static_cast<Index>(a.count + b.count), b.count != 0 ? b.last : a.last};
    }
    template <class Heads>
    UPSWEEP_HOST_DEVICE Heads identity() const
    {
        return {0, 0};
    }
};

// Whether lanes read the keys of a whole tile as vectors, where those are aligned.
template <class Keys>
inline constexpr bool has_key_vectors = sizeof(std::iter_value_t<Keys>) == 4 && may_have_words<4, Keys>;

// Lane 8 g + q holds a matrix of 8 x 8 digits of 4 bits together with the other lanes of its group g, and has row q of it; it gets column q.
__device__ inline unsigned transpose_digits(unsigned row)
{
#pragma unroll
    for (int step = 4; step > 0; step /= 2) {
        const unsigned low = step == 4   ? 0x0000ffffU
                             : step == 2 ? 0x00ff00ffU
                                         : 0x0f0f0f0fU; // digits whose number lacks `step`
        const unsigned other = shuffle_xor(row, step);
        row = (lane_id() & step) != 0 ? (row & ~low) | (other & ~low) >> (4 * step)
                                      : (row & low) | (other & low) << (4 * step);
    }
    return row;
}

// The bits of a whole tile, read by vectors of four keys.
template <class Keys>
__device__ unsigned head_bits_by_vectors(const Keys& keys, std::uint64_t first)
{
    using key = std::iter_value_t<Keys>;
    constexpr int vector = 4;
    constexpr int rows = head_tile / lanes / vector;
    key before = gather_vector<1>(keys + (first != 0 ? first - 1 : 0))[0]; // lane 0 needs it
    lane_vector<key, vector> loaded[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r)
        loaded[r] =
            load_vector_of_many<vector>(keys + (first + static_cast<unsigned>((r * lanes + lane_id()) * vector)));
    unsigned mine = 0; // a digit for each vector of this lane
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        const key from_left = shuffle(loaded[r][vector - 1], (lane_id() + lanes - 1) % lanes);
        key left = from_left;
        replace_if(lane_id() == 0, left, before);
        before = from_left; // of lane 31, for the next row
#pragma unroll
        for (int j = 0; j < vector; ++j) {
            const key element = loaded[r][j];
            if (!(left == element))
                mine |= 1U << (r * vector + j);
            left = element;
        }
    }
    // Eight lanes have the digits of a word: those of lanes 8 g to 8 g + 7 and row r are word 4 r + g.
    mine = shuffle(transpose_digits(mine), lane_id() % 4 * 8 + lane_id() / 4);
    return first == 0 && lane_id() == 0 ? mine | 1U : mine;
}

// The bits of a tile: lane r gets those of keys 32 r to 32 r + 31.
template <class Keys>
__device__ unsigned head_bits_by_element(const Keys& keys, std::uint64_t first, int count)
{
    using key = std::iter_value_t<Keys>;
    constexpr int at_once = sizeof(key) <= 8 ? 8 : 1; // rows that are on their way
    unsigned mine = 0;
    auto before = gather_vector<1>(keys + (first != 0 ? first - 1 : 0))[0]; // lane 0 needs it
    for (int row = 0; row < lanes; row += at_once) {
        lane_vector<key, 1> loaded[at_once];
#pragma unroll
        for (int r = 0; r < at_once; ++r) {
            const int i = (row + r) * lanes + lane_id();
            loaded[r] = gather_vector<1>(keys + (first + static_cast<unsigned>(i < count ? i : count - 1)));
        }
#pragma unroll
        for (int r = 0; r < at_once; ++r) {
            const int i = (row + r) * lanes + lane_id();
            const key element = loaded[r][0];
            const key from_left = shuffle(element, (lane_id() + lanes - 1) % lanes);
            key left = from_left;
            replace_if(lane_id() == 0, left, before);
            before = from_left; // of lane 31, for the next row
            const unsigned bits = __ballot_sync(all_lanes, i < count && !(left == element) ? 1 : 0);
            mine = lane_id() == row + r ? bits : mine;
        }
    }
    // The first key of all is a head, too.
    return first == 0 && lane_id() == 0 ? mine | 1U : mine;
}

template <class Keys>
__device__ unsigned head_bits(const Keys& keys, std::uint64_t first, int count)
{
    if constexpr (has_key_vectors<Keys>)
        if (count == head_tile && is_aligned<4>(keys))
            return head_bits_by_vectors(keys, first);
    return head_bits_by_element(keys, first, count);
}

// Writes the places of the heads of a tile, of which each lane has those of a word, and returns how many there are. Of many heads, the lanes
// take those of one word after the other, so that they do not meet in a bank.
__device__ inline int write_places(std::uint16_t* places, unsigned mine)
{
    int to = __popc(mine); // the number of this lane's first one: those up to its last one, less its own
#pragma unroll
    for (int step = 1; step < lanes; step *= 2) {
        const int before = __shfl_up_sync(all_lanes, to, static_cast<unsigned>(step));
        to += lane_id() >= step ? before : 0;
    }
    const int all = shuffle(to, lanes - 1);
    to -= __popc(mine);
    if (all == head_tile) {
#pragma unroll
        for (int i = lane_id(); i < head_tile; i += lanes)
            places[i] = static_cast<std::uint16_t>(i);
        return all;
    }
    if (all <= head_tile / 4) {
        for (unsigned left = mine; left != 0; left &= left - 1)
            places[to++] = static_cast<std::uint16_t>(lane_id() * lanes + __ffs(static_cast<int>(left)) - 1);
        return all;
    }
#pragma unroll 4
    for (int r = 0; r < lanes; ++r) {
        const unsigned word = shuffle(mine, r);
        const int first = shuffle(to, r);
        if ((word >> lane_id() & 1) != 0)
            places[first + __popc(word & ((1U << lane_id()) - 1))] = static_cast<std::uint16_t>(r * lanes + lane_id());
    }
    return all;
}

// Writes the keys at `count` places to the results from number `at` on, of as many as there is room for. The lanes of a warp call this together.
template <class Keys, class Out>
__device__ void write_keys_at(const Keys& keys, const std::uint16_t* places, int count, const Out& out,
                              std::uint64_t at, std::uint64_t room)
{
    using key = std::iter_value_t<Keys>;
    constexpr int at_once = sizeof(key) <= 8 ? 4 : 1;
    if (at >= room)
        return;
    const int written = room - at < static_cast<unsigned>(count) ? static_cast<int>(room - at) : count;
    const Out to = out + at;
    for (int first = lane_id() - place_in_line(to); first < written; first += at_once * lanes) {
        lane_vector<key, 1> loaded[at_once];
#pragma unroll
        for (int r = 0; r < at_once; ++r) {
            const int i = first + r * lanes;
            if (i >= 0 && i < written)
                loaded[r] = gather_vector<1>(keys + places[i]);
        }
#pragma unroll
        for (int r = 0; r < at_once; ++r) {
            const int i = first + r * lanes;
            if (i >= 0 && i < written)
                to[i] = loaded[r][0];
        }
    }
}

// Calls f(element i, result i) for `count` elements from `from` on, of which the lanes of a warp have those whose results are in whole lines of
// memory.
template <class Source, class Out, class F>
__device__ void for_each_with_result(const Source& from, const Out& to, int count, F f)
{
    using element = std::iter_value_t<Source>;
    constexpr int at_once = sizeof(element) <= 8 ? 8 : 1;
    for (int first = lane_id() - place_in_line(to); first < count; first += at_once * lanes) {
        lane_vector<element, 1> loaded[at_once];
        const auto exists = [&](int r) { return first + r * lanes >= 0 && first + r * lanes < count; };
#pragma unroll
        for (int r = 0; r < at_once; ++r)
            if (exists(r))
                loaded[r] = gather_vector<1>(from + (first + r * lanes));
#pragma unroll
        for (int r = 0; r < at_once; ++r)
            if (exists(r))
                f(loaded[r][0], to[first + r * lanes]);
    }
}

template <class Index, class Keys>
__global__ void __launch_bounds__(256)
    find_heads_kernel(Keys keys, std::uint64_t count, unsigned* bits, run_heads<Index>* heads)
{
    const std::uint64_t tile = warp_in_grid();
    if (tile >= head_tiles(count))
        return;
    const std::uint64_t first = tile * head_tile;
    const unsigned mine = head_bits(keys, first, elements_of_tile(tile, count));
    bits[tile * lanes + static_cast<unsigned>(lane_id())] = mine;
    const auto last = first + static_cast<unsigned>(lane_id() * lanes + 31 - __clz(static_cast<int>(mine)));
    run_heads<Index> of_word[1] = {{static_cast<Index>(__popc(mine)), static_cast<Index>(last)}};
    const run_heads<Index> all = warp_total(of_word, join_heads{});
    if (lane_id() == 0)
        heads[tile] = all;
}

// Where the heads are, in memory of the target.
template <class Index>
struct heads_memory {
    run_heads<Index>* tiles;
    unsigned* bits; // of one tile more

    static std::size_t bytes(std::uint64_t count)
    {
        return (head_tiles(count) + 1) * (sizeof(*tiles) + lanes * sizeof(*bits));
    }
    heads_memory(void* first, std::uint64_t count)
        : tiles(static_cast<run_heads<Index>*>(first)), bits(reinterpret_cast<unsigned*>(tiles + head_tiles(count) + 1))
    {
    }
};

// Which elements of an array have been looked at.
struct head_extent {
    std::uint64_t first;
    std::uint64_t count;
};

// Joins the heads of each tile with those of all tiles before it.
template <class Index>
void scan_tiles_of_heads(const cuda& target, const heads_memory<Index>& memory, std::uint64_t count)
{
    detail::engine<cuda, detail::verb::scan>::template scan<scan_kind::inclusive, run_heads<Index>>(
        target, memory.tiles, memory.tiles, head_tiles(count), join_heads{},
        static_cast<const run_heads<Index>*>(nullptr));
}

// Finds the heads of the runs of keys. There is one at least.
template <class Index, class Keys>
void find_heads(const cuda& target, std::string_view call, const Keys& keys, std::uint64_t count,
                const heads_memory<Index>& memory)
{
    launch(target, call, find_heads_kernel<Index, Keys>, grid_of_warps(head_tiles(count), 256), keys, count,
           memory.bits, memory.tiles);
}

// Calls f with a value of the type of numbers of elements: as few bytes as do.
template <class F>
void with_index(std::uint64_t count, F f)
{
    if (count <= std::numeric_limits<std::uint32_t>::max())
        f(std::uint32_t{});
    else
        f(std::uint64_t{});
}

} // namespace upsweep::gpu
