// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/primitive/ptx.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/target/cuda.cuh>

// How the blocks of a selection (select.cuh) tell each other how many elements their tiles have, and so find where theirs go.
namespace upsweep::gpu {

// What each tile selects, as its block publishes it: below the epoch, which says in which kernel that was, so that nobody has to clear what
// earlier kernels left.
struct tile_count_memory {
    tile_state_header* header;
    std::uint64_t* states;
};

// How many elements that are, and if HasLast, where the last one is in the tile. The epoch has the same bits for elements of all types, whose
// kernels share the memory; each kind has memory of its own, since it has others there.
template <class Shape, bool HasLast>
struct tile_selection {
    static_assert(!HasLast || Shape::tile <= 16384, "places in a tile have 14 bits");
    static constexpr int count_bits = HasLast ? 15 : 16;
    static constexpr int bits = HasLast ? count_bits + 14 : count_bits;
    static constexpr workspace_purpose purpose =
        HasLast ? workspace_purpose::tile_heads : workspace_purpose::tile_counts;

    std::uint64_t payload;

    __device__ static tile_selection of(int count, int last)
    {
        return {static_cast<std::uint64_t>(last) << count_bits | static_cast<unsigned>(count)};
    }
    __device__ unsigned count() const { return static_cast<unsigned>(payload) & ((1U << count_bits) - 1); }
    __device__ unsigned last() const { return static_cast<unsigned>(payload >> count_bits) & ((1U << 14) - 1); }
};

inline tile_count_memory tile_counts_of(const cuda& target, workspace_purpose purpose, std::uint64_t tiles)
{
    constexpr std::size_t header_bytes = 256;
    auto* const first =
        static_cast<std::byte*>(target.workspace().memory(purpose, header_bytes + tiles * sizeof(std::uint64_t)));
    return {reinterpret_cast<tile_state_header*>(first), reinterpret_cast<std::uint64_t*>(first + header_bytes)};
}

// One thread of each block calls this, after all of its threads have read the epoch. The last one leaves the epoch to the next kernel.
__device__ inline void end_tile_counts(const tile_count_memory& memory, std::uint64_t epoch)
{
    if (take_ticket(memory.header, gridDim.x) == gridDim.x - 1)
        store_relaxed(&memory.header->epoch, epoch);
}

// Decoupled look-back (Merrill and Garland 2016) of blocks that take tiles by turns. A block knows the sum up to its last tile; one of its
// warps reads what all tiles between that and the next one have published at once. No chain of tiles waits, one for the other.
template <class Selection>
class count_look_back {
public:
    __device__ count_look_back(const tile_count_memory& states, std::uint64_t epoch) : states_(states), epoch_(epoch) {}

    // How many elements are selected in all tiles before. The lanes of one warp call this together, for each tile of the block, and
    // look(number of a tile, its selection) is called for each tile before, by one of them.
    template <class F>
    __device__ std::uint64_t sum_before(std::uint64_t tile, F look)
    {
        unsigned sum = 0;
        for (std::uint64_t first = tile < gridDim.x ? 0 : tile - gridDim.x; first < tile; first += at_once * lanes)
            sum += sum_of(first, tile, look);
#pragma unroll
        for (int k = 1; k < lanes; k *= 2)
            sum += shuffle_xor(sum, k);
        return sum_ += sum;
    }

    // One thread of a block calls this for each tile.
    __device__ static void publish(const tile_count_memory& memory, std::uint64_t epoch, std::uint64_t tile,
                                   const Selection& selection)
    {
        store_relaxed(memory.states + tile, epoch << Selection::bits | selection.payload);
    }

private:
    static constexpr int at_once = 9; // which is all where an H200 has two blocks a multiprocessor
    static constexpr int epoch_bits = 64 - Selection::bits;

    // Of this lane's states from `first` on, which are loaded together, and again until all have been published.
    template <class F>
    __device__ unsigned sum_of(std::uint64_t first, std::uint64_t end, F look) const
    {
        const std::uint64_t mine = first + static_cast<unsigned>(lane_id());
        std::uint64_t loaded[at_once];
#pragma unroll
        for (int k = 0; k < at_once; ++k)
            if (mine + k * lanes < end)
                loaded[k] = load_relaxed(states_.states + mine + k * lanes);
        unsigned sum = 0;
#pragma unroll
        for (int k = 0; k < at_once; ++k) {
            if (mine + k * lanes >= end)
                continue;
            while (loaded[k] >> Selection::bits != (epoch_ & (~std::uint64_t{0} >> (64 - epoch_bits))))
                loaded[k] = load_relaxed(states_.states + mine + k * lanes);
            const Selection selection{loaded[k] & ((std::uint64_t{1} << Selection::bits) - 1)};
            sum += selection.count();
            look(mine + k * lanes, selection);
        }
        return sum;
    }

    tile_count_memory states_;
    std::uint64_t epoch_;
    std::uint64_t sum_ = 0;
};

} // namespace upsweep::gpu
