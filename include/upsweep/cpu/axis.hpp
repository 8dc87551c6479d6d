// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <upsweep/cpu/grain_totals.hpp>
#include <upsweep/cpu/interleaved_lines.hpp>
#include <upsweep/cpu/lanes.hpp>
#include <upsweep/cpu/line_call.hpp>
#include <upsweep/cpu/lines_in_lanes.hpp>
#include <upsweep/cpu/moments_in_lanes.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/cpu/reduce.hpp>
#include <upsweep/cpu/scan.hpp>
#include <upsweep/cpu/separate_lines.hpp>
#include <upsweep/cpu/short_rows.hpp>
#include <upsweep/cpu/short_segment.hpp>
#include <upsweep/cpu/store.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>
#include <upsweep/qualifiers.hpp>
#include <upsweep/target.hpp>
#include <upsweep/view.hpp>

// Folds along an axis. A line whose elements lie close together is folded as an array is, by blocks (block.hpp); lines whose elements
// lie further apart than the lines do are folded together, row by row, as memory has them (lanes.hpp). Either way a thread has a group
// of neighbouring lines. Where there are fewer groups than keep all threads busy, the lines are cut into pieces, aligned
// blocks of them, which is what an array is cut into for the same reason.
namespace upsweep::cpu_engine {

// How the lines are cut.
struct line_cuts {
    std::size_t lines_a_group;
    std::size_t groups;
    int level;          // pieces have 2^level elements of each line
    std::size_t pieces; // whole ones; 0 where lines need no cutting

