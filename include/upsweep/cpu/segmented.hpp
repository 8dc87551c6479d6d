// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include <upsweep/cpu/parallel.hpp>
#include <upsweep/cpu/reduce.hpp>
#include <upsweep/cpu/scan.hpp>
#include <upsweep/cpu/short_segment.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>
#include <upsweep/target.hpp>

namespace upsweep::cpu_engine {

// Cuts segments into tasks of about equally many elements and segments, whatever the lengths are: the work before segment k is the
// number of elements and of segments before it, which ascends, so that a binary search finds where a task begins (the diagonals
// of merge path: Green, McColl and Bader, 2012). A segment too long for one task is the last one of its task, and is left to all threads.
template <class Offset>
class segment_tasks {
public:
    static constexpr std::size_t work = std::size_t{1} << 15;
    static constexpr std::size_t too_long = 8 * work;

    explicit segment_tasks(std::span<const Offset> offsets) : offsets_(offsets) {}

    std::size_t segments() const { return offsets_.size() - 1; }
    std::size_t count() const { return segments() == 0 ? 0 : work_before(segments()) / work + 1; }
    std::size_t first(std::size_t segment) const { return static_cast<std::size_t>(offsets_[segment]); }
    std::size_t length(std::size_t segment) const { return first(segment + 1) - first(segment); }

    // Whether most of some segments seem to be equally long: a few are looked at.
    bool look_equal(std::size_t begin, std::size_t end) const
    {
        constexpr std::size_t looks = 16;
        const std::size_t step = (end - begin + looks - 1) / looks;
        for (std::size_t k = begin; k < end; k += step)
            if (length(k) != length(begin))
                return false;
        return true;
    }

    // Calls short_ones(first, end) for stretches of segments on all threads, and then long_one(segment) for those that are
    // too long.
    template <class ShortOnes, class LongOne>
    void for_each_task(const cpu& target, ShortOnes short_ones, LongOne long_one) const
    {
        std::vector<std::optional<std::size_t>> too_long_ones(count());
        for_each_index(target, count(), [&](std::size_t task) {
            const std::size_t begin = segment_at(task);
            std::size_t end = segment_at(task + 1);
            if (begin < end && length(end - 1) >= too_long)
                too_long_ones[task] = --end;
            if (begin < end)
                short_ones(begin, end);
        });
        for (const auto& segment : too_long_ones)
            if (segment)
                long_one(*segment);
    }

private:
    std::size_t work_before(std::size_t segment) const { return first(segment) - first(0) + segment; }

