// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
#include <upsweep/gpu/shapes/piece_states.cuh>
#include <upsweep/gpu/shapes/window.cuh>
#include <upsweep/gpu/shapes/window_fold.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/op.hpp>

// Reduce and scan of many segments of an array in one pass and one kernel. Warps work alone, each on a task at a time:
//
//   task                 the segments that begin in an interval of the work, and the pieces there of a long segment that began
//                        before. The work before a segment is the number of elements and of segments before it, so that tasks
//                        are alike whatever the lengths are (merge path: Green, McColl and Bader 2012)
//   window               whole segments that fit into shared memory together, or a piece of a long one: window_fold.cuh
//
// A segment with no fewer elements than a piece is long: its pieces are tasks of different warps, whose totals go from one to the other
// by the tree of piece_states.cuh.
namespace upsweep::gpu {

// --- where segments begin -------------------------------------------------------------------------------------------------

// What one task is: the segments from `first` on that begin in the interval of the work, and the pieces from number `piece` on of one that
// began before, of those in the interval.
struct segment_task {
    std::uint64_t first;
    std::uint64_t end_of_work; // of the interval
    std::uint64_t piece;       // 0 if there is none
    std::uint64_t entered;     // the segment of these pieces
};
struct task_size {
    std::uint64_t work;
    std::uint64_t piece; // elements of one, of which `work` is a multiple
};

// Segments between offsets in memory of the GPU.
template <class Offset>
struct offset_segments {
    static constexpr bool are_equal = false;
    static constexpr int own_work = 1; // of a segment, in addition to that of its elements
    const Offset* offsets;
    std::uint64_t count;

    static task_size fitted(const task_size& size, std::uint64_t) { return size; }
    __device__ const offset_segments& in_kernel() const { return *this; }
    __device__ std::uint64_t begin(std::uint64_t segment) const { return static_cast<std::uint64_t>(offsets[segment]); }
    __device__ std::uint64_t work_before(std::uint64_t segment) const { return work_at(segment, begin(segment)); }
    // The same of a segment that is known to begin with an element. What comes before the first segment counts, too.
    __device__ static std::uint64_t work_at(std::uint64_t segment, std::uint64_t element) { return element + segment; }
    __device__ std::uint64_t tasks(const task_size& size) const
    {
        return count == 0 ? 0 : (work_before(count) - begin(0)) / size.work + 1;
    }

    // The lanes of a warp call this together.
    __device__ segment_task task(std::uint64_t number, const task_size& size) const
    {
        const std::uint64_t work = begin(0) + number * size.work;
        const std::uint64_t low =
            partition_point_of_warp(count, [&](std::uint64_t segment) { return work_before(segment) < work; });
        segment_task found{low, work + size.work, 0, low - 1};
        if (low != 0) {
            const std::uint64_t next = (work - work_before(low - 1) + size.piece - 1) / size.piece;
            if (begin(low - 1) + next * size.piece < begin(low))
                found.piece = next;
        }
        return found;
    }
};

// Segments of equal length, one behind the other.
struct equal_segments {
    static constexpr bool are_equal = true;
    static constexpr int own_work = 1;
    std::uint64_t length;
    std::uint64_t count;

