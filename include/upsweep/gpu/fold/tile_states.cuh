// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include <upsweep/gpu/primitive/ptx.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/target/cuda.cuh>

// How the blocks of one kernel tell one another the totals of their tiles, and how these are folded as they arrive.
namespace upsweep::gpu {

// What kernels on a stream leave to the next one. Zero when it is new.
struct board_state {
    std::uint64_t epoch;  // kernels that have used the board
    std::uint32_t ticket; // tiles handed out; zero between kernels
};

// Counts from zero to tiles - 1. Who has finished a tile takes the next, so that after all of them the count is at zero again.
__device__ inline std::uint64_t draw(board_state* state, std::uint64_t tiles)
{
    return atomicInc(&state->ticket, static_cast<unsigned>(tiles - 1));
}

// The memory of a board. A notice carries the epoch in which it was written, so that nobody has to clear the board: what
// an earlier kernel left there is not taken for news. A total that does not fit beside the epoch lies in `large`.
struct board_memory {
    board_state* state;
    word128* notices;
    void* large;
};

// The memory of so many tile states, whose totals have so many bytes.
inline board_memory board_of(const cuda& target, std::uint64_t tiles, std::size_t total_bytes)
{
    constexpr std::size_t state_bytes = 256;
    constexpr std::uint64_t least_tiles = 65536; // a megabyte, which is enough for most arrays
    gpu::workspace& workspace = target.workspace();
    const std::uint64_t most = tiles > least_tiles ? tiles : least_tiles;
    auto* const first =
        static_cast<std::byte*>(workspace.memory(workspace_purpose::tile_states, state_bytes + most * sizeof(word128)));
    void* const large = total_bytes > sizeof(std::uint64_t)
                            ? workspace.memory(workspace_purpose::large_totals, tiles * total_bytes)
                            : nullptr;
    return {reinterpret_cast<board_state*>(first), reinterpret_cast<word128*>(first + state_bytes), large};
}

// One total a tile, written once by whoever has it and read by whoever needs it.
template <class T>
class board {
public:
    static constexpr bool is_small = sizeof(T) <= sizeof(std::uint64_t);

    __device__ board(const board_memory& memory, std::uint64_t epoch)
        : notices_(memory.notices), large_(static_cast<T*>(memory.large)), epoch_(epoch)
    {
    }

    __device__ std::uint64_t epoch() const { return epoch_; }

    // By one thread. 16 bytes are written as one, so that a small total needs no fence.
    __device__ void publish(std::uint64_t tile, const T& total) const
    {
        word128 notice{0, epoch_};
        if constexpr (is_small) {
            std::memcpy(&notice.low, &total, sizeof(T));
        } else {
            large_[tile] = total;
            fence();
        }
        store_relaxed(notices_ + tile, notice);
    }

    // Looks at the notices first + 32 r + lane below `end`, whether they are news or not. By one warp.
    template <int Rows>
    __device__ void peek(std::uint64_t first, std::uint64_t end, word128 (&notices)[Rows]) const
    {
        // Without a branch, so that all are on their way at once and none is waited for; beyond the end any will do.
        const std::uint64_t mine = first + static_cast<unsigned>(lane_id());
#pragma unroll
        for (int r = 0; r < Rows; ++r)
            notices[r] = load_relaxed(notices_ + (mine + r * lanes < end ? mine + r * lanes : 0));
    }

    // Waits for the same totals, of which peek saw the notices, and gets them; beyond `end` it gets `otherwise`.
    template <int Rows>
    __device__ void read(std::uint64_t first, std::uint64_t end, const T& otherwise, word128 (&notices)[Rows],
                         T (&totals)[Rows]) const
    {
        const std::uint64_t mine = first + static_cast<unsigned>(lane_id());
        for (;;) {
            unsigned missing = 0;
#pragma unroll
            for (int r = 0; r < Rows; ++r)
                missing |= mine + r * lanes < end && notices[r].high != epoch_ ? 1U : 0U;
            if (__any_sync(all_lanes, missing != 0) == 0)
                break;
            peek(first, end, notices);
        }
        if constexpr (!is_small)
            fence();
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            totals[r] = otherwise;
            if (mine + r * lanes < end) {
                if constexpr (is_small)
                    std::memcpy(static_cast<void*>(&totals[r]), &notices[r].low, sizeof(T));
                else
                    totals[r] = large_[mine + r * lanes];
            }
        }
    }

private:
    word128* notices_;
    T* large_;
    std::uint64_t epoch_;
};

// Shared memory for values of a type that may have a constructor.
template <class T, int Count>
struct raw_array {
    alignas(T) alignas(16) unsigned char bytes[Count * sizeof(T)];
    __device__ T& operator[](int i) { return reinterpret_cast<T*>(bytes)[i]; }
};

// Totals are folded by chunks of 128: rows of a warp.
inline constexpr int chunk_rows = 4;
inline constexpr int chunk_tiles = chunk_rows * lanes;

