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
#include <upsweep/gpu/shapes/head_look_back.cuh>
#include <upsweep/gpu/shapes/head_window.cuh>
#include <upsweep/gpu/shapes/piece_states.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>

// Folds of runs of equal keys, in one pass over keys and values. Each warp works alone, on the window of a tile at a time: it folds the chunks of
// the window and publishes the total of a piece (head_fold.cuh), finds the heads of a later tile (head_look_back.cuh), and then each lane folds a run
// that ends in the window, from the joined totals of its chunks. The warp that has the head of a run writes its key.
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

    using key = std::iter_value_t<Keys>;
    // The keys of so many runs that begin in a tile are kept in shared memory until it is known where they go. Of more they are read again.
    static constexpr int kept = sizeof(key) <= 32 ? static_cast<int>(1024 / sizeof(key)) : 0;
    using kept_keys = std::conditional_t<kept != 0, raw_array<key, kept>, raw_array<char, 1>>;

public:
    struct memory {
        typename fold_t::memory fold;
        kept_keys keys[tiles_ahead];
    };

    __device__ run_folds(memory& shared, const Results& to, const Op& op, const Finish& finish)
        : shared_(shared.fold), keys_(shared.keys), fold_(shared.fold, op), to_(to), op_(op), finish_(finish)
    {
    }

    // Keeps the keys of the heads that have been found in a tile, if they are not too many.
    __device__ void keep(const Keys& keys, std::uint64_t tile, const found_heads& found)
    {
        if constexpr (kept != 0)
            if (found.count <= kept)
                keep_few(keys + tile * head_tile, found);
        next_ = next_ + 1 == tiles_ahead ? 0 : next_ + 1;
    }

    // Begins to fold the runs of a window, which may have no elements: folds what others wait for, and writes the keys.
    __device__ void begin(const Keys& keys, const Source& from, const head_window& window,
                          const typename fold_t::states& pieces)
    {
        if (window.length <= 0)
            return;
        const bool is_piece = window.is_piece();
        are_single_ = !is_piece && window.are_single();
        if (are_single_)
            return copy_keys(keys, window);
        heads_ = is_piece ? fold_piece(from, window, pieces) : fold_.fold(from, window, pieces);
        write_keys(keys, window);
    }

    // Ends that. It waits for others.
    __device__ void end(const Source& from, const head_window& window, const typename fold_t::states& pieces)
    {
        if (window.length <= 0)
            return;
        if (are_single_)
            return copy_values(from, window);
        fold_.join(window, pieces);
        const int entered = window.enters ? 1 : 0;
        const int ended = heads_ + entered - (window.goes_on ? 1 : 0);
        const Acc before = window.enters && ended != 0 ? fold_before(window, pieces) : op_.template identity<Acc>();
        const std::uint64_t run = window.heads_before - static_cast<unsigned>(entered);
        const std::uint64_t room = run < to_.room ? to_.room - run : 0;
        const int written = room < static_cast<unsigned>(ended) ? static_cast<int>(room) : ended;
        const auto totals = to_.totals + run;
        for (int i = lane_id() - place_in_line(totals); i - lane_id() < written; i += lanes)
            fold_run(window, i, i - entered, before, i >= 0 && i < written, totals);
    }

