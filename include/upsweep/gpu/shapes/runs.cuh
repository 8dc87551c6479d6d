// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/fold/scan.cuh>
#include <upsweep/gpu/shapes/piece_states.cuh>
#include <upsweep/gpu/shapes/segments.cuh>
#include <upsweep/gpu/shapes/window.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/op.hpp>
#include <upsweep/verb/axis.hpp>
#include <upsweep/verb/by_key.hpp>

// Runs of equal keys. A warp finds the keys of its tile that differ from the one before them, the heads; how many heads lie before
// its tile, and where the last of them is, the tree of piece_states.cuh tells. What is folded by key then is folded by segments,
// whose offsets are the places of the heads.
namespace upsweep::gpu {

// The heads among some keys.
template <class Index>
struct run_heads {
    Index count;
    Index last; // where the last one is, if there is one
};
struct join_heads {
    template <class Index>
    __device__ run_heads<Index> operator()(const run_heads<Index>& a, const run_heads<Index>& b) const
    {
        return {a.count + b.count, b.count != 0 ? b.last : a.last};
    }
    template <class Heads>
    __device__ Heads identity() const
    {
        return {};
    }
};

// The heads of a tile: lane r has those of rows r and 32 + r of 32 keys, a bit for each.
struct head_masks {
    unsigned of_row[2];

    __device__ unsigned row(int r) const
    {
        return r < lanes ? __shfl_sync(all_lanes, of_row[0], r) : __shfl_sync(all_lanes, of_row[1], r - lanes);
    }
};

// Sink has
//
//     void head(Index run, key, Index place, Index place of the head before)      of each head
//     void end(run_heads of all)                                                  once
template <class Index, class Keys, class Sink>
class run_finder {
    using key = std::iter_value_t<Keys>;
    using heads_t = run_heads<Index>;

public:
    static constexpr int tile = 2 * window_capacity<Keys>;
    static constexpr int rows = tile / lanes;
    static_assert(rows <= 2 * lanes);
    using memory = window_memory<key, tile>;

    __device__ run_finder(const Keys& keys, std::uint64_t count, memory& shared,
                          const piece_states<heads_t, join_heads>& states, const Sink& sink)
        : keys_(keys), count_(count), shared_(shared), states_(states), sink_(sink)
    {
    }

    __device__ void find(std::uint64_t number)
    {
        const std::uint64_t first = number * tile;
        const int count = static_cast<int>(count_ - first < tile ? count_ - first : tile);
        const Keys from = keys_ + first;
        const int place = place_in_vector(from);
        fill_window(shared_, from, place, count);
        const head_masks masks = find_heads(first, place, count);
        const heads_t mine = heads_of(masks, first);
        states_.publish(0, number, mine);
        states_.join(0, number);
        const heads_t before = states_.fold(0, number, heads_t{});
        tell(masks, first, place, before);
        if (first + static_cast<unsigned>(count) == count_ && lane_id() == 0)
            sink_.end(join_heads{}(before, mine));
    }

private:
    __device__ head_masks find_heads(std::uint64_t first, int place, int count)
    {
        head_masks masks{};
        // The row before this one has its last key in lane 31.
        key before = keys_[first != 0 ? first - 1 : 0];
#pragma unroll 4
        for (int r = 0; r < rows; ++r) {
            const int i = r * lanes + lane_id();
            const bool exists = i < count;
            if (i != 0 && exists)
                before = shared_[place + i - 1];
            const bool is_head =
                exists && ((i == 0 && first == 0) || !(static_cast<key>(shared_[place + i]) == before));
            const unsigned mask = __ballot_sync(all_lanes, is_head ? 1 : 0);
            if (lane_id() == r % lanes)
                masks.of_row[r / lanes] = mask;
        }
        return masks;
    }

