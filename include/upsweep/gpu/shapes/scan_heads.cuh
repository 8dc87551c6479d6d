// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <type_traits>

#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/head_fold.cuh>
#include <upsweep/gpu/shapes/head_look_back.cuh>
#include <upsweep/gpu/shapes/head_window.cuh>
#include <upsweep/gpu/shapes/piece_states.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/op.hpp>

// Scan of segments that are told by their heads, in one pass over the elements. Each warp works alone, on the window of a tile at a time
// (head_window.cuh), whose elements it copies into shared memory and whose results it writes from there:
//
//     up        the lanes fold the whole chunks, and publish the total of a piece (head_fold.cuh)
//     heads     they scan the first chunks of segments, one each. Short segments have no others
//     look back a piece at the beginning of the window asks for the fold before it
//     down      they scan the other chunks, one for each cell, each from the joined totals before it
//
// Of pieces that follow one another, the next one goes up before this one looks back.
//
// What a lane does depends on chunks, not on segments, so that the time hardly depends on the mix of lengths.
namespace upsweep::gpu {

template <scan_kind Kind, class Acc, class Source, class Out, class Op>
class head_scan {
    using fold_t = head_fold<Acc, Source, Op>;
    using result = std::iter_value_t<Out>;
    using window_t = head_window_memory<result>;
    // Whether results take the places of elements, which a lane has read.
    static constexpr bool in_place = sizeof(std::iter_value_t<Source>) == sizeof(result);

public:
    struct memory {
        typename fold_t::memory fold;
        std::conditional_t<in_place, char, window_t> results;
    };

    __device__ head_scan(memory& shared, const Op& op, const scan_start<Acc>& start)
        : shared_(shared), fold_(shared.fold, op), op_(op), start_(start)
    {
    }

    // Begins to scan a window, which may have no elements: folds what others wait for. A whole piece leaves room for the piece before, which has been
    // begun and not been ended.
    __device__ void begin(const Source& in, const Out& out, const head_window& window,
                          const typename fold_t::states& pieces)
    {
        is_piece_ = window.is_piece();
        if (has_piece_before_ && !is_piece_)
            end_piece(out, pieces);
        if (window.length <= 0)
            return;
        if (is_piece_) {
            const std::uint64_t base = window.begin_of_last();
            first_ = has_piece_before_ ? head_tile - first_before_ : 0;
            folded_ = fold_.fold_piece(first_, in + window.first, base, window.tile - base, pieces);
            return;
        }
        are_single_ = window.are_single();
        if (!are_single_)
            scan_first_chunks(fold_.fold(in + window.first, window, pieces));
    }

    // Ends the scan of a window, or in the place of a piece of the one before: when a warp looks for the totals that a piece needs, they have been
    // there for a while. This waits for others.
    __device__ void end(const Source& in, const Out& out, const head_window& window,
                        const typename fold_t::states& pieces)
    {
        if (window.length <= 0)
            return;
        if (is_piece_) {
            const std::uint64_t base = window.begin_of_last();
            pieces.join(base, window.tile - base);
            if (has_piece_before_)
                end_piece(out, pieces);
            piece_before_ = window;
            folded_before_ = folded_;
            first_before_ = first_;
            has_piece_before_ = true;
        } else if (are_single_) {
            scan_single(in + window.first, out + window.first, window.length);
        } else {
            scan_other_chunks(window, pieces);
            empty(results(), 0, out + window.first, window.length);
        }
    }

private:
    __device__ window_t& results()
    {
        if constexpr (in_place)
            return reinterpret_cast<window_t&>(shared_.fold.elements);
        else
            return shared_.results;
    }

    __device__ void end_piece(const Out& out, const typename fold_t::states& pieces)
    {
        const head_window& window = piece_before_;
        const typename fold_t::piece& folded = folded_before_;
        Acc before = op_.template identity<Acc>();
        Acc after = folded.tree.total;
        if (window.enters)
            before = fold_.fold_before(window, pieces, folded.tree.total, after);
        const Acc first = folded.tree.fold_before(before, op_);
        const Acc second = op_(first, folded.half);
        Acc end = shuffle_down(first);
        replace_if(lane_id() == lanes - 1, end, after);
        const int at = first_before_ + lane_id() * lanes;
        scan_chunk<chunk_elements, true>(at, chunk_elements, first, lane_id() == 0 && !window.enters,
                                         [&](const Acc(&)[chunk_elements]) { return second; });
        scan_chunk<chunk_elements, true>(at + chunk_elements, chunk_elements, second, false,
                                         [&](const Acc(&)[chunk_elements]) { return end; });
        empty(results(), first_before_, out + window.first, head_tile);
        has_piece_before_ = false;
    }