    std::size_t piece() const { return std::size_t{1} << level; }
};

// Groups of at most `most_lines` lines, a multiple of `unit`, and pieces of at most `elements_a_piece` elements. Lines are cut where
// that keeps groups large; short ones cannot be.
UPSWEEP_NEVER_INLINE inline line_cuts cut_lines(const cpu& target, std::size_t lines, std::size_t length,
                                                std::size_t unit, std::size_t most_lines, std::size_t elements_a_piece)
{
    const std::size_t enough = 4 * static_cast<std::size_t>(thread_count(target));
    const auto rounded = [&](std::size_t n) { return (std::max<std::size_t>(n, 1) + unit - 1) / unit * unit; };
    const auto level_for = [&](std::size_t in_group) {
        return std::bit_width(std::max<std::size_t>(elements_a_piece / in_group, 16)) - 1;
    };
    line_cuts cuts{};
    cuts.lines_a_group = std::min(rounded(most_lines), rounded(lines));
    cuts.level = level_for(std::min(cuts.lines_a_group, lines));
    const bool can_be_cut = thread_count(target) > 1 && length >> cuts.level >= enough;
    const auto groups = [&] { return (lines + cuts.lines_a_group - 1) / cuts.lines_a_group; };
    if (groups() < enough && !can_be_cut) {
        cuts.lines_a_group = std::min(cuts.lines_a_group, rounded(lines / enough));
        cuts.level = level_for(std::min(cuts.lines_a_group, lines));
    }
    cuts.groups = groups();
    cuts.pieces = cuts.groups < enough && can_be_cut ? length >> cuts.level : 0;
    return cuts;
}

// The same for a scan of lines in lockstep, which folds pieces before it scans them: where that leaves a thread 1 KiB of a row, lines are not
// cut.
UPSWEEP_NEVER_INLINE inline line_cuts cut_scanned_lines(const cpu& target, std::size_t lines, std::size_t length,
                                                        std::size_t unit, std::size_t most_lines,
                                                        std::size_t elements_a_piece)
{
    line_cuts cuts = cut_lines(target, lines, length, unit, most_lines, elements_a_piece);
    const auto threads = static_cast<std::size_t>(thread_count(target));
    const std::size_t least_lines = 4 * unit;
    if (cuts.pieces != 0 && lines / threads >= least_lines) {
        const std::size_t wide = std::max(lines / (4 * threads), std::min(2 * least_lines, (lines - 1) / threads + 1));
        cuts.lines_a_group = (wide + unit - 1) / unit * unit;
        cuts.groups = (lines - 1) / cuts.lines_a_group + 1;
        cuts.pieces = 0;
    }
    return cuts;
}

// Reduces groups of lines on all threads: the pieces first, if there are any, and then what is left of the lines.
template <class Group, class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_groups(const cpu& target, const line_call<Acc, T, Out, Rank, Op>& call, const line_cuts& cuts,
                   const Finish& finish)
{
    const std::size_t lines = call.lines.count();
    const std::size_t length = call.lines.length();
    const auto size_of_group = [&](std::size_t group) {
        return std::min(cuts.lines_a_group, lines - group * cuts.lines_a_group);
    };
    const auto totals = std::make_unique<Acc[]>(cuts.pieces * lines);
    for_each_index(target, cuts.pieces * cuts.groups, [&](std::size_t task) {
        const std::size_t piece = task / cuts.groups;
        const std::size_t first = task % cuts.groups * cuts.lines_a_group;
        Group group(call, first, size_of_group(task % cuts.groups), cuts.piece());
        group.fold({piece * cuts.piece(), cuts.piece()});
        group.write_folds(totals.get() + piece * lines + first);
    });
    for_each_index(target, cuts.groups, [&](std::size_t k) {
        const std::size_t first = k * cuts.lines_a_group;
        const std::size_t count = size_of_group(k);
        Group group(call, first, count, length);
        for (std::size_t piece = 0; piece < cuts.pieces; ++piece)
            group.push(totals.get() + piece * lines + first, cuts.level);
        const std::size_t done = cuts.pieces * cuts.piece();
        group.fold({done, length - done});
        const row_of_values<Acc> folds = std::make_unique<Acc[]>(count);
        group.write_folds(folds.get());
        const row_of_values<Out> results = std::make_unique<Out[]>(count);
        for (std::size_t line = 0; line < count; ++line)
            finish(folds[line], results[line]);
        write_row(call.lines.out, first, count, results.get());
    });
}

// Reduces lines of few elements in lockstep, unit by unit: the blocks of their elements are folded in registers or the first-level cache, and need no
// stacks.
inline constexpr std::size_t most_of_few_rows = 2 * rows_at_once - 1;
template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_few_rows(const cpu& target, const detail::lines<const T, Out, Rank>& of, const Op& op, const Finish& finish)
{
    using group = lane_group<Op, Acc>;
    using reader = lane_reader<Acc, T, Rank>;
    constexpr std::size_t units_a_task = 64;
    const std::size_t length = of.length();
    const reader rows(of.in, static_cast<const void*>(of.in.data()) != of.out.data());
    for_each_stretch(target, of.count(), units_a_task * unit_lanes<Acc>, [&](std::size_t first, std::size_t count) {
        typename reader::buffer buffer;
        const auto results = std::make_unique_for_overwrite<Out[]>(count);
        const auto fold_unit = [&](const line_unit<const T>& unit) {
            const std::size_t lanes = (unit.lines + group::lanes - 1) / group::lanes * group::lanes;
            lane_row<Acc> folds;
            std::fill_n(folds.begin(), lanes, op.template identity<Acc>());
            std::size_t row = 0;
            const auto take_block = [&](auto size) {
                lane_row<Acc> totals;
                fold_rows<size>(rows.template read<size>(unit, lanes, row, buffer), lanes, totals, op);
                for (std::size_t lane = 0; lane < lanes; lane += group::lanes)
                    group::template store<store_kind::cached>(
                        group::fold(op, group::load(folds.data() + lane), group::load(totals.data() + lane)),
                        folds.data() + lane);
                row += size;
            };
            if ((length & 8) != 0)
                take_block(std::integral_constant<int, 8>{});
            if ((length & 4) != 0)
                take_block(std::integral_constant<int, 4>{});
            if ((length & 2) != 0)
                take_block(std::integral_constant<int, 2>{});
            if ((length & 1) != 0)
                take_block(std::integral_constant<int, 1>{});
            std::array<Out, unit_lanes<Acc>> of_unit; // with which nothing else shares memory, as compilers know
            for (std::size_t line = 0; line < unit.lines; ++line)
                finish(folds[line], of_unit[line]);
            std::copy_n(of_unit.begin(), unit.lines, results.get() + (unit.line - first));
        };
        for (std::size_t done = 0; done < count;) {
            const auto run = unit_of_lines(of.in, first + done, count - done);
            for (std::size_t part = 0; part < run.lines; part += unit_lanes<Acc>)
                fold_unit({run.line + part, std::min(unit_lanes<Acc>, run.lines - part),
                           run.first != nullptr ? run.first + static_cast<std::ptrdiff_t>(part) * run.stride : nullptr,
                           run.stride});
            done += run.lines;
        }
        write_row(of.out, first, count, results.get());
    });
}

// One thread of a scan of a group of lines that is cut into pieces, as grain_scan is of an array: it takes the pieces in the order of
// their numbers, folds each, and scans it from the cache when the folds before it are known.
template <class Group, class Acc, class T, class Out, std::size_t Rank, class Op>
class piece_scan {
public:
    using call = line_call<Acc, T, Out, Rank, Op>;
    using folds = row_of_values<Acc>;

