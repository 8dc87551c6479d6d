// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/fold/line_start.cuh>
#include <upsweep/gpu/fold/scan.cuh>
#include <upsweep/gpu/shapes/fold_heads.cuh>
#include <upsweep/gpu/shapes/found_runs.cuh>
#include <upsweep/gpu/shapes/head_window.cuh>
#include <upsweep/gpu/shapes/heads.cuh>
#include <upsweep/gpu/shapes/scan_heads.cuh>
#include <upsweep/gpu/shapes/segments.cuh>
#include <upsweep/gpu/shapes/select.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/op.hpp>
#include <upsweep/verb/axis.hpp>
#include <upsweep/verb/by_key.hpp>

// Runs of equal keys. One kernel finds the heads of runs (heads.cuh). Another one, whose warps take a tile of keys at a time, writes the keys
// and lengths of runs; narrow keys, and few, take one pass in its place, as a selection of those that differ from the one before (select.cuh).
// Folds and scans of values find the heads themselves (head_look_back.cuh), in one kernel, unless values are so large that their windows would not
// fit into shared memory: those runs become segments for segments.cuh.
namespace upsweep::gpu {

// --- tiles of heads -----------------------------------------------------------------------------------------------------------

// The heads of a tile, as a warp has them.
struct tile_heads {
    const std::uint16_t* places; // in the tile, in shared memory
    int count;
    std::uint64_t at;          // the number of the first one
    std::uint64_t tile;        // its number
    std::uint64_t last_before; // where the head before the first one is, if there is one

    __device__ std::uint64_t place(int i) const { return tile * head_tile + places[i]; }
    // The number of elements of the run before head i.
    __device__ std::uint64_t length_before(int i) const
    {
        return i != 0 ? static_cast<std::uint64_t>(places[i] - places[i - 1]) : place(0) - last_before;
    }
};

// Calls f(i, number of result `at` + i) for `count` results, of which the lanes of a warp have those of whole lines of memory.
template <class Out, class F>
__device__ void for_each_result(const Out& out, std::uint64_t at, int count, F f)
{
#pragma unroll 2
    for (int i = lane_id() - place_in_line(out + at); i < count; i += lanes)
        if (i >= 0)
            f(i, at + static_cast<unsigned>(i));
}

inline constexpr int emit_warps = 4; // of a block

// Output has
//
//     take(keys, heads)                     the lanes of a warp call this together for each tile
//     end(heads of all, number of keys)     is called once
template <class Keys, class Output>
__global__ void __launch_bounds__(emit_warps* lanes, 8) emit_runs_kernel(Keys keys, head_places heads, Output output)
{
    __shared__ std::uint16_t of_warps[emit_warps][head_tile];
    std::uint16_t* const places = of_warps[warp_id()];
    const std::uint64_t tiles = head_tiles(heads.count());
    const std::uint64_t tile = warp_in_grid();
    if (tile >= tiles)
        return;
    const run_heads<std::uint64_t> before = heads.before(tile, true);
    const int count = write_places(places, heads.bits_of(tile));
    __syncwarp();
    const tile_heads here{places, count, before.count, tile, before.last};
    output.take(keys, here);
    if (tile + 1 == tiles && lane_id() == 0)
        output.end(before.count + static_cast<unsigned>(count), count != 0 ? here.place(count - 1) : before.last,
                   heads.count());
}

// Up to so many keys of any size are encoded in one pass. Of more the bytes matter: in one pass 2^28 keys of 4 bytes take a quarter less in runs of
// 1 to 8, and an eighth more in runs of thousands, since its blocks wait for one another in each step.
inline constexpr std::uint64_t few_keys = std::uint64_t{1} << 17;

// --- what is written of runs ------------------------------------------------------------------------------------------------

// The first key of each run, of as many as there is room for.
template <class Out>
struct write_keys {
    Out out;
    std::uint64_t room;

