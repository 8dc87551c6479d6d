// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include <upsweep/cpu/block.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/cpu/reduce.hpp>
#include <upsweep/cpu/scan.hpp>
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

// Appends the total of Size elements if the binary digit of the count says so.
template <std::size_t Size, class Acc, class In, class Op>
UPSWEEP_ALWAYS_INLINE inline void fold_digit(Acc& fold, In& in, std::size_t count, const Op& op)
{
    if ((count & Size) == 0)
        return;
    const Acc total = block_total<Size, Acc>(in, op);
    fold = count >= 2 * Size ? op(fold, total) : total;
    in += Size;
}

inline constexpr std::size_t few_elements = 32; // for which a stack costs more than the elements

// Whether short segments are folded and scanned without branches on their lengths, which no processor guesses where they are random.
// Elements behind the segment are then read, and folded for nothing.
template <class Acc, class In, class Op>
inline constexpr bool reads_beyond = std::is_pointer_v<In>&& std::is_arithmetic_v<Acc> && !std::same_as<Acc, bool> &&
                                     detail::is_builtin<Op> && !detail::is_logical<Op>;
inline constexpr std::size_t most_without_branches = 128; // elements that are read so

// `before`, and then the totals of the blocks that the digits of count % Size stand for. The totals of all digits are computed, and those
// that the count has chosen by a mask; `nothing` is folded where it has none. Reads Size elements, 8 or 16.
template <std::size_t Size, class Acc, class In, class Op>
UPSWEEP_ALWAYS_INLINE inline Acc fold_last_digits(const Acc& before, In in, std::size_t count, const Acc& nothing,
                                                  const Op& op)
{
    typedef Acc digits __attribute__((vector_size(4 * sizeof(Acc))));
    typedef unsigned_t<Acc> masks __attribute__((vector_size(4 * sizeof(Acc))));
    const Acc identity = op.template identity<Acc>();
    digits totals{identity, block_total<4, Acc>(in + (count & (Size - 8)), op),
                  block_total<2, Acc>(in + (count & (Size - 4)), op), load<Acc>(in, count & (Size - 2))};
    if constexpr (Size == 16)
        totals[0] = block_total<8, Acc>(in, op);
    const masks has = (masks)(((masks{} + static_cast<unsigned_t<Acc>>(count)) & masks{8, 4, 2, 1}) != 0);
    const digits none{identity, identity, identity, count % Size == 0 ? nothing : identity};
    const digits folded = (digits)((has & (masks)totals) | (~has & (masks)none));
    const Acc fold = Size == 16 ? op(before, folded[0]) : before;
    return op(op(op(fold, folded[1]), folded[2]), folded[3]);
}

// The fold of the elements of a segment. Most segments are short: their digits are taken one by one, without a stack.
template <class Acc, class In, class Op>
UPSWEEP_ALWAYS_INLINE inline Acc fold_of_segment(In in, std::size_t count, const Op& op)
{
    if (count == 0)
        return fold_of_nothing<Acc>(op);
    if (count < few_elements) {
        Acc fold = load<Acc>(in, 0);
        fold_digit<16>(fold, in, count, op);
        fold_digit<8>(fold, in, count, op);
        fold_digit<4>(fold, in, count, op);
        fold_digit<2>(fold, in, count, op);
        fold_digit<1>(fold, in, count, op);
        return fold;
    }
    fold_stack<Acc, Op> stack(op);
    fold_serially(stack, in, count, op);
    return stack.fold();
}

// The same where lengths are random and `readable` elements of the array begin here. `are_tiny`: whether most segments have fewer than
// eight elements.
template <class Acc, class In, class Op>
Acc fold_of_random_segment(In in, std::size_t count, std::size_t readable, bool are_tiny, const Op& op)
{
    if (count >= most_without_branches || readable < most_without_branches)
        return fold_of_segment<Acc>(in, count, op);
    const Acc identity = op.template identity<Acc>();
    if (are_tiny && count < 8)
        return fold_last_digits<8>(identity, in, count, fold_of_nothing<Acc>(op), op);
    Acc fold = identity;
    if (count >= 16) {
        fold_digit<64>(fold, in, count, op);
        fold_digit<32>(fold, in, count, op);
        fold_digit<16>(fold, in, count, op);
    }
    return fold_last_digits<16>(fold, in, count, count == 0 ? fold_of_nothing<Acc>(op) : identity, op);
}

