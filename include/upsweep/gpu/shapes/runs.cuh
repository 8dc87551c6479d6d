// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/fold/scan.cuh>
#include <upsweep/gpu/shapes/few.cuh>
#include <upsweep/gpu/shapes/heads.cuh>
#include <upsweep/gpu/shapes/segments.cuh>
#include <upsweep/gpu/shapes/window.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/op.hpp>
#include <upsweep/verb/axis.hpp>
#include <upsweep/verb/by_key.hpp>

// Runs of equal keys. One kernel finds the heads of runs (heads.cuh). Another one, whose warps take a tile of keys at a time, writes what is
// asked of each run, or folds and scans the runs of tiles that have many short ones. The runs that are left are segments for segments.cuh.
namespace upsweep::gpu {

// Calls f with a value of the type of numbers of elements: as few bytes as do.
template <class F>
void with_index(std::uint64_t count, F f)
{
    if (count <= std::numeric_limits<std::uint32_t>::max())
        f(std::uint32_t{});
    else
        f(std::uint64_t{});
}

// --- tiles of heads -----------------------------------------------------------------------------------------------------------

// The heads of a tile, as a warp has them.
struct tile_heads {
    const std::uint16_t* places; // in the tile, in shared memory
    int count;
    std::uint64_t at;          // the number of the first one
    std::uint64_t tile;        // its number
    std::uint64_t last_before; // where the head before the first one is, if there is one
    int after;                 // where in the tile the last run ends, if that is not far behind it, or 0

    __device__ std::uint64_t place(int i) const { return tile * head_tile + places[i]; }
    // The number of elements of the run before head i.
    __device__ std::uint64_t length_before(int i) const
    {
        return i != 0 ? static_cast<std::uint64_t>(places[i] - places[i - 1]) : place(0) - last_before;
    }
    // How many of the runs are complete and have few elements: all of them, or all but the last one, or none if another one has many.
    __device__ int short_runs() const
    {
        int length = 0;
        for (int i = lane_id() + 1; i < count; i += lanes)
            length = places[i] - places[i - 1] > length ? places[i] - places[i - 1] : length;
#pragma unroll
        for (int k = 1; k < lanes; k *= 2) {
            const int theirs = shuffle_xor(length, k);
            length = theirs > length ? theirs : length;
        }
        if (length >= few)
            return 0;
        return after != 0 && after - places[count - 1] < few ? count : count - 1;
    }
};

// Calls f(i, number of result `at` + i) for `count` results, of which the lanes of a warp have those of whole lines of memory.
template <class Out, class F>
__device__ void for_each_result(const Out& out, std::uint64_t at, int count, F f)
{
    int before = 0; // places in the line before the first one
    if constexpr (has_words<1, Out>)
        before = static_cast<int>(reinterpret_cast<std::uintptr_t>(out + at) / sizeof(*out) % lanes);
#pragma unroll 2
    for (int i = lane_id() - before; i < count; i += lanes)
        if (i >= 0)
            f(i, at + static_cast<unsigned>(i));
}

// What a warp of the kernel has in shared memory: for `Output`, too.
template <class Output>
struct emit_memory {
    std::uint16_t places[head_tile + lanes]; // and where the last run ends
    typename Output::memory output;
};
struct no_memory {};

inline constexpr int emit_warps = 4; // of a block

// Writes the places of the heads of a tile, of which this lane has those of a word from number `to` on. Of many heads, the lanes take those
// of one word after the other, so that they do not meet in a bank.
__device__ inline void write_places(std::uint16_t* places, unsigned mine, int to, int all)
{
    if (all < head_tile / 8) {
        for (unsigned left = mine; left != 0; left &= left - 1)
            places[to++] = static_cast<std::uint16_t>(lane_id() * lanes + __ffs(static_cast<int>(left)) - 1);
        return;
    }
#pragma unroll 4
    for (int r = 0; r < lanes; ++r) {
        const unsigned word = shuffle(mine, r);
        const int first = shuffle(to, r);
        if ((word >> lane_id() & 1) != 0)
            places[first + __popc(word & ((1U << lane_id()) - 1))] = static_cast<std::uint16_t>(r * lanes + lane_id());
    }
}

// What has been found of a tile: the bits of this lane's keys and of the first ones of the next tile, and the heads of the tiles before.
template <class Index>
struct tile_bits {
    unsigned mine;
    unsigned after;
    run_heads<Index> before;

