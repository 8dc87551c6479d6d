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
    static constexpr int places = 2 * head_tile + lanes;

    raw_array<T, places + places / lanes> elements;

    __device__ static int place(int i) { return i + i / lanes; }
    __device__ T& operator[](int i) { return elements[place(i)]; }

    // Calls f(c, element i + c) for Count elements. Straight: all of them are in one row of 32.
    template <bool Straight, int Count, class F>
    __device__ void for_each(int i, F f)
    {
        T* const near = &elements[place(i)];
        T* const far = near + 1;
        const int left = lanes - i % lanes; // in the row
#pragma unroll
        for (int c = 0; c < Count; ++c)
            f(c, (Straight || c < left ? near : far)[c]);
    }
};

// Calls f(element i of an array, element first + i of a window) for `count` elements, of which the lanes of a warp have those of whole lines of
// memory. `first` is a multiple of 32.
template <class Array, class T, class F>
__device__ void for_each_in_lines(const Array& array, head_window_memory<T>& window, int first, int count, F f)
{
    constexpr int at_once = 8; // lines, without a comparison
    const int before = place_in_line(array);
    int left = count - (lane_id() - before); // to the end, from this lane's element on
    Array at = array + (lane_id() - before);
    T* place = &window.elements[window.place(first + lane_id() + lanes - before) - (lanes + 1)];
    const auto one = [&](bool exists) {
        if (exists)
            f(at, *place);
        left -= lanes;
        at = at + lanes;
        place += lanes + 1;
    };
    one(left > 0 && lane_id() >= before);
#pragma unroll 1
    for (int whole = count - (lanes - before); whole >= at_once * lanes; whole -= at_once * lanes) {
#pragma unroll
        for (int r = 0; r < at_once; ++r)
            f(at + r * lanes, place[r * (lanes + 1)]);
        left -= at_once * lanes;
        at = at + at_once * lanes;
        place += at_once * (lanes + 1);
    }
    if (__any_sync(all_lanes, left > 0 ? 1 : 0) != 0) {
#pragma unroll
        for (int r = 0; r < at_once; ++r)
            if (left > r * lanes)
                f(at + r * lanes, place[r * (lanes + 1)]);
    }
}

// Copies `count` elements from `from` on into a window, to element `first` and those behind it. The lanes of a warp call this together, and all of
// them may read them afterwards.
template <class Source, class T>
__device__ void fill(head_window_memory<T>& window, int first, const Source& from, int count)
{
    constexpr bool is_copied = std::is_pointer_v<Source> && (sizeof(T) == 4 || sizeof(T) == 8);
    __syncwarp(); // others have read what is replaced
    if constexpr (is_copied) {
        if (reinterpret_cast<std::uintptr_t>(from) % sizeof(T) == 0) {
            for_each_in_lines(from, window, first, count,
                              [](const T* at, T& place) { __pipeline_memcpy_async(&place, at, sizeof(T)); });
            __pipeline_commit();
            __pipeline_wait_prior(0);
            __syncwarp();
            return;
        }
    }
    constexpr int rows = 4; // that are on their way
#pragma unroll 1
    for (int row = 0; row < count; row += rows * lanes) {
        lane_vector<T, 1> loaded[rows];
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const int i = row + r * lanes + lane_id();
            loaded[r] = gather_vector<1>(from + (i < count ? i : count - 1));
        }
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const int i = row + r * lanes + lane_id();
            if (i < count)
                window[first + i] = loaded[r][0];
        }
    }
    __syncwarp();
}

