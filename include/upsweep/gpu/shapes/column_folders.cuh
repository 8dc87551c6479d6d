// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/column_states.cuh>

// Scans of a few long lines side by side, in which some warps look back for all others: the folders. A tile of such lines follows directly on the one whose
// block began just before, so it waits for totals that have hardly come. With the tree of column_states.cuh a fold passes through up to five
// multiprocessors, one after the other, and each takes about a microsecond while memory is busy. Folders shorten that to two: the block of a tile
// publishes its total, and a folder, which reads those of all tiles, publishes the fold before every tile.
namespace upsweep::gpu {

// A value of each of some lines side by side, whose totals lie in one tile state, and which a warp folds together.
template <class Acc>
struct line_pack {
    static_assert(sizeof(Acc) <= sizeof(std::uint64_t)); // which is what a tile state holds
    static constexpr int size =
        sizeof(Acc) <= sizeof(std::uint32_t) ? 2 : 1; // of bytes, eight would take too many registers
    Acc of[size];

    // The value for all lines of a pack.
    __device__ static line_pack all(const Acc& value)
    {
        line_pack pack;
#pragma unroll
        for (int i = 0; i < size; ++i)
            pack.of[i] = value;
        return pack;
    }
};

// The operator on each line of two packs.
template <class Acc, class Op>
struct op_of_packs {
    using pack = line_pack<Acc>;
    Op op;

    __device__ pack operator()(const pack& left, const pack& right) const
    {
        pack result;
#pragma unroll
        for (int i = 0; i < pack::size; ++i)
            result.of[i] = static_cast<Acc>(op(left.of[i], right.of[i]));
        return result;
    }
    __device__ pack joined(const pack& mine, const pack& theirs, bool mine_is_right) const
    {
        pack result;
#pragma unroll
        for (int i = 0; i < pack::size; ++i)
            result.of[i] = static_cast<Acc>(combine(op, mine.of[i], theirs.of[i], mine_is_right));
        return result;
    }
};

// The tile states of packs: for each pack one for the total of every whole tile, and behind those one for the fold before each of the tiles 1 to `tiles`.
// What is read together lies together: a warp of folders reads the totals of 32 tiles of a pack, while others poll the folds of a few tiles of all packs.
struct folder_slots {
    std::uint64_t tiles;  // of a line that are whole
    std::uint64_t packs;  // of all matrices
    unsigned packs_a_row; // of a matrix
    unsigned blocks;      // of folders: the first ones of the grid
    // Nanoseconds between two looks at folds. All blocks look at the lines of the cache to which folders write. In scans that are large enough for bulk copies
    // a long pause is up to 5 % faster, and in others it makes the last tiles wait.
    unsigned pause;

    folder_slots(std::uint64_t tiles, std::uint64_t matrices, unsigned packs_a_row, unsigned warps, bool in_bulk)
        : tiles(tiles), packs(matrices * packs_a_row), packs_a_row(packs_a_row),
          blocks(static_cast<unsigned>((packs + warps - 1) / warps)), pause(in_bulk ? long_pause : short_pause),
          folds_(slots_of<lanes>(tiles))
    {
    }

    std::uint64_t count() const { return folds_ + slots_of<of_line>(tiles + 1); }
    __device__ std::uint64_t total(std::uint64_t pack, std::uint64_t tile) const
    {
        return slot<lanes>(packs, pack, tile);
    }
    __device__ std::uint64_t fold_before(std::uint64_t pack, std::uint64_t tile) const
    {
        return folds_ + slot<of_line>(packs, pack, tile);
    }
    // From the state of a tile to that of the 32nd behind it, of totals and of folds.
    __device__ std::uint64_t row_pitch() const { return packs * lanes; }

private:
    static constexpr unsigned of_line = 8; // states in 128 bytes, a line of the cache
    static constexpr unsigned short_pause = 20;
    static constexpr unsigned long_pause = 400;

    // The states of `Together` tiles of a pack follow one another, and behind them lie those of the next pack.
    template <unsigned Together>
    __device__ static std::uint64_t slot(std::uint64_t packs, std::uint64_t pack, std::uint64_t tile)
    {
        return (tile / Together * packs + pack) * Together + tile % Together;
    }
    // How many states so many tiles of all packs have.
    template <unsigned Together>
    std::uint64_t slots_of(std::uint64_t all) const
    {
        return (all + Together - 1) / Together * Together * packs;
    }

    std::uint64_t folds_; // where they begin
};

// Looks back from the tiles of a block that is no folder. All of its threads call this together, for the lines of a matrix.
template <class Acc, class Op>
class folded_tiles {
    using pack = line_pack<Acc>;
    using states = tile_states<pack>;

public:
    // In shared memory: the folds before a tile, and behind them those before the next one.
    struct memory {
        Acc* folds;
        int columns;
    };

    __device__ folded_tiles(const tile_state_memory& of_tiles, std::uint64_t epoch, const folder_slots& slots,
                            const memory& shared, const Op& op)
        : states_(of_tiles, epoch), slots_(slots), shared_(shared), op_(op)
    {
    }

