// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>

#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/head_fold.cuh>
#include <upsweep/gpu/shapes/head_window.cuh>
#include <upsweep/gpu/shapes/heads.cuh>
#include <upsweep/gpu/shapes/piece_states.cuh>

// Heads of runs that are found in the kernel that folds or scans the runs. What a warp must know of all tiles before its own, others have published
// by then: it finds the heads of a tile when it has two windows to deal with before that of the tile. Where runs go and how they are aligned in the
// array is known before their values are read, which are read once.
//
//     step of a warp     tile
//     look back          k            adds up what has been published of the tiles before, by groups
//     begin              k            folds the chunks of the window (head_window.cuh), and publishes the total of a piece
//     find heads         k + 2 steps  reads the keys, keeps their bits, and publishes how many heads there are and where
//     end                k            looks back at pieces, and writes results
//
// Keys are on their way to the second-level cache from the beginning of the step on. It has no room for those of two steps, or for values that are
// asked for a step earlier: 2^28 keys and values were read twice from memory so.
namespace upsweep::gpu {

// The states of tiles, of groups of 32 tiles and of blocks of 32 groups: how many heads they have, and where the last one is.
struct head_slots {
    std::uint64_t tiles;
    std::uint64_t of_tiles; // where the states of each kind begin
    std::uint64_t of_groups;
    std::uint64_t of_blocks;
    std::uint64_t states; // the number of all
    // How many tiles of each group have been published, and groups of each block. They are zero between kernels.
    unsigned* arrivals = nullptr;

    // Behind so many other states.
    head_slots(std::uint64_t others, std::uint64_t all_tiles)
        : tiles(all_tiles), of_tiles(others), of_groups(of_tiles + tiles), of_blocks(of_groups + groups()),
          states(of_blocks + blocks())
    {
    }
    UPSWEEP_HOST_DEVICE std::uint64_t groups() const { return (tiles + lanes - 1) / lanes; }
    UPSWEEP_HOST_DEVICE std::uint64_t blocks() const { return (groups() + lanes - 1) / lanes; }
};

// The lanes of a warp call its functions together.
class head_states {
    // What is published: how many heads there are, one more than where the last one is, or 0, and of a tile the first one, or 1024.
    struct some_heads {
        std::uint64_t payload;

        __device__ unsigned count() const { return static_cast<unsigned>(payload >> 32); }
        __device__ unsigned end() const { return static_cast<unsigned>(payload); }
        __device__ unsigned end_in_tile() const { return end() & 0xffff; }
        __device__ int first_in_tile() const { return static_cast<int>(end() >> 16); }
        __device__ static std::uint64_t of(unsigned count, unsigned end) { return std::uint64_t{count} << 32 | end; }
    };
    static constexpr unsigned group_keys = lanes * head_tile;
    static constexpr unsigned block_keys = lanes * group_keys;

public:
    __device__ head_states(const tile_state_memory& memory, std::uint64_t epoch, const head_slots& slots)
        : states_(memory, epoch), slots_(slots)
    {
    }

    // Publishes the heads of a tile, of which each lane has a word and there are so many. Whoever publishes the last tile of a group publishes what
    // the group has, if there are tiles behind it, and so on. It waits only for what others have already written, until it sees it.
    __device__ void publish(std::uint64_t tile, unsigned mine, int count) const
    {
        const int first = head_window::first_of(mine);
        const int last = head_window::last_of(mine);
        if (lane_id() == 0)
            states_.publish(slots_.of_tiles + tile,
                            some_heads::of(static_cast<unsigned>(count),
                                           static_cast<unsigned>(first) << 16 | static_cast<unsigned>(last + 1)));
        const std::uint64_t group = tile / lanes;
        if (group + 1 == slots_.groups() || !is_last(slots_.arrivals + group))
            return;
        publish_sum(slots_.of_groups + group, slots_.of_tiles + group * lanes, 0xffff, head_tile);
        const std::uint64_t block = group / lanes;
        if (block + 1 != slots_.blocks() && is_last(slots_.arrivals + slots_.groups() + block))
            publish_sum(slots_.of_blocks + block, slots_.of_groups + block * lanes, ~0U, group_keys);
    }

    // What a warp asks for to know the heads before a tile, and the first one of the next tile. It is on its way until it is needed.
    struct asked {
        word128 of_tile;
        word128 of_group;
        word128 of_block;
        word128 next;
    };
    __device__ asked ask(std::uint64_t tile)
    {
        // Where there is none, any that is published will do.
        const word128 none{0, states_.epoch()};
        asked all{none, none, none, none};
        ask_for_missing(tile, all, true);
        return all;
    }