    static task_size fitted(const task_size& size, std::uint64_t) { return size; }
    __device__ const equal_segments& in_kernel() const { return *this; }
    __device__ std::uint64_t begin(std::uint64_t segment) const { return segment * length; }
    __device__ std::uint64_t work_before(std::uint64_t segment) const { return segment * (length + 1); }
    __device__ static std::uint64_t work_at(std::uint64_t segment, std::uint64_t element) { return element + segment; }
    __device__ std::uint64_t tasks(const task_size& size) const { return work_before(count) / size.work + 1; }
    __device__ segment_task task(std::uint64_t number, const task_size& size) const
    {
        const std::uint64_t work = number * size.work;
        const std::uint64_t first = (work + length) / (length + 1);
        segment_task found{first < count ? first : count, work + size.work, 0, 0};
        found.entered = found.first - 1;
        if (found.first != 0) {
            const std::uint64_t next = (work - work_before(found.first - 1) + size.piece - 1) / size.piece;
            if (next * size.piece < length)
                found.piece = next;
        }
        return found;
    }
};

inline constexpr int most_end_groups = 8;

// --- tasks --------------------------------------------------------------------------------------------------------------------

// A piece of a long segment, whose pieces have the slots from `base` on.
struct piece_of_segment {
    std::uint64_t segment;
    std::uint64_t base;
    std::uint64_t number;
    bool has_next;
    bool is_whole;
    bool is_full; // whether it fills the window
};

// Walks through the tasks of a warp. Sink has
//
//     waits           whether every piece waits for those before it, or only the last one of a segment
//     has_own_window  whether results lie in a window of their own
//     take            folds segments of the window, of which this lane has one, if it exists
//     end_window      is called when all that lies in the window has been folded
//     take_piece      folds a piece of a long segment, of which the window has nothing else
template <class Fold, class Acc, class Source, class Segments, class Op, class Sink>
class segment_walk {
    static constexpr int capacity = window_capacity<Source>;
    static constexpr int groups = most_end_groups;
    static constexpr std::uint64_t too_far = 2 * capacity;

public:
    __device__ segment_walk(const Source& in, const Segments& segments, const task_size& size, int groups, Sink& sink,
                            Fold& fold, typename Fold::memory& shared, const piece_states<Acc, Op>& states)
        : in_(in), segments_(segments), size_(size), piece_(size.piece), groups_(groups), sink_(sink), fold_(fold),
          shared_(shared), ends_(shared.ends[0]), states_(states)
    {
    }

    __device__ void walk(std::uint64_t number)
    {
        const segment_task task = segments_.task(number, size_);
        std::uint64_t segment = task.first;
        std::uint64_t first = segments_.begin(segment < segments_.count ? segment : segments_.count);
        for (bool is_end = false; !is_end;) {
            take_windows(segment, first, task.end_of_work);
            is_end = segment >= segments_.count || segments_.work_at(segment, first) >= task.end_of_work;
            // What waits for other warps comes last: the end of a long segment would delay the beginning of the next one, and so on.
            if (is_end && (task.piece == 0 || task.entered >= segments_.count))
                break;
            fold_long(is_end ? task.entered : segment, is_end ? task.piece : 0, task.end_of_work);
            ++segment;
            if (!is_end)
                first = segments_.begin(segment);
        }
    }

private:
    // Takes the segments from `segment` on, which begins with element `first`, that begin in the task, up to one that is long. What is left
    // begins with the segment and the element that these are then. The ends of segments are read while elements of those before are on their way.
    __device__ void take_windows(std::uint64_t& segment, std::uint64_t& first, std::uint64_t end_of_work)
    {
        if (segment >= segments_.count)
            return;
        ends_of_segments next;
        next.load(*this, segment);
        next.store(*this, first);
        while (segment < segments_.count) {
            const std::uint64_t work = segments_.work_at(segment, first);
            const int taken = work < end_of_work ? segments_that_fit(segment, end_of_work - work) : 0;
            if (taken == 0)
                return;
            // Shorter segments than on average: more of their ends are read from now on.
            if (taken == groups_ * lanes)
                groups_ = 2 * groups_ < groups ? 2 * groups_ : groups;
            const int count = end_of(taken - 1);
            const Source from = in_ + first;
            const int place = place_of(from);
            const std::uint64_t first_of_window = first;
            segment += static_cast<unsigned>(taken);
            first += static_cast<unsigned>(count);
            fold_.fill(from, place, count, [&] { next.load(*this, segment); });
            const int* const ends = ends_;
            next.store(*this, first);
#pragma unroll 1
            for (int i = lane_id(); i - lane_id() < taken; i += lanes) {
                const bool exists = i < taken;
                const int begin = exists && i != 0 ? end_of(i - 1, ends) : 0;
                const placed_segment mine{place + begin, exists ? end_of(i, ends) - begin : 0};
                sink_.take(fold_, mine, segment - static_cast<unsigned>(taken - i), exists);
            }
            sink_.end_window(first_of_window, place, count);
        }
    }

