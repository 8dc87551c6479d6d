// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include <upsweep/fold_order.hpp>
#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/few.cuh>
#include <upsweep/gpu/shapes/piece_states.cuh>
#include <upsweep/gpu/shapes/window.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/op.hpp>

// Reduce and scan of many segments of an array in one pass and one kernel. Warps work alone, each on a task at a time:
//
//   task                 the segments that begin in an interval of the work, and at most one piece of a long segment that began
//                        before. The work before a segment is the number of elements and of segments before it, so that tasks
//                        are alike whatever the lengths are (merge path: Green, McColl and Bader 2012)
//   window               whole segments that fit into shared memory together, or a piece of a long one
//   chunk                16 elements of a segment, which a lane folds. A lane then folds the chunks of a segment; those of more
//                        than 31 chunks are folded by 16 first
//
// A segment with no fewer elements than a piece is long: its pieces are tasks of different warps, whose totals go from one to the other
// by the tree of piece_states.cuh.
namespace upsweep::gpu {

// --- where segments begin -------------------------------------------------------------------------------------------------

// What one task is: at most a piece of a segment that began before, then the segments from `first` on that begin in the interval.
struct segment_task {
    std::uint64_t first;
    std::uint64_t end_of_work; // of the interval
    std::uint64_t piece;       // of segment first - 1, or 0 if there is none
};

// Segments between offsets in memory of the GPU.
template <class Offset>
struct offset_segments {
    static constexpr bool are_equal = false;
    const Offset* offsets;
    std::uint64_t count;

    __device__ const offset_segments& in_kernel() const { return *this; }
    __device__ std::uint64_t begin(std::uint64_t segment) const { return static_cast<std::uint64_t>(offsets[segment]); }
    __device__ std::uint64_t work_before(std::uint64_t segment) const
    {
        return begin(segment) - begin(0) + segment;
    }
    __device__ std::uint64_t tasks(std::uint64_t piece) const { return count == 0 ? 0 : work_before(count) / piece + 1; }

    // The lanes of a warp call this together: each of them looks at one of 32 places in every step of the search.
    __device__ segment_task task(std::uint64_t number, std::uint64_t piece) const
    {
        const std::uint64_t work = number * piece;
        std::uint64_t low = 0;
        for (std::uint64_t high = count; low < high;) {
            const std::uint64_t step = (high - low + lanes - 1) / lanes;
            const std::uint64_t mine = low + (static_cast<unsigned>(lane_id()) + 1) * step - 1;
            const bool is_before = mine < high && work_before(mine) < work;
            const auto before = static_cast<unsigned>(__popc(__ballot_sync(all_lanes, is_before ? 1 : 0)));
            low += before * step;
            if (before < lanes && low + step - 1 < high)
                high = low + step - 1;
        }
        segment_task found{low, work + piece, 0};
        if (low != 0) {
            const std::uint64_t next = (work - work_before(low - 1) + piece - 1) / piece;
            if (begin(low - 1) + next * piece < begin(low))
                found.piece = next;
        }
        return found;
    }
};

// Segments of equal length, one behind the other.
struct equal_segments {
    static constexpr bool are_equal = true;
    std::uint64_t length;
    std::uint64_t count;