    // The heads before a tile, after what has been asked for; in `next_head` the first one of the next tile, or 1024. A warp calls this for
    // tiles that ascend: it knows what the blocks have before the last one.
    __device__ run_heads<std::uint64_t> before(std::uint64_t tile, asked& all, int& next_head)
    {
        for (;;) {
            for (;;) {
                const bool is_there = states_.is_published(all.of_tile) && states_.is_published(all.of_group) &&
                                      states_.is_published(all.of_block) && states_.is_published(all.next);
                if (__all_sync(all_lanes, is_there ? 1 : 0) != 0)
                    break;
                __nanosleep(pause_of_looks);
                ask_for_missing(tile, all, false);
            }
            add_blocks(some_heads{all.of_block.low}, tile / (lanes * lanes));
            if (blocks_ == tile / (lanes * lanes))
                break;
            all.of_block = {0, states_.epoch()};
            ask_for_missing(tile, all, true);
        }
        next_head = tile + 1 < slots_.tiles ? some_heads{all.next.low}.first_in_tile() : head_tile;
        const some_heads of_tile{all.of_tile.low};
        const some_heads of_group{all.of_group.low};
        unsigned count = of_tile.count() + of_group.count();
        unsigned end = of_group.end() != 0 ? static_cast<unsigned>(lane_id()) * group_keys + of_group.end() : 0;
        if (of_tile.end_in_tile() != 0)
            end = static_cast<unsigned>(tile / lanes % lanes) * group_keys +
                  static_cast<unsigned>(lane_id() * head_tile) + of_tile.end_in_tile();
        join_lanes(count, end);
        return {before_.count + count, end != 0 ? blocks_ * block_keys + end - 1 : before_.last};
    }

private:
    // Whether this is the last one of a group to arrive. It leaves zero to the next kernel.
    __device__ static bool is_last(unsigned* arrivals)
    {
        unsigned before = 0;
        if (lane_id() == 0)
            before = atomicInc(arrivals, lanes - 1);
        return shuffle(before, 0) == lanes - 1;
    }

    // Publishes what 32 tiles or groups have, each of so many keys.
    __device__ void publish_sum(std::uint64_t to, std::uint64_t from, unsigned end_bits, unsigned keys) const
    {
        const std::uint64_t mine = from + static_cast<unsigned>(lane_id());
        word128 state = states_.load_one(mine);
        while (__all_sync(all_lanes, states_.is_published(state) ? 1 : 0) == 0)
            if (!states_.is_published(state))
                state = states_.load_one(mine);
        unsigned count = some_heads{state.low}.count();
        unsigned end = some_heads{state.low}.end() & end_bits;
        end += end != 0 ? static_cast<unsigned>(lane_id()) * keys : 0;
        join_lanes(count, end);
        if (lane_id() == 0)
            states_.publish(to, some_heads::of(count, end));
    }

    __device__ void ask_for_missing(std::uint64_t tile, asked& all, bool is_first) const
    {
        const auto mine = static_cast<unsigned>(lane_id());
        const auto low = static_cast<unsigned>(tile);
        if (mine < low % lanes && (is_first || !states_.is_published(all.of_tile)))
            all.of_tile = states_.load_one(slots_.of_tiles + (tile / lanes * lanes + mine));
        if (mine < low / lanes % lanes && (is_first || !states_.is_published(all.of_group)))
            all.of_group = states_.load_one(slots_.of_groups + (tile / (lanes * lanes) * lanes + mine));
        if (blocks_ + mine < tile / (lanes * lanes) && (is_first || !states_.is_published(all.of_block)))
            all.of_block = states_.load_one(slots_.of_blocks + (blocks_ + mine));
        if (tile + 1 < slots_.tiles && (is_first || !states_.is_published(all.next)))
            all.next = states_.load_one(slots_.of_tiles + (tile + 1));
    }

    // Adds what 32 blocks have, or those below `end`.
    __device__ void add_blocks(const some_heads& mine, std::uint64_t end)
    {
        if (blocks_ == end)
            return;
        unsigned count = mine.count();
        unsigned last = mine.end() != 0 ? static_cast<unsigned>(lane_id()) * block_keys + mine.end() : 0;
        join_lanes(count, last);
        before_.count += count;
        if (last != 0)
            before_.last = blocks_ * block_keys + last - 1;
        blocks_ = end - blocks_ < lanes ? end : blocks_ + lanes;
    }

    __device__ static void join_lanes(unsigned& count, unsigned& end)
    {
#pragma unroll
        for (int k = 1; k < lanes; k *= 2) {
            count += shuffle_xor(count, k);
            const unsigned other = shuffle_xor(end, k);
            end = other > end ? other : end;
        }
    }