    piece_scan(const call& of, const line_cuts& cuts, std::size_t first, std::size_t count, grain_totals<folds>& totals)
        : call_(of), cuts_(cuts), first_(first), count_(count), totals_(totals),
          learned_totals_(of, first, count, of.lines.length())
    {
    }

    void operator()()
    {
        for (auto k = totals_.take(); k; k = totals_.take()) {
            totals_.tell(*k, total_of(*k));
            scan(*k);
        }
        stream_fence();
    }

private:
    line_piece piece(std::size_t k) const { return {k * cuts_.piece(), cuts_.piece()}; }

    folds total_of(std::size_t k) const
    {
        Group group(call_, first_, count_, cuts_.piece());
        group.fold(piece(k));
        folds total = std::make_unique<Acc[]>(count_);
        group.write_folds(total.get());
        return total;
    }

    void scan(std::size_t k)
    {
        while (learned_ < k)
            learn_next();
        const folds before = fold_of_learned();
        learn_next();
        const folds end = fold_of_learned();
        totals_.wait_for_readers(k);
        Group group(call_, first_, count_, cuts_.piece(), before.get());
        group.scan(piece(k), end.get());
    }

    // If the piece's thread is late, this one folds it.
    void learn_next()
    {
        const folds& total = totals_.learn(learned_++, [&](std::size_t k) { return total_of(k); });
        learned_totals_.push(total.get(), cuts_.level);
    }
    folds fold_of_learned() const
    {
        folds all = std::make_unique<Acc[]>(count_);
        learned_totals_.write_folds(all.get());
        return all;
    }

