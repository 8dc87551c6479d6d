// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include <upsweep/gpu/primitive/ptx.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/target/cuda.cuh>

// Decoupled look-back (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016): every
// block publishes the total of its tile as a tile state, and a tile that needs the fold of the tiles before it looks
// back at their states, all within one kernel.
//
// Theirs lets a tile publish the fold up to its own end too, so that a successor stops at the first such state that it
// meets: how operands are parenthesised then depends on the timing. Here a state holds the total of its own tile and
// never changes; whoever looks back reads the totals of all tiles before and folds them in the canonical order of
// fold_order.hpp, which is a tree (Blelloch 1990). Any total is one hop from any reader, so that no chain of tiles
// waits, and the bits are always the same. The price is that every block reads every total: 16 bytes for each tile of
// some ten kilobytes, out of the second-level cache.
namespace upsweep::gpu {

// What one kernel on a stream leaves to the next. It is zero when it is new.
struct tile_state_header {
    std::uint64_t epoch;  // how many kernels have used the tile states
    std::uint32_t ticket; // the next ticket; it is zero between kernels
};

// Tickets, from 0 to `count` - 1, say which tile a block takes next where tiles are dynamically scheduled. If all of
// them are taken in a kernel, the header is ready for the next one.
__device__ inline std::uint64_t take_ticket(tile_state_header* header, std::uint64_t count)
{
    return atomicInc(&header->ticket, static_cast<unsigned>(count - 1));
}

// Where tile states lie. A state has the total in its low word and in its high word the epoch in which it was
// published, so that nobody has to clear the states: what an earlier kernel published has an older epoch. A total of
// more than 8 bytes lies in `large_totals`.
struct tile_state_memory {
    tile_state_header* header;
    word128* states;
    void* large_totals;
};

// The memory for the states of so many tiles, each of which has a total of so many bytes.
inline tile_state_memory tile_states_of(const cuda& target, std::uint64_t tiles, std::size_t total_bytes)
{
    constexpr std::size_t header_bytes = 256;
    constexpr std::uint64_t least_tiles = 65536; // a megabyte, which is enough for most arrays
    gpu::workspace& workspace = target.workspace();
    const std::uint64_t most = tiles > least_tiles ? tiles : least_tiles;
    auto* const first = static_cast<std::byte*>(
        workspace.memory(workspace_purpose::tile_states, header_bytes + most * sizeof(word128)));
    void* const large_totals = total_bytes > sizeof(std::uint64_t)
                                   ? workspace.memory(workspace_purpose::large_totals, tiles * total_bytes)
                                   : nullptr;
    return {reinterpret_cast<tile_state_header*>(first), reinterpret_cast<word128*>(first + header_bytes),
            large_totals};
}

// Which states are loaded again, of those that were loaded together and not all published: all of them, or those that are
// missing, which leaves the second-level cache to others and costs the lanes a comparison each. Scans of a million elements
// take up to 5 % less time so, since all blocks look back, and sums of a million doubles, where one does, 4 % more.
enum class reload { all, missing };

// The states of the tiles of one kernel, whose totals have the type T.
template <class T>
class tile_states {
public:
    using state = word128;
    static constexpr bool is_small = sizeof(T) <= sizeof(std::uint64_t);

    __device__ tile_states(const tile_state_memory& memory, std::uint64_t epoch)
        : states_(memory.states), large_totals_(static_cast<T*>(memory.large_totals)), epoch_(epoch)
    {
    }

    __device__ std::uint64_t epoch() const { return epoch_; }

    // One thread calls this once for a tile. 16 bytes are written as one, so that a small total needs no fence.
    __device__ void publish(std::uint64_t tile, const T& total) const
    {
        word128 state{0, epoch_};
        if constexpr (is_small) {
            std::memcpy(&state.low, &total, sizeof(T));
        } else {
            large_totals_[tile] = total;
            fence();
        }
        store_relaxed(states_ + tile, state);
    }

