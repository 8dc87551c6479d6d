// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>

#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/few.cuh>
#include <upsweep/gpu/shapes/head_fold.cuh>
#include <upsweep/gpu/shapes/head_window.cuh>
#include <upsweep/gpu/shapes/piece_states.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>

// Folds of runs that are told by their heads, in one pass over the values. Each warp works alone, on the window of a tile at a time: it folds the
// chunks of the window and publishes the total of a piece (head_fold.cuh), and then each lane folds a run that ends in the window, from the joined
// totals of its chunks. The warp that has the head of a run writes its key.
namespace upsweep::gpu {

// Where results go, of as many runs as there is room for; the number of all of them goes to `runs`.
template <class KeysOut, class Totals, class Runs>
struct run_results {
    KeysOut keys;
    Totals totals;
    std::uint64_t room;
    Runs* runs;
};

template <class Acc, class Keys, class Source, class Results, class Op, class Finish>
class run_folds {
    using fold_t = head_fold<Acc, Source, Op>;

public:
    using memory = typename fold_t::memory;

    __device__ run_folds(memory& shared, const Results& to, const Op& op, const Finish& finish)
        : shared_(shared), fold_(shared, op), to_(to), op_(op), finish_(finish)
    {
    }

    __device__ void fold(const Keys& keys, const Source& from, const head_window& window,
                         const typename fold_t::states& pieces)
    {
        if (window.are_single())
            return write_single(keys, from, window);
        const int heads = window.is_piece() ? fold_piece(from, window, pieces) : fold_.fold(from, window, pieces);
        write_keys_at(keys, shared_.heads, heads, to_.keys, window.heads_before, to_.room);
        fold_.join(window, pieces);
        const int entered = window.enters ? 1 : 0;
        const int ended = heads + entered - (window.goes_on ? 1 : 0);
        const Acc before = window.enters && ended != 0 ? fold_before(window, pieces) : op_.template identity<Acc>();
        const std::uint64_t run = window.heads_before - static_cast<unsigned>(entered);
        const std::uint64_t room = run < to_.room ? to_.room - run : 0;
        const int written = room < static_cast<unsigned>(ended) ? static_cast<int>(room) : ended;
        const auto totals = to_.totals + run;
        for (int i = lane_id() - place_in_line(totals); i - lane_id() < written; i += lanes)
            fold_run(window, i, i - entered, before, i >= 0 && i < written, totals);
    }

private:
    // Runs of one element each, which need no shared memory.
    __device__ void write_single(const Keys& keys, const Source& from, const head_window& window) const
    {
        const std::uint64_t run = window.heads_before;
        const std::uint64_t room = run < to_.room ? to_.room - run : 0;
        const int written = room < static_cast<unsigned>(window.length) ? static_cast<int>(room) : window.length;
        for_each_with_result(keys, to_.keys + run, written, [](const auto& key, auto&& result) { result = key; });
        for_each_with_result(from, to_.totals + run, written, [&](const auto& element, auto&& result) {
            finish_(op_(op_.template identity<Acc>(), convert<Acc>(element)), result);
        });
    }

    // Returns how many segments begin there, as fold_.fold does.
    __device__ int fold_piece(const Source& from, const head_window& window, const typename fold_t::states& pieces)
    {
        const auto folded =
            fold_.fold_piece(0, from, window.begin_of_last(), window.tile - window.begin_of_last(), pieces);
        const int heads = window.enters ? 0 : 1;
        if (lane_id() == 0) {
            shared_.totals[head_tile / chunk_elements - 1] = folded.tree.total;
            shared_.heads[0] = 0;
            shared_.heads[heads] = head_tile;
        }
        __syncwarp();
        return heads;
    }

    // The fold before the run that enters the window and ends there; if that is a whole piece, with it.
    __device__ Acc fold_before(const head_window& window, const typename fold_t::states& pieces)
    {
        if (!window.is_piece())
            return fold_.fold_before(window, pieces);
        Acc after = op_.template identity<Acc>();
        fold_.fold_before(window, pieces, shared_.totals[head_tile / chunk_elements - 1], after);
        return after;
    }

    // Folds run i of the window, whose head is number `head` there, if it exists. All lanes call this together.
    template <class Totals>
    __device__ void fold_run(const head_window& window, int i, int head, const Acc& before, bool exists,
                             const Totals& totals)
    {
        const int first = exists && head >= 0 ? shared_.heads[head] : 0;
        const int length = exists ? shared_.heads[head + 1] - first : 0;
        const bool is_in_before = window.enters && window.is_piece();
        const int chunks = is_in_before ? 0 : length / chunk_elements;
        Acc total = op_.template identity<Acc>();
        replace_if(window.enters && i == 0, total, before);
        if (__any_sync(all_lanes, chunks) != 0)
            total = fold_.fold_of_chunks(first / chunk_elements + chunks, chunks, total, nullptr);
        const int at = first + chunks * chunk_elements;
        const int left = length % chunk_elements;
        const auto element = [&](int j) { return convert<Acc>(shared_.elements[j]); };
        if (__any_sync(all_lanes, left > 1 ? 1 : 0) != 0)
            total = fold_few<Acc, chunk_elements / 2>(total, element, at, left, op_);
        else if (left != 0)
            total = op_(total, element(at));
        if (exists)
            finish_(total, totals[i]);
    }

    memory& shared_;
    fold_t fold_;
    Results to_;
    Op op_;
    Finish finish_;
};

template <class Acc, class Keys, class Source, class Results, class Op, class Finish>
__global__ void __launch_bounds__(head_kernel_shape<typename head_fold<Acc, Source, Op>::memory>::warps* lanes,
                                  head_kernel_shape<typename head_fold<Acc, Source, Op>::memory>::blocks)
    fold_runs_kernel(Keys keys, Source in, head_places where, Results to, Op op, Finish finish, piece_slots slots,
                     tile_state_memory memory)
{
    using folds_t = run_folds<Acc, Keys, Source, Results, Op, Finish>;
    extern __shared__ __align__(16) uint4 dynamic[];
    folds_t folds(reinterpret_cast<typename folds_t::memory*>(dynamic)[warp_id()], to, op, finish);
    if (blockIdx.x + 1 == gridDim.x && warp_id() == 0) {
        const std::uint64_t all = where.before(head_tiles(where.count()), true).count;
        if (lane_id() == 0)
            *to.runs = static_cast<std::remove_pointer_t<decltype(to.runs)>>(all);
    }
    for_each_head_window<Acc, true, false>(in, where, slots, memory, op,
                                           [&](const head_window& window, const head_window&, const auto& pieces) {
                                               folds.fold(keys + window.first, in + window.first, window, pieces);
                                           });
}

// Whether runs can be told by their heads: windows must fit into shared memory.
template <class Acc, class Source, class Op>
inline constexpr bool folds_by_heads = sizeof(typename head_fold<Acc, Source, Op>::memory) <= most_of_head_window;

// Writes the keys of runs and the folds of their values, of so many elements.
template <class Acc, class Keys, class Source, class Results, class Op, class Finish>
void fold_runs(const cuda& target, std::string_view call, const Keys& keys, const Source& in, const head_places& heads,
               std::uint64_t count, const Results& to, const Op& op, const Finish& finish)
{
    constexpr auto kernel = fold_runs_kernel<Acc, Keys, Source, Results, Op, Finish>;
    launch_over_heads<kernel, typename head_fold<Acc, Source, Op>::memory, Acc>(target, call, count, keys, in, heads,
                                                                                to, op, finish);
}

} // namespace upsweep::gpu