private:
    __device__ void keep_few(const Keys& keys, const found_heads& found)
    {
        constexpr int at_once = 4;
        kept_keys& to = keys_[next_];
        int at = found.before;
        __syncwarp(); // others have read what is replaced
        for (unsigned left = found.mine; left != 0;) {
            lane_vector<key, 1> loaded[at_once];
            unsigned rest = left;
#pragma unroll
            for (int k = 0; k < at_once; ++k, rest &= rest - 1)
                if (rest != 0)
                    loaded[k] = gather_vector<1>(keys + (lane_id() * lanes + __ffs(static_cast<int>(rest)) - 1));
#pragma unroll
            for (int k = 0; k < at_once; ++k, left &= left - 1)
                if (left != 0)
                    to[at++] = loaded[k][0];
        }
    }

    // Writes the keys of the heads of a window.
    __device__ void write_keys(const Keys& keys, const head_window& window)
    {
        const std::uint64_t at = window.heads_before;
        if constexpr (kept != 0) {
            if (heads_ <= kept) {
                if (at >= to_.room)
                    return;
                const int written =
                    to_.room - at < static_cast<unsigned>(heads_) ? static_cast<int>(to_.room - at) : heads_;
                const auto to = to_.keys + at;
                __syncwarp(); // they have been written by others
                for (int i = lane_id() - place_in_line(to); i < written; i += lanes)
                    if (i >= 0)
                        to[i] = keys_[next_][i];
                return;
            }
        }
        write_keys_at(keys, shared_.heads, heads_, to_.keys, at, to_.room);
    }

    // Runs of one element each, which need no shared memory.
    __device__ int written_of_single(const head_window& window) const
    {
        const std::uint64_t run = window.heads_before;
        const std::uint64_t room = run < to_.room ? to_.room - run : 0;
        return room < static_cast<unsigned>(window.length) ? static_cast<int>(room) : window.length;
    }
    __device__ void copy_keys(const Keys& keys, const head_window& window) const
    {
        for_each_with_result(keys, to_.keys + window.heads_before, written_of_single(window),
                             [](const auto& key, auto&& result) { result = key; });
    }
    __device__ void copy_values(const Source& from, const head_window& window) const
    {
        for_each_with_result(from, to_.totals + window.heads_before, written_of_single(window),
                             [&](const auto& element, auto&& result) {
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
        const std::uint64_t before = window.tile - window.entered;
        return pieces.fold(window.entered, before + (window.is_piece() ? 1 : 0), op_.template identity<Acc>());
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

    typename fold_t::memory& shared_;
    kept_keys* keys_;         // of the next tiles, and the one at hand
    bool are_single_ = false; // whether each run of the window that has been begun has one element
    int heads_ = 0;           // how many runs begin there
    int next_ = 0;            // where those of the one at hand are, in place of which those of the next tile go
    fold_t fold_;
    Results to_;
    Op op_;
    Finish finish_;
};

template <class Acc, class Keys, class Source, class Results, class Op, class Finish>
__global__ void
__launch_bounds__(head_kernel_shape<typename run_folds<Acc, Keys, Source, Results, Op, Finish>::memory>::warps* lanes,
                  head_kernel_shape<typename run_folds<Acc, Keys, Source, Results, Op, Finish>::memory>::blocks)
    fold_runs_kernel(Keys keys, Source in, Results to, Op op, Finish finish, std::uint64_t count, piece_slots slots,
                     const __grid_constant__ head_slots slots_of_heads, tile_state_memory memory)
{
    using folds_t = run_folds<Acc, Keys, Source, Results, Op, Finish>;
    extern __shared__ __align__(16) uint4 dynamic[];
    folds_t folds(reinterpret_cast<typename folds_t::memory*>(dynamic)[warp_id()], to, op, finish);
    for_each_window_of_keys<Acc>(
        keys, count, slots, slots_of_heads, memory, op,
        [&](const head_window& window, const auto& pieces) {
            folds.begin(keys + window.first, in + window.first, window, pieces);
        },
        [&](std::uint64_t tile, const found_heads& found) { folds.keep(keys, tile, found); },
        [&](const head_window& window, const auto& pieces) { folds.end(in + window.first, window, pieces); },
        [&](std::uint64_t runs) { *to.runs = static_cast<std::remove_pointer_t<decltype(to.runs)>>(runs); });
}

// Whether runs can be told by their heads: windows must fit into shared memory, with 2 KiB of keys beside them.
template <class Acc, class Source, class Op>
inline constexpr bool folds_by_heads = sizeof(typename head_fold<Acc, Source, Op>::memory) <= most_of_head_window;

// Writes the keys of runs and the folds of their values, of so many elements.
template <class Acc, class Keys, class Source, class Results, class Op, class Finish>
void fold_runs(const cuda& target, std::string_view call, const Keys& keys, const Source& in, std::uint64_t count,
               const Results& to, const Op& op, const Finish& finish)
{
    constexpr auto kernel = fold_runs_kernel<Acc, Keys, Source, Results, Op, Finish>;
    launch_over_keys<kernel, typename run_folds<Acc, Keys, Source, Results, Op, Finish>::memory, Acc>(
        target, call, count, keys, in, to, op, finish);
}

} // namespace upsweep::gpu