// Writes `count` elements of a window from element `first` on, after all lanes have written them.
template <class Out, class T>
__device__ void empty(head_window_memory<T>& window, int first, const Out& to, int count)
{
    __syncwarp();
    for_each_in_lines(to, window, first, count, [](const Out& at, const T& place) { at[0] = place; });
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
        if constexpr (std::is_arithmetic_v<element>) { // behind the last one there is something, which nobody uses
            __syncwarp();                              // others have read what is replaced
            if (lane_id() < chunk_elements)
                shared_.elements[window.length + lane_id()] = element{};
        }
        fill(shared_.elements, 0, from, window.length);
        const int heads = write_heads(window);
        total_of_chunks(window);
        __syncwarp();
        if (window.is_whole) {
            const std::uint64_t base = window.begin_of_last();
            pieces.publish(base, window.tile - base, total_of_piece(window));
        }
        return heads;
    }

    // A window that is one whole piece has two chunks for each lane, one behind the other.
    struct piece {
        Acc half; // the total of the first one
        warp_tree<Acc> tree;
    };
    // Fills it, from element `first` of the memory on, and publishes its total.
    __device__ piece fold_piece(int first, const Source& from, std::uint64_t base, std::uint64_t number,
                                const states& pieces)
    {
        fill(shared_.elements, first, from, head_tile);
        Acc totals[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            Acc values[chunk_elements];
            load<true>(first + (2 * lane_id() + half) * chunk_elements, chunk_elements, values);
            totals[half] = lane_total<chunk_elements>(values, op_);
        }
        const piece folded{totals[0], warp_tree<Acc>(op_(totals[0], totals[1]), op_)};
        pieces.publish(base, number, folded.tree.total);
        return folded;
    }

    // Joins that piece with others where it is the last one of 32, and so on. That waits for them.
    __device__ void join(const head_window& window, const states& pieces)
    {
        const std::uint64_t base = window.begin_of_last();
        if (window.is_whole)
            pieces.join(base, window.tile - base);
    }

    // The fold of the elements of the segment that enters the window which come before. It waits for the pieces before.
    __device__ Acc fold_before(const head_window& window, const states& pieces)
    {
        return pieces.fold(window.entered, window.tile - window.entered, op_.template identity<Acc>());
    }
    // The same, and for a window that is a piece, of so much in total, in `after` the fold up to its end.
    __device__ Acc fold_before(const head_window& window, const states& pieces, const Acc& total, Acc& after)
    {
        return pieces.fold(window.entered, window.tile - window.entered, op_.template identity<Acc>(),
                           window.is_piece(), total, after);
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

    // Elements of a chunk. Behind its end, the library's operators may get anything, which changes no fold that is used, and others
    // the identity.
    template <bool Whole, int Count>
    __device__ void load(int first, int count, Acc (&values)[Count])
    {
        shared_.elements.template for_each<Whole, Count>(first, [&](int c, const element& from) {
            if constexpr (Whole || (detail::is_builtin<Op> && std::is_arithmetic_v<element>)) {
                values[c] = convert<Acc>(from);
            } else {
                values[c] = op_.template identity<Acc>();
                if (c < count)
                    values[c] = convert<Acc>(from);
            }
        });
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
        const int all = write_places(shared_.heads, window.heads());
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

// Between two looks at what others have not published yet a warp waits for so many nanoseconds, which leaves the second-level cache to them.
inline constexpr unsigned pause_of_looks = 100;

// Asks for elements: the second-level cache has them when they are read.
template <class Source>
__device__ void prefetch_elements([[maybe_unused]] const Source& from, [[maybe_unused]] int count)
{
    if constexpr (std::is_pointer_v<Source>) {
        constexpr int of_line = static_cast<int>(128 / sizeof(*from) > 0 ? 128 / sizeof(*from) : 1);
        for (int i = lane_id() * of_line; i < count; i += lanes * of_line)
            prefetch_line(from + i);
    }
}

// Deals with the windows that fall to this warp:
//
//     begin(window, states of pieces)     does what others wait for
//     wait(window, states of pieces)      waits for others
//     finish(window)                      does the rest
//
// Numbers in windows are those of elements of the array.
template <class Acc, class Source, class Op, class Begin, class Wait, class Finish>
__device__ void for_each_head_window(const Source& in, const head_places& where, piece_slots slots,
                                     const tile_state_memory& memory, const Op& op, Begin begin, Wait wait,
                                     Finish finish)
{
    const head_places heads = where.in_kernel();
    const std::uint64_t count = heads.count();
    const std::uint64_t tiles = head_tiles(count);
    const warp_tasks tasks(memory);
    const piece_states<Acc, Op> pieces(memory, tasks.epoch(), slots, op, pause_of_looks);
    // The bits of the next tile are on their way while a window is finished, and elements on their way to the second-level cache.
    tile_bits_around bits(heads, tasks.first());
    tasks.for_each_by_late_ticket(tiles, [&](std::uint64_t tile, auto draw) {
        head_window window;
        if (tile < tiles) {
            window = head_window(tile, bits, heads.before(tile, bits.before, false), count);
            window.first += heads.first();
        }
        begin(window, pieces);
        wait(window, pieces);
        const std::uint64_t next = draw();
        bits = tile_bits_around(heads, next);
        if (next < tiles)
            prefetch_elements(in + (heads.first() + next * head_tile), elements_of_tile(next, count));
        finish(window);
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