    // Segments of one element each.
    __device__ void scan_single(const Source& from, const Out& to, int count) const
    {
        const Acc nothing = op_.template identity<Acc>();
        for_each_with_result(from, to, count, [&](const auto& value, auto&& to_result) {
            to_result = scan_result<result, Kind>(start_, nothing, op_(nothing, convert<Acc>(value)), true, op_);
        });
    }

    // Scans a chunk of at most so many elements; end(values) is the fold up to its end, if it has so many. All lanes call this together, unless
    // chunks are whole: else they are read a little beyond their ends.
    template <int Most, bool Whole, class End>
    __device__ void scan_chunk(int first, int length, const Acc& before, bool is_first, End end)
    {
        Acc values[Most];
        Acc folds[Most + 1];
        fold_.template load<Whole>(first, length, values);
        if constexpr (!Whole)
            __syncwarp();
        lane_folds<Most>(before, values, folds, op_);
        folds[Most] = end(values);
        results().template for_each<Whole, Most>(first, [&](int c, result& to) {
            if (Whole || c < length)
                to = scan_result<result, Kind>(start_, folds[c], folds[c + 1], c == 0 && is_first, op_);
        });
    }

    __device__ void scan_first_chunks(int heads)
    {
        const Acc nothing = op_.template identity<Acc>();
        for (int i = lane_id(); i - lane_id() < heads; i += lanes) {
            const int first = shared_.fold.heads[i < heads ? i : heads]; // behind all of them, for want of one
            int length = i < heads ? shared_.fold.heads[i + 1] - first : 0;
            length = length < chunk_elements ? length : chunk_elements;
            const auto scan = [&]<int Most>(std::integral_constant<int, Most>) {
                scan_chunk<Most, false>(first, length, nothing, true,
                                        [&](const Acc(&values)[Most]) { return lane_total<Most>(values, op_); });
            };
            if (__any_sync(all_lanes, length > 2 ? 1 : 0) == 0)
                scan(std::integral_constant<int, 2>{});
            else if (__any_sync(all_lanes, length > 4 ? 1 : 0) == 0)
                scan(std::integral_constant<int, 4>{});
            else
                scan(std::integral_constant<int, chunk_elements>{});
        }
    }

    // Of chunks that are no first ones. A piece that enters the window is not whole: it would fill the window.
    __device__ void scan_other_chunks(const head_window& window, const typename fold_t::states& pieces)
    {
        fold_.join(window, pieces);
        const Acc carry = window.enters ? fold_.fold_before(window, pieces) : op_.template identity<Acc>();
        __syncwarp();
        for (int cell = lane_id(); (cell - lane_id()) * chunk_elements < window.length; cell += lanes) {
            const placed_chunk mine = window.chunk_into(cell);
            if (__any_sync(all_lanes, mine.length) == 0)
                continue;
            const bool whole = fold_t::are_whole(mine);
            const bool enters = window.enters && mine.first == mine.number * chunk_elements;
            Acc before = op_.template identity<Acc>();
            replace_if(enters, before, carry);
            Acc end = before;
            before = fold_.fold_of_chunks(cell, mine.number, before, &end);
            const auto end_of_chunk = [&](const Acc(&)[chunk_elements]) {
                return mine.length == chunk_elements ? op_(end, Acc(shared_.fold.totals[cell])) : end;
            };
            if (!whole)
                scan_chunk<chunk_elements, false>(mine.first, mine.length, before, false, end_of_chunk);
            else if (mine.length != 0)
                scan_chunk<chunk_elements, true>(mine.first, mine.length, before, false, end_of_chunk);
        }
    }