    // The first segment with at least so many tasks' work before it.
    std::size_t segment_at(std::size_t task) const
    {
        std::size_t low = 0;
        for (std::size_t high = segments(); low < high;) {
            const std::size_t middle = low + (high - low) / 2;
            if (work_before(middle) < task * work)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    std::span<const Offset> offsets_;
};

// Folds segments begin to end - 1, of an array of `count` elements, on the calling thread, and calls put(segment, fold).
template <class Acc, class In, class Offset, class Op, class Put>
void fold_segments(In in, std::size_t count, const segment_tasks<Offset>& tasks, std::size_t begin, std::size_t end,
                   const Op& op, Put put)
{
    const auto at = [&](std::size_t segment) { return in + static_cast<std::ptrdiff_t>(tasks.first(segment)); };
    if constexpr (reads_beyond<Acc, In, Op>)
        if (!tasks.look_equal(begin, end)) {
            const bool are_tiny = tasks.first(end) - tasks.first(begin) < 7 * (end - begin);
            for (std::size_t k = begin; k < end; ++k)
                put(k, fold_of_random_segment<Acc>(at(k), tasks.length(k), count - tasks.first(k), are_tiny, op));
            return;
        }
    for (std::size_t k = begin; k < end; ++k)
        put(k, fold_of_segment<Acc>(at(k), tasks.length(k), op));
}

// Scans the elements of a segment.
template <scan_kind Kind, class Acc, class In, class Out, class Op>
void scan_segment(const cpu& target, In in, Out out, std::size_t count, const Op& op, const Acc* init)
{
    if (count < few_elements)
        return scan_short_segment<Kind, Acc>(in, out, count, op, init);
    fold_stack<Acc, Op> stack(op);
    scan_piece(target, stack, in, out, count, op, Kind, init, true);
}

// Scans segments begin to end - 1 on the calling thread.
template <scan_kind Kind, class Acc, class In, class Offset, class Out, class Op>
void scan_segments(In in, const segment_tasks<Offset>& tasks, std::size_t begin, std::size_t end, Out out, const Op& op,
                   const Acc* init)
{
    const bool are_guessed = tasks.length(begin) <= 2 && tasks.look_equal(begin, end);
    for (std::size_t k = begin; k < end; ++k) {
        const auto first = static_cast<std::ptrdiff_t>(tasks.first(k));
        if constexpr (reads_beyond<Acc, In, Op> && std::is_pointer_v<Out>) {
            constexpr std::size_t most = most_without_branches;
            const bool has_room = tasks.first(k) + most <= tasks.first(end); // in what this call writes
            if (has_room && tasks.length(k) <= most && !are_guessed && init == nullptr) {
                scan_as_block<Kind, Acc>(in + first, out + first, tasks.length(k), op);
                continue;
            }
        }
        scan_segment<Kind, Acc>(cpu{1}, in + first, out + first, tasks.length(k), op, init);
    }
}

} // namespace upsweep::cpu_engine

namespace upsweep::detail {

template <>
struct engine<cpu, verb::reduce_segments> {
    template <class Acc, class In, class Offset, class Out, class Op>
    static void fold(const cpu& target, In in, std::size_t count, std::span<const Offset> offsets, Out out,
                     const Op& op)
    {
        using result = std::iter_value_t<Out>;
        const cpu_engine::segment_tasks<Offset> tasks(offsets);
        const auto put = [&](std::size_t segment, const Acc& fold) {
            out[static_cast<std::iter_difference_t<Out>>(segment)] = as_result<result, Op>(fold);
        };
        const auto fold_some = [&](std::size_t begin, std::size_t end) {
            cpu_engine::fold_segments<Acc>(in, count, tasks, begin, end, op, put);
        };
        tasks.for_each_task(target, fold_some, [&](std::size_t k) {
            fold_stack<Acc, Op> stack(op);
            cpu_engine::fold_onto(target, stack, in + static_cast<std::ptrdiff_t>(tasks.first(k)), tasks.length(k), op);
            put(k, stack.fold());
        });
    }
};

template <>
struct engine<cpu, verb::scan_segments> {
    template <scan_kind Kind, class Acc, class In, class Offset, class Out, class Op>
    static void scan(const cpu& target, In in, std::size_t, std::span<const Offset> offsets, Out out, const Op& op,
                     const Acc* init)
    {
        const cpu_engine::segment_tasks<Offset> tasks(offsets);
        const auto scan_some = [&](std::size_t begin, std::size_t end) {
            cpu_engine::scan_segments<Kind, Acc>(in, tasks, begin, end, out, op, init);
        };
        tasks.for_each_task(target, scan_some, [&](std::size_t k) {
            const auto first = static_cast<std::ptrdiff_t>(tasks.first(k));
            cpu_engine::scan_segment<Kind, Acc>(target, in + first, out + first, tasks.length(k), op, init);
        });
    }
};

template <>
struct engine<cpu, verb::check_segments> {
    template <class Offset>
    static std::optional<std::size_t> first_wrong(const cpu& target, std::span<const Offset> offsets, std::size_t count)
    {
        const auto is_wrong = [&](std::size_t k) {
            const bool is_negative = std::signed_integral<Offset> && offsets[k] < 0;
            return is_negative || static_cast<std::size_t>(offsets[k]) > count ||
                   (k != 0 && offsets[k] < offsets[k - 1]);
        };
        constexpr std::size_t at_once = std::size_t{1} << 16;
        std::atomic<std::size_t> lowest{offsets.size()};
        cpu_engine::for_each_stretch(target, offsets.size(), at_once, [&](std::size_t k, std::size_t some) {
            const std::size_t end = k + some;
            while (k < end && !is_wrong(k))
                ++k;
            for (std::size_t seen = lowest; k < end && k < seen && !lowest.compare_exchange_weak(seen, k);) {
            }
        });
        return lowest < offsets.size() ? std::optional<std::size_t>(lowest) : std::nullopt;
    }
};

} // namespace upsweep::detail