// Writes the results of a segment of few elements. A binary counter of five digits holds the totals of the blocks that the digits stand
// for, and the folds up to the end of each.
template <scan_kind Kind, class Acc, class In, class Out, class Op>
UPSWEEP_ALWAYS_INLINE inline void scan_short_segment(In in, Out out, std::size_t count, const Op& op, const Acc* init)
{
    using result = std::iter_value_t<Out>;
    constexpr std::size_t digits = std::bit_width(few_elements - 1);
    const auto named = [&](const Acc& fold) { return as_result<result, Op>(init != nullptr ? op(*init, fold) : fold); };
    std::array<Acc, digits + 1> totals; // g++ does not know that so few elements have no more digits
    std::array<Acc, digits> folds;
    result before = as_result<result, Op>(init != nullptr ? *init : fold_of_nothing<Acc>(op));
    for (std::size_t i = 0; i < count; ++i) {
        Acc total = load<Acc>(in, i);
        std::size_t digit = 0;
        for (; (i >> digit & 1) != 0; ++digit)
            total = op(totals[digit], total);
        totals[digit] = total;
        const std::size_t above = i >> digit;
        const Acc fold =
            above == 0 ? total : op(folds[digit + static_cast<std::size_t>(std::countr_zero(above))], total);
        folds[digit] = fold;
        const result after = named(fold);
        out[static_cast<std::iter_difference_t<Out>>(i)] = Kind == scan_kind::inclusive ? after : before;
        before = after;
    }
}

// Writes the folds before each of Count elements, given the one before the first of them, and returns their total: both sweeps in
// registers.
template <std::size_t Count, class Acc, class Op>
UPSWEEP_ALWAYS_INLINE inline Acc scan_in_registers(const Acc* in, const Acc& before, Acc* folds, const Op& op)
{
    if constexpr (Count == 1) {
        const Acc element = *in;
        *folds = before;
        return element;
    } else {
        constexpr std::size_t half = Count / 2;
        const Acc left = scan_in_registers<half>(in, before, folds, op);
        return op(left, scan_in_registers<half>(in + half, op(before, left), folds + half, op));
    }
}

// The same by a block of Size elements, whatever they are behind the segment. Of as many places of `out`, which may be `in`, those behind
// the segment keep what they have, or get what the segments there will replace.
template <scan_kind Kind, std::size_t Size, class Acc, class In, class Out, class Op>
void scan_segment_as_block(In in, Out out, std::size_t count, const Op& op)
{
    using result = std::iter_value_t<Out>;
    const Acc before = op.template identity<Acc>();
    std::array<Acc, Size> converted;
    std::array<Acc, Size + 1> all_folds; // before each element and after the last
    Acc* const folds = all_folds.data() + (Kind == scan_kind::inclusive ? 1 : 0);
    const Acc* const elements = load_block<Size>(in, converted.data());
    Acc end;
    bool has_nan = false;
    if constexpr (Size <= 16 && std::floating_point<Acc> && detail::is_arithmetic<Op>) {
        end = all_folds[Size] = scan_in_registers<Size>(elements, before, all_folds.data(), op);
        has_nan = any_nan<Size, Op>(folds);
    } else {
        block_scan<Size, Acc, Op> block;
        read_ahead nothing;
        end = block.up_sweep(elements, op);
        has_nan = block.template down_sweep<Kind, store_kind::cached>(before, end, folds, op, nothing);
    }
    if (has_nan || detail::is_nan_of<Op>(end))
        std::transform(folds, folds + Size, folds, as_result<Acc, Op, Acc>);
    if (Kind == scan_kind::exclusive)
        folds[0] = fold_of_nothing<Acc>(op);
    if (static_cast<const void*>(in) == static_cast<const void*>(out))
        for (std::size_t i = 0; i < Size; ++i)
            out[i] = i < count ? convert<result>(folds[i]) : out[i];
    else
        for (std::size_t i = 0; i < Size; ++i)
            out[i] = convert<result>(folds[i]);
}

