// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>

#include <cuda_pipeline.h>

#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/primitive/ptx.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/head_window.cuh>
#include <upsweep/gpu/shapes/piece_states.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/op.hpp>

// What scans and folds of segments that are told by their heads have in common: a warp has the window of a tile (head_window.cuh) in shared
// memory, folds the whole chunks there, one for each cell, and joins their totals by twos, fours and so on within each segment. A whole piece at
// the end of the window tells its total to the pieces behind it (piece_states.cuh).
namespace upsweep::gpu {

// --- windows in shared memory -------------------------------------------------------------------------------------------------

// One place lies idle behind every 32, so that lanes that read at equal distances of 16 meet in no bank.
template <class T>
struct head_window_memory {
    static constexpr int places = 2 * head_tile;

    raw_array<T, places + places / lanes> elements;

    __device__ static int place(int i) { return i + i / lanes; }
    __device__ T& operator[](int i) { return elements[place(i)]; }

    // Elements i to i + Count - 1, of which there are so many. Whole: all of them are in one row of 32.
    template <bool Whole, int Count, class F>
    __device__ void for_each(int i, int count, F f)
    {
        const int first = place(i);
        const int left = lanes - i % lanes; // in the row
#pragma unroll
        for (int c = 0; c < Count; ++c)
            if (Whole || c < count)
                f(c, elements[first + (Whole || c < left ? c : c + 1)]);
    }
};

// Calls f(i, place of element i) for `count` elements from place 0 on, of which the lanes of a warp have those of whole lines of memory.
template <int AtOnce, class F>
__device__ void for_each_in_lines(int before, int count, F f)
{
    const int mine = lane_id() - before; // may be negative, in the first line
    const int place = mine + (mine >> lane_levels);
    for (int row = 0; row < before + count; row += AtOnce * lanes) {
        const int first = mine + row;
        const int first_place = place + row / lanes * (lanes + 1);
#pragma unroll
        for (int r = 0; r < AtOnce; ++r)
            if (first + r * lanes >= 0 && first + r * lanes < count)
                f(r, first + r * lanes, first_place + r * (lanes + 1));
    }
}

// Copies `count` elements from `from` on into a window. The lanes of a warp call this together, and all of them may read them afterwards.
template <class Source, class T>
__device__ void fill(head_window_memory<T>& window, const Source& from, int count)
{
    constexpr bool is_copied = std::is_pointer_v<Source> && (sizeof(T) == 4 || sizeof(T) == 8);
    __syncwarp(); // others have read what is replaced
    if constexpr (is_copied) {
        if (reinterpret_cast<std::uintptr_t>(from) % sizeof(T) == 0) {
            for_each_in_lines<8>(place_in_line(from), count, [&](int, int i, int place) {
                __pipeline_memcpy_async(&window.elements[place], from + i, sizeof(T));
            });
            __pipeline_commit();
            __pipeline_wait_prior(0);
            __syncwarp();
            return;
        }
    }
    for (int row = 0; row < count; row += 8 * lanes) {
        lane_vector<T, 1> loaded[8];
#pragma unroll
        for (int r = 0; r < 8; ++r) {
            const int i = row + r * lanes + lane_id();
            loaded[r] = gather_vector<1>(from + (i < count ? i : count - 1));
        }
#pragma unroll
        for (int r = 0; r < 8; ++r) {
            const int i = row + r * lanes + lane_id();
            if (i < count)
                window[i] = loaded[r][0];
        }
    }
    __syncwarp();
}

// Writes what is in a window, after all lanes have written it.
template <class Out, class T>
__device__ void empty(head_window_memory<T>& window, const Out& to, int count)
{
    __syncwarp();
    for_each_in_lines<4>(place_in_line(to), count, [&](int, int i, int place) { to[i] = window.elements[place]; });
}

// --- what a warp does with a window -----------------------------------------------------------------------------------------

template <class Acc, class Source, class Op>
class head_fold {
    using element = std::iter_value_t<Source>;
    static constexpr int cells = 2 * head_tile / chunk_elements;

public:
    using states = piece_states<Acc, Op>;
    struct memory {
        head_window_memory<element> elements;
        raw_array<Acc, cells>
            totals; // of the whole chunk that begins in a cell and those that it is joined with, which lie before
        std::uint16_t heads[head_tile + 2]; // where segments begin, and where the last one ends
    };

    __device__ head_fold(memory& shared, const Op& op) : shared_(shared), op_(op) {}