    tile_states<std::uint64_t> states_;
    const head_slots& slots_;
    std::uint64_t blocks_ = 0;                 // which have been added up,
    run_heads<std::uint64_t> before_ = {0, 0}; // the heads before their end
};

// The heads of a tile that a warp has found.
struct found_heads {
    unsigned mine = 0; // the bits of this lane's word
    int before = 0;    // how many heads are in the words before
    int count = 0;     // how many there are in all
};

__device__ inline int sum_of_lanes(int value)
{
#pragma unroll
    for (int k = 1; k < lanes; k *= 2)
        value += shuffle_xor(value, k);
    return value;
}

__device__ inline found_heads heads_of_words(unsigned mine)
{
    int up_to = __popc(mine);
#pragma unroll
    for (int step = 1; step < lanes; step *= 2) {
        const int before = __shfl_up_sync(all_lanes, up_to, static_cast<unsigned>(step));
        up_to += lane_id() >= step ? before : 0;
    }
    return {mine, up_to - __popc(mine), shuffle(up_to, lanes - 1)};
}

// The heads of so many tiles have been found before a warp deals with the window of the first one.
inline constexpr int tiles_ahead = 2;
static_assert(tiles_ahead >= 2, "a warp may have the next tile itself, whose heads it must have found before");

// Deals with the windows that fall to this warp, and some more without elements:
//
//     begin(window, states of pieces)     does what others wait for
//     keep(tile, its heads)               is called when the heads of a later tile have been found
//     end(window, states of pieces)       may wait for others
//     total(number of runs)               is called once, by one lane
//
// Tiles are drawn by tickets, so that nobody waits for a warp that is slow. A warp waits only for what is done for tiles that were drawn before, or for
// the heads of the next tile. Those have been drawn, too, and whoever finds them has nothing to do before that but what is for earlier tiles.
template <class Acc, class Keys, class Op, class Begin, class Keep, class End, class Total>
__device__ void for_each_window_of_keys(const Keys& keys, std::uint64_t count, piece_slots slots,
                                        const head_slots& slots_of_heads, const tile_state_memory& memory, const Op& op,
                                        Begin begin, Keep keep, End end, Total total)
{
    const std::uint64_t tiles = slots_of_heads.tiles;
    const warp_tasks tasks(memory);
    const piece_states<Acc, Op> pieces(memory, tasks.epoch(), slots, op, pause_of_looks);
    head_states heads(memory, tasks.epoch(), slots_of_heads);
    // Tiles whose heads have been found, and their bits.
    std::uint64_t tile[tiles_ahead];
    unsigned bits[tiles_ahead] = {};
    for (std::uint64_t& none_yet : tile)
        none_yet = tiles;
    tasks.for_each_ahead(tiles, tiles_ahead + 1, [&](std::uint64_t next) {
        head_window window;
        if (tile[0] < tiles) {
            auto asked = heads.ask(tile[0]);
            if (next < tiles)
                prefetch_elements(keys + next * head_tile, elements_of_tile(next, count));
            int next_head = head_tile;
            const run_heads<std::uint64_t> before = heads.before(tile[0], asked, next_head);
            window = head_window(tile[0], bits[0], next_head, before, count);
            if (tile[0] + 1 == tiles) {
                const int own = sum_of_lanes(__popc(bits[0]));
                if (lane_id() == 0)
                    total(before.count + static_cast<unsigned>(own));
            }
        }
        begin(window, pieces);
        found_heads found;
        if (next < tiles) {
            found = heads_of_words(head_bits(keys, next * head_tile, elements_of_tile(next, count)));
            heads.publish(next, found.mine, found.count);
        }
        keep(next, found);
        end(window, pieces);
#pragma unroll
        for (int k = 0; k + 1 < tiles_ahead; ++k) {
            tile[k] = tile[k + 1];
            bits[k] = bits[k + 1];
        }
        tile[tiles_ahead - 1] = next;
        bits[tiles_ahead - 1] = found.mine;
    });
}

// Launches such a kernel.
template <auto Kernel, class Memory, class Acc, class... Arguments>
void launch_over_keys(const cuda& target, std::string_view call, std::uint64_t count, const Arguments&... arguments)
{
    using shape = head_kernel_shape<Memory>;
    constexpr int threads = shape::warps * lanes;
    const piece_slots slots{head_tiles(count) + 1};
    head_slots slots_of_heads(slots.states(), head_tiles(count));
    slots_of_heads.arrivals = static_cast<unsigned*>(target.workspace().memory(
        workspace_purpose::head_arrivals, (slots_of_heads.groups() + slots_of_heads.blocks()) * sizeof(unsigned)));
    const std::uint64_t blocks = resident_blocks<Kernel>(target, threads, shape::shared_bytes);
    const std::uint64_t useful = (head_tiles(count) + shape::warps - 1) / shape::warps;
    launch(target, call, Kernel, static_cast<unsigned>(useful < blocks ? useful : blocks), threads, shape::shared_bytes,
           arguments..., count, slots, slots_of_heads, tile_states_of(target, slots_of_heads.states, sizeof(Acc)));
}

} // namespace upsweep::gpu