    // Where a window begins. Results of another size have one of their own, with lines of another length: both begin within a vector of elements.
    __device__ static int place_of(const Source& from)
    {
        constexpr int vector = vector_elements<sizeof(std::iter_value_t<Source>)>;
        return Sink::has_own_window ? place_in_window(from) % vector : place_in_window(from);
    }

    // Where segment i of the window ends.
    __device__ int end_of(int i) const { return end_of(i, ends_); }
    __device__ int end_of(int i, const int* ends) const
    {
        if constexpr (Segments::are_equal)
            return (i + 1) * static_cast<int>(segments_.length);
        else
            return ends[i];
    }

    // How many of the segments from `segment` on fit into a window, begin in the task and are not long.
    __device__ int segments_that_fit(std::uint64_t segment, std::uint64_t work_left) const
    {
        if constexpr (Segments::are_equal)
            return equal_that_fit(segment, work_left);
        else
            return ends_that_fit(static_cast<int>(work_left < too_far ? work_left : too_far));
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

    // Where the next segments end, on their way from memory to shared memory, where they count from the first element of the first one.
    struct ends_of_segments {
        std::uint64_t ends[Segments::are_equal ? 1 : groups];
        unsigned exist; // segments

        __device__ void load(const segment_walk& walk, std::uint64_t segment)
        {
            if constexpr (!Segments::are_equal) {
                const std::uint64_t left = walk.segments_.count - segment;
                exist = static_cast<unsigned>(left < groups * lanes ? left : groups * lanes);
#pragma unroll
                for (int g = 0; g < groups; ++g)
                    if (g < walk.groups_)
                        ends[g] = walk.segments_.begin(segment + (next(g) < exist ? next(g) : exist));
            }
        }
        __device__ void store(segment_walk& walk, std::uint64_t first)
        {
            if constexpr (!Segments::are_equal) {
                walk.ends_ = walk.shared_.ends[walk.ends_ == walk.shared_.ends[0] ? 1 : 0];
#pragma unroll
                for (int g = 0; g < groups; ++g)
                    if (g < walk.groups_)
                        walk.ends_[g * lanes + lane_id()] =
                            static_cast<int>(next(g) <= exist && ends[g] - first < too_far ? ends[g] - first : too_far);
                __syncwarp();
            }
        }
        __device__ static unsigned next(int g) { return static_cast<unsigned>(g * lanes + lane_id()) + 1; }
    };
    __device__ int ends_that_fit(int work_left) const
    {
#pragma unroll 1
        for (int i = lane_id(); i < groups_ * lanes; i += lanes) {
            const int begin = i != 0 ? ends_[i - 1] : 0;
            const int end = ends_[i];
            const bool fits =
                end <= capacity && end - begin < static_cast<int>(piece_) && begin + i * Segments::own_work < work_left;
            const unsigned fitting = __ballot_sync(all_lanes, fits ? 1 : 0);
            if (fitting != all_lanes)
                return i - lane_id() + __ffs(static_cast<int>(~fitting)) - 1;
        }
        return groups_ * lanes;
    }

    // The pieces of a long segment that begin in the interval, from a number on.
    __device__ void fold_long(std::uint64_t segment, std::uint64_t number, std::uint64_t end_of_work)
    {
        const std::uint64_t begin = segments_.begin(segment);
        const std::uint64_t length = segments_.begin(segment + 1) - begin;
        const std::uint64_t work = segments_.work_at(segment, begin);
        const std::uint64_t base = (begin - segments_.begin(0)) / piece_;
        // A group of pieces is complete when others have published theirs: waiting for them before this task's own pieces are all
        // published would make others wait, and so on.
        std::uint64_t complete = 0; // the piece behind the last one of a group
        for (; number * piece_ < length && work + number * piece_ < end_of_work; ++number) {
            const std::uint64_t left = length - number * piece_;
            if (complete != 0 && left <= piece_) {
                states_.join(base, complete - 1);
                complete = 0;
            }
            const int count = static_cast<int>(left < piece_ ? left : piece_);
            const std::uint64_t first = begin + number * piece_;
            const int place = place_of(in_ + first);
            fold_.fill(in_ + first, place, count, [] {});
            sink_.take_piece(fold_, states_, placed_segment{place, lane_id() == 0 ? count : 0},
                             piece_of_segment{segment, base, number, left > piece_, count == static_cast<int>(piece_),
                                              count == capacity});
            sink_.end_window(first, place, count);
            if (!Sink::waits && (number + 1) % lanes == 0 && left > piece_)
                complete = number + 1;
        }
        if (complete != 0)
            states_.join(base, complete - 1);
    }

    const Source& in_;
    const Segments& segments_;
    task_size size_;
    std::uint64_t piece_;
    int groups_; // of segments, whose ends are read at once
    Sink& sink_;
    Fold& fold_;
    typename Fold::memory& shared_;
    int* ends_; // of the segments of the next window
    const piece_states<Acc, Op>& states_;
};

// Writes one result a segment.
template <class Acc, class Out, class Op, class Finish>
struct segment_results {
    static constexpr bool waits = false; // for the pieces before one, but for the last piece of a segment
    static constexpr bool has_own_window = false;
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
    __device__ void take_piece(Fold& fold, const States& states, const placed_segment& mine,
                               const piece_of_segment& piece) const
    {
        const Acc nothing_before = op.template identity<Acc>();
        const Acc before = piece.is_whole ? nothing_before : states.fold(piece.base, piece.number, nothing_before);
        Acc result = piece.is_full ? fold.fold_piece(mine.first).tree.total : shuffle(fold.fold(mine, before, true), 0);
        if (piece.is_whole)
            states.publish(piece.base, piece.number, result);
        if (piece.has_next)
            return;
        if (piece.is_whole) {
            states.join(piece.base, piece.number);
            result = states.fold(piece.base, piece.number + 1, nothing_before);
        }
        if (lane_id() == 0)
            finish(result, out[piece.segment]);
    }
    __device__ void end_window(std::uint64_t, int, int) {}
};

// Writes one result an element, by way of a window.
template <class Acc, class Source, class Out, class Op, class Start>
struct segment_scans {
    static constexpr bool waits = true;
    using result = std::iter_value_t<Out>;
    using window = window_memory<result, window_capacity<Source>>;
    static constexpr bool has_own_window = sizeof(std::iter_value_t<Source>) != sizeof(result); // beside the elements'
    Out out;
    Op op;
    Start start;
    window& results;

