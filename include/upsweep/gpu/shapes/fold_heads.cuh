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
        const int heads = fold_.fold(from, window, pieces);
        write_keys_at(keys, shared_.heads, heads, to_.keys, window.heads_before, to_.room);
        fold_.join(window, pieces);
        const int entered = window.enters ? 1 : 0;
        const int ended = heads + entered - (window.goes_on ? 1 : 0);
        Acc after = op_.template identity<Acc>();
        const Acc before = window.enters && ended != 0 ? fold_.fold_before(window, pieces, after) : after;
        for_each_run(to_.totals, window.heads_before - static_cast<unsigned>(entered), ended,
                     [&](int i, std::uint64_t run) {
                         fold_run(window, i, i - entered, before, after, i >= 0 && i < ended && run < to_.room, run);
                     });
    }

private:
    // Calls f(i, first + i) for `count` numbers and some that there are not, of which the lanes of a warp have those of whole lines of memory.
    template <class Out, class F>
    __device__ static void for_each_run(const Out& out, std::uint64_t first, int count, F f)
    {
        for (int i = -place_in_line(out + first); i < count; i += lanes)
            f(i + lane_id(), first + static_cast<unsigned>(i + lane_id()));
    }

    // Folds run i of the window, whose head is number `head` there, if it exists. All lanes call this together.
    __device__ void fold_run(const head_window& window, int i, int head, const Acc& before, const Acc& after,
                             bool exists, std::uint64_t run)
    {
        const int first = exists && head >= 0 ? shared_.heads[head] : 0;
        const int length = exists ? shared_.heads[head + 1] - first : 0;
        const int chunks = length / chunk_elements;
        Acc total = op_.template identity<Acc>();
        replace_if(window.enters && i == 0, total, before);
        if (__any_sync(all_lanes, chunks) != 0)
            total = fold_.fold_of_chunks(first / chunk_elements + chunks, chunks, total, nullptr);
        replace_if(window.enters && i == 0 && length == head_tile, total, after);
        total = fold_few<Acc, chunk_elements / 2>(
            total, [&](int j) { return convert<Acc>(shared_.elements[j]); }, first + chunks * chunk_elements,
            length % chunk_elements, op_);
        if (exists)
            finish_(total, to_.totals[run]);
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
        const std::uint64_t all = where.heads_before(head_tiles(where.count()), true).count;
        if (lane_id() == 0)
            *to.runs = static_cast<std::remove_pointer_t<decltype(to.runs)>>(all);
    }
    for_each_head_window<Acc, true>(in, where, slots, memory, op, [&](const head_window& window, const auto& pieces) {
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
