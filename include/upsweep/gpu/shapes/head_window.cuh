// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/heads.cuh>

// Which elements a warp takes where segments are told by their heads, whatever the mix of their lengths is.
//
//     piece         1024 elements of a segment, counted from its head on: an aligned block of its own elements. In each tile of the array
//                   in which a segment goes on for that long, exactly one of its pieces begins
//     window        what begins in a tile: it reaches from the first head or piece there to the first one in the next tile. So windows
//                   hold every element once, and pieces that they hold, they hold whole. There are fewer than 2048 elements in one
//     chunk         16 elements of a segment, counted from its head on, or what is left of it
//     cell          16 places of a window, counted from its first one on. Of the chunks that begin in a cell, all but the last one have
//                   fewer than 16 elements, and only the first one may go on with a segment
namespace upsweep::gpu {

// Up to so many tiles of heads are not joined by a kernel of their own: each warp joins those before its tile.
inline constexpr std::uint64_t few_head_tiles = 1024;

struct left_heads {
    std::uint64_t low;
    std::uint64_t high;
};

// Where the heads are, as an earlier kernel left it.
class head_places {
public:
    template <class Index>
    head_places(const heads_memory<Index>& found, std::uint64_t count, bool are_joined)
        : count_(count), bits_(found.bits), tiles_(found.tiles), are_wide_(sizeof(Index) == 8), are_joined_(are_joined)
    {
    }
    // Which elements have heads the GPU knows.
    template <class Index>
    head_places(const heads_memory<Index>& found, const head_extent* extent, bool are_joined)
        : head_places(found, std::uint64_t{0}, are_joined)
    {
        extent_ = extent;
    }

    __device__ head_places in_kernel() const
    {
        head_places known = *this;
        if (extent_ != nullptr) {
            known.first_ = extent_->first;
            known.count_ = extent_->count;
        }
        return known;
    }
    __device__ std::uint64_t first() const { return first_; } // the element of the array that has number 0 here
    __device__ std::uint64_t count() const { return count_; } // of elements
    __device__ unsigned bits_of(std::uint64_t tile) const
    {
        return bits_[tile * lanes + static_cast<unsigned>(lane_id())];
    }

    // What has been left of a tile: its heads, or those up to its end. It is not looked at before it is needed, so that it may be on its way.
    __device__ left_heads of_tile(std::uint64_t tile) const
    {
        if (are_wide_)
            return static_cast<const left_heads*>(tiles_)[tile];
        return {static_cast<const std::uint64_t*>(tiles_)[tile], 0};
    }
    __device__ run_heads<std::uint64_t> heads_of(const left_heads& left) const
    {
        return are_wide_ ? run_heads<std::uint64_t>{left.low, left.high}
                         : run_heads<std::uint64_t>{static_cast<std::uint32_t>(left.low), left.low >> 32};
    }

    // The heads of all tiles before this one, where no kernel has joined them; without `counted` their number is not asked for. The lanes of a
    // warp call this together.
    __device__ run_heads<std::uint64_t> join_before(std::uint64_t tile, bool counted) const
    {
        constexpr unsigned rows = 4; // of tiles that are read at once
        run_heads<std::uint64_t> found{0, 0};
        for (std::uint64_t end = tile; end != 0;) {
            const std::uint64_t first = end > rows * lanes ? end - rows * lanes : 0;
#pragma unroll
            for (unsigned r = 0; r < rows; ++r) {
                const std::uint64_t mine = first + r * lanes + static_cast<unsigned>(lane_id());
                const auto heads = heads_of(of_tile(mine < end ? mine : first));
                if (mine < end && heads.count != 0)
                    found = {found.count + heads.count, heads.last > found.last ? heads.last : found.last};
            }
            end = first;
            if (!counted && __any_sync(all_lanes, found.count != 0 ? 1 : 0) != 0)
                break;
        }
#pragma unroll
        for (int k = 1; k < lanes; k *= 2) {
            const auto others = shuffle_xor(found, k);
            found = {found.count + others.count, others.last > found.last ? others.last : found.last};
        }
        return found;
    }

