// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Cooperative groups: the block, its tiles of threads, the lanes that run together, the cluster and the grid.
#pragma once

#include <algorithm>
#include <type_traits>

#include "cuda_runtime.h"

namespace cooperative_groups {

namespace device = upsweep::simulator::device;

// Shared memory for tiles of more than one warp. It has a barrier for each tile of each size, and a word for each thread.
template <unsigned MaxBlockSize = 1024>
struct block_tile_memory {
    std::uint64_t barriers[31];
    std::uint64_t words[MaxBlockSize];
};

class thread_block {
public:
    thread_block() = default;
    thread_block(std::uint64_t* barriers, std::uint64_t* words) : tile_barriers(barriers), tile_words(words) {}
    UPSWEEP_INLINE static void sync() { __syncthreads(); }
    static unsigned thread_rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
    static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned num_threads() { return size(); }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
    static bool is_valid() { return true; }

    std::uint64_t *tile_barriers = nullptr, *tile_words = nullptr;
};
inline thread_block this_thread_block() { return {}; }
template <unsigned MaxBlockSize>
UPSWEEP_INLINE thread_block this_thread_block(block_tile_memory<MaxBlockSize>& memory)
{
    if (thread_block::thread_rank() == 0)
        for (unsigned size = 1024, first = 0; size >= 64; first += 1024 / size, size /= 2)
            for (unsigned tile = 0; tile * size < thread_block::size(); ++tile)
                device::mbarrier_init(&memory.barriers[first + tile],
                                      std::min(size, thread_block::size() - tile * size));
    __syncthreads();
    return {memory.barriers, memory.words};
}

// A group of lanes of one warp, in which each lane has a rank. Tiles and coalesced groups are such groups.
class lane_group {
public:
    lane_group(unsigned mask, unsigned meta_rank, unsigned meta_size)
        : mask_(mask), rank_(static_cast<unsigned>(__popc(mask & ((1u << device::lane_index()) - 1)))),
          size_(static_cast<unsigned>(__popc(mask))), meta_rank_(meta_rank), meta_size_(meta_size)
    {
    }
    UPSWEEP_INLINE void sync() const { __syncwarp(mask_); }
    unsigned thread_rank() const { return rank_; }
    unsigned size() const { return size_; }
    unsigned num_threads() const { return size_; }
    unsigned meta_group_rank() const { return meta_rank_; } // among the groups into which the parent was divided
    unsigned meta_group_size() const { return meta_size_; }
    unsigned mask() const { return mask_; }
    static bool is_valid() { return true; }
    UPSWEEP_INLINE int any(int predicate) const { return __any_sync(mask_, predicate); }
    UPSWEEP_INLINE int all(int predicate) const { return __all_sync(mask_, predicate); }
    UPSWEEP_INLINE unsigned ballot(int predicate) const { return ranks_of(__ballot_sync(mask_, predicate)); }
    template <class T>
    UPSWEEP_INLINE unsigned match_any(T value) const
    {
        return ranks_of(__match_any_sync(mask_, value));
    }
    template <class T>
    UPSWEEP_INLINE unsigned match_all(T value, int& predicate) const
    {
        return ranks_of(__match_all_sync(mask_, value, &predicate));
    }
    template <class T>
    UPSWEEP_INLINE T shfl(T value, unsigned rank) const
    {
        return __shfl_sync(mask_, value, lane_of(rank % size_));
    }
    template <class T>
    UPSWEEP_INLINE T shfl_down(T value, unsigned delta) const
    {
        return __shfl_sync(mask_, value, lane_of(rank_ + delta < size_ ? rank_ + delta : rank_));
    }
    template <class T>
    UPSWEEP_INLINE T shfl_up(T value, unsigned delta) const
    {
        return __shfl_sync(mask_, value, lane_of(rank_ >= delta ? rank_ - delta : rank_));
    }
    // The lanes of some ranks of this group, from the first one on.
    unsigned part(unsigned first, unsigned count) const
    {
        unsigned lanes = 0;
        for (unsigned rank = first; rank < first + count && rank < size_; ++rank)
            lanes |= 1u << lane_of(rank);
        return lanes;
    }

protected:
    int lane_of(unsigned rank) const
    {
        if (mask_ == ~0u)
            return static_cast<int>(rank);
        unsigned left = mask_;
        while (rank-- > 0)
            left &= left - 1;
        return __ffs(static_cast<int>(left)) - 1;
    }
    // The bits of lanes, as bits of ranks.
    unsigned ranks_of(unsigned lanes) const
    {
        if (mask_ == ~0u)
            return lanes;
        unsigned ranks = 0;
        for (unsigned rank = 0; rank < size_; ++rank)
            ranks |= (lanes >> lane_of(rank) & 1u) << rank;
        return ranks;
    }
    unsigned mask_, rank_, size_, meta_rank_, meta_size_;
};

template <unsigned Size>
class warp_tile : public lane_group {
    static_assert(Size != 0 && Size <= 32 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");

public:
    template <class Parent>
    explicit warp_tile(const Parent& parent)
        : lane_group((Size == 32 ? ~0u : (1u << Size % 32) - 1) << device::lane_index() / Size * Size,
                     static_cast<unsigned>(parent.thread_rank() / Size),
                     static_cast<unsigned>((parent.size() + Size - 1) / Size))
    {
    }
    static unsigned size() { return Size; }
    static unsigned num_threads() { return Size; }
    template <class T>
    UPSWEEP_INLINE T shfl(T value, int lane) const
    {
        return __shfl_sync(mask_, value, lane, Size);
    }
    template <class T>
    UPSWEEP_INLINE T shfl_up(T value, unsigned delta) const
    {
        return __shfl_up_sync(mask_, value, delta, Size);
    }
    template <class T>
    UPSWEEP_INLINE T shfl_down(T value, unsigned delta) const
    {
        return __shfl_down_sync(mask_, value, delta, Size);
    }
    template <class T>
    UPSWEEP_INLINE T shfl_xor(T value, unsigned lanes) const
    {
        return __shfl_xor_sync(mask_, value, static_cast<int>(lanes), Size);
    }
};

// A group of several warps, which meet at a barrier and exchange values through the block's memory for tiles.
template <unsigned Size>
class block_tile {
    static_assert(Size > 32 && Size <= 1024 && (Size & (Size - 1)) == 0, "a tile has a power of two of threads");

public:
    explicit block_tile(const thread_block& block) : barriers_(block.tile_barriers), words_(block.tile_words)
    {
        if (barriers_ == nullptr)
            device::trap("a tile of more than 32 threads needs this_thread_block(block_tile_memory)");
    }
    UPSWEEP_INLINE void sync() const
    {
        auto* barrier = barriers_ + (1024 / Size - 1) + meta_group_rank();
        device::mbarrier_wait(barrier, device::mbarrier_arrive(barrier, 0));
    }
    unsigned thread_rank() const { return thread_block::thread_rank() % Size; }
    unsigned size() const { return Size; }
    unsigned num_threads() const { return Size; }
    unsigned meta_group_rank() const { return thread_block::thread_rank() / Size; }
    unsigned meta_group_size() const { return (thread_block::size() + Size - 1) / Size; }
    template <class T>
    UPSWEEP_INLINE T shfl(T value, unsigned rank) const
    {
        std::uint64_t* words = words_ + meta_group_rank() * Size;
        words[thread_rank()] = upsweep::simulator::cuda::to_word(value);
        sync();
        const T got = upsweep::simulator::cuda::from_word<T>(words[rank % Size]);
        sync();
        return got;
    }
    template <class T>
    UPSWEEP_INLINE T shfl_xor(T value, unsigned ranks) const
    {
        return shfl(value, thread_rank() ^ ranks);
    }
    template <class T>
    UPSWEEP_INLINE T shfl_up(T value, unsigned delta) const
    {
        return shfl(value, thread_rank() >= delta ? thread_rank() - delta : thread_rank());
    }
    template <class T>
    UPSWEEP_INLINE T shfl_down(T value, unsigned delta) const
    {
        return shfl(value, thread_rank() + delta < Size ? thread_rank() + delta : thread_rank());
    }
    UPSWEEP_INLINE int any(int predicate) const
    {
        for (unsigned ranks = Size / 2; ranks > 0; ranks /= 2)
            predicate |= shfl_xor(predicate != 0, ranks);
        return predicate != 0;
    }
    UPSWEEP_INLINE int all(int predicate) const { return !any(!predicate); }

private:
    std::uint64_t *barriers_, *words_;
};

template <unsigned Size, class Parent = thread_block>
class thread_block_tile : public std::conditional_t<(Size > 32), block_tile<Size>, warp_tile<Size>> {
    using base = std::conditional_t<(Size > 32), block_tile<Size>, warp_tile<Size>>;

public:
    using base::base;
    template <class Other>
    thread_block_tile(const thread_block_tile<Size, Other>& same) : base(static_cast<const base&>(same))
    {
    }
};

template <unsigned Size, class Group>
thread_block_tile<Size, Group> tiled_partition(const Group& group)
{
    return thread_block_tile<Size, Group>(group);
}
inline thread_block_tile<1> this_thread() { return thread_block_tile<1>(this_thread_block()); }

class coalesced_group : public lane_group {
public:
    explicit coalesced_group(unsigned mask, unsigned meta_rank = 0, unsigned meta_size = 1)
        : lane_group(mask, meta_rank, meta_size)
    {
    }
};
UPSWEEP_INLINE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }
inline coalesced_group tiled_partition(const coalesced_group& group, unsigned size)
{
    const unsigned which = group.thread_rank() / size;
    return coalesced_group(group.part(which * size, size), which, (group.size() + size - 1) / size);
}

// The lanes of a group that have the same label, or the same answer.
template <class Group, class T>
UPSWEEP_INLINE coalesced_group labeled_partition(const Group& group, T label)
{
    return coalesced_group(__match_any_sync(group.mask(), label));
}
template <class Group>
UPSWEEP_INLINE coalesced_group binary_partition(const Group& group, bool predicate)
{
    const unsigned yes = __ballot_sync(group.mask(), predicate);
    return coalesced_group(predicate ? yes : group.mask() & ~yes, predicate, 2);
}

class grid_group {
public:
    UPSWEEP_INLINE static void sync() { device::barrier(device::barrier_level::grid, device::barrier_vote::none, 0); }
    static unsigned long long block_rank()
    {
        return blockIdx.x + static_cast<unsigned long long>(gridDim.x) *
                                (blockIdx.y + static_cast<unsigned long long>(gridDim.y) * blockIdx.z);
    }
    static unsigned long long thread_rank()
    {
        return block_rank() * thread_block::size() + thread_block::thread_rank();
    }
    static unsigned long long num_blocks()
    {
        return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
    }
    static unsigned long long size() { return num_blocks() * thread_block::size(); }
    static unsigned long long num_threads() { return size(); }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 group_dim() { return gridDim; }
    static dim3 block_index() { return blockIdx; }
    static bool is_valid() { return true; }
};
inline grid_group this_grid() { return {}; }

class cluster_group {
public:
    UPSWEEP_INLINE static void sync()
    {
        device::barrier(device::barrier_level::cluster, device::barrier_vote::none, 0);
    }
    // Between arriving and waiting, a thread does work that does not depend on other threads.
    struct arrival_token {};
    UPSWEEP_INLINE static arrival_token barrier_arrive()
    {
        device::cluster_arrive();
        return {};
    }
    UPSWEEP_INLINE static void barrier_wait() { device::cluster_wait(); }
    UPSWEEP_INLINE static void barrier_wait(arrival_token&&) { device::cluster_wait(); }
    static dim3 dim_blocks()
    {
        const auto c = device::cluster_extent();
        return {c.x, c.y, c.z};
    }
    static unsigned num_blocks()
    {
        const auto c = device::cluster_extent();
        return c.x * c.y * c.z;
    }
    static dim3 block_index()
    {
        const auto c = device::cluster_extent();
        return {blockIdx.x % c.x, blockIdx.y % c.y, blockIdx.z % c.z};
    }
    static unsigned block_rank()
    {
        const auto c = device::cluster_extent();
        const dim3 at = block_index();
        return at.x + c.x * (at.y + c.y * at.z);
    }
    static unsigned num_threads() { return num_blocks() * thread_block::size(); }
    static unsigned size() { return num_threads(); }
    static unsigned thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
    static dim3 thread_index()
    {
        const dim3 at = block_index();
        return {at.x * blockDim.x + threadIdx.x, at.y * blockDim.y + threadIdx.y, at.z * blockDim.z + threadIdx.z};
    }
    static dim3 dim_threads()
    {
        const dim3 blocks = dim_blocks();
        return {blocks.x * blockDim.x, blocks.y * blockDim.y, blocks.z * blockDim.z};
    }
    template <class T>
    static T* map_shared_rank(T* address, int rank)
    {
        return static_cast<T*>(device::map_shared(address, static_cast<unsigned>(rank)));
    }
};
inline cluster_group this_cluster() { return {}; }

// Any group whose kind and size are known only when the program runs: a block, or lanes of a warp.
class thread_group {
public:
    thread_group(const thread_block&)
        : is_block_(true), lanes_(0, 0, 1), size_(thread_block::size()), rank_(thread_block::thread_rank())
    {
    }
    thread_group(const lane_group& lanes)
        : is_block_(false), lanes_(lanes), size_(lanes.size()), rank_(lanes.thread_rank())
    {
    }
    UPSWEEP_INLINE void sync() const
    {
        if (is_block_)
            __syncthreads();
        else
            lanes_.sync();
    }
    unsigned size() const { return size_; }
    unsigned num_threads() const { return size_; }
    unsigned thread_rank() const { return rank_; }
    static bool is_valid() { return true; }
    // The tile of so many threads to which the calling thread belongs.
    coalesced_group tile(unsigned size) const
    {
        const unsigned which = rank_ / size, count = (size_ + size - 1) / size;
        if (!is_block_)
            return coalesced_group(lanes_.part(which * size, size), which, count);
        if (size == 0 || size > 32 || (size & (size - 1)) != 0)
            device::trap("a tile of a block has 1, 2, 4, 8, 16 or 32 threads");
        const unsigned first = device::lane_index() / size * size;
        const unsigned left = size_ - (rank_ - rank_ % size); // threads from the tile's first one on
        return coalesced_group((min(size, left) == 32 ? ~0u : (1u << min(size, left)) - 1) << first, which, count);
    }

private:
    bool is_block_;
    lane_group lanes_;
    unsigned size_, rank_;
};
inline thread_group tiled_partition(const thread_group& group, unsigned size) { return group.tile(size); }
inline thread_group tiled_partition(const thread_block& block, unsigned size) { return thread_group(block).tile(size); }

template <class Group>
UPSWEEP_INLINE void sync(const Group& group)
{
    group.sync();
}
template <class Group>
auto thread_rank(const Group& group)
{
    return group.thread_rank();
}
template <class Group>
auto group_size(const Group& group)
{
    return group.size();
}

// One thread of the group calls the function; the others go on. With broadcast, all have its result.
template <class Group, class F, class... Arguments>
UPSWEEP_INLINE void invoke_one(const Group& group, F&& function, Arguments&&... arguments)
{
    if (group.thread_rank() == 0)
        std::forward<F>(function)(std::forward<Arguments>(arguments)...);
}
template <class Group, class F, class... Arguments>
UPSWEEP_INLINE auto invoke_one_broadcast(const Group& group, F&& function, Arguments&&... arguments)
{
    decltype(function(arguments...)) result{};
    if (group.thread_rank() == 0)
        result = std::forward<F>(function)(std::forward<Arguments>(arguments)...);
    return group.shfl(result, 0);
}

// The operators of reductions and scans.
template <class T>
struct plus {
    T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
    T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
    T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct bit_and {
    T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct bit_or {
    T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct bit_xor {
    T operator()(T a, T b) const { return a ^ b; }
};

} // namespace cooperative_groups

#include "cooperative_groups/memcpy_async.h"
#include "cooperative_groups/reduce.h"
#include "cooperative_groups/scan.h"