    template <class Fold>
    __device__ void take(Fold& fold, const placed_segment& mine, std::uint64_t, bool)
    {
        fold.scan(mine, op.template identity<Acc>(), nullptr, false, put(true));
    }
    template <class Fold, class States>
    __device__ void take_piece(Fold& fold, const States& states, const placed_segment& mine,
                               const piece_of_segment& piece)
    {
        const Acc nothing = op.template identity<Acc>();
        // The fold before a whole piece, and that up to its end.
        const auto look_back = [&](const Acc& total, Acc& after) {
            states.publish(piece.base, piece.number, total);
            states.join(piece.base, piece.number);
            return states.fold(piece.base, piece.number, nothing, total, after);
        };
        const auto to = put(piece.number == 0);
        Acc after;
        if (piece.is_full) {
            const auto folded = fold.fold_piece(mine.first);
            const Acc before = look_back(folded.tree.total, after);
            fold.scan_piece(mine.first, folded, before, after, to);
        } else if (piece.is_whole) {
            const Acc before = look_back(shuffle(fold.fold(mine, nothing, true), 0), after);
            fold.scan(mine, before, &after, true, to);
        } else {
            fold.scan(mine, states.fold(piece.base, piece.number, nothing), nullptr, true, to);
        }
    }
    __device__ void end_window(std::uint64_t first, int place, int count)
    {
        empty_window(results, out + first, place, count);
    }

private:
    // Writes results to the window, of elements of which the first one may be the first of its segment.
    struct putter {
        const segment_scans& scans;
        bool begins_segment;