    // The heads of all tiles before this one, joined or not, where `left` is what has been left of the one before.
    __device__ run_heads<std::uint64_t> before(std::uint64_t tile, const left_heads& left, bool counted) const
    {
        if (tile == 0)
            return {0, 0};
        return are_joined_ ? heads_of(left) : join_before(tile, counted);
    }
    __device__ run_heads<std::uint64_t> before(std::uint64_t tile, bool counted) const
    {
        return before(tile, of_tile(tile != 0 ? tile - 1 : 0), counted);
    }

private:
    std::uint64_t first_ = 0;
    std::uint64_t count_;
    const head_extent* extent_ = nullptr;
    const unsigned* bits_;
    const void* tiles_; // a kernel for both widths takes half the time to compile
    bool are_wide_;
    bool are_joined_; // whether what is left of a tile are the heads up to its end
};

// What a warp must know of the heads around a tile, of which each lane has a word.
struct tile_bits_around {
    unsigned mine = 0;
    unsigned next = 0; // those of the next tile
    left_heads before{0, 0};

    __device__ tile_bits_around(const head_places& heads, std::uint64_t tile)
    {
        const std::uint64_t tiles = head_tiles(heads.count());
        if (tile >= tiles)
            return;
        mine = heads.bits_of(tile);
        if (tile + 1 < tiles)
            next = heads.bits_of(tile + 1);
        if (tile != 0)
            before = heads.of_tile(tile - 1);
    }
};

inline constexpr int chunk_elements = 16;
static_assert(head_tile == 2 * lanes * chunk_elements, "two chunks of a piece for each lane");

// A chunk that begins in a cell, or length 0. It is chunk `number` of the piece that it lies in.
struct placed_chunk {
    int first;
    int length;
    int number;
};

class head_window {
public:
    std::uint64_t tile = 0;
    std::uint64_t first = 0; // number of the first element
    int length = 0;          // there may be none
    bool enters = false;     // whether the first piece is one of a segment that began in an earlier tile: in `entered`
    std::uint64_t entered = 0;
    std::uint64_t heads_before = 0; // of the tile
    int last = 0;                   // where the last segment, or piece, begins
    bool is_whole = false;          // whether that is a whole piece
    bool goes_on = false;           // whether the next window begins with another piece of that segment

    head_window() = default;
    // The lanes of a warp call this together, and all functions.
    __device__ head_window(std::uint64_t number, const tile_bits_around& bits, const run_heads<std::uint64_t>& before,
                           std::uint64_t count)
        : head_window(number, bits.mine, first_of(bits.next), before, count)
    {
    }
    // The same where only the first head of the next tile is known, or 1024 if there is none.
    __device__ head_window(std::uint64_t number, unsigned mine, int next_head, const run_heads<std::uint64_t>& before,
                           std::uint64_t count)
        : tile(number)
    {
        const std::uint64_t first_of_tile = tile * head_tile;
        const int first_head = first_of(mine);
        const int last_head = last_of(mine);
        const int piece = tile != 0 ? static_cast<int>(before.last % head_tile) : head_tile;
        const std::uint64_t last_begin =
            last_head >= 0 ? first_of_tile + static_cast<unsigned>(last_head) : before.last;
        const int next_piece = static_cast<int>(last_begin % head_tile);
        const int begin = first_head < piece ? first_head : piece;
        int end = head_tile + (next_head < next_piece ? next_head : next_piece);
        goes_on = next_piece < next_head;
        if (count - first_of_tile <= static_cast<unsigned>(end)) {
            end = static_cast<int>(count - first_of_tile);
            goes_on = false;
        }
        first = first_of_tile + static_cast<unsigned>(begin);
        length = end - begin;
        enters = piece < first_head;
        entered = before.last / head_tile;
        heads_before = before.count;
        last = last_head > begin ? last_head - begin : 0;
        is_whole = length - last == head_tile;

        if (is_piece())
            return;
        const int word = begin / lanes + lane_id();
        starts_ = __funnelshift_r(word_of(mine, word), word_of(mine, word + 1), static_cast<unsigned>(begin % lanes));
        if (lane_id() == 0)
            starts_ |= 1; // of the piece, too
        last_start_ = starts_ != 0 ? lane_id() * lanes + 31 - __clz(static_cast<int>(starts_)) : -1;
#pragma unroll
        for (int step = 1; step < lanes; step *= 2) {
            const int other = __shfl_up_sync(all_lanes, last_start_, static_cast<unsigned>(step));
            last_start_ = lane_id() >= step && other > last_start_ ? other : last_start_;
        }
    }

    // Whether the window is one whole piece. Its chunks need not be looked for.
    __device__ bool is_piece() const { return is_whole && last == 0; }

    // Whether each of its segments is one element, and ends here.
    __device__ bool are_single() const
    {
        const int mine = length - lane_id() * lanes; // places of this lane that exist
        const unsigned all = mine <= 0 ? 0 : mine < lanes ? (1U << mine) - 1 : ~0U;
        const bool is_single = !enters && !goes_on && length <= head_tile && starts_ == all;
        return __all_sync(all_lanes, is_single ? 1 : 0) != 0;
    }