    const call& call_;
    const line_cuts& cuts_;
    std::size_t first_;
    std::size_t count_;
    grain_totals<folds>& totals_;
    Group learned_totals_;
    std::size_t learned_ = 0;
};

// Scans groups of lines, each on a thread, or each on all of them.
template <class Group, class Acc, class T, class Out, std::size_t Rank, class Op>
void scan_groups(const cpu& target, const line_call<Acc, T, Out, Rank, Op>& call, const line_cuts& cuts)
{
    const std::size_t lines = call.lines.count();
    const std::size_t length = call.lines.length();
    const auto scan_group = [&](std::size_t k) {
        const std::size_t first = k * cuts.lines_a_group;
        const std::size_t count = std::min(cuts.lines_a_group, lines - first);
        if (cuts.pieces == 0) {
            Group group(call, first, count, length);
            const std::size_t at_once = length < 2 * cuts.piece() ? length : cuts.piece();
            for (std::size_t first_row = 0; first_row < length; first_row += at_once)
                group.scan({first_row, std::min(at_once, length - first_row)}, nullptr);
            stream_fence();
            return;
        }
        grain_totals<row_of_values<Acc>> totals(cuts.pieces);
        using scan_of_pieces = piece_scan<Group, Acc, T, Out, Rank, Op>;
        for_each_index(target, static_cast<std::size_t>(thread_count(target)),
                       [&](std::size_t) { scan_of_pieces(call, cuts, first, count, totals)(); });
        const std::size_t done = cuts.pieces * cuts.piece();
        Group rest(call, first, count, length);
        for (std::size_t piece = 0; piece < cuts.pieces; ++piece)
            rest.push(totals[piece].get(), cuts.level);
        rest.scan({done, length - done}, nullptr);
        stream_fence();
    };
    if (cuts.pieces == 0)
        return for_each_index(target, cuts.groups, scan_group);
    for (std::size_t k = 0; k < cuts.groups; ++k)
        scan_group(k);
}

// Whether lines are folded one after the other: they are one, or few, or their elements lie closer together than they do, and are enough for
// a block.
template <class T, std::size_t Rank>
UPSWEEP_NEVER_INLINE bool goes_line_by_line(const view<const T, Rank>& in, std::size_t few_lines,
                                            std::size_t few_elements)
{
    const std::size_t lines = in.size() / in.extent(0);
    const auto size = [](std::ptrdiff_t stride) { return stride < 0 ? -stride : stride; };
    const bool is_close = size(in.stride(0)) < size(in.stride(Rank - 1));
    return lines == 1 || (in.extent(0) >= few_elements && (is_close || lines <= few_lines));
}

inline constexpr std::size_t piece_bytes = std::size_t{1} << 18; // which the second-level cache holds

// The groups that are folded in lockstep, and the lanes of a unit of theirs.
template <bool Scans, class Acc, class T, class Out, std::size_t Rank, class Op>
struct groups_in_lanes {
    using type = lines_in_lanes<Acc, T, Out, Rank, Op, Scans>;
    static constexpr std::size_t unit = unit_lanes<Acc>;
};
template <class N, class T, class Out, std::size_t Rank>
    requires(!std::same_as<T, moments<N>>)
struct groups_in_lanes<false, moments<N>, T, Out, Rank, mean_and_variance> {
    using type = moments_in_lanes<N, T, line_call<moments<N>, T, Out, Rank, mean_and_variance>>;
    static constexpr std::size_t unit = unit_lanes<N>;
};

// Calls f(group, cuts), where `group` has the type of the groups in which the lines are folded: one after the other unless they have
// few elements.
template <bool Scans, class Acc, class T, class Out, std::size_t Rank, class Op, class F>
void with_groups(const cpu& target, const line_call<Acc, T, Out, Rank, Op>& call, std::size_t few_elements, F f)
{
    const std::size_t lines = call.lines.count();
    const std::size_t length = call.lines.length();
    constexpr std::size_t elements = piece_bytes / sizeof(Acc);
    using groups = groups_in_lanes<Scans, Acc, T, Out, Rank, Op>;
    if (are_interleaved(call.lines.in) && (!Scans || are_interleaved(call.lines.out)) && length >= few_elements)
        f(std::type_identity<interleaved_lines<Acc, T, Out, Rank, Op>>{},
          cut_lines(target, lines, length, lines, lines, elements));
    else if (goes_line_by_line(call.lines.in, 1, few_elements))
        f(std::type_identity<separate_lines<Acc, T, Out, Rank, Op>>{},
          cut_lines(target, lines, length, 1, std::max<std::size_t>(1, elements / length), elements));
    else
        f(std::type_identity<typename groups::type>{},
          (Scans ? cut_scanned_lines : cut_lines)(target, lines, length, groups::unit, 16 * groups::unit, elements));
}

} // namespace upsweep::cpu_engine