    memory& shared_;
    fold_t fold_;
    Op op_;
    scan_start<Acc> start_;
    // Of the window that has been begun.
    bool is_piece_ = false;
    bool are_single_ = false;
    typename fold_t::piece folded_;
    int first_ = 0; // where a whole piece begins in the memory of a window, which has room for two
    // Of the piece before, if there is one that has not been ended.
    bool has_piece_before_ = false;
    head_window piece_before_;
    typename fold_t::piece folded_before_;
    int first_before_ = 0;
};

// --- kernel -------------------------------------------------------------------------------------------------------------------

template <scan_kind Kind, class Acc, class Source, class Out, class Op>
__global__ void
__launch_bounds__(head_kernel_shape<typename head_scan<Kind, Acc, Source, Out, Op>::memory>::warps* lanes,
                  head_kernel_shape<typename head_scan<Kind, Acc, Source, Out, Op>::memory>::blocks)
    scan_heads_kernel(Source in, head_places where, Out out, Op op, scan_start<Acc> start, piece_slots slots,
                      tile_state_memory memory)
{
    using scan_t = head_scan<Kind, Acc, Source, Out, Op>;
    extern __shared__ __align__(16) uint4 dynamic[];
    scan_t scan(reinterpret_cast<typename scan_t::memory*>(dynamic)[warp_id()], op, start);
    for_each_head_window<Acc>(in, where, slots, memory, op, [&](const head_window& window, const auto& pieces) {
        scan.begin(in, out, window, pieces);
        scan.end(in, out, window, pieces);
    });
}

// The same of runs of equal keys, whose heads it finds.
template <scan_kind Kind, class Acc, class Keys, class Source, class Out, class Op>
__global__ void
__launch_bounds__(head_kernel_shape<typename head_scan<Kind, Acc, Source, Out, Op>::memory>::warps* lanes,
                  head_kernel_shape<typename head_scan<Kind, Acc, Source, Out, Op>::memory>::blocks)
    scan_runs_kernel(Keys keys, Source in, Out out, Op op, scan_start<Acc> start, std::uint64_t count,
                     piece_slots slots, const __grid_constant__ head_slots slots_of_heads, tile_state_memory memory)
{
    using scan_t = head_scan<Kind, Acc, Source, Out, Op>;
    extern __shared__ __align__(16) uint4 dynamic[];
    scan_t scan(reinterpret_cast<typename scan_t::memory*>(dynamic)[warp_id()], op, start);
    for_each_window_of_keys<Acc>(
        keys, count, slots, slots_of_heads, memory, op,
        [&](const head_window& window, const auto& pieces) { scan.begin(in, out, window, pieces); },
        [](std::uint64_t, const found_heads&) {},
        [&](const head_window& window, const auto& pieces) { scan.end(in, out, window, pieces); },
        [](std::uint64_t) {});
}

// Whether segments can be told by their heads: their windows must fit into shared memory.
template <scan_kind Kind, class Acc, class Source, class Out, class Op>
inline constexpr bool
    scans_by_heads = sizeof(typename head_scan<Kind, Acc, Source, Out, Op>::memory) <= most_of_head_window;

// Writes the results of each segment as a scan of it alone would, of at most so many elements in all.
template <scan_kind Kind, class Acc, class Source, class Out, class Op>
void scan_heads(const cuda& target, const Source& in, std::uint64_t elements, const head_places& heads, const Out& out,
                const Op& op, const Acc* init)
{
    constexpr auto kernel = scan_heads_kernel<Kind, Acc, Source, Out, Op>;
    launch_over_heads<kernel, typename head_scan<Kind, Acc, Source, Out, Op>::memory, Acc>(
        target, "scan", elements, in, heads, out, op, start_of_scan(op, init));
}

// The same of the runs of so many keys.
template <scan_kind Kind, class Acc, class Keys, class Source, class Out, class Op>
void scan_runs(const cuda& target, std::string_view call, const Keys& keys, const Source& in, std::uint64_t count,
               const Out& out, const Op& op, const Acc* init)
{
    constexpr auto kernel = scan_runs_kernel<Kind, Acc, Keys, Source, Out, Op>;
    launch_over_keys<kernel, typename head_scan<Kind, Acc, Source, Out, Op>::memory, Acc>(
        target, call, count, keys, in, out, op, start_of_scan(op, init));
}

} // namespace upsweep::gpu