    // The heads among this lane's 32 places.
    __device__ unsigned heads() const { return enters && lane_id() == 0 ? starts_ & ~1U : starts_; }

    // The tile in which the last segment begins.
    __device__ std::uint64_t begin_of_last() const { return enters && last == 0 ? entered : tile; }

    // The chunk with 16 elements that begins in a cell, which each lane has one of.
    __device__ placed_chunk whole_chunk_of(int cell) const
    {
        const starts_around around = starts_from(cell);
        const int at = cell * chunk_elements;
        placed_chunk chunk = next_chunk(around, at);
        const unsigned here = around.ahead & ((1U << chunk_elements) - 1);
        if (here != 0)
            chunk = {at + 31 - __clz(static_cast<int>(here)), 1, 0};
        const unsigned behind = around.ahead >> (chunk.first - at) >> 1;
        const bool is_whole_chunk = chunk.length != 0 && (behind & ((1U << (chunk_elements - 1)) - 1)) == 0 &&
                                    chunk.first + chunk_elements <= length;
        return {chunk.first, is_whole_chunk ? chunk_elements : 0, is_whole_chunk ? chunk.number : 0};
    }

    // The chunk that begins in a cell and goes on with a segment.
    __device__ placed_chunk chunk_into(int cell) const
    {
        const starts_around around = starts_from(cell);
        const int at = cell * chunk_elements;
        placed_chunk chunk = next_chunk(around, at);
        if (cell == 0 && enters)
            chunk = {0, 1, 0};
        if (chunk.length == 0)
            return {length, 0, 0};
        const unsigned behind = around.ahead >> (chunk.first - at) >> 1;
        chunk.length = behind != 0 ? __ffs(static_cast<int>(behind)) : chunk_elements;
        if (chunk.length > chunk_elements)
            chunk.length = chunk_elements;
        if (chunk.length > length - chunk.first)
            chunk.length = length - chunk.first;
        return chunk;
    }

    // The first place of a bit of a tile, and the last one: 1024 and -1 if there is none.
    __device__ static int first_of(unsigned mine)
    {
        const unsigned words = __ballot_sync(all_lanes, mine != 0 ? 1 : 0);
        const int word = words != 0 ? __ffs(static_cast<int>(words)) - 1 : 0;
        const unsigned bits = shuffle(mine, word);
        return words != 0 ? word * lanes + __ffs(static_cast<int>(bits)) - 1 : head_tile;
    }
    __device__ static int last_of(unsigned mine)
    {
        const unsigned words = __ballot_sync(all_lanes, mine != 0 ? 1 : 0);
        const int word = words != 0 ? 31 - __clz(static_cast<int>(words)) : 0;
        const unsigned bits = shuffle(mine, word);
        return words != 0 ? word * lanes + 31 - __clz(static_cast<int>(bits)) : -1;
    }

private:
    struct starts_around {
        unsigned ahead; // of the 32 places from the first one of a cell on
        int before;     // where the last one before the cell is, if there is one
    };

    // That of the lanes' words, or zero behind the last one.
    __device__ static unsigned word_of(unsigned mine, int word)
    {
        const unsigned bits = shuffle(mine, word % lanes);
        return word < lanes ? bits : 0;
    }

    __device__ starts_around starts_from(int cell) const
    {
        constexpr int cells = lanes / chunk_elements; // of a word
        const int word = cell / cells;
        const auto shift = static_cast<unsigned>(cell % cells * chunk_elements);
        const unsigned bits = word_of(starts_, word);
        const unsigned ahead = __funnelshift_r(bits, word_of(starts_, word + 1), shift);
        const unsigned before = bits & ((1U << shift) - 1);
        const int last_before = shuffle(last_start_, word == 0 ? 0 : word <= lanes ? word - 1 : lanes - 1);
        return {ahead, before != 0 ? word * lanes + 31 - __clz(static_cast<int>(before)) : last_before};
    }

    // The first chunk from a cell on that goes on with the segment before it.
    __device__ placed_chunk next_chunk(const starts_around& around, int at) const
    {
        const int to = (around.before - at) & (chunk_elements - 1);
        const bool exists = (around.ahead & ((2U << to) - 1)) == 0 && at + to < length;
        return {at + to, exists ? 1 : 0, exists ? (at + to - around.before) / chunk_elements : 0};
    }

    unsigned starts_ = 0; // of segments and of the first piece, among this lane's 32 places; none lies behind 1024
    int last_start_ = 0;  // the last one up to the last of these places
};

} // namespace upsweep::gpu