    __device__ tile_bits(const unsigned* bits, const run_heads<Index>* heads, std::uint64_t tile)
        : mine(bits[tile * lanes + static_cast<unsigned>(lane_id())]), after(bits[(tile + 1) * lanes]),
          before(heads[tile != 0 ? tile - 1 : 0])
    {
    }
};

// Output has
//
//     memory                                of a warp, in shared memory
//     take(keys, heads, memory)             the lanes of a warp call this together for each tile
//     end(heads of all, number of keys)     is called once
template <class Index, class Keys, class Output>
__global__ void __launch_bounds__(emit_warps* lanes, 8)
    emit_runs_kernel(Keys keys, std::uint64_t count, const unsigned* bits, const run_heads<Index>* heads, Output output)
{
    extern __shared__ __align__(16) uint4 dynamic[];
    auto& shared = reinterpret_cast<emit_memory<Output>*>(dynamic)[warp_id()];
    const std::uint64_t tiles = head_tiles(count);
    const std::uint64_t warps = std::uint64_t{gridDim.x} * emit_warps;
    std::uint64_t tile = blockIdx.x + static_cast<unsigned>(warp_id()) * std::uint64_t{gridDim.x};
    if (tile >= tiles)
        return;
    // What the next tile needs is on its way while one is written.
    tile_bits<Index> next(bits, heads, tile);
    for (; tile < tiles; tile += warps) {
        const tile_bits<Index> now = next;
        next = tile_bits<Index>(bits, heads, tile + warps < tiles ? tile + warps : tile);
        const unsigned mine = now.mine;
        const run_heads<Index> before = tile != 0 ? now.before : run_heads<Index>{0, 0};
        int end = __popc(mine);
#pragma unroll
        for (int step = 1; step < lanes; step *= 2) {
            const int others = __shfl_up_sync(all_lanes, end, static_cast<unsigned>(step));
            end += lane_id() >= step ? others : 0;
        }
        __syncwarp(); // others have read what is replaced
        write_places(shared.places, mine, end - __popc(mine), shuffle(end, lanes - 1));
        __syncwarp();
        const int all = shuffle(end, lanes - 1);
        const auto left = static_cast<int>(tile + 1 == tiles ? count - tile * head_tile : 0);
        const int after = left != 0 ? left : now.after != 0 ? head_tile + __ffs(static_cast<int>(now.after)) - 1 : 0;
        if (lane_id() == 0)
            shared.places[all] = static_cast<std::uint16_t>(after);
        __syncwarp();
        output.take(keys, tile_heads{shared.places, all, before.count, tile, before.last, after}, shared.output);
        if (tile + 1 == tiles && lane_id() == 0)
            output.end(heads[tile].count, heads[tile].last, count);
    }
}

// --- what is written of runs ------------------------------------------------------------------------------------------------

// The first key of each run, of as many as there is room for.
template <class Out>
struct write_keys {
    Out out;
    std::uint64_t room;

    template <class Keys>
    __device__ void write(const Keys& keys, const tile_heads& heads) const
    {
        using key = std::iter_value_t<Keys>;
        constexpr int at_once = sizeof(key) <= 8 ? 4 : 1;
        int before = 0; // as for for_each_result
        if constexpr (has_words<1, Out>)
            before = static_cast<int>(reinterpret_cast<std::uintptr_t>(out + heads.at) / sizeof(*out) % lanes);
        for (int first = lane_id() - before; first < heads.count; first += at_once * lanes) {
            lane_vector<key, 1> loaded[at_once];
#pragma unroll
            for (int r = 0; r < at_once; ++r) {
                const int i = first + r * lanes;
                if (i >= 0 && i < heads.count)
                    loaded[r] = gather_vector<1>(keys + heads.place(i));
            }
#pragma unroll
            for (int r = 0; r < at_once; ++r) {
                const int i = first + r * lanes;
                if (i >= 0 && i < heads.count && heads.at + static_cast<unsigned>(i) < room)
                    out[heads.at + static_cast<unsigned>(i)] = loaded[r][0];
            }
        }
    }
};
struct no_keys {
    template <class Keys>
    __device__ void write(const Keys&, const tile_heads&) const
    {
    }
};

// Keys and lengths. How long a run is the next head tells.
template <class KeysOut, class Lengths, class Runs>
struct write_lengths {
    using memory = no_memory;
    write_keys<KeysOut> keys_out;
    Lengths lengths;
    Runs* runs;