// before (+) the fold of the first `count` totals of a chunk, count < 128, of which this lane holds number 32 r + lane for
// every r. Every lane gets it; `after` is the same for count + 1, if that is less than 128.
template <class T, class Op>
__device__ T fold_in_chunk(const T& before, const T (&totals)[chunk_rows], int count, T& after, const Op& op)
{
    T of_row[chunk_rows];
    T before_row[chunk_rows];
#pragma unroll
    for (int r = 0; r < chunk_rows; ++r) {
        T row[1] = {totals[r]};
        of_row[r] = warp_total(row, op);
    }
    lane_folds<chunk_rows>(before, of_row, before_row, op);

    const int last = count / lanes;
    T mine = totals[0];
    T result = before_row[0];
    T next_row = before_row[1];
#pragma unroll
    for (int r = 1; r < chunk_rows; ++r) {
        replace_if(r == last, mine, totals[r]);
        replace_if(r == last, result, before_row[r]);
        replace_if(r == last + 1, next_row, before_row[r]);
    }
    result = warp_tree<T>(mine, op).fold_before(result, op);
    after = shuffle(result, (count + 1) % lanes);
    replace_if((count + 1) % lanes == 0, after, next_row);
    return shuffle(result, count % lanes);
}

// The chunks folded so far, as the totals of their aligned blocks: a binary counter whose digits are totals, as fold_stack
// is, in shared memory. For one warp: every lane calls, every lane gets the results.
template <class T, class Op>
class chunk_stack {
public:
    static constexpr int levels = 57; // of chunks of 128 tiles
    struct memory {
        raw_array<T, levels + 1> total; // [k]: of the block of 2^k chunks, where digit k of their number is one
        raw_array<T, levels + 1> above; // [k]: before (+) the fold of the blocks larger than 2^k chunks
    };

    __device__ chunk_stack(memory& blocks, const Op& op) : blocks_(blocks), op_(op) {}

    // The first call: `before` is the fold of what lies before the first chunk.
    __device__ void start(const T& before)
    {
        fold_ = before;
        for (int k = lane_id(); k <= levels; k += lanes) // nothing is above what becomes the largest block
            blocks_.above[k] = before;
        __syncwarp();
    }

    __device__ std::uint64_t chunks() const { return chunks_; }
    __device__ const T& fold() const { return fold_; } // before (+) the fold of all chunks

    __device__ void push(T total)
    {
        int level = 0;
        for (std::uint64_t digits = chunks_; (digits & 1) != 0; digits >>= 1, ++level)
            total = op_(blocks_.total[level], total);
        ++chunks_;
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
    std::uint64_t chunks_ = 0;
    T fold_;
};

// The fold of the first so many tiles, for numbers of tiles that grow, from the totals on the board. For one warp.
template <class T, class Op>
class look_back {
public:
    using memory = typename chunk_stack<T, Op>::memory;

    __device__ look_back(board<T> totals, memory& stack, const T& before, const Op& op)
        : totals_(totals), stack_(stack, op), op_(op)
    {
        stack_.start(before);
    }

    // Sends for the totals that fold(tiles) will need, so that they are on their way meanwhile.
    __device__ void expect(std::uint64_t tiles) { totals_.peek(first(), end(tiles), notices_); }

    // before (+) fold(tiles); `after` is fold(tiles + 1), where the total of the tile number `tiles` is `next`.
    __device__ T fold(std::uint64_t tiles, const T& next, T& after)
    {
        for (;;) {
            T totals[2 * chunk_rows];
            totals_.read(first(), end(tiles), next, notices_, totals); // `next` lies where it belongs, and beyond
            const bool one_is_whole = tiles >= first() + chunk_tiles;
            const bool both_are_whole = tiles >= first() + 2 * chunk_tiles;
            T last[chunk_rows];
#pragma unroll
            for (int r = 0; r < chunk_rows; ++r)
                last[r] = totals[r];
            if (one_is_whole) {
                push(last);
#pragma unroll
                for (int r = 0; r < chunk_rows; ++r)
                    last[r] = totals[chunk_rows + r];
            }
            if (both_are_whole) {
                push(last);
                expect(tiles);
                continue;
            }
            const int left = static_cast<int>(tiles % chunk_tiles);
            const T result = fold_in_chunk(stack_.fold(), last, left, after, op_);
            if (left + 1 == chunk_tiles) {
                push(last);
                after = stack_.fold();
            }
            return result;
        }
    }

private:
    __device__ void push(const T (&totals)[chunk_rows])
    {
        T rows[chunk_rows];
#pragma unroll
        for (int r = 0; r < chunk_rows; ++r)
            rows[r] = totals[r];
        stack_.push(warp_total(rows, op_));
    }

    // The totals that are read at once: two chunks, since blocks are rarely further ahead.
    __device__ std::uint64_t first() const { return stack_.chunks() * chunk_tiles; }
    __device__ std::uint64_t end(std::uint64_t tiles) const
    {
        const std::uint64_t most = first() + 2 * chunk_tiles;
        return tiles < most ? tiles : most;
    }

    board<T> totals_;
    chunk_stack<T, Op> stack_;
    Op op_;
    word128 notices_[2 * chunk_rows] = {};
};

} // namespace upsweep::gpu