    __device__ const equal_segments& in_kernel() const { return *this; }
    __device__ std::uint64_t begin(std::uint64_t segment) const { return segment * length; }
    __device__ std::uint64_t work_before(std::uint64_t segment) const { return segment * (length + 1); }
    __device__ std::uint64_t tasks(std::uint64_t piece) const { return work_before(count) / piece + 1; }
    __device__ segment_task task(std::uint64_t number, std::uint64_t piece) const
    {
        const std::uint64_t work = number * piece;
        const std::uint64_t first = (work + length) / (length + 1);
        segment_task found{first < count ? first : count, work + piece, 0};
        if (found.first != 0) {
            const std::uint64_t next = (work - work_before(found.first - 1) + piece - 1) / piece;
            if (next * piece < length)
                found.piece = next;
        }
        return found;
    }
};

// --- what a warp does with a window -----------------------------------------------------------------------------------------

// Elements of a window: a power of two, at most 16^3, of 4 KiB.
template <class Source>
inline constexpr int window_capacity =
    sizeof(std::iter_value_t<Source>) <= 4 ? 1024
                                           : static_cast<int>(std::bit_floor(4096 / sizeof(std::iter_value_t<Source>)));

// Where a lane has a segment, or part of one, of the window.
struct placed_segment {
    int first; // place in the window
    int length;
};

// Folds up to 32 segments of a window at a time, of which each lane has one.
template <class Acc, class Source, class Op>
class window_fold {
    static constexpr int capacity = window_capacity<Source>;
    static constexpr int chunk = 16;
    static constexpr int most_groups = capacity / (chunk * chunk) > 0 ? capacity / (chunk * chunk) : 1; // of a segment
    static constexpr int most_chunks = capacity / chunk + lanes + 1; // with one more for each segment

public:
    struct memory {
        window_memory<std::iter_value_t<Source>, capacity> elements;
        raw_array<Acc, most_chunks> chunks; // their totals, or the folds before them
        raw_array<Acc, lanes> groups;       // totals of 16 chunks of the segment at hand
        int ends[8 * lanes];                // of the segments of the window
    };

    __device__ window_fold(memory& shared, const Op& op) : shared_(shared), op_(op) {}

    // before (+) the fold of this lane's segment. `alone` says that the first lane has the only one.
    __device__ Acc fold(const placed_segment& mine, Acc before, bool alone)
    {
        int first = mine.first; // of the elements behind the last whole chunk
        int left = mine.length;
        if (__any_sync(all_lanes, mine.length >= few ? 1 : 0) != 0) {
            total_of_chunks(mine, few, alone);
            const int count = mine.length < few ? 0 : mine.length / chunk;
            int first_chunk = first_chunk_; // of the chunks behind the last whole group
            int chunks_left = count;
            for (unsigned large = __ballot_sync(all_lanes, count >= few ? 1 : 0); large != 0; large &= large - 1) {
                const int lane = __ffs(static_cast<int>(large)) - 1;
                const int whole = shuffle(count, lane) / chunk;
                total_of_groups(shuffle(first_chunk_, lane), whole);
                if (lane_id() == lane) {
                    before = fold_few<Acc, most_groups>(before, groups(), 0, whole, op_);
                    first_chunk += whole * chunk;
                    chunks_left = count % chunk;
                }
            }
            before = fold_few(before, chunks(), first_chunk, chunks_left, op_);
            first += count * chunk;
            left -= count * chunk;
        }
        return fold_few(before, elements(), first, left, op_);
    }