    template <class Keys>
    __device__ void take(const Keys& keys, const tile_heads& heads, memory&) const
    {
        keys_out.write(keys, heads);
        for_each_result(lengths, heads.at - 1, heads.count, [&](int i, std::uint64_t run) {
            if (run < keys_out.room) // before the first run there is none
                lengths[run] = static_cast<std::iter_value_t<Lengths>>(heads.length_before(i));
        });
    }
    __device__ void end(std::uint64_t all, std::uint64_t last, std::uint64_t elements) const
    {
        if (all <= keys_out.room)
            lengths[all - 1] = static_cast<std::iter_value_t<Lengths>>(elements - last);
        *runs = static_cast<Runs>(all);
    }
};

// Where runs begin, and behind them all the number of elements; how many there are, for the next kernel and for the caller; their keys;
// and how many heads lie before each tile.
template <class Offset, class KeysOut, class Runs>
struct write_offsets {
    using memory = no_memory;
    KeysOut keys_out;
    Offset* offsets;
    std::uint64_t* found; // at most `most`
    std::uint64_t* tiles;
    Runs* runs; // may be null
    std::uint64_t most;

    template <class Keys>
    __device__ void take(const Keys& keys, const tile_heads& heads, memory&) const
    {
        keys_out.write(keys, heads);
        write_all(heads);
    }
    __device__ void end(std::uint64_t all, std::uint64_t, std::uint64_t elements) const
    {
        offsets[all] = static_cast<Offset>(elements);
        tiles[head_tiles(elements)] = all;
        *found = all < most ? all : most;
        if (runs != nullptr)
            *runs = static_cast<Runs>(all);
    }
    __device__ void write_all(const tile_heads& heads) const
    {
        for_each_result(offsets, heads.at, heads.count,
                        [&](int i, std::uint64_t run) { offsets[run] = static_cast<Offset>(heads.place(i)); });
        if (lane_id() == 0)
            tiles[heads.tile] = heads.at;
    }
};

// The same, but where a tile has many heads and no long run, the runs that lie in it are folded there, by Fold, which has
//
//     fold(heads, how many of their runs, values in a window, what is to be added to places in the tile for those there)
//
// For the first head of such a tile, before which a run ends, and for the last one, whose run may be long, there are offsets. The tile is
// marked, and marked as done if nothing is left: the last run has been folded, and the one that began before has no pieces here.
inline constexpr std::uint64_t folded_tile = std::uint64_t{1} << 63;
inline constexpr std::uint64_t done_tile = std::uint64_t{1} << 62;
inline constexpr std::uint64_t closed_tile = std::uint64_t{1} << 61; // the last run has been folded
inline constexpr std::uint64_t heads_of_tile = closed_tile - 1;
inline constexpr int least_piece = 256; // elements of a piece of a run

template <class Offset, class KeysOut, class Runs, class Values, class Fold>
struct fold_short_runs : write_offsets<Offset, KeysOut, Runs> {
    using memory = window_memory<std::iter_value_t<Values>, head_tile + lanes>;
    static constexpr int least_heads = head_tile / 16;
    Values values;
    Fold folds;

    template <class Keys>
    __device__ void take(const Keys& keys, const tile_heads& heads, memory& window) const
    {
        const int runs = heads.count < least_heads ? 0 : heads.short_runs();
        if (runs == 0) {
            this->keys_out.write(keys, heads);
            return this->write_all(heads);
        }
        // What stands before the first head another warp may be replacing by results.
        const Values from = values + heads.place(0);
        const int place = place_in_vector(from);
        const int first = place - heads.places[0];
        fill_window(window, from, place, heads.places[runs] - heads.places[0]);
        this->keys_out.write(keys, heads);
        folds.fold(heads, runs, window, first);
        if (lane_id() == 0) {
            const bool is_done = runs == heads.count && (heads.at == 0 || heads.length_before(0) < least_piece);
            this->offsets[heads.at] = static_cast<Offset>(heads.place(0));
            this->offsets[heads.at + static_cast<unsigned>(heads.count - 1)] =
                static_cast<Offset>(heads.place(heads.count - 1));
            this->tiles[heads.tile] =
                heads.at | folded_tile | (is_done ? done_tile : 0) | (runs == heads.count ? closed_tile : 0);
        }
    }
};

// A lane folds a run.
template <class Acc, class Out, class Op, class Finish>
struct fold_run_of_lane {
    Out out;
    std::uint64_t room;
    Op op;
    Finish finish;