    __device__ static heads_t heads_of(const head_masks& masks, std::uint64_t first)
    {
        heads_t heads{};
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const unsigned mask = masks.of_row[half];
            heads_t of_row[1] = {
                {static_cast<Index>(__popc(mask)),
                 static_cast<Index>(first + static_cast<unsigned>((half * lanes + lane_id()) * lanes + 31 -
                                                                  __clz(static_cast<int>(mask))))}};
            heads = join_heads{}(heads, warp_total(of_row, join_heads{}));
        }
        return heads;
    }
    __device__ void tell(const head_masks& masks, std::uint64_t first, int place, heads_t before)
    {
        for (int half = 0; half < 2; ++half)
            for (unsigned left = __ballot_sync(all_lanes, masks.of_row[half] != 0 ? 1 : 0); left != 0;
                 left &= left - 1) {
                const int row = half * lanes + __ffs(static_cast<int>(left)) - 1;
                const unsigned mask = masks.row(row);
                const unsigned lower = mask & ((1U << lane_id()) - 1);
                const Index begin = static_cast<Index>(first + static_cast<unsigned>(row * lanes));
                if ((mask >> lane_id() & 1) != 0) {
                    const Index previous =
                        lower != 0 ? begin + static_cast<Index>(31 - __clz(static_cast<int>(lower))) : before.last;
                    sink_.head(before.count + static_cast<Index>(__popc(lower)),
                               shared_[place + row * lanes + lane_id()], begin + static_cast<Index>(lane_id()),
                               previous);
                }
                before.count += static_cast<Index>(__popc(mask));
                before.last = begin + static_cast<Index>(31 - __clz(static_cast<int>(mask)));
            }
    }

    const Keys& keys_;
    std::uint64_t count_;
    memory& shared_;
    const piece_states<heads_t, join_heads>& states_;
    const Sink& sink_;
};

inline constexpr int run_warps = 4; // of a block

template <class Index, class Keys, class Sink>
__global__ void __launch_bounds__(run_warps* lanes, 4)
    find_runs_kernel(Keys keys, std::uint64_t count, Sink sink, piece_slots slots, tile_state_memory memory)
{
    using finder = run_finder<Index, Keys, Sink>;
    extern __shared__ __align__(16) uint4 dynamic[];
    const warp_tasks tasks(memory);
    const piece_states<run_heads<Index>, join_heads> states(memory, tasks.epoch(), slots, join_heads{});
    finder find(keys, count, reinterpret_cast<typename finder::memory*>(dynamic)[warp_id()], states, sink);
    tasks.for_each((count + finder::tile - 1) / finder::tile, [&](std::uint64_t task) { find.find(task); });
}

// Tells the sink of all runs of keys. There is one at least.
template <class Index, class Keys, class Sink>
void find_runs(const cuda& target, std::string_view call, const Keys& keys, std::uint64_t count, const Sink& sink)
{
    using finder = run_finder<Index, Keys, Sink>;
    constexpr auto kernel = find_runs_kernel<Index, Keys, Sink>;
    constexpr std::size_t shared_bytes = run_warps * sizeof(typename finder::memory);
    const std::uint64_t blocks = resident_blocks<kernel>(target, run_warps * lanes, shared_bytes);
    const std::uint64_t tiles = (count + finder::tile - 1) / finder::tile;
    const std::uint64_t useful = (tiles + run_warps - 1) / run_warps;
    const piece_slots slots{tiles};
    launch(target, call, kernel, static_cast<unsigned>(useful < blocks ? useful : blocks), run_warps * lanes,
           shared_bytes, keys, count, sink, slots, tile_states_of(target, slots.states(), sizeof(run_heads<Index>)));
}

// Calls f with a value of the type of numbers of elements: as few bytes as do.
template <class F>
void with_index(std::uint64_t count, F f)
{
    if (count <= std::numeric_limits<std::uint32_t>::max())
        f(std::uint32_t{});
    else
        f(std::uint64_t{});
}

// --- what is written of runs ------------------------------------------------------------------------------------------------