    // Calls put(place in the window, fold before the element, fold with it, whether it is the first of its segment) for the elements of
    // all segments, where the folds begin with this lane's `before`. `after` points to the fold up to the end of the only segment,
    // where that is a whole piece of a larger one.
    template <class Put>
    __device__ void scan(const placed_segment& mine, const Acc& before, const Acc* after, bool alone, const Put& put)
    {
        if (__any_sync(all_lanes, mine.length >= few ? 1 : 0) == 0) {
            scan_few(before, elements(), put_from(put, mine.first, -1, before), mine.first, mine.length, op_);
            return;
        }
        total_of_chunks(mine, 0, alone);
        const int count = mine.length / chunk;
        // First the chunks of all segments that have few of them, then those of each of the others, 16 a lane.
        unsigned large = __ballot_sync(all_lanes, count >= few ? 1 : 0);
        Acc before_chunks = before;
        int first = first_chunk_;
        int chunks_of_lane = count < few ? count : 0;
        bool is_end = count < few && mine.length != 0;
        for (;;) {
            const Acc end = scan_few(before_chunks, chunks(), put_before(), first, chunks_of_lane, op_);
            if (is_end)
                shared_.chunks[first + chunks_of_lane] = end;
            if (large == 0)
                break;
            const int lane = __ffs(static_cast<int>(large)) - 1;
            large &= large - 1;
            const int chunks_of_large = shuffle(count, lane);
            const int whole = chunks_of_large / chunk;
            first = shuffle(first_chunk_, lane);
            total_of_groups(first, whole);
            before_chunks = shuffle(before, lane);
            is_end = lane_id() == whole;
            chunks_of_lane = 0;
            if (lane_id() <= whole) {
                before_chunks = fold_few<Acc, most_groups>(before_chunks, groups(), 0, lane_id(), op_);
                chunks_of_lane = lane_id() < whole ? chunk : chunks_of_large % chunk;
            }
            first += lane_id() * chunk;
        }
        __syncwarp();
        if (after != nullptr && lane_id() == 0)
            shared_.chunks[count] = *after;
        __syncwarp();
        for (int c = lane_id(); c - lane_id() < chunks_; c += lanes) {
            const int owner = alone ? 0 : owner_of(c);
            const placed_segment segment = of_lane(mine, owner);
            const int begin = (c - shuffle(first_chunk_, owner)) * chunk;
            const int left = segment.length - begin;
            if (c >= chunks_ || left <= 0)
                continue;
            // The fold up to the end of a whole chunk is the one before the next chunk: the binary digits carry there.
            const Acc end = shared_.chunks[left >= chunk ? c + 1 : c];
            scan_few(static_cast<Acc>(shared_.chunks[c]), elements(),
                     put_from(put, segment.first, left >= chunk ? segment.first + begin + chunk - 1 : -1, end),
                     segment.first + begin, left < chunk ? left : chunk, op_);
        }
    }

private:
    __device__ auto elements()
    {
        return [this](int i) { return convert<Acc>(shared_.elements[i]); };
    }
    __device__ auto chunks()
    {
        return [this](int i) { return shared_.chunks[i]; };
    }
    __device__ auto groups()
    {
        return [this](int i) { return shared_.groups[i]; };
    }
    // Puts for the elements from place `first` on; the fold with the one at `last` is `end`.
    template <class Put>
    __device__ static auto put_from(const Put& put, int first, int last, const Acc& end)
    {
        return [&put, first, last, end](int i, const Acc& before, Acc with) {
            replace_if(i == last, with, end);
            put(i, before, with, i == first);
        };
    }
    // Puts the fold before a chunk into the place of its total.
    __device__ auto put_before()
    {
        return [this](int i, const Acc& before, const Acc&) { shared_.chunks[i] = before; };
    }

    __device__ static placed_segment of_lane(const placed_segment& mine, int lane)
    {
        return {shuffle(mine.first, lane), shuffle(mine.length, lane)};
    }

    // The lane whose segment has chunk c: the first one whose chunks end behind it.
    __device__ int owner_of(int c) const
    {
        int lane = 0;
#pragma unroll
        for (int step = lanes / 2; step > 0; step /= 2)
            if (shuffle(end_of_chunks_, lane + step - 1) <= c)
                lane += step;
        return lane;
    }

    // Numbers the chunks of all segments of at least so many elements, one more for each, and folds the whole ones.
    __device__ void total_of_chunks(const placed_segment& mine, int least, bool alone)
    {
        const int count = mine.length < least || mine.length == 0 ? 0 : mine.length / chunk + 1;
        end_of_chunks_ = count;
        if (!alone) {
#pragma unroll
            for (int step = 1; step < lanes; step *= 2) {
                const int before = __shfl_up_sync(all_lanes, end_of_chunks_, static_cast<unsigned>(step));
                end_of_chunks_ += lane_id() >= step ? before : 0;
            }
        }
        first_chunk_ = end_of_chunks_ - count;
        chunks_ = shuffle(end_of_chunks_, alone ? 0 : lanes - 1);
        __syncwarp(); // others have read what is replaced
        for (int c = lane_id(); c - lane_id() < chunks_; c += lanes) {
            const int owner = alone ? 0 : owner_of(c);
            const placed_segment segment = of_lane(mine, owner);
            const int first = (c - shuffle(first_chunk_, owner)) * chunk;
            if (c < chunks_ && first + chunk <= segment.length)
                shared_.chunks[c] = block_total<chunk, Acc>(elements(), segment.first + first, op_);
        }
        __syncwarp();
    }