    template <class Window>
    __device__ void fold(const tile_heads& heads, int runs, Window& values, int first) const
    {
        for_each_result(out, heads.at, runs, [&](int i, std::uint64_t run) {
            if (run < room)
                finish(fold_few(
                           op.template identity<Acc>(), [&](int j) { return convert<Acc>(values[j]); },
                           first + heads.places[i], heads.places[i + 1] - heads.places[i], op),
                       out[run]);
        });
    }
};

// A lane scans a run in its place, and all of them write the results.
template <scan_kind Kind, class Acc, class Out, class Op>
struct scan_run_of_lane {
    using result = std::iter_value_t<Out>;
    Out out;
    Op op;
    scan_start<Acc> start;

    template <class Window>
    __device__ void fold(const tile_heads& heads, int runs, Window& values, int first) const
    {
        auto& results = reinterpret_cast<window_memory<result, head_tile + lanes>&>(values);
        static_assert(sizeof(results) == sizeof(values));
        for (int i = lane_id(); i < runs; i += lanes) {
            const int begin = first + heads.places[i];
            const auto put = [&](int j, const Acc& before, const Acc& with) {
                results[j] = scan_result<result, Kind>(start, before, with, j == begin, op);
            };
            scan_few(
                op.template identity<Acc>(), [&](int j) { return convert<Acc>(values[j]); }, put, begin,
                heads.places[i + 1] - heads.places[i], op);
        }
        const int begin = heads.places[0];
        empty_window(results, out + heads.place(0), first + begin, heads.places[runs] - begin);
    }
};

// --- runs as segments ---------------------------------------------------------------------------------------------------------

// The runs that have been found, but for those that have been folded. A task is a tile of keys: the runs that begin in it, and the pieces
// of the one that began before.
template <class Offset>
struct found_runs {
    static constexpr bool are_equal = false;
    static constexpr bool are_found = true;
    static constexpr int own_work = 0;
    const Offset* offsets;
    const std::uint64_t* found;
    const std::uint64_t* tiles;
    std::uint64_t all_tiles;
    std::uint64_t count; // at most

    // A task is a tile, or some where no piece waits for the one before it, no more than a warp has lanes. Pieces are as large as they can be:
    // one that is not the first of its task would wait for another one there.
    task_size fitted(const task_size& size, std::uint64_t largest_piece) const
    {
        const std::uint64_t few_tasks = size.work > size.piece ? all_tiles / 16384 + 1 : 1;
        const std::uint64_t of_task = few_tasks < lanes ? few_tasks : lanes;
        return {of_task * head_tile, largest_piece < head_tile ? largest_piece : head_tile};
    }
    __device__ found_runs in_kernel() const { return {offsets, found, tiles, all_tiles, *found}; }
    __device__ std::uint64_t begin(std::uint64_t run) const { return static_cast<std::uint64_t>(offsets[run]); }
    __device__ std::uint64_t work_before(std::uint64_t run) const { return begin(run); }
    __device__ static std::uint64_t work_at(std::uint64_t, std::uint64_t elements) { return elements; }
    __device__ std::uint64_t tasks(const task_size& size) const
    {
        const std::uint64_t of_task = size.work / head_tile;
        return (all_tiles + of_task - 1) / of_task;
    }
    // Whether anything is left of a task of one tile.
    __device__ bool is_left(std::uint64_t number) const { return (tiles[number] & done_tile) == 0; }
    // Calls f(part) for what is left of the tiles of a task: neighbours of which nothing has been folded are one part.
    template <class F>
    __device__ void for_each_part(std::uint64_t number, const task_size& size, F f) const
    {
        const std::uint64_t first = number * (size.work / head_tile);
        const std::uint64_t mine = first + static_cast<unsigned>(lane_id());
        const bool exists = static_cast<unsigned>(lane_id()) < size.work / head_tile && mine < all_tiles;
        const std::uint64_t of_tile = tiles[exists ? mine : first];
        unsigned left = __ballot_sync(all_lanes, exists && (of_tile & done_tile) == 0 ? 1 : 0);
        const unsigned folded = __ballot_sync(all_lanes, (of_tile & folded_tile) != 0 ? 1 : 0);
        while (left != 0) {
            const int lane = __ffs(static_cast<int>(left)) - 1;
            int end = lane + 1;
            if ((folded >> lane & 1) == 0)
                while (end < lanes && ((left & ~folded) >> end & 1) != 0)
                    ++end;
            left &= end < lanes ? ~0U << end : 0U;
            f(part(first + static_cast<unsigned>(lane), first + static_cast<unsigned>(end), shuffle(of_tile, lane),
                   size));
        }
    }

private:
    __device__ segment_task part(std::uint64_t tile, std::uint64_t end, std::uint64_t of_tile,
                                 const task_size& size) const
    {
        const std::uint64_t before = of_tile & heads_of_tile; // runs that began before
        segment_task task{before, end * head_tile, 0, before - 1};
        if ((of_tile & folded_tile) != 0)
            task.first = (of_tile & closed_tile) != 0 ? count : (tiles[tile + 1] & heads_of_tile) - 1;
        if (before != 0 && before <= count) {
            const std::uint64_t next = (tile * head_tile - begin(before - 1) + size.piece - 1) / size.piece;
            if (begin(before - 1) + next * size.piece < begin(before))
                task.piece = next;
        }
        return task;
    }
};

// What is known of runs, in memory of the target.
template <class Offset>
struct runs_memory {
    std::uint64_t* found;
    std::uint64_t* tiles;
    run_heads<Offset>* heads;
    unsigned* bits;
    Offset* offsets;