    // Fills the window, folds its chunks, and publishes the total of the piece at its end. Returns how many segments begin in it.
    __device__ int fold(const Source& from, const head_window& window, const states& pieces)
    {
        fill(shared_.elements, from, window.length);
        const int heads = write_heads(window);
        total_of_chunks(window);
        __syncwarp();
        if (window.is_whole) {
            const std::uint64_t base = window.begin_of_last();
            pieces.publish(base, window.tile - base, total_of_piece(window));
        }
        return heads;
    }

    // Joins that piece with others where it is the last one of 32, and so on. That waits for them.
    __device__ void join(const head_window& window, const states& pieces)
    {
        const std::uint64_t base = window.begin_of_last();
        if (window.is_whole)
            pieces.join(base, window.tile - base);
    }

    // The fold of all elements of the segment that enters the window which come before. If the window has nothing but a whole piece of it, `after` is
    // the fold up to its end. It waits for the pieces before.
    __device__ Acc fold_before(const head_window& window, const states& pieces, Acc& after)
    {
        const Acc nothing = op_.template identity<Acc>();
        const std::uint64_t number = window.tile - window.entered;
        if (window.is_whole && window.last == 0)
            return pieces.fold(window.entered, number, nothing, total_of_piece(window), after);
        return pieces.fold(window.entered, number, nothing);
    }

    // before (+) the fold of the first `number` chunks of a segment, of which the next one would begin in a cell: by the binary digits of their number.
    // Where `end` is asked for, it becomes the fold before the chunks that chunk `number` has been joined with. All lanes call this together.
    __device__ Acc fold_of_chunks(int cell, int number, Acc before, Acc* end)
    {
        const bool far = __any_sync(all_lanes, number >= 8 ? 1 : 0) != 0;
        const int lowest = (number + 1) & -(number + 1);
        if (end != nullptr)
            *end = before;
#pragma unroll
        for (int digit = 2 * lanes; digit > 0; digit /= 2) {
            if (digit >= 8 && !far)
                continue;
            if (end != nullptr)
                replace_if(lowest == digit, *end, before);
            if ((number & digit) != 0)
                before = op_(before, Acc(shared_.totals[cell - 1 - (number & (digit - 1))]));
        }
        return before;
    }

    template <bool Whole, int Count>
    __device__ void load(int first, int count, Acc (&values)[Count])
    {
        if constexpr (!Whole)
#pragma unroll
            for (int c = 0; c < Count; ++c)
                values[c] = op_.template identity<Acc>();
        shared_.elements.template for_each<Whole, Count>(
            first, count, [&](int c, const element& from) { values[c] = convert<Acc>(from); });
    }

    // Whether the chunks of all lanes have 16 elements, or none, in one row of the window.
    __device__ static bool are_whole(const placed_chunk& mine)
    {
        const bool is_whole = mine.length == chunk_elements && mine.first % lanes <= lanes - chunk_elements;
        return __all_sync(all_lanes, is_whole || mine.length == 0 ? 1 : 0) != 0;
    }

private:
    // Writes where segments begin. Returns how many do.
    __device__ int write_heads(const head_window& window)
    {
        unsigned left = window.heads();
        const int mine = __popc(left);
        int end = mine;
#pragma unroll
        for (int step = 1; step < lanes; step *= 2) {
            const int before = __shfl_up_sync(all_lanes, end, static_cast<unsigned>(step));
            end += lane_id() >= step ? before : 0;
        }
        for (int to = end - mine; left != 0; left &= left - 1)
            shared_.heads[to++] = static_cast<std::uint16_t>(lane_id() * lanes + __ffs(static_cast<int>(left)) - 1);
        const int all = shuffle(end, lanes - 1);
        if (lane_id() == 0)
            shared_.heads[all] = static_cast<std::uint16_t>(window.length);
        return all;
    }

    __device__ Acc total_of_piece(const head_window& window)
    {
        return shared_.totals[(window.last + head_tile) / chunk_elements - 1];
    }