// Keys and lengths, of as many runs as there is room for.
template <class Values, class Lengths, class Runs>
struct write_lengths {
    Values values;
    Lengths lengths;
    Runs* runs;
    std::uint64_t room;
    std::uint64_t elements;

    template <class Index, class Key>
    __device__ void head(Index run, const Key& key, Index place, Index before) const
    {
        if (run < room)
            values[run] = key;
        if (run != 0 && run <= room)
            lengths[run - 1] = static_cast<std::iter_value_t<Lengths>>(place - before);
    }
    template <class Index>
    __device__ void end(const run_heads<Index>& all) const
    {
        if (all.count <= room)
            lengths[all.count - 1] = static_cast<std::iter_value_t<Lengths>>(elements - all.last);
        *runs = static_cast<Runs>(all.count);
    }
};

struct discard {
    template <class Index, class Key>
    __device__ void operator()(Index, const Key&) const
    {
    }
};
template <class Keys>
struct store_key {
    Keys keys;
    template <class Index, class Key>
    __device__ void operator()(Index run, const Key& key) const
    {
        keys[run] = key;
    }
};

// Where each run begins, and behind them all the number of elements; how many there are, for the next kernel and for the
// caller; of each key what `store` makes of it.
template <class Offset, class Store, class Runs>
struct write_offsets {
    Offset* offsets;
    std::uint64_t* found; // at most `room`
    Store store;
    Runs* runs; // may be null
    std::uint64_t room;
    std::uint64_t elements;

    template <class Key>
    __device__ void head(Offset run, const Key& key, Offset place, Offset) const
    {
        offsets[run] = place;
        if (run < room)
            store(run, key);
    }
    __device__ void end(const run_heads<Offset>& all) const
    {
        offsets[all.count] = static_cast<Offset>(elements);
        *found = all.count < room ? all.count : room;
        if (runs != nullptr)
            *runs = static_cast<Runs>(all.count);
    }
};

// Segments between offsets, whose number only the GPU knows.
template <class Offset>
struct found_segments {
    const Offset* offsets;
    const std::uint64_t* found;
    std::uint64_t count; // at most

    __device__ offset_segments<Offset> in_kernel() const { return {offsets, *found}; }
};

// Finds the runs of keys, and calls f with them as segments.
template <class Keys, class Store, class Runs, class F>
void with_runs_as_segments(const cuda& target, std::string_view call, const Keys& keys, std::uint64_t count,
                           const Store& store, Runs* runs, std::uint64_t room, F f)
{
    with_index(count, [&]<class Offset>(Offset) {
        constexpr std::size_t before = 16; // the number of runs comes first
        auto* const memory = static_cast<std::byte*>(
            target.workspace().memory(workspace_purpose::offsets, before + (count + 1) * sizeof(Offset)));
        auto* const found = reinterpret_cast<std::uint64_t*>(memory);
        auto* const offsets = reinterpret_cast<Offset*>(memory + before);
        find_runs<Offset>(target, call, keys, count,
                          write_offsets<Offset, Store, Runs>{offsets, found, store, runs, room, count});
        f(found_segments<Offset>{offsets, found, count < room ? count : room});
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
                gpu::find_runs<Index>(target, call, keys, count,
                                      gpu::write_lengths<decltype(values_out), decltype(lengths_out), Runs>{
                                          values_out, lengths_out, runs, room, count});
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
        gpu::with_runs_as_segments(
            target, call, keys_in, count, gpu::store_key<decltype(to)>{to}, runs, room, [&](const auto& segments) {
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
        gpu::with_runs_as_segments(target, call, keys_in, count, gpu::discard{}, static_cast<std::uint64_t*>(nullptr),
                                   count, [&](const auto& segments) {
                                       gpu::scan_segments<Kind, Acc>(target, values_in, count, segments, to, op, init);
                                   });
    }
};

} // namespace upsweep::detail