    // Folds 16 chunks a lane, of a segment that has so many, for all to read.
    __device__ void total_of_groups(int first_chunk, int groups_of_segment)
    {
        __syncwarp();
        if (lane_id() < groups_of_segment)
            shared_.groups[lane_id()] = block_total<chunk, Acc>(chunks(), first_chunk + lane_id() * chunk, op_);
        __syncwarp();
    }

    memory& shared_;
    Op op_;
    int end_of_chunks_ = 0; // those of the lanes up to this one
    int first_chunk_ = 0;   // of this lane's segment
    int chunks_ = 0;
};

// --- tasks --------------------------------------------------------------------------------------------------------------------

// Walks through the tasks of a warp. Sink has
//
//     void take(window_fold&, placed_segment, u64 first element, int place, int count, u64 segment, bool exists)
//                    of whole segments in a window, of which this lane has one (if it exists)
//     void take_piece(window_fold&, piece_states&, ...)     of a piece of a long segment
template <class Acc, class Source, class Segments, class Op, class Sink>
class segment_walk {
    static constexpr int capacity = window_capacity<Source>;
    static constexpr int groups = 8; // of 32 segments, whose ends are read at once
    static constexpr std::uint64_t too_far = 2 * capacity;

public:
    using fold_t = window_fold<Acc, Source, Op>;

    __device__ segment_walk(const Source& in, const Segments& segments, std::uint64_t piece, Sink& sink, fold_t& fold,
                            typename fold_t::memory& shared, const piece_states<Acc, Op>& states)
        : in_(in), segments_(segments), piece_(piece), sink_(sink), fold_(fold), shared_(shared), states_(states),
          base_(segments.count != 0 ? segments.begin(0) : 0)
    {
    }

    __device__ void walk(std::uint64_t number)
    {
        const segment_task task = segments_.task(number, piece_);
        for (std::uint64_t segment = task.first; segment < segments_.count;) {
            const int taken = take_window(segment, task.end_of_work);
            segment += static_cast<unsigned>(taken);
            if (taken == 0) {
                if (segments_.work_before(segment) < task.end_of_work)
                    fold_piece(segment, 0);
                break; // what follows a long segment begins in another task
            }
        }
        // What waits for other warps comes last: the end of a long segment would delay the beginning of the next one, and so on.
        if (task.piece != 0)
            fold_piece(task.first - 1, task.piece);
    }

private:
    // Takes the segments from `segment` on that fit into a window, begin in the task and are not long. Returns how many.
    __device__ int take_window(std::uint64_t segment, std::uint64_t end_of_work)
    {
        const std::uint64_t first = segments_.begin(segment);
        const std::uint64_t work = first - base_ + segment;
        if (work >= end_of_work)
            return 0;
        int taken = 0;
        if constexpr (Segments::are_equal) {
            taken = equal_that_fit(segment, end_of_work - work);
        } else {
            read_ends(segment, first);
            taken = ends_that_fit(static_cast<int>(end_of_work - work < too_far ? end_of_work - work : too_far));
        }
        if (taken == 0)
            return 0;
        const int count = end_of(taken - 1);
        const Source from = in_ + first;
        const int place = place_in_vector(from);
        fill_window(shared_.elements, from, place, count);
#pragma unroll 1
        for (int i = lane_id(); i - lane_id() < taken; i += lanes) {
            const bool exists = i < taken;
            const int begin = exists && i != 0 ? end_of(i - 1) : 0;
            const placed_segment mine{place + begin, exists ? end_of(i) - begin : 0};
            sink_.take(fold_, mine, segment + static_cast<unsigned>(i), exists);
        }
        sink_.end_window(first, place, count);
        return taken;
    }

    // Where segment i of the window ends.
    __device__ int end_of(int i)
    {
        if constexpr (Segments::are_equal)
            return (i + 1) * static_cast<int>(segments_.length);
        else
            return shared_.ends[i];
    }

