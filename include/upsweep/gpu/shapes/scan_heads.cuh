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
// Warps do different things at a time, so that the kernel is as fast as its code is short: what waits for others is there once.
//
// What a lane does depends on chunks, not on segments, so that the time hardly depends on the mix of lengths.
namespace upsweep::gpu {

template <class Acc, class Source, class Out, class Op, class Start>
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

    __device__ head_scan(memory& shared, const Op& op, const Start& start)
        : shared_(shared), fold_(shared.fold, op), op_(op), start_(start)
    {
    }

    // A window whose scan has been begun.
    struct part {
        bool is_piece = false;
        bool are_single = false;
        int first = 0; // where a whole piece begins in the memory of a window, which has room for two
        typename fold_t::piece folded;
        Acc before; // the fold of what comes before the window of the segment that enters it
        Acc after;  // that up to the end of a whole piece
    };

    // Begins to scan a window, which may have no elements: folds what others wait for. A whole piece goes to element `first` of the memory.
    __device__ part begin(const Source& in, const head_window& window, const typename fold_t::states& pieces, int first)
    {
        part begun;
        if (window.length <= 0)
            return begun;
        begun.is_piece = window.is_piece();
        begun.first = first;
        if (begun.is_piece) {
            const std::uint64_t base = window.begin_of_last();
            begun.folded = fold_.fold_piece(first, in + window.first, base, window.tile - base, pieces);
            return begun;
        }
        begun.are_single = window.are_single();
        if (!begun.are_single)
            scan_first_chunks(fold_.fold(in + window.first, window, pieces));
        return begun;
    }

    // Joins the total of a piece with others. This waits for them.
    __device__ void join(const head_window& window, const typename fold_t::states& pieces)
    {
        fold_.join(window, pieces);
    }

    // Waits for what comes before the window.
    __device__ void wait(const head_window& window, part& begun, const typename fold_t::states& pieces)
    {
        begun.before = op_.template identity<Acc>();
        begun.after = begun.folded.tree.total;
        if (window.length > 0 && window.enters) // one without elements is entered by a segment that ends before it
            begun.before = fold_.fold_before(window, pieces, begun.folded.tree.total, begun.after);
    }

    // Does the rest.
    __device__ void finish(const Source& in, const Out& out, const head_window& window, const part& begun)
    {
        if (window.length <= 0)
            return;
        if (begun.are_single)
            return scan_single(in + window.first, out + window.first, window.length);
        if (begun.is_piece)
            scan_piece(window, begun);
        else
            scan_other_chunks(window, begun.before);
        empty(results(), begun.first, out + window.first, window.length);
    }

    // What comes after `begin`, and of a piece after `join`, of windows that are a whole piece and of others: where a kernel deals with them in two
    // places, each has the code of one kind. By `finish`, scans by key take 1 % longer.
    __device__ void end_piece(const Out& out, const head_window& window, part& begun,
                              const typename fold_t::states& pieces)
    {
        wait(window, begun, pieces);
        scan_piece(window, begun);
        empty(results(), begun.first, out + window.first, head_tile);
    }
    __device__ void end_other(const Source& in, const Out& out, const head_window& window, const part& begun,
                              const typename fold_t::states& pieces)
    {
        if (window.length <= 0)
            return;
        if (begun.are_single)
            return scan_single(in + window.first, out + window.first, window.length);
        fold_.join(window, pieces);
        scan_other_chunks(window, window.enters ? fold_.fold_before(window, pieces) : op_.template identity<Acc>());
        empty(results(), 0, out + window.first, window.length);
    }

private:
    __device__ window_t& results()
    {
        if constexpr (in_place)
            return reinterpret_cast<window_t&>(shared_.fold.elements);
        else
            return shared_.results;
    }

    __device__ void scan_piece(const head_window& window, const part& begun)
    {
        const Acc first = begun.folded.tree.fold_before(begun.before, op_);
        const Acc second = op_(first, begun.folded.half);
        Acc end = shuffle_down(first);
        replace_if(lane_id() == lanes - 1, end, begun.after);
        const int at = begun.first + lane_id() * lanes;
        scan_chunk<chunk_elements, true>(at, chunk_elements, first, lane_id() == 0 && !window.enters,
                                         [&](const Acc(&)[chunk_elements]) { return second; });
        scan_chunk<chunk_elements, true>(at + chunk_elements, chunk_elements, second, false,
                                         [&](const Acc(&)[chunk_elements]) { return end; });
    }