namespace upsweep::detail {

template <>
struct engine<cpu, verb::reduce_lines> {
    template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
    static void fold(const cpu& target, const lines<const T, Out, Rank>& of, const Op& op, const Finish& finish)
    {
        if (of.length() == 0) {
            Out nothing;
            finish(fold_of_nothing<Acc>(op), nothing);
            for (Out& result : of.out)
                result = nothing;
            return;
        }
        if constexpr (cpu_engine::reads_beyond<Acc, const T*, Op>)
            if (of.length() > 1 && cpu_engine::are_rows(of.in) && cpu_engine::are_parts_of_blocks<Acc, Op>(of.length()))
                return cpu_engine::reduce_parts_of_blocks<Acc>(target, of, op, finish);
        if constexpr (cpu_engine::reads_beyond<Acc, const T*, Op>)
            if (of.length() > 1 && of.length() <= cpu_engine::most_without_branches && cpu_engine::are_rows(of.in))
                return cpu_engine::reduce_short_rows<Acc>(target, of, op, finish);
        constexpr std::size_t few_elements = 64;
        using groups = typename cpu_engine::groups_in_lanes<false, Acc, T, Out, Rank, Op>::type;
        if constexpr (std::same_as<groups, cpu_engine::lines_in_lanes<Acc, T, Out, Rank, Op, false>>)
            if (of.length() <= cpu_engine::most_of_few_rows && !cpu_engine::goes_line_by_line(of.in, 1, few_elements))
                return cpu_engine::reduce_few_rows<Acc>(target, of, op, finish);
        const cpu_engine::line_call<Acc, T, Out, Rank, Op> call{of, op, {}, Out{}};
        cpu_engine::with_groups<false>(target, call, few_elements,
                                       [&]<class Group>(std::type_identity<Group>, const auto& cuts) {
                                           cpu_engine::reduce_groups<Group>(target, call, cuts, finish);
                                       });
    }
};

template <>
struct engine<cpu, verb::scan_lines> {
    template <scan_kind Kind, class Acc, class T, class Out, std::size_t Rank, class Op>
    static void scan(const cpu& target, const lines<const T, Out, Rank>& of, const Op& op, const Acc* init)
    {
        const bool is_in_place = static_cast<const void*>(of.in.data()) == static_cast<const void*>(of.out.data());
        const bool is_large = of.out.size() * sizeof(Out) >= cpu_engine::stream_threshold && !is_in_place;
        const auto store = is_large ? cpu_engine::store_kind::streamed : cpu_engine::store_kind::cached;
        if constexpr (cpu_engine::reads_beyond<Acc, const T*, Op>) {
            using scan_of_rows = cpu_engine::short_rows_scan<Kind, Acc, T, Out, Op>;
            if ((init == nullptr || scan_of_rows::has_init) && of.length() >= scan_of_rows::least_length &&
                of.length() <= cpu_engine::most_of_short_row<Acc> && cpu_engine::are_rows(of.in) &&
                cpu_engine::are_rows(of.out))
                return cpu_engine::scan_short_rows<Kind, Acc>(target, of.in.data(), of.out.data(), of.count(),
                                                              of.length(), op, init, store);
        }
        const Out first = as_result<Out, Op>(init != nullptr ? *init : fold_of_nothing<Acc>(op));
        const cpu_engine::line_call<Acc, T, Out, Rank, Op> call{of, op, {Kind, store, init}, first};
        constexpr std::size_t few_elements = 512;
        cpu_engine::with_groups<true>(target, call, few_elements,
                                      [&]<class Group>(std::type_identity<Group>, const auto& cuts) {
                                          cpu_engine::scan_groups<Group>(target, call, cuts);
                                      });
    }
};

} // namespace upsweep::detail