// The same where lengths are random and at most most_without_branches, and as many elements can be read and written.
template <scan_kind Kind, class Acc, class In, class Out, class Op>
void scan_random_segment(In in, Out out, std::size_t count, const Op& op)
{
    if (count <= 4)
        scan_segment_as_block<Kind, 4, Acc>(in, out, count, op);
    else if (count <= 16)
        scan_segment_as_block<Kind, 16, Acc>(in, out, count, op);
    else if (count <= 32)
        scan_segment_as_block<Kind, 32, Acc>(in, out, count, op);
    else if (count <= 64)
        scan_segment_as_block<Kind, 64, Acc>(in, out, count, op);
    else
        scan_segment_as_block<Kind, 128, Acc>(in, out, count, op);
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
        const auto at = [&](std::size_t segment) { return in + static_cast<std::ptrdiff_t>(tasks.first(segment)); };
        const auto put = [&](std::size_t segment, const Acc& fold) {
            out[static_cast<std::iter_difference_t<Out>>(segment)] = as_result<result, Op>(fold);
        };
        const auto fold_some = [&](std::size_t begin, std::size_t end) {
            if constexpr (cpu_engine::reads_beyond<Acc, In, Op>)
                if (!tasks.look_equal(begin, end)) {
                    const bool are_tiny = tasks.first(end) - tasks.first(begin) < 7 * (end - begin);
                    for (std::size_t k = begin; k < end; ++k)
                        put(k, cpu_engine::fold_of_random_segment<Acc>(at(k), tasks.length(k), count - tasks.first(k),
                                                                       are_tiny, op));
                    return;
                }
            for (std::size_t k = begin; k < end; ++k)
                put(k, cpu_engine::fold_of_segment<Acc>(at(k), tasks.length(k), op));
        };
        tasks.for_each_task(target, fold_some, [&](std::size_t k) {
            fold_stack<Acc, Op> stack(op);
            cpu_engine::fold_onto(target, stack, at(k), tasks.length(k), op);
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
        const auto scan_by = [&](const cpu& threads, std::size_t k) {
            const auto first = static_cast<std::ptrdiff_t>(tasks.first(k));
            if (tasks.length(k) < cpu_engine::few_elements)
                return cpu_engine::scan_short_segment<Kind, Acc>(in + first, out + first, tasks.length(k), op, init);
            fold_stack<Acc, Op> stack(op);
            cpu_engine::scan_piece(threads, stack, in + first, out + first, tasks.length(k), op, Kind, init);
        };
        const auto scan_some = [&](std::size_t begin, std::size_t end) {
            const bool are_guessed = tasks.length(begin) <= 2 && tasks.look_equal(begin, end);
            for (std::size_t k = begin; k < end; ++k) {
                if constexpr (cpu_engine::reads_beyond<Acc, In, Op> && std::is_pointer_v<Out>) {
                    constexpr std::size_t most = cpu_engine::most_without_branches;
                    const std::size_t first = tasks.first(k);
                    const bool has_room = first + most <= tasks.first(end); // in what this task writes
                    if (has_room && tasks.length(k) <= most && !are_guessed && init == nullptr) {
                        cpu_engine::scan_random_segment<Kind, Acc>(in + first, out + first, tasks.length(k), op);
                        continue;
                    }
                }
                scan_by(cpu{1}, k);
            }
        };
        tasks.for_each_task(target, scan_some, [&](std::size_t k) { scan_by(target, k); });
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
        cpu_engine::for_each_index(target, (offsets.size() + at_once - 1) / at_once, [&](std::size_t task) {
            const std::size_t end = std::min(offsets.size(), (task + 1) * at_once);
            std::size_t k = task * at_once;
            while (k < end && !is_wrong(k))
                ++k;
            for (std::size_t seen = lowest; k < end && k < seen && !lowest.compare_exchange_weak(seen, k);) {
            }
        });
        return lowest < offsets.size() ? std::optional<std::size_t>(lowest) : std::nullopt;
    }
};

} // namespace upsweep::detail