        __device__ void operator()(int i, const Acc& before, const Acc& with, bool is_first) const
        {
            scans.results[i] = scans.result_of(before, with, is_first && begins_segment);
        }
        template <int Count>
        __device__ void chunk(int first, int end, bool aligned, bool is_first, const Acc (&folds)[Count]) const
        {
            result all[Count - 1];
#pragma unroll
            for (int j = 0; j + 1 < Count; ++j)
                all[j] = scans.result_of(folds[j], folds[j + 1], j == 0 && is_first && begins_segment);
            scans.results.store(first, end,
                                aligned && window::vector <= vector_elements<sizeof(std::iter_value_t<Source>)>, all);
        }
    };
    __device__ putter put(bool begins_segment) const { return {*this, begins_segment}; }

    __device__ result result_of(const Acc& before, const Acc& with, bool is_first) const
    {
        return start.template result_at<result>(before, with, is_first, op);
    }
};

// --- kernels ------------------------------------------------------------------------------------------------------------------

inline constexpr int segment_warps = 4; // of a block

// How the kernels cut the work, and where totals of pieces go.
struct segment_cuts {
    task_size size;
    int end_groups; // of 32 segments, whose ends a window reads
    piece_slots slots;
    tile_state_memory memory;
};

// Blocks of a multiprocessor: with so many, registers that are spilled are those of a task and not of a window.
template <class Acc, class Source>
inline constexpr int reduce_segments_blocks = !std::is_pointer_v<Source> || sizeof(Acc) > 8 ? 4
                                              : sizeof(Acc) <= 4                            ? 6
                                                                                            : 5;

template <class Acc, class Source, class Op>
struct reduce_segments_memory {
    typename window_fold<16, Acc, Source, Op>::memory of_warps[segment_warps];
};

template <class Acc, class Source, class Segments, class Out, class Op, class Finish>
__global__ void __launch_bounds__(segment_warps* lanes, reduce_segments_blocks<Acc, Source>)
    reduce_segments_kernel(Source in, Segments where, Out out, Op op, Acc nothing, Finish finish, segment_cuts cuts)
{
    using fold_t = window_fold<16, Acc, Source, Op>;
    using sink_t = segment_results<Acc, Out, Op, Finish>;
    extern __shared__ __align__(16) uint4 dynamic[];
    auto& shared = reinterpret_cast<reduce_segments_memory<Acc, Source, Op>*>(dynamic)->of_warps[warp_id()];
    fold_t fold(shared, op);
    sink_t sink{out, op, nothing, finish};
    const auto segments = where.in_kernel();
    const warp_tasks tasks(cuts.memory);
    const piece_states<Acc, Op> states(cuts.memory, tasks.epoch(), cuts.slots, op);
    segment_walk<fold_t, Acc, Source, std::remove_const_t<decltype(segments)>, Op, sink_t> walk(
        in, segments, cuts.size, cuts.end_groups, sink, fold, shared, states);
    tasks.for_each_by_ticket(segments.tasks(cuts.size), [&](std::uint64_t task) { walk.walk(task); });
}

// Results take the places of elements, which a lane has read, where they are as large.
template <class Acc, class Source, class Out, class Op>
struct scan_segments_memory {
    static constexpr bool in_place = sizeof(std::iter_value_t<Source>) == sizeof(std::iter_value_t<Out>);
    using window = window_memory<std::iter_value_t<Out>, window_capacity<Source>>;

