// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <upsweep/gpu/fold/tile_states.cuh>
#include <upsweep/gpu/primitive/warp.cuh>

// How the tiles of a kernel are folded where each block has one of them, and all blocks are there at once.
namespace upsweep::gpu {

// A lane has the total of a tile, and then of a group of 32 tiles; one more has the fold after the last group.
inline constexpr unsigned most_tile_folds = lanes * (lanes - 1);

// The folds of the totals of the tiles before that of this block, in blocks of so many warps.
template <class Acc, class Op, int Warps>
class tile_folds {
public:
    struct memory {
        raw_array<Acc, lanes> groups; // their totals
        raw_array<Acc, lane_levels> before;
        raw_array<Acc, lane_levels> after;
        std::uint64_t epoch;
    };

    __device__ tile_folds(const board_memory& board, memory& shared, const Op& op)
        : board_(board), shared_(shared), op_(op)
    {
    }

    // Sends for the totals, and for the number of this kernel; a barrier must follow.
    __device__ void expect()
    {
        board<Acc>(board_, 0).peek(static_cast<unsigned>(warp_id() * lanes), blockIdx.x, notices_);
        if (threadIdx.x == 0)
            shared_.epoch = load_relaxed(&board_.state->epoch) + 1;
    }

    __device__ void publish(const Acc& mine) const
    {
        if (threadIdx.x == 0 && blockIdx.x + 1 < gridDim.x)
            board<Acc>(board_, shared_.epoch).publish(blockIdx.x, mine);
    }

    // first (+) the fold of the tiles before this block's, whose total is `mine`; `after` is the same with that.
    __device__ Acc fold(const Acc& first, const Acc& mine, Acc& after)
    {
        const unsigned tile = blockIdx.x;
        const board<Acc> totals(board_, shared_.epoch);

        // The binary digits of the number of tiles: those from 32 on are blocks of groups, the others lie in one group.
        const unsigned groups = tile / lanes;
        for (unsigned group = static_cast<unsigned>(warp_id()); group <= groups; group += Warps) {
            Acc total[1];
            totals.read(group * lanes, tile, mine, notices_, total);
            const warp_tree<Acc> tree(total[0], op_);
            if (lane_id() == 0)
                shared_.groups[static_cast<int>(group)] = tree.total;
            if (group == groups) {
                put_digits(shared_.before, tile, tree);
                put_digits(shared_.after, tile + 1, tree);
            }
            if (group + Warps <= groups)
                totals.peek((group + Warps) * lanes, tile, notices_);
        }
        __syncthreads();
        if (threadIdx.x == 0 && tile + 1 == gridDim.x) // the others have read the epoch, since their totals are there
            store_relaxed(&board_.state->epoch, shared_.epoch);

        const int group = lane_id() < static_cast<int>(groups) ? lane_id() : static_cast<int>(groups); // or any at all
        const Acc before_groups = warp_tree<Acc>(shared_.groups[group], op_).fold_before(first, op_);
        after = fold_digits(shuffle(before_groups, static_cast<int>((tile + 1) / lanes)), shared_.after, tile + 1);
        return fold_digits(shuffle(before_groups, static_cast<int>(groups)), shared_.before, tile);
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

    board_memory board_;
    memory& shared_;
    Op op_;
    word128 notices_[1] = {};
};

} // namespace upsweep::gpu