    // Loads the states of the tiles first + 32 r + lane below `end`, whether they have been published or not. The lanes
    // of a warp call this together.
    template <int Rows>
    __device__ void load(std::uint64_t first, std::uint64_t end, word128 (&states)[Rows]) const
    {
        // There is no branch, so that all loads are on their way at once and none is waited for. Any state will do
        // beyond the end.
        const std::uint64_t mine = first + static_cast<unsigned>(lane_id());
#pragma unroll
        for (int r = 0; r < Rows; ++r)
            states[r] = load_relaxed(states_ + (mine + r * lanes < end ? mine + r * lanes : 0));
    }

    // The totals of the same tiles, whose states have been loaded once: it loads them again until all have been
    // published, after a pause of so many nanoseconds each time. Beyond `end` a total is `otherwise`.
    template <reload Again = reload::all, int Rows>
    __device__ void wait_and_read(std::uint64_t first, std::uint64_t end, const T& otherwise, word128 (&states)[Rows],
                                  T (&totals)[Rows], unsigned pause = 0) const
    {
        const std::uint64_t mine = first + static_cast<unsigned>(lane_id());
        const int left = static_cast<int>(end - first) - lane_id(); // takes fewer registers for many conditions
        const auto exists = [&](int r) { return Again == reload::all ? mine + r * lanes < end : r * lanes < left; };
        for (;;) {
            unsigned missing = 0;
#pragma unroll
            for (int r = 0; r < Rows; ++r)
                missing |= exists(r) && states[r].high != epoch_ ? 1U : 0U;
            if (__any_sync(all_lanes, missing != 0) == 0)
                break;
            if (pause != 0)
                __nanosleep(pause);
            if constexpr (Again == reload::all) {
                load(first, end, states);
            } else {
#pragma unroll
                for (int r = 0; r < Rows; ++r)
                    if (exists(r) && states[r].high != epoch_)
                        states[r] = load_relaxed(states_ + mine + r * lanes);
            }
        }
        if constexpr (!is_small)
            fence();
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            totals[r] = otherwise;
            if (exists(r)) {
                if constexpr (is_small)
                    std::memcpy(static_cast<void*>(&totals[r]), &states[r].low, sizeof(T));
                else
                    totals[r] = large_totals_[mine + r * lanes];
            }
        }
    }

    // The same for one state at a time: whether a loaded one has been published, and its total, after `before_totals`.
    __device__ word128 load_one(std::uint64_t tile) const { return load_relaxed(states_ + tile); }
    __device__ bool is_published(const word128& state) const { return state.high == epoch_; }
    __device__ void before_totals() const
    {
        if constexpr (!is_small)
            fence();
    }
    __device__ T total(std::uint64_t tile, const word128& state) const
    {
        T value{};
        if constexpr (is_small)
            std::memcpy(static_cast<void*>(&value), &state.low, sizeof(T));
        else
            value = large_totals_[tile];
        return value;
    }

private:
    word128* states_;
    T* large_totals_;
    std::uint64_t epoch_;
};

// States of totals of up to four bytes in eight bytes, half of which are those of the epoch: where states are many, half as much to read. They lie in memory
// of their own, where nothing else can be taken for them.
template <class T>
class narrow_tile_states {
public:
    using state = std::uint64_t;
    static_assert(sizeof(T) <= sizeof(std::uint32_t));
    // States that have never been written have epoch 0. Those of so many calls ago would be taken for new ones, if nothing had been written there since.
    static constexpr std::uint64_t most_epochs = 0xffffffff;

    __device__ narrow_tile_states(const tile_state_memory& memory, std::uint64_t epoch)
        : states_(reinterpret_cast<state*>(memory.states)), epoch_(static_cast<std::uint32_t>(epoch % most_epochs + 1))
    {
    }