    // Segments of one element each.
    __device__ void scan_single(const Source& from, const Out& to, int count) const
    {
        const Acc nothing = op_.template identity<Acc>();
        for_each_with_result(from, to, count, [&](const auto& value, auto&& to_result) {
            to_result = start_.template result_at<result>(nothing, op_(nothing, convert<Acc>(value)), true, op_);
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
                to = start_.template result_at<result>(folds[c], folds[c + 1], c == 0 && is_first, op_);
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
    __device__ void scan_other_chunks(const head_window& window, const Acc& carry)
    {
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
    Start start_;
};

// --- kernel -------------------------------------------------------------------------------------------------------------------

template <class Acc, class Source, class Out, class Op, class Start>
__global__ void
__launch_bounds__(head_kernel_shape<typename head_scan<Acc, Source, Out, Op, Start>::memory>::warps* lanes,
                  head_kernel_shape<typename head_scan<Acc, Source, Out, Op, Start>::memory>::blocks)
    scan_heads_kernel(Source in, head_places where, Out out, Op op, Start start, piece_slots slots,
                      tile_state_memory memory)
{
    using scan_t = head_scan<Acc, Source, Out, Op, Start>;
    extern __shared__ __align__(16) uint4 dynamic[];
    scan_t scan(reinterpret_cast<typename scan_t::memory*>(dynamic)[warp_id()], op, start);
    typename scan_t::part part;
    for_each_head_window<Acc>(
        in, where, slots, memory, op,
        [&](const head_window& window, const auto& pieces) { part = scan.begin(in, window, pieces, 0); },
        [&](const head_window& window, const auto& pieces) {
            scan.join(window, pieces);
            scan.wait(window, part, pieces);
        },
        [&](const head_window& window) { scan.finish(in, out, window, part); });
}

// Scans windows that a warp has drawn ahead, one after the other. Of whole pieces, each is begun before the one before is ended: when a warp looks for the
// totals that a piece needs, they have been there for a while.
template <class Scan, class Source, class Out, class States>
class scan_with_put_off_pieces {
public:
    __device__ scan_with_put_off_pieces(Scan& scan, const Source& in, const Out& out) : scan_(scan), in_(in), out_(out)
    {
    }

    __device__ void begin(const head_window& window, const States& pieces)
    {
        if (is_put_off_ && !window.is_piece())
            end_piece(pieces);
        part_ = scan_.begin(in_, window, pieces, is_put_off_ ? head_tile - part_before_.first : 0);
    }
    __device__ void end(const head_window& window, const States& pieces)
    {
        if (!part_.is_piece)
            return scan_.end_other(in_, out_, window, part_, pieces);
        scan_.join(window, pieces);
        if (is_put_off_)
            end_piece(pieces);
        window_before_ = window;
        part_before_ = part_;
        is_put_off_ = true;
    }

private:
    __device__ void end_piece(const States& pieces)
    {
        scan_.end_piece(out_, window_before_, part_before_, pieces);
        is_put_off_ = false;
    }

    Scan& scan_;
    Source in_;
    Out out_;
    typename Scan::part part_;
    bool is_put_off_ = false; // the window before, a piece that has been begun
    head_window window_before_;
    typename Scan::part part_before_;
};

// The same of runs of equal keys, whose heads it finds.
template <class Acc, class Keys, class Source, class Out, class Op, class Start>
__global__ void
__launch_bounds__(head_kernel_shape<typename head_scan<Acc, Source, Out, Op, Start>::memory>::warps* lanes,
                  head_kernel_shape<typename head_scan<Acc, Source, Out, Op, Start>::memory>::blocks)
    scan_runs_kernel(Keys keys, Source in, Out out, Op op, Start start, std::uint64_t count, piece_slots slots,
                     const __grid_constant__ head_slots slots_of_heads, tile_state_memory memory)
{
    using scan_t = head_scan<Acc, Source, Out, Op, Start>;
    extern __shared__ __align__(16) uint4 dynamic[];
    scan_t scan(reinterpret_cast<typename scan_t::memory*>(dynamic)[warp_id()], op, start);
    scan_with_put_off_pieces<scan_t, Source, Out, piece_states<Acc, Op>> scans(scan, in, out);
    for_each_window_of_keys<Acc>(
        keys, count, slots, slots_of_heads, memory, op,
        [&](const head_window& window, const auto& pieces) { scans.begin(window, pieces); },
        [](std::uint64_t, const found_heads&) {},
        [&](const head_window& window, const auto& pieces) { scans.end(window, pieces); }, [](std::uint64_t) {});
}

// Whether segments can be told by their heads: their windows must fit into shared memory.
template <class Acc, class Source, class Out, class Op, class Start>
inline constexpr bool
    scans_by_heads = sizeof(typename head_scan<Acc, Source, Out, Op, Start>::memory) <= most_of_head_window;

// Writes the results of each segment as a scan of it alone would, of at most so many elements in all.
template <class Acc, class Source, class Out, class Op, class Start>
void scan_heads(const cuda& target, const Source& in, std::uint64_t elements, const head_places& heads, const Out& out,
                const Op& op, const Start& start)
{
    constexpr auto kernel = scan_heads_kernel<Acc, Source, Out, Op, Start>;
    launch_over_heads<kernel, typename head_scan<Acc, Source, Out, Op, Start>::memory, Acc>(target, "scan", elements,
                                                                                            in, heads, out, op, start);
}

// The same of the runs of so many keys.
template <class Acc, class Keys, class Source, class Out, class Op, class Start>
void scan_runs(const cuda& target, std::string_view call, const Keys& keys, const Source& in, std::uint64_t count,
               const Out& out, const Op& op, const Start& start)
{
    constexpr auto kernel = scan_runs_kernel<Acc, Keys, Source, Out, Op, Start>;
    launch_over_keys<kernel, typename head_scan<Acc, Source, Out, Op, Start>::memory, Acc>(target, call, count, keys,
                                                                                           in, out, op, start);
}

} // namespace upsweep::gpu