    __device__ int equal_that_fit(std::uint64_t segment, std::uint64_t work_left) const
    {
        const std::uint64_t length = segments_.length;
        if (length >= piece_)
            return 0;
        const auto most = static_cast<unsigned>(length != 0 ? capacity / static_cast<unsigned>(length) : capacity);
        const auto begin_here = static_cast<unsigned>(work_left < too_far ? work_left + length : too_far) /
                                static_cast<unsigned>(length + 1);
        const std::uint64_t exist = segments_.count - segment;
        const unsigned fit = most < begin_here ? most : begin_here;
        return static_cast<int>(exist < fit ? exist : fit);
    }

    // Reads where the next segments end, from the first element of the first one on.
    __device__ void read_ends(std::uint64_t segment, std::uint64_t first)
    {
        std::uint64_t ends[groups];
#pragma unroll
        for (int g = 0; g < groups; ++g) {
            const std::uint64_t next = segment + static_cast<unsigned>(g * lanes + lane_id()) + 1;
            ends[g] = segments_.begin(next <= segments_.count ? next : segments_.count);
            if (next > segments_.count)
                ends[g] = first + too_far;
        }
        __syncwarp(); // others have read what is replaced
#pragma unroll
        for (int g = 0; g < groups; ++g)
            shared_.ends[g * lanes + lane_id()] =
                static_cast<int>(ends[g] - first < too_far ? ends[g] - first : too_far);
        __syncwarp();
    }
    __device__ int ends_that_fit(int work_left)
    {
#pragma unroll 1
        for (int i = lane_id(); i < groups * lanes; i += lanes) {
            const int begin = i != 0 ? shared_.ends[i - 1] : 0;
            const int end = shared_.ends[i];
            const bool fits = end <= capacity && end - begin < static_cast<int>(piece_) && begin + i < work_left;
            const unsigned fitting = __ballot_sync(all_lanes, fits ? 1 : 0);
            if (fitting != all_lanes)
                return i - lane_id() + __ffs(static_cast<int>(~fitting)) - 1;
        }
        return groups * lanes;
    }

    __device__ void fold_piece(std::uint64_t segment, std::uint64_t number)
    {
        const std::uint64_t begin = segments_.begin(segment);
        const std::uint64_t length = segments_.begin(segment + 1) - begin;
        const std::uint64_t first = begin + number * piece_;
        const std::uint64_t left = length - number * piece_;
        const int count = static_cast<int>(left < piece_ ? left : piece_);
        const Source from = in_ + first;
        const int place = place_in_vector(from);
        fill_window(shared_.elements, from, place, count);
        const placed_segment mine{place, lane_id() == 0 ? count : 0};
        const std::uint64_t base = (begin - base_) / piece_;
        sink_.take_piece(fold_, states_, mine, segment, base, number, left > piece_, count == static_cast<int>(piece_));
        sink_.end_window(first, place, count);
    }

    const Source& in_;
    const Segments& segments_;
    std::uint64_t piece_;
    Sink& sink_;
    fold_t& fold_;
    typename fold_t::memory& shared_;
    const piece_states<Acc, Op>& states_;
    std::uint64_t base_; // the first element of the first segment
};

// Writes one result a segment.
template <class Acc, class Out, class Op, class Finish>
struct segment_results {
    Out out;
    Op op;
    Acc nothing; // of a segment without elements
    Finish finish;

    template <class Fold>
    __device__ void take(Fold& fold, const placed_segment& mine, std::uint64_t segment, bool exists)
    {
        const Acc result = fold.fold(mine, op.template identity<Acc>(), false);
        if (exists)
            finish(mine.length != 0 ? result : nothing, out[segment]);
    }
    template <class Fold, class States>
    __device__ void take_piece(Fold& fold, const States& states, const placed_segment& mine, std::uint64_t segment,
                               std::uint64_t base, std::uint64_t number, bool has_next, bool is_whole)
    {
        Acc result = op.template identity<Acc>();
        if (is_whole)
            states.publish(base, number, shuffle(fold.fold(mine, result, true), 0));
        if (has_next)
            return;
        result = states.fold(base, is_whole ? number + 1 : number, result);
        if (!is_whole)
            result = fold.fold(mine, result, true);
        if (lane_id() == 0)
            finish(result, out[segment]);
    }
    __device__ void end_window(std::uint64_t, int, int) {}
};

// Writes one result an element, by way of a window.
template <scan_kind Kind, class Acc, class Source, class Out, class Op>
struct segment_scans {
    using result = std::iter_value_t<Out>;
    using window = window_memory<result, window_capacity<Source>>;
    Out out;
    Op op;
    scan_start<Acc> start;
    window& results;