    __device__ void publish(std::uint64_t tile, const T& total) const
    {
        std::uint32_t low = 0;
        std::memcpy(&low, &total, sizeof(T));
        store_relaxed(states_ + tile, std::uint64_t{epoch_} << 32 | low);
    }
    __device__ state load_one(std::uint64_t tile) const { return load_relaxed(states_ + tile); }
    __device__ bool is_published(state of) const { return of >> 32 == epoch_; }
    __device__ void before_totals() const {}
    __device__ T total(std::uint64_t, state of) const
    {
        const auto low = static_cast<std::uint32_t>(of);
        T value{};
        std::memcpy(static_cast<void*>(&value), &low, sizeof(T));
        return value;
    }

private:
    state* states_;
    std::uint32_t epoch_;
};

// Their memory.
inline tile_state_memory narrow_tile_states_of(const cuda& target, std::uint64_t tiles)
{
    constexpr std::size_t header_bytes = 256;
    auto* const first = static_cast<std::byte*>(
        target.workspace().memory(workspace_purpose::narrow_tile_states, header_bytes + tiles * sizeof(std::uint64_t)));
    return {reinterpret_cast<tile_state_header*>(first), reinterpret_cast<word128*>(first + header_bytes), nullptr};
}

// --- many tiles a block ---------------------------------------------------------------------------------------------
//
// A warp folds tile totals by groups of 128, of which a lane holds one in each of four rows.
inline constexpr int group_rows = 4;
inline constexpr int group_tiles = group_rows * lanes;

// before (+) the fold of the first `count` totals of a group, count < 128, of which this lane holds number 32 r + lane
// for every r. Every lane gets it; `after` is the same for count + 1, if that is less than 128.
template <class T, class Op>
__device__ T fold_in_group(const T& before, const T (&totals)[group_rows], int count, T& after, const Op& op)
{
    T of_row[group_rows];
    T before_row[group_rows];
#pragma unroll
    for (int r = 0; r < group_rows; ++r) {
        T row[1] = {totals[r]};
        of_row[r] = warp_total(row, op);
    }
    lane_folds<group_rows>(before, of_row, before_row, op);

    const int last = count / lanes;
    T mine = totals[0];
    T result = before_row[0];
    T next_row = before_row[1];
#pragma unroll
    for (int r = 1; r < group_rows; ++r) {
        replace_if(r == last, mine, totals[r]);
        replace_if(r == last, result, before_row[r]);
        replace_if(r == last + 1, next_row, before_row[r]);
    }
    result = warp_tree<T>(mine, op).fold_before(result, op);
    after = shuffle(result, (count + 1) % lanes);
    replace_if((count + 1) % lanes == 0, after, next_row);
    return shuffle(result, count % lanes);
}

// The groups that have been folded so far, as the totals of their aligned blocks: a binary counter whose digits are
// totals, as fold_stack is, in shared memory. The lanes of one warp call its functions together, and all of them get
// the results.
template <class T, class Op>
class group_stack {
public:
    static constexpr int levels = 57; // of groups of 128 tiles
    struct memory {
        raw_array<T, levels + 1> total; // [k]: of the block of 2^k groups, where digit k of their number is one
        raw_array<T, levels + 1> above; // [k]: before (+) the fold of the blocks larger than 2^k groups
    };

    __device__ group_stack(memory& blocks, const Op& op) : blocks_(blocks), op_(op) {}

    // This is the first call. `before` is the fold of what lies before the first group.
    __device__ void start(const T& before)
    {
        fold_ = before;
        for (int k = lane_id(); k <= levels; k += lanes) // nothing is above what becomes the largest block
            blocks_.above[k] = before;
        __syncwarp();
    }

    __device__ std::uint64_t groups() const { return groups_; }
    __device__ const T& fold() const { return fold_; } // before (+) the fold of all groups