    runs_memory(const cuda& target, std::uint64_t count, bool has_offsets)
    {
        const std::uint64_t all = head_tiles(count);
        const std::size_t tile_bytes =
            (all + 2) * (sizeof(*tiles) + sizeof(*heads)) + (all + 1) * lanes * sizeof(*bits);
        auto* const memory = static_cast<std::byte*>(target.workspace().memory(
            workspace_purpose::offsets, tile_bytes + (has_offsets ? (count + 1) * sizeof(Offset) : 0)));
        found = reinterpret_cast<std::uint64_t*>(memory);
        tiles = found + 1;
        heads = reinterpret_cast<run_heads<Offset>*>(found + all + 2);
        bits = reinterpret_cast<unsigned*>(heads + all + 2);
        offsets = reinterpret_cast<Offset*>(memory + tile_bytes);
    }
};

// Tells `output` of the heads of the runs of keys. There is one at least.
template <class Offset, class Keys, class Output>
void find_runs(const cuda& target, std::string_view call, const Keys& keys, std::uint64_t count,
               const runs_memory<Offset>& memory, const Output& output)
{
    const std::uint64_t tiles = head_tiles(count);
    constexpr auto finder = find_heads_kernel<Offset, Keys>;
    constexpr int threads = 256;
    const std::uint64_t finders = resident_blocks<finder>(target, threads, 0); // a second wave would be nearly empty
    const std::uint64_t busy = (tiles + threads / lanes - 1) / (threads / lanes);
    launch(target, call, finder, grid_shape{static_cast<unsigned>(busy < finders ? busy : finders), threads, 0}, keys,
           count, memory.bits, memory.heads);
    detail::engine<cuda, detail::verb::scan>::template scan<scan_kind::inclusive, run_heads<Offset>>(
        target, memory.heads, memory.heads, tiles, join_heads{}, static_cast<const run_heads<Offset>*>(nullptr));
    constexpr std::size_t shared_bytes = emit_warps * sizeof(emit_memory<Output>);
    constexpr auto kernel = emit_runs_kernel<Offset, Keys, Output>;
    const std::uint64_t useful = (tiles + emit_warps - 1) / emit_warps;
    const std::uint64_t blocks = resident_blocks<kernel>(target, emit_warps * lanes, shared_bytes);
    launch<kernel>(
        target, call,
        grid_shape{static_cast<unsigned>(useful < blocks ? useful : blocks), emit_warps * lanes, shared_bytes}, keys,
        count, memory.bits, memory.heads, output);
}

// Whether runs are folded where they are found: a window of values for each warp must fit into shared memory.
template <class Value>
inline constexpr bool folds_short_runs = sizeof(Value) <= 8;

// Finds the runs of keys, of which `fold` folds some where `FoldsShort` says so, and calls f with the others as segments, of which there
// are at most so many.
template <bool FoldsShort, class KeysOut, class Keys, class Values, class Runs, class Fold, class F>
void with_runs_as_segments(const cuda& target, std::string_view call, const Keys& keys, const Values& values,
                           std::uint64_t count, const KeysOut& keys_out, Runs* runs, std::uint64_t most,
                           const Fold& fold, F f)
{
    with_index(count, [&]<class Offset>(Offset) {
        const runs_memory<Offset> memory(target, count, true);
        using offsets_t = write_offsets<Offset, KeysOut, Runs>;
        const offsets_t written{keys_out, memory.offsets, memory.found, memory.tiles, runs, most};
        if constexpr (FoldsShort)
            find_runs(target, call, keys, count, memory,
                      fold_short_runs<Offset, KeysOut, Runs, Values, Fold>{written, values, fold});
        else
            find_runs(target, call, keys, count, memory, written);
        f(found_runs<Offset>{memory.offsets, memory.found, memory.tiles, head_tiles(count),
                             count < most ? count : most});
    });
}

// --- decode -------------------------------------------------------------------------------------------------------------------

// Writes value k to the places from the end of run k - 1 to before its own, of at most `room`. A warp writes a tile of places at a
// time; 32 runs at a time its lanes know the ends of.
template <class Values, class Out>
__global__ void __launch_bounds__(256)
    decode_runs_kernel(Values values, const std::uint64_t* ends, std::uint64_t runs, Out out, std::uint64_t room)
{
    constexpr std::uint64_t tile = 1024;
    const std::uint64_t all = ends[runs - 1] < room ? ends[runs - 1] : room;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / lanes);
    for (std::uint64_t first = (blockIdx.x + static_cast<unsigned>(warp_id()) * std::uint64_t{gridDim.x}) * tile;
         first < all; first += warps * tile) {
        // The first one that ends behind `first`.
        std::uint64_t run = partition_point_of_warp(runs, [&](std::uint64_t k) { return ends[k] <= first; });
        const std::uint64_t end = first + tile < all ? first + tile : all;
        for (std::uint64_t at = first; at < end; run += lanes) {
            const std::uint64_t mine = run + static_cast<unsigned>(lane_id());
            const std::uint64_t my_end = mine < runs ? ends[mine] : all;
            const auto behind = static_cast<int>(my_end - first < tile ? my_end - first : tile);
            const int stop = static_cast<int>(shuffle(behind, lanes - 1) < static_cast<int>(end - first)
                                                  ? shuffle(behind, lanes - 1)
                                                  : static_cast<int>(end - first));
            for (int i = static_cast<int>(at - first); i < stop; i += lanes) {
                const int owner = lane_before_end(behind, i + lane_id());
                if (i + lane_id() < stop)
                    out[first + static_cast<unsigned>(i + lane_id())] = values[run + static_cast<unsigned>(owner)];
            }
            at = first + static_cast<unsigned>(stop);
        }
    }
}

} // namespace upsweep::gpu