    template <class Fold>
    __device__ void take(Fold& fold, const placed_segment& mine, std::uint64_t, bool)
    {
        fold.scan(mine, op.template identity<Acc>(), nullptr, false, put(true));
    }
    template <class Fold, class States>
    __device__ void take_piece(Fold& fold, const States& states, const placed_segment& mine, std::uint64_t,
                               std::uint64_t base, std::uint64_t number, bool, bool is_whole)
    {
        const Acc nothing = op.template identity<Acc>();
        if (is_whole) {
            const Acc total = shuffle(fold.fold(mine, nothing, true), 0);
            states.publish(base, number, total);
            Acc after;
            const Acc before = states.fold(base, number, nothing, total, after);
            fold.scan(mine, before, &after, true, put(number == 0));
        } else {
            fold.scan(mine, states.fold(base, number, nothing), nullptr, true, put(number == 0));
        }
    }
    __device__ void end_window(std::uint64_t first, int place, int count)
    {
        empty_window(results, out + first, place, count);
    }

private:
    __device__ auto put(bool begins_segment)
    {
        return [this, begins_segment](int i, const Acc& before, const Acc& with, bool is_first) {
            if constexpr (Kind == scan_kind::inclusive)
                results[i] = as_result<result, Op>(with);
            else if (is_first && begins_segment)
                results[i] = as_result<result, Op>(start.first);
            else
                results[i] = as_result<result, Op>(start.has_init ? op(start.first, before) : before);
        };
    }
};

// --- kernels ------------------------------------------------------------------------------------------------------------------

inline constexpr int segment_warps = 4; // of a block

// How the kernels cut the work, and where totals of pieces go.
struct segment_cuts {
    std::uint64_t piece;
    piece_slots slots;
    tile_state_memory memory;
};

template <class Acc, class Source, class Op>
struct reduce_segments_memory {
    typename window_fold<Acc, Source, Op>::memory of_warps[segment_warps];
};

template <class Acc, class Source, class Segments, class Out, class Op, class Finish>
__global__ void __launch_bounds__(segment_warps* lanes, 4)
    reduce_segments_kernel(Source in, Segments where, Out out, Op op, Acc nothing, Finish finish, segment_cuts cuts)
{
    using fold_t = window_fold<Acc, Source, Op>;
    using sink_t = segment_results<Acc, Out, Op, Finish>;
    extern __shared__ __align__(16) uint4 dynamic[];
    auto& shared = reinterpret_cast<reduce_segments_memory<Acc, Source, Op>*>(dynamic)->of_warps[warp_id()];
    fold_t fold(shared, op);
    sink_t sink{out, op, nothing, finish};
    const auto segments = where.in_kernel();
    task_tickets tickets(cuts.memory, segments.tasks(cuts.piece));
    const piece_states<Acc, Op> states(cuts.memory, tickets.epoch(), cuts.slots, op);
    segment_walk<Acc, Source, std::remove_const_t<decltype(segments)>, Op, sink_t> walk(in, segments, cuts.piece, sink, fold, shared, states);
    tickets.for_each<true>([&](std::uint64_t task) { walk.walk(task); });
}

// Results take the places of elements, which a lane has read, where they are as large.
template <class Acc, class Source, class Out, class Op>
struct scan_segments_memory {
    static constexpr bool in_place = sizeof(std::iter_value_t<Source>) == sizeof(std::iter_value_t<Out>);
    using window = window_memory<std::iter_value_t<Out>, window_capacity<Source>>;

    struct warp {
        typename window_fold<Acc, Source, Op>::memory fold;
        std::conditional_t<in_place, char, window> results;
    };
    warp of_warps[segment_warps];