    struct warp {
        typename window_fold<8, Acc, Source, Op>::memory fold;
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

template <class Acc, class Source, class Segments, class Out, class Op, class Start>
__global__ void __launch_bounds__(segment_warps* lanes, sizeof(Acc) <= 4 ? 6 : 5)
    scan_segments_kernel(Source in, Segments where, Out out, Op op, Start start, segment_cuts cuts)
{
    using fold_t = window_fold<8, Acc, Source, Op>;
    using sink_t = segment_scans<Acc, Source, Out, Op, Start>;
    using memory_t = scan_segments_memory<Acc, Source, Out, Op>;
    extern __shared__ __align__(16) uint4 dynamic[];
    auto& shared = reinterpret_cast<memory_t*>(dynamic)->of_warps[warp_id()];
    fold_t fold(shared.fold, op);
    sink_t sink{out, op, start, memory_t::results(shared)};
    const auto segments = where.in_kernel();
    const warp_tasks tasks(cuts.memory);
    const piece_states<Acc, Op> states(cuts.memory, tasks.epoch(), cuts.slots, op);
    segment_walk<fold_t, Acc, Source, std::remove_const_t<decltype(segments)>, Op, sink_t> walk(
        in, segments, cuts.size, cuts.end_groups, sink, fold, shared.fold, states);
    tasks.for_each(segments.tasks(cuts.size), [&](std::uint64_t task) { walk.walk(task); });
}

// How many groups of 32 ends a window reads: those of twice as many segments as it has on average.
inline int groups_of_ends(std::uint64_t capacity, std::uint64_t elements, std::uint64_t segments)
{
    const std::uint64_t wanted = 2 * capacity * segments / (elements + segments) / lanes + 1;
    return static_cast<int>(wanted < most_end_groups ? wanted : most_end_groups);
}

// Launches a kernel over so many segments of so many elements at most. Pieces are as large as a window, or smaller where that
// keeps all warps busy. A task has at most so many, since to find where it begins takes as long as a window, and all warps have as many tasks: where
// that is not much work one each.
template <auto Kernel, std::uint64_t PiecesATask, class Acc, class Source, class Memory, class Segments,
          class... Arguments>
void launch_over_segments(const cuda& target, std::string_view call, std::uint64_t elements, const Segments& segments,
                          const Arguments&... arguments)
{
    constexpr std::uint64_t largest = window_capacity<Source>;
    constexpr std::uint64_t smallest = largest < 256 ? largest : 256;
    const std::uint64_t blocks = resident_blocks<Kernel>(target, segment_warps * lanes, sizeof(Memory));
    const std::uint64_t work = elements + segments.count * Segments::own_work;
    const std::uint64_t share = work / (blocks * segment_warps) + 1; // of a warp
    const std::uint64_t piece = std::clamp(std::bit_ceil(share), smallest, largest);
    const std::uint64_t pieces = (share + piece - 1) / piece;
    const std::uint64_t tasks_of_warp = (pieces + PiecesATask - 1) / PiecesATask;
    const task_size size = segments.fitted({piece * ((pieces + tasks_of_warp - 1) / tasks_of_warp), piece}, largest);
    const std::uint64_t useful = (work / size.work + segment_warps) / segment_warps;
    const piece_slots slots{elements / size.piece + 1};
    launch(target, call, Kernel, static_cast<unsigned>(useful < blocks ? useful : blocks), segment_warps * lanes,
           sizeof(Memory), arguments...,
           segment_cuts{size, groups_of_ends(largest, elements, segments.count), slots,
                        tile_states_of(target, slots.states(), sizeof(Acc))});
}

// Writes finish(fold) of each segment, of so many elements in all at most, in order of the stream.
template <class Acc, class Source, class Segments, class Out, class Op, class Finish>
void reduce_segments(const cuda& target, const Source& in, std::uint64_t elements, const Segments& segments,
                     const Out& out, const Op& op, const Finish& finish)
{
    if (segments.count == 0)
        return;
    launch_over_segments<reduce_segments_kernel<Acc, Source, Segments, Out, Op, Finish>, 16, Acc, Source,
                         reduce_segments_memory<Acc, Source, Op>>(target, "reduce", elements, segments, in, segments,
                                                                  out, op, fold_of_nothing<Acc>(op), finish);
}

// Writes the results of each segment as a scan of it alone would.
template <class Acc, class Source, class Segments, class Out, class Op, class Start>
void scan_segments(const cuda& target, const Source& in, std::uint64_t elements, const Segments& segments,
                   const Out& out, const Op& op, const Start& start)
{
    if (segments.count == 0)
        return;
    launch_over_segments<scan_segments_kernel<Acc, Source, Segments, Out, Op, Start>, 1, Acc, Source,
                         scan_segments_memory<Acc, Source, Out, Op>>(target, "scan", elements, segments, in, segments,
                                                                     out, op, start);
}

} // namespace upsweep::gpu