    // Blelloch's up-sweep (1990): chunk i of a segment gets the total of as many chunks, it and those before it, as the lowest digit
    // of i + 1 says. Those are neighbours, so that they come from other lanes, or from what this lane had in the round before.
    __device__ void total_of_chunks(const head_window& window)
    {
        Acc before_round = op_.template identity<Acc>();
        for (int first = 0; first * chunk_elements < window.length; first += lanes) {
            const placed_chunk mine = window.whole_chunk_of(first + lane_id());
            const bool straight = are_whole(mine);
            Acc total = op_.template identity<Acc>();
            if (mine.length != 0) {
                Acc values[chunk_elements];
                if (straight)
                    load<true>(mine.first, chunk_elements, values);
                else
                    load<false>(mine.first, chunk_elements, values);
                total = lane_total<chunk_elements>(values, op_);
            }
            if (__any_sync(all_lanes, mine.number % 2) != 0) {
#pragma unroll
                for (int step = 1; step < lanes; step *= 2) {
                    Acc sent = total;
                    replace_if(lane_id() >= lanes - step, sent, before_round);
                    const Acc before = shuffle(sent, (lane_id() - step) & (lanes - 1));
                    if ((mine.number + 1) % (2 * step) == 0)
                        total = op_(before, total);
                }
                if ((mine.number + 1) % (2 * lanes) == 0)
                    total = op_(before_round, total);
            }
            before_round = total;
            shared_.totals[first + lane_id()] = total;
        }
    }

    memory& shared_;
    Op op_;
};

// --- kernels ------------------------------------------------------------------------------------------------------------------

// Every GPU has so much shared memory for a block.
inline constexpr std::size_t most_of_head_window = std::size_t{46} << 10;

// As many warps of a block as lets most warps of a multiprocessor be resident, up to 24, each with its window in shared memory.
template <class Memory>
struct head_kernel_shape {
    static constexpr std::size_t most_bytes = std::size_t{220} << 10;
    static constexpr std::size_t of_warp = sizeof(Memory);
    static constexpr int warps = of_warp <= (std::size_t{14} << 10) ? 4 : of_warp <= (std::size_t{28} << 10) ? 2 : 1;
    static constexpr std::size_t shared_bytes = warps * of_warp;
    static constexpr int resident = static_cast<int>(most_bytes / (shared_bytes + 1024));
    static constexpr int blocks = resident * warps < 24 ? resident : 24 / warps;
};

// Asks for the elements of a tile that the warp takes next: the second-level cache has them when they are copied.
template <class Source>
__device__ void prefetch_tile([[maybe_unused]] const Source& from, [[maybe_unused]] std::uint64_t count)
{
    if constexpr (std::is_pointer_v<Source>) {
        constexpr int of_line = static_cast<int>(128 / sizeof(*from) > 0 ? 128 / sizeof(*from) : 1);
        for (int i = lane_id() * of_line; i < head_tile; i += lanes * of_line)
            if (static_cast<unsigned>(i) < count)
                prefetch_line(from + i);
    }
}

// Calls f(window, states of pieces) for the windows that fall to this warp; Counted: with the number of heads before them. Numbers in windows are those of elements of the array.
template <class Acc, bool Counted, class Source, class Op, class F>
__device__ void for_each_head_window(const Source& in, const head_places& where, piece_slots slots,
                                     const tile_state_memory& memory, const Op& op, F f)
{
    const head_places heads = where.in_kernel();
    const std::uint64_t count = heads.count();
    const std::uint64_t tiles = head_tiles(count);
    const warp_tasks tasks(memory);
    const piece_states<Acc, Op> pieces(memory, tasks.epoch(), slots, op);
    tile_bits_around next(heads, tasks.first(), Counted);
    tasks.for_each(tiles, [&](std::uint64_t tile) {
        head_window window(tile, next, count);
        const std::uint64_t next_tile = tile + tasks.warps();
        next = tile_bits_around(heads, next_tile, Counted);
        if (next_tile < tiles)
            prefetch_tile(in + (heads.first() + next_tile * head_tile), count - next_tile * head_tile);
        window.first += heads.first();
        if (window.length > 0)
            f(window, pieces);
    });
}

// Launches such a kernel for so many elements at most.
template <auto Kernel, class Memory, class Acc, class... Arguments>
void launch_over_heads(const cuda& target, std::string_view call, std::uint64_t elements, const Arguments&... arguments)
{
    using shape = head_kernel_shape<Memory>;
    constexpr int threads = shape::warps * lanes;
    const piece_slots slots{head_tiles(elements) + 1};
    const std::uint64_t blocks = resident_blocks<Kernel>(target, threads, shape::shared_bytes);
    const std::uint64_t useful = (head_tiles(elements) + shape::warps - 1) / shape::warps;
    launch(target, call, Kernel, static_cast<unsigned>(useful < blocks ? useful : blocks), threads, shape::shared_bytes,
           arguments..., slots, tile_states_of(target, slots.states(), sizeof(Acc)));
}

} // namespace upsweep::gpu