    __device__ static window& results(warp& shared)
    {
        if constexpr (in_place)
            return reinterpret_cast<window&>(shared.fold.elements);
        else
            return shared.results;
    }
};

template <scan_kind Kind, class Acc, class Source, class Segments, class Out, class Op>
__global__ void __launch_bounds__(segment_warps* lanes, 4)
    scan_segments_kernel(Source in, Segments where, Out out, Op op, scan_start<Acc> start, segment_cuts cuts)
{
    using fold_t = window_fold<Acc, Source, Op>;
    using sink_t = segment_scans<Kind, Acc, Source, Out, Op>;
    using memory_t = scan_segments_memory<Acc, Source, Out, Op>;
    extern __shared__ __align__(16) uint4 dynamic[];
    auto& shared = reinterpret_cast<memory_t*>(dynamic)->of_warps[warp_id()];
    fold_t fold(shared.fold, op);
    sink_t sink{out, op, start, memory_t::results(shared)};
    const auto segments = where.in_kernel();
    task_tickets tickets(cuts.memory, segments.tasks(cuts.piece));
    const piece_states<Acc, Op> states(cuts.memory, tickets.epoch(), cuts.slots, op);
    segment_walk<Acc, Source, std::remove_const_t<decltype(segments)>, Op, sink_t> walk(in, segments, cuts.piece, sink, fold, shared.fold, states);
    tickets.for_each<false>([&](std::uint64_t task) { walk.walk(task); });
}

// Launches a kernel over so many segments of so many elements at most. Pieces are as large as a window, or smaller where that
// keeps all warps busy.
template <auto Kernel, class Acc, class Source, class Memory, class... Arguments>
void launch_over_segments(const cuda& target, std::string_view call, std::uint64_t elements, std::uint64_t segments,
                          const Arguments&... arguments)
{
    constexpr std::uint64_t largest = window_capacity<Source>;
    constexpr std::uint64_t smallest = largest < 256 ? largest : 256;
    const std::uint64_t blocks = resident_blocks<Kernel>(target, segment_warps * lanes, sizeof(Memory));
    const std::uint64_t work = elements + segments;
    const std::uint64_t share = std::bit_floor(work / (blocks * segment_warps) + 1);
    const std::uint64_t piece = share < smallest ? smallest : share > largest ? largest : share;
    const std::uint64_t useful = (work / piece + segment_warps) / segment_warps;
    const piece_slots slots{elements / piece + 1};
    launch(target, call, Kernel, static_cast<unsigned>(useful < blocks ? useful : blocks), segment_warps * lanes,
           sizeof(Memory), arguments..., segment_cuts{piece, slots, tile_states_of(target, slots.states(), sizeof(Acc))});
}

// Writes finish(fold) of each segment, of so many elements in all at most, in order of the stream.
template <class Acc, class Source, class Segments, class Out, class Op, class Finish>
void reduce_segments(const cuda& target, const Source& in, std::uint64_t elements, const Segments& segments,
                     const Out& out, const Op& op, const Finish& finish)
{
    if (segments.count == 0)
        return;
    launch_over_segments<reduce_segments_kernel<Acc, Source, Segments, Out, Op, Finish>, Acc, Source,
                         reduce_segments_memory<Acc, Source, Op>>(target, "reduce", elements, segments.count, in,
                                                                  segments, out, op, fold_of_nothing<Acc>(op), finish);
}

// Writes the results of each segment as a scan of it alone would.
template <scan_kind Kind, class Acc, class Source, class Segments, class Out, class Op>
void scan_segments(const cuda& target, const Source& in, std::uint64_t elements, const Segments& segments,
                   const Out& out, const Op& op, const Acc* init)
{
    if (segments.count == 0)
        return;
    const scan_start<Acc> start{op.template identity<Acc>(), init != nullptr ? *init : fold_of_nothing<Acc>(op),
                                init != nullptr, false};
    launch_over_segments<scan_segments_kernel<Kind, Acc, Source, Segments, Out, Op>, Acc, Source,
                         scan_segments_memory<Acc, Source, Out, Op>>(target, "scan", elements, segments.count, in,
                                                                     segments, out, op, start);
}

} // namespace upsweep::gpu