    template <class Keys>
    __device__ void write(const Keys& keys, const tile_heads& heads) const
    {
        write_keys_at(keys + heads.tile * head_tile, heads.places, heads.count, out, heads.at, room);
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
    write_keys<KeysOut> keys_out;
    Lengths lengths;
    Runs* runs;

    template <class Keys>
    __device__ void take(const Keys& keys, const tile_heads& heads) const
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
    KeysOut keys_out;
    Offset* offsets;
    std::uint64_t* found; // at most `most`
    std::uint64_t* tiles;
    Runs* runs; // may be null
    std::uint64_t most;

    template <class Keys>
    __device__ void take(const Keys& keys, const tile_heads& heads) const
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

// --- runs as segments ---------------------------------------------------------------------------------------------------------

// What is known of runs, in memory of the target.
template <class Offset>
struct runs_memory {
    heads_memory<Offset> heads;
    std::uint64_t* found;
    std::uint64_t* tiles;
    Offset* offsets;

    runs_memory(const cuda& target, std::uint64_t count, bool has_offsets)
        : runs_memory(count, static_cast<std::byte*>(target.workspace().memory(
                                 workspace_purpose::offsets,
                                 offsets_from(count) + (has_offsets ? (count + 1) * sizeof(Offset) : 0))))
    {
    }

private:
    runs_memory(std::uint64_t count, std::byte* first)
        : heads(first, count), found(reinterpret_cast<std::uint64_t*>(first + heads.bytes(count))), tiles(found + 1),
          offsets(reinterpret_cast<Offset*>(first + offsets_from(count)))
    {
    }
    static std::size_t offsets_from(std::uint64_t count)
    {
        return heads_memory<Offset>::bytes(count) + (head_tiles(count) + 2) * sizeof(std::uint64_t);
    }
};

// Finds the heads of the runs of keys, and those before each tile, if there are many tiles. There is one head at least.
template <class Index, class Keys>
head_places find_heads_of_runs(const cuda& target, std::string_view call, const Keys& keys, std::uint64_t count,
                               const heads_memory<Index>& memory)
{
    find_heads(target, call, keys, count, memory);
    const bool are_joined = head_tiles(count) > few_head_tiles;
    if (are_joined)
        scan_tiles_of_heads(target, memory, count);
    return {memory, count, are_joined};
}

// Tells `output` of the heads of the runs of keys.
template <class Offset, class Keys, class Output>
void find_runs(const cuda& target, std::string_view call, const Keys& keys, std::uint64_t count,
               const runs_memory<Offset>& memory, const Output& output)
{
    const head_places heads = find_heads_of_runs(target, call, keys, count, memory.heads);
    launch(target, call, emit_runs_kernel<Keys, Output>, grid_of_warps(head_tiles(count), emit_warps * lanes), keys,
           heads, output);
}

// Finds the runs of keys and calls f with them as segments, of which there are at most so many.
template <class KeysOut, class Keys, class Runs, class F>
void with_runs_as_segments(const cuda& target, std::string_view call, const Keys& keys, std::uint64_t count,
                           const KeysOut& keys_out, Runs* runs, std::uint64_t most, F f)
{
    with_index(count, [&]<class Offset>(Offset) {
        const runs_memory<Offset> memory(target, count, true);
        find_runs(
            target, call, keys, count, memory,
            write_offsets<Offset, KeysOut, Runs>{keys_out, memory.offsets, memory.found, memory.tiles, runs, most});
        f(found_runs<Offset>{memory.offsets, memory.found, memory.tiles, head_tiles(count),
                             count < most ? count : most});
    });
}

// --- decode -------------------------------------------------------------------------------------------------------------------

inline constexpr std::uint64_t decoded_tile = 1024;

// Writes value k to the places from the end of run k - 1 to before its own, of at most `room`. Each warp writes a tile of places;
// 32 runs at a time its lanes know the ends of.
template <class Values, class Out>
__global__ void __launch_bounds__(256)
    decode_runs_kernel(Values values, const std::uint64_t* ends, std::uint64_t runs, Out out, std::uint64_t room)
{
    constexpr std::uint64_t tile = decoded_tile;
    const std::uint64_t all = ends[runs - 1] < room ? ends[runs - 1] : room;
    const std::uint64_t first = warp_in_grid() * tile;
    if (first >= all)
        return;
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
        using keys_out = gpu::selection_output<std::remove_const_t<decltype(values_out)>>;
        using lengths_of_runs = gpu::run_lengths<std::remove_const_t<decltype(lengths_out)>>;
        using keys_and_lengths = gpu::write_lengths<std::remove_const_t<decltype(values_out)>,
                                                    std::remove_const_t<decltype(lengths_out)>, Runs>;
        gpu::with_source(in, [&](const auto& keys) {
            gpu::check_place(target, call, keys, count);
            using key = std::iter_value_t<decltype(keys)>;
            if constexpr (sizeof(key) <= 16)
                if (sizeof(key) <= 2 || count <= gpu::few_keys)
                    return gpu::select(target, call, keys, gpu::head_flags<key>{}, count, keys_out{values_out, room},
                                       gpu::no_selection_output{}, runs, lengths_of_runs{lengths_out, room});
            if constexpr (sizeof(key) > 2)
                gpu::with_index(count, [&]<class Index>(Index) {
                    gpu::find_runs(target, call, keys, count, gpu::runs_memory<Index>(target, count, false),
                                   keys_and_lengths{{values_out, room}, lengths_out, runs});
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
        gpu::launch(target, call, gpu::decode_runs_kernel<decltype(from), decltype(to)>,
                    gpu::grid_of_warps((room + gpu::decoded_tile - 1) / gpu::decoded_tile, 256), from, ends, runs, to,
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
        using values_t = std::remove_const_t<decltype(values_in)>;
        using keys_out_t = std::remove_const_t<decltype(to)>;
        using totals_t = std::remove_const_t<decltype(totals_out)>;
        if constexpr (gpu::folds_by_heads<Acc, values_t, Op>)
            gpu::fold_runs<Acc>(target, call, keys_in, values_in, count,
                                gpu::run_results<keys_out_t, totals_t, Runs>{to, totals_out, room, runs}, op,
                                as_results_of<Op>{});
        else
            gpu::with_runs_as_segments(target, call, keys_in, count, gpu::write_keys<keys_out_t>{to, room}, runs, room,
                                       [&](const auto& segments) {
                                           gpu::reduce_segments<Acc>(target, values_in, count, segments, totals_out, op,
                                                                     as_results_of<Op>{});
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
        using values_t = std::remove_const_t<decltype(values_in)>;
        using out_t = std::remove_const_t<decltype(to)>;
        const auto start = gpu::start_of_segments<Kind>(op, init);
        using start_t = std::remove_const_t<decltype(start)>;
        if constexpr (gpu::scans_by_heads<Acc, values_t, out_t, Op, start_t>)
            gpu::scan_runs<Acc>(target, call, keys_in, values_in, count, to, op, start);
        else
            gpu::with_runs_as_segments(target, call, keys_in, count, gpu::no_keys{},
                                       static_cast<std::uint64_t*>(nullptr), count, [&](const auto& segments) {
                                           gpu::scan_segments<Acc>(target, values_in, count, segments, to, op, start);
                                       });
    }
};

} // namespace upsweep::detail