namespace upsweep::detail {

// The calls do not wait for the GPU, so that they cannot refuse what only the GPU finds: of more runs than there is room for, those are
// written for which there is, and the caller sees how many there are.
template <>
struct engine<cuda, verb::runs> {
    template <class In, class Values, class Lengths, class Runs>
    static void encode(const cuda& target, In in, std::size_t count, Values values, Lengths lengths, std::size_t room,
                       Runs* runs)
    {
        constexpr auto call = "run_length_encode";
        const gpu::current_device current(target.device());
        gpu::check_pointer(target, call, runs);
        if (count == 0)
            return gpu::check(call, cudaMemsetAsync(runs, 0, sizeof(Runs), target.stream()));
        const auto values_out = gpu::source_of(values);
        const auto lengths_out = gpu::source_of(lengths);
        gpu::check_place(target, call, values_out, room);
        gpu::check_place(target, call, lengths_out, room);
        gpu::with_source(in, [&](const auto& keys) {
            gpu::check_place(target, call, keys, count);
            gpu::with_index(count, [&]<class Index>(Index) {
                gpu::find_runs(target, call, keys, count, gpu::runs_memory<Index>(target, count, false),
                               gpu::write_lengths<std::remove_const_t<decltype(values_out)>,
                                                  std::remove_const_t<decltype(lengths_out)>, Runs>{
                                   {values_out, room}, lengths_out, runs});
            });
        });
    }