    // Publishes the totals of tile j, of which total_of(column) is one, if it is whole. Returns the fold of the tiles before it, and in `after` that up to its
    // end, if it is whole; otherwise `after` stays what it is. At least two threads share a line: one reads each of the two folds.
    template <class TotalOf>
    __device__ Acc publish_and_fold(const line_of_thread& of, std::uint64_t matrix, std::uint64_t j, bool is_whole,
                                    const TotalOf& total_of, Acc& after) const
    {
        if (of.exists && of.column % pack::size == 0) {
            const std::uint64_t number = matrix * slots_.packs_a_row + static_cast<unsigned>(of.column / pack::size);
            if (of.share == 0 && is_whole)
                publish(number, j, of.column, total_of);
            if (of.share == 0 && j != 0)
                read(number, j, shared_.folds, of.column);
            if (of.share == 1 && is_whole)
                read(number, j + 1, shared_.folds + shared_.columns, of.column);
        }
        __syncthreads();
        if (is_whole)
            after = shared_.folds[shared_.columns + of.column];
        return j != 0 ? shared_.folds[of.column] : op_.template identity<Acc>();
    }

private:
    template <class TotalOf>
    __device__ void publish(std::uint64_t number, std::uint64_t j, int column, const TotalOf& total_of) const
    {
        pack totals;
#pragma unroll
        for (int i = 0; i < pack::size; ++i) // of the last line once more where there are no others
            totals.of[i] = total_of(min(column + i, shared_.columns - 1));
        states_.publish(slots_.total(number, j), totals);
    }
    __device__ void read(std::uint64_t number, std::uint64_t j, Acc* folds, int column) const
    {
        const std::uint64_t slot = slots_.fold_before(number, j);
        word128 state = states_.load_one(slot);
        while (!states_.is_published(state)) {
            __nanosleep(slots_.pause);
            state = states_.load_one(slot);
        }
        const pack all = states_.total(slot, state);
#pragma unroll
        for (int i = 0; i < pack::size; ++i)
            if (column + i < shared_.columns)
                folds[column + i] = all.of[i];
    }

    states states_;
    const folder_slots& slots_;
    memory shared_;
    Op op_;
};

// The rows of 32 tiles that have been folded so far, up to 2^32 of them, as group_stack has groups; but lane k holds what belongs to digit k of their
// number. Scans whose folders are the slowest part take up to a fourteenth less time so than by shared memory.
template <class T, class Op>
class lane_stack {
public:
    __device__ lane_stack(const T& before, const Op& op) : op_(op), fold_(before), total_(before), above_(before) {}

    __device__ const T& fold() const { return fold_; } // of all rows

    __device__ void push(T total)
    {
        int level = 0;
        for (std::uint64_t digits = rows_; (digits & 1) != 0; digits >>= 1, ++level)
            total = op_(shuffle(total_, level), total);
        ++rows_;
        fold_ = op_(shuffle(above_, level), total);
        if (lane_id() == level)
            total_ = total;
        if (lane_id() < level) // the smaller digits are zero now
            above_ = fold_;
    }

private:
    Op op_;
    std::uint64_t rows_ = 0;
    T fold_;
    T total_; // of the block of 2^k rows, where digit k of their number is one
    T above_; // the fold of the blocks larger than 2^k rows
};

// What a warp of folders does: it folds the totals of a pack as they come, and publishes the fold before each tile. It looks at some rows of 32 tiles at
// once: more of them take longer each time, and with fewer it falls behind where tiles are small. The lanes of a warp call this together.
template <class Acc, class Op>
__device__ void fold_tiles_of_pack(const tile_state_memory& of_tiles, std::uint64_t epoch, const folder_slots& slots,
                                   std::uint64_t number, const Op& op_of_lines)
{
    using pack = line_pack<Acc>;
    constexpr int rows = 2;
    const tile_states<pack> states(of_tiles, epoch);
    const op_of_packs<Acc, Op> op{op_of_lines};
    lane_stack<pack, op_of_packs<Acc, Op>> before(pack::all(op_of_lines.template identity<Acc>()), op);
    const std::uint64_t pitch = slots.row_pitch();
    const auto lane = static_cast<unsigned>(lane_id());
    std::uint64_t totals = slots.total(number, lane); // of the tile of this lane in the first row that is looked at
    std::uint64_t folds = slots.fold_before(number, lane);
    std::uint64_t left = slots.tiles; // from that row on
    unsigned done = 0;                // tiles of these whose totals have been folded
    while (done < left) {
        word128 loaded[rows];
#pragma unroll
        for (int r = 0; r < rows; ++r)
            loaded[r] = states.load_one(r * lanes + lane < left ? totals + r * pitch : totals - lane);
        unsigned whole = 0; // rows
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const unsigned there =
                __ballot_sync(all_lanes, r * lanes + lane < left && states.is_published(loaded[r]) ? 1 : 0);
            const unsigned available =
                there == all_lanes ? lanes : static_cast<unsigned>(__ffs(static_cast<int>(~there)) - 1);
            if (r * lanes + available <= done) // no more than the last time
                break;
            // Lanes whose total has not come have the first one, so that operators see none that there is not.
            const pack total =
                shuffle(states.total(totals + r * pitch, loaded[r]), static_cast<int>(lane < available ? lane : 0));
            const warp_tree<pack> tree(total, op);
            const pack fold = tree.fold_before(before.fold(), op);
            if (r * lanes + lane > done && lane <= available)
                states.publish(folds + r * pitch, fold);
            done = r * lanes + available;
            if (available < lanes)
                break;
            before.push(tree.total);
            ++whole;
            if (lane == 0)
                states.publish(folds + whole * pitch, before.fold());
        }
        totals += whole * pitch;
        folds += whole * pitch;
        left -= whole * lanes;
        done -= whole * lanes;
    }
}

} // namespace upsweep::gpu