    __device__ void push(T total)
    {
        int level = 0;
        for (std::uint64_t digits = groups_; (digits & 1) != 0; digits >>= 1, ++level)
            total = op_(blocks_.total[level], total);
        ++groups_;
        fold_ = op_(blocks_.above[level], total);
        __syncwarp();
        if (lane_id() == 0)
            blocks_.total[level] = total;
        for (int k = lane_id(); k < level; k += lanes) // the smaller digits are zero now
            blocks_.above[k] = fold_;
        __syncwarp();
    }

private:
    memory& blocks_;
    Op op_;
    std::uint64_t groups_ = 0;
    T fold_;
};

// Looks back from one tile after another, in ascending order. The lanes of one warp call its functions together.
template <class T, class Op>
class look_back {
public:
    using memory = typename group_stack<T, Op>::memory;

    __device__ look_back(tile_states<T> states, memory& stack, const T& before, const Op& op)
        : tile_states_(states), stack_(stack, op), op_(op)
    {
        stack_.start(before);
    }

    // Begins to load the states that fold(tile) will need, so that they are on their way meanwhile.
    __device__ void prefetch(std::uint64_t tile) { tile_states_.load(first(), end(tile), states_); }

    // before (+) the fold of all tiles before this one; `after` is the same up to its end, where `total` is its own
    // total.
    __device__ T fold(std::uint64_t tile, const T& total, T& after)
    {
        for (;;) {
            T totals[2 * group_rows];
            // `total` lies in its place, and beyond.
            tile_states_.template wait_and_read<reload::missing>(first(), end(tile), total, states_, totals);
            const bool one_is_whole = tile >= first() + group_tiles;
            const bool both_are_whole = tile >= first() + 2 * group_tiles;
            T last[group_rows];
#pragma unroll
            for (int r = 0; r < group_rows; ++r)
                last[r] = totals[r];
            if (one_is_whole) {
                push(last);
#pragma unroll
                for (int r = 0; r < group_rows; ++r)
                    last[r] = totals[group_rows + r];
            }
            if (both_are_whole) {
                push(last);
                prefetch(tile);
                continue;
            }
            const int left = static_cast<int>(tile % group_tiles);
            const T result = fold_in_group(stack_.fold(), last, left, after, op_);
            if (left + 1 == group_tiles) {
                push(last);
                after = stack_.fold();
            }
            return result;
        }
    }

private:
    __device__ void push(const T (&totals)[group_rows])
    {
        T rows[group_rows];
#pragma unroll
        for (int r = 0; r < group_rows; ++r)
            rows[r] = totals[r];
        stack_.push(warp_total(rows, op_));
    }

    // The totals that are read at once: two groups, since blocks are rarely further ahead.
    __device__ std::uint64_t first() const { return stack_.groups() * group_tiles; }
    __device__ std::uint64_t end(std::uint64_t tile) const
    {
        const std::uint64_t most = first() + 2 * group_tiles;
        return tile < most ? tile : most;
    }

    tile_states<T> tile_states_;
    group_stack<T, Op> stack_;
    Op op_;
    word128 states_[2 * group_rows] = {};
};

// --- one tile a block -----------------------------------------------------------------------------------------------

// A lane holds the total of a tile, and then of a row of 32 tiles; one more lane holds the fold after the last row.
inline constexpr unsigned most_tiles_to_look_back = lanes * (lanes - 1);

// Looks back from the only tile of a block, with all of its warps, of which there are so many.
template <class Acc, class Op, int Warps, reload Again = reload::all>
class block_look_back {
public:
    struct memory {
        raw_array<Acc, lanes> rows; // the totals of rows of 32 tiles
        raw_array<Acc, lane_levels> before;
        raw_array<Acc, lane_levels> after;
        std::uint64_t epoch;
    };

    __device__ block_look_back(const tile_state_memory& states, memory& shared, const Op& op)
        : memory_(states), shared_(shared), op_(op)
    {
    }

    // Begins to load the states and the epoch of this kernel. A barrier must follow.
    __device__ void prefetch()
    {
        tile_states<Acc>(memory_, 0).load(static_cast<unsigned>(warp_id() * lanes), blockIdx.x, states_);
        if (threadIdx.x == 0)
            shared_.epoch = load_relaxed(&memory_.header->epoch) + 1;
    }