    template <class Values, class Lengths, class Out>
    static void decode(const cuda& target, Values values, Lengths lengths, std::size_t runs, Out out, std::size_t room)
    {
        constexpr auto call = "run_length_decode";
        const gpu::current_device current(target.device());
        if (runs == 0 || room == 0)
            return;
        const auto from = gpu::source_of(values);
        const auto to = gpu::source_of(out);
        gpu::check_place(target, call, from, runs);
        gpu::check_place(target, call, to, room);
        auto* const ends = static_cast<std::uint64_t*>(
            target.workspace().memory(gpu::workspace_purpose::offsets, runs * sizeof(std::uint64_t)));
        engine<cuda, verb::scan>::template scan<scan_kind::inclusive, std::uint64_t>(
            target, lengths, ends, runs, plus{}, static_cast<const std::uint64_t*>(nullptr));
        constexpr int threads = 256;
        gpu::launch(target, call, gpu::decode_runs_kernel<decltype(from), decltype(to)>,
                    gpu::grid_shape{gpu::some_blocks(target, (room + 8191) / 8192), threads, 0}, from, ends, runs, to,
                    room);
    }

    template <class Acc, class Keys, class Values, class KeysOut, class Totals, class Runs, class Op>
    static void reduce(const cuda& target, Keys keys, Values values, std::size_t count, KeysOut keys_out, Totals totals,
                       std::size_t room, Runs* runs, const Op& op)
    {
        constexpr auto call = "reduce_by_key";
        const gpu::current_device current(target.device());
        gpu::check_pointer(target, call, runs);
        if (count == 0)
            return gpu::check(call, cudaMemsetAsync(runs, 0, sizeof(Runs), target.stream()));
        const auto keys_in = gpu::source_of(keys);
        const auto values_in = gpu::source_of(values);
        const auto to = gpu::source_of(keys_out);
        const auto totals_out = gpu::source_of(totals);
        gpu::check_place(target, call, keys_in, count);
        gpu::check_place(target, call, values_in, count);
        gpu::check_place(target, call, to, room);
        gpu::check_place(target, call, totals_out, room);
        using value = std::iter_value_t<decltype(values_in)>;
        using keys_out_t = gpu::write_keys<std::remove_const_t<decltype(to)>>;
        using fold_t = gpu::fold_run_of_lane<Acc, std::remove_const_t<decltype(totals_out)>, Op, as_results_of<Op>>;
        gpu::with_runs_as_segments<gpu::folds_short_runs<value>>(
            target, call, keys_in, values_in, count, keys_out_t{to, room}, runs, room,
            fold_t{totals_out, room, op, as_results_of<Op>{}}, [&](const auto& segments) {
                gpu::reduce_segments<Acc>(target, values_in, count, segments, totals_out, op, as_results_of<Op>{});
            });
    }

    template <scan_kind Kind, class Acc, class Keys, class Values, class Out, class Op>
    static void scan(const cuda& target, Keys keys, Values values, std::size_t count, Out out, const Op& op,
                     const Acc* init)
    {
        constexpr auto call = "scan_by_key";
        const gpu::current_device current(target.device());
        if (count == 0)
            return;
        const auto keys_in = gpu::source_of(keys);
        const auto values_in = gpu::source_of(values);
        const auto to = gpu::source_of(out);
        gpu::check_place(target, call, keys_in, count);
        gpu::check_place(target, call, values_in, count);
        gpu::check_place(target, call, to, count);
        using value = std::iter_value_t<decltype(values_in)>;
        constexpr bool folds_short =
            gpu::folds_short_runs<value> && sizeof(value) == sizeof(std::iter_value_t<decltype(to)>);
        using fold_t = gpu::scan_run_of_lane<Kind, Acc, std::remove_const_t<decltype(to)>, Op>;
        gpu::with_runs_as_segments<folds_short>(
            target, call, keys_in, values_in, count, gpu::no_keys{}, static_cast<std::uint64_t*>(nullptr), count,
            fold_t{to, op, gpu::start_of_scan(op, init)}, [&](const auto& segments) {
                gpu::scan_segments<Kind, Acc>(target, values_in, count, segments, to, op, init);
            });
    }
};

} // namespace upsweep::detail