    // The same, where all blocks look back. The epoch comes first, since the compiler waits for the states at once, and warps before
    // which there are no tiles load none. (In small sums, of which only the last block looks back, this costs bytes and doubles up to
    // 5 % and gains floats up to 3 %.)
    __device__ void prefetch_epoch_first()
    {
        std::uint64_t epoch = 0;
        if (threadIdx.x == 0)
            epoch = load_relaxed(&memory_.header->epoch);
        if (const auto first = static_cast<unsigned>(warp_id() * lanes); first < blockIdx.x)
            tile_states<Acc>(memory_, 0).load(first, blockIdx.x, states_);
        if (threadIdx.x == 0)
            shared_.epoch = epoch + 1;
    }

    __device__ void publish(const Acc& total) const
    {
        if (threadIdx.x == 0 && blockIdx.x + 1 < gridDim.x)
            tile_states<Acc>(memory_, shared_.epoch).publish(blockIdx.x, total);
    }

    // first (+) the fold of the tiles before this block's, whose total is `total`; `after` is the same up to its end.
    __device__ Acc fold(const Acc& first, const Acc& total, Acc& after)
    {
        const unsigned tile = blockIdx.x;
        const tile_states<Acc> states(memory_, shared_.epoch);

        // The binary digits of the number of tiles: those from 32 on are blocks of rows, the others lie in one row.
        const unsigned rows = tile / lanes;
        // Where many blocks look back, what they ask the second-level cache for delays what others publish.
        constexpr unsigned many_blocks = 128;
        const unsigned pause = Again == reload::missing && gridDim.x > many_blocks ? 100 : 0;
        for (unsigned row = static_cast<unsigned>(warp_id()); row <= rows; row += Warps) {
            Acc of_tile[1];
            states.template wait_and_read<Again>(row * lanes, tile, total, states_, of_tile, pause);
            const warp_tree<Acc> tree(of_tile[0], op_);
            if (lane_id() == 0)
                shared_.rows[static_cast<int>(row)] = tree.total;
            if (row == rows) {
                put_digits(shared_.before, tile, tree);
                put_digits(shared_.after, tile + 1, tree);
            }
            if (row + Warps <= rows)
                states.load((row + Warps) * lanes, tile, states_);
        }
        __syncthreads();
        if (threadIdx.x == 0 &&
            tile + 1 == gridDim.x) // the other blocks have read the epoch, since they have published
            store_relaxed(&memory_.header->epoch, shared_.epoch);

        const int row = lane_id() < static_cast<int>(rows) ? lane_id() : static_cast<int>(rows); // or any at all
        const Acc before_rows = warp_tree<Acc>(shared_.rows[row], op_).fold_before(first, op_);
        after = fold_digits(shuffle(before_rows, static_cast<int>((tile + 1) / lanes)), shared_.after, tile + 1);
        return fold_digits(shuffle(before_rows, static_cast<int>(rows)), shared_.before, tile);
    }

private:
    using digits = raw_array<Acc, lane_levels>;

    __device__ static void put_digits(digits& of_tiles, unsigned tiles, const warp_tree<Acc>& tree)
    {
        if (lane_id() == static_cast<int>(tiles % lanes))
#pragma unroll
            for (int k = 0; k < lane_levels; ++k)
                of_tiles[k] = tree.sibling[k];
    }

    __device__ Acc fold_digits(Acc before, digits& of_tiles, unsigned tiles) const
    {
#pragma unroll
        for (int k = lane_levels - 1; k >= 0; --k)
            if ((tiles >> k & 1) != 0)
                before = op_(before, of_tiles[k]);
        return before;
    }

    tile_state_memory memory_;
    memory& shared_;
    Op op_;
    word128 states_[1] = {};
};

} // namespace upsweep::gpu
