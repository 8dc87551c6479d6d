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
#include <upsweep/cpu/lanes.hpp>
#include <upsweep/cpu/moments_in_lanes.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/cpu/reduce.hpp>
#include <upsweep/cpu/scan.hpp>
#include <upsweep/cpu/short_segment.hpp>
#include <upsweep/cpu/store.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>
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
inline line_cuts cut_lines(const cpu& target, std::size_t lines, std::size_t length, std::size_t unit,
                           std::size_t most_lines, std::size_t elements_a_piece)
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

// Calls f with the beginning of a line.
template <class T, std::size_t Rank, class F>
void with_line(const view<T, Rank>& in, std::size_t line, F f)
{
    T* const first = &in[line];
    if (in.stride(0) == 1)
        f(first);
    else
        f(view<T, 1>(first, {in.extent(0)}, {in.stride(0)}).begin());
}

// One value a line. A vector of bool would not have them side by side.
template <class T>
using row_of_values = std::unique_ptr<T[]>;

// Writes the first elements of neighbouring lines.
template <class Out, std::size_t Rank>
void write_row(const view<Out, Rank>& out, std::size_t first, std::size_t count, const Out* elements)
{
    (out.begin() + static_cast<std::ptrdiff_t>(first)).write(count, elements);
}

// What all groups need to know of a call.
template <class Acc, class T, class Out, std::size_t Rank, class Op>
struct line_call {
    static constexpr std::size_t rank = Rank;
    const detail::lines<const T, Out, Rank>& lines;
    const Op& op;
    scan_options<Acc> options; // of a scan
    Out first;                 // result of an exclusive scan, which no fold gives
};

// Lines that are folded one after the other.
template <class Acc, class T, class Out, std::size_t Rank, class Op>
class separate_lines {
public:
    using call = line_call<Acc, T, Out, Rank, Op>;

    // `before`: the folds of what lies before the elements that will be folded, if anything does.
    separate_lines(const call& of, std::size_t first, std::size_t count, std::size_t, const Acc* before = nullptr)
        : call_(of), first_(first), before_(std::make_unique<Acc[]>(count))
    {
        stacks_.reserve(count); // which would be copied as a whole
        for (std::size_t k = 0; k < count; ++k)
            stacks_.emplace_back(of.op);
        std::fill_n(before_.get(), count, of.op.template identity<Acc>());
        if (before != nullptr)
            std::copy_n(before, count, before_.get());
    }

    void fold(const line_piece& piece)
    {
        for (std::size_t k = 0; k < stacks_.size(); ++k)
            with_line(call_.lines.in, first_ + k, [&](auto line) {
                fold_serially(stacks_[k], line + static_cast<std::ptrdiff_t>(piece.first), piece.count, call_.op);
            });
    }
    void push(const Acc* totals, int level)
    {
        for (std::size_t k = 0; k < stacks_.size(); ++k)
            stacks_[k].push(totals[k], level);
    }
    void write_folds(Acc* to) const
    {
        for (std::size_t k = 0; k < stacks_.size(); ++k)
            to[k] = stacks_[k].fold_after(before_[k]);
    }

    // `end`: the folds after the piece, where the stacks do not know them.
    void scan(const line_piece& piece, const Acc* end)
    {
        const auto offset = static_cast<std::ptrdiff_t>(piece.first);
        for (std::size_t k = 0; k < stacks_.size(); ++k)
            with_line(call_.lines.in, first_ + k, [&](auto in) {
                with_line(call_.lines.out, first_ + k, [&](auto out) {
                    using scan_of_line = serial_scan<Acc, Op, decltype(in), decltype(out)>;
                    scan_of_line(stacks_[k], before_[k], end != nullptr ? end + k : nullptr, call_.op,
                                 call_.options)(in + offset, out + offset, piece.count, {});
                    if (piece.first == 0 && call_.options.kind == scan_kind::exclusive)
                        *out = call_.first;
                });
            });
    }

private:
    call call_;
    std::size_t first_;
    std::vector<fold_stack<Acc, Op>> stacks_;
    row_of_values<Acc> before_;
};

// Lines that are folded in lockstep. Scans: that are scanned, too.
template <class Acc, class T, class Out, std::size_t Rank, class Op, bool Scans>
class lines_in_lanes {
public:
    using call = line_call<Acc, T, Out, Rank, Op>;

    lines_in_lanes(const call& of, std::size_t first, std::size_t count, std::size_t length,
                   const Acc* before = nullptr)
        : call_(of), first_(first), count_(count),
          reader_(of.lines.in, static_cast<const void*>(of.lines.in.data()) != of.lines.out.data()),
          writer_(of.lines.out), units_(units_of(of.lines, first, count)),
          stack_(units_.back().slot + units_.back().lanes, length, of.op)
    {
        if (before != nullptr)
            for (const unit& u : units_)
                std::copy_n(before + u.in.line - first_, u.in.lines, stack_.folds_before() + u.slot);
    }

    void fold(const line_piece& piece)
    {
        std::size_t done = 0;
        if constexpr (!Scans && std::same_as<T, Acc>)
            done = fold_close_rows(piece);
        for_each_block({piece.first + done, piece.count - done}, [&](auto rows, std::size_t row) {
            constexpr std::size_t size = decltype(rows)::value;
            for (const unit& u : units_)
                push<size>(u, reader_.template read<size>(u.in, u.lanes, row, buffer_));
        });
    }
    void push(const Acc* totals, int level)
    {
        for (const unit& u : units_) {
            lane_row<Acc> row;
            std::fill_n(row.begin(), u.lanes, totals[u.in.line - first_]);
            std::copy_n(totals + u.in.line - first_, u.in.lines, row.begin());
            stack_.push(u.slot, u.lanes, row, level);
        }
        stack_.advance(level);
    }
    void write_folds(Acc* to) const
    {
        const Acc* const folds = stack_.folds();
        for (const unit& u : units_)
            std::copy_n(folds + u.slot, u.in.lines, to + u.in.line - first_);
    }

    void scan(const line_piece& piece, const Acc* end)
    {
        for_each_block(piece, [&](auto rows, std::size_t row) {
            constexpr std::size_t size = decltype(rows)::value;
            const bool is_last = row + size == piece.first + piece.count && end != nullptr;
            for (const unit& u : units_)
                scan_unit<size>(u, row, is_last ? end + u.in.line - first_ : nullptr);
        });
        if (piece.first == 0 && call_.options.kind == scan_kind::exclusive) {
            const auto first = std::make_unique<Out[]>(count_);
            std::fill_n(first.get(), count_, call_.first);
            write_row(call_.lines.out, first_, count_, first.get());
        }
    }

private:
    struct unit {
        line_unit<const T> in;
        line_unit<Out> out;
        std::size_t lanes; // its lines, and as many more as make whole groups of lanes
        std::size_t slot;  // the first of its lanes in the stack
    };
    static std::vector<unit> units_of(const detail::lines<const T, Out, Rank>& lines, std::size_t first,
                                      std::size_t count)
    {
        constexpr std::size_t lanes_of_group = lane_group<Op, Acc>::lanes;
        std::vector<unit> units;
        for (std::size_t done = 0, slot = 0; done < count; slot = units.back().slot + units.back().lanes) {
            const auto in = unit_of_lines(lines.in, first + done, std::min(unit_lanes<Acc>, count - done));
            const auto out = unit_of_lines(lines.out, first + done, in.lines);
            const std::size_t lanes = (in.lines + lanes_of_group - 1) / lanes_of_group * lanes_of_group;
            units.push_back({in, out, lanes, slot});
            done += in.lines;
        }
        return units;
    }

    // Calls f(rows, first) for the aligned blocks of a piece, eight rows each, or fewer at the end of the lines.
    template <class F>
    void for_each_block(const line_piece& piece, F f)
    {
        std::size_t row = piece.first;
        const std::size_t end = row + piece.count;
        const auto take = [&](auto rows) {
            f(rows, row);
            stack_.advance(level_of<decltype(rows)::value>);
            row += rows;
        };
        while (row + rows_at_once <= end)
            take(std::integral_constant<std::size_t, rows_at_once>{});
        if (row + 4 <= end)
            take(std::integral_constant<std::size_t, 4>{});
        if (row + 2 <= end)
            take(std::integral_constant<std::size_t, 2>{});
        if (row < end)
            take(std::integral_constant<std::size_t, 1>{});
    }

    // Folds blocks of many rows, where these lie close together and are read where they lie. Returns how many rows there are in them.
    std::size_t fold_close_rows(const line_piece& piece)
    {
        constexpr std::size_t size = close_rows_at_once;
        const bool are_enough_lanes = units_.back().slot + units_.back().lanes >= unit_lanes<Acc>;
        if (!are_enough_lanes || !reader_.are_close() || stack_.count() % size != 0)
            return 0;
        std::size_t done = 0;
        const auto are_in_place = [&](std::size_t end) {
            return std::ranges::all_of(units_, [&](const unit& u) { return reader_.is_in_place(u.in, u.lanes, end); });
        };
        for (; done + size <= piece.count && are_in_place(piece.first + done + size); done += size) {
            for (const unit& u : units_) {
                lane_row<Acc> totals;
                fold_many_rows<size>(reader_.in_place(u.in, piece.first + done), u.lanes, totals, call_.op);
                stack_.push(u.slot, u.lanes, totals, level_of<size>);
            }
            stack_.advance(level_of<size>);
        }
        return done;
    }

    template <std::size_t Rows>
    void push(const unit& u, const lane_rows<Acc>& rows)
    {
        lane_row<Acc> totals;
        fold_rows<Rows>(rows, u.lanes, totals, call_.op);
        stack_.push(u.slot, u.lanes, totals, level_of<Rows>);
    }

    template <std::size_t Rows>
    void scan_unit(const unit& u, std::size_t row, const Acc* end)
    {
        const lane_rows<Acc> rows = reader_.template read<Rows>(u.in, u.lanes, row, buffer_);
        const Acc* const before = stack_.folds() + u.slot;
        push<Rows>(u, rows);
        lane_row<Acc> ends;
        const Acc* after = stack_.folds_after(level_of<Rows>) + u.slot;
        if (end != nullptr) {
            std::fill_n(ends.begin(), u.lanes, *end);
            std::copy_n(end, u.in.lines, ends.begin());
            after = ends.data();
        }
        if constexpr (std::same_as<Acc, Out>)
            if (u.out.first != nullptr && u.out.stride == 1 && u.out.lines == u.lanes && call_.options.init == nullptr)
                return scan_to_output<Rows>(u, row, rows, before, after);
        scan_aside<Rows>(u, row, rows, before, after);
    }

    template <std::size_t Rows>
    void scan_to_output(const unit& u, std::size_t row, const lane_rows<Acc>& rows, const Acc* before, const Acc* after)
    {
        const std::ptrdiff_t step = call_.lines.out.stride(0);
        Acc* const to = u.out.first + static_cast<std::ptrdiff_t>(row) * step;
        const auto row_bytes = static_cast<std::uintptr_t>(step) * sizeof(Acc);
        constexpr std::size_t line = 64; // of memory: one that is streamed in parts takes longer than an ordinary store
        const bool is_aligned =
            (reinterpret_cast<std::uintptr_t>(to) | row_bytes | (u.lanes * sizeof(Acc))) % line == 0;
        if (is_aligned && call_.options.store == store_kind::streamed)
            scan_to<Rows, store_kind::streamed>(u, rows, before, after, to, step);
        else
            scan_to<Rows, store_kind::cached>(u, rows, before, after, to, step);
    }
    // Results that have to be combined with an initial value, converted, or put where lines do not lie side by side.
    template <std::size_t Rows>
    void scan_aside(const unit& u, std::size_t row, const lane_rows<Acc>& rows, const Acc* before, const Acc* after)
    {
        std::array<lane_row<Acc>, Rows> results;
        scan_to<Rows, store_kind::cached>(u, rows, before, after, results[0].data(), unit_lanes<Acc>);
        if (const Acc* const init = call_.options.init)
            for (lane_row<Acc>& some : results)
                for (std::size_t lane = 0; lane < u.in.lines; ++lane)
                    some[lane] = as_result<Acc, Op>(call_.op(*init, some[lane]));
        if (u.out.lines == u.in.lines)
            return writer_.template write<Rows>(u.out, row, results[0].data());
        for (std::size_t r = 0; r < Rows; ++r)
            store_results(results[r].data(),
                          call_.lines.out.begin() +
                              static_cast<std::ptrdiff_t>((row + r) * reader_.lines() + u.in.line),
                          u.in.lines);
    }
    template <std::size_t Rows, store_kind Store>
    void scan_to(const unit& u, const lane_rows<Acc>& rows, const Acc* before, const Acc* after, Acc* to,
                 std::ptrdiff_t step) const
    {
        if (call_.options.kind == scan_kind::inclusive)
            scan_rows<Rows, scan_kind::inclusive, Store>(rows, u.lanes, before, after, to, step, call_.op);
        else
            scan_rows<Rows, scan_kind::exclusive, Store>(rows, u.lanes, before, after, to, step, call_.op);
    }

    call call_;
    std::size_t first_;
    std::size_t count_;
    lane_reader<Acc, T, Rank> reader_;
    lane_writer<Acc, Out, Rank> writer_;
    std::vector<unit> units_;
    lane_stack<Acc, Op, Scans> stack_;
    typename lane_reader<Acc, T, Rank>::buffer buffer_;
};

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

// Whether lines lie one behind the other without gaps, as the rows of a matrix do, and are short.
template <class T, std::size_t Rank>
bool are_short_rows(const view<T, Rank>& in)
{
    auto next = static_cast<std::ptrdiff_t>(in.extent(0)); // how far a line lies behind the one before
    bool are_rows = in.stride(0) == 1 && in.extent(0) <= most_without_branches;
    for (std::size_t k = Rank; --k > 0; next *= static_cast<std::ptrdiff_t>(in.extent(k)))
        are_rows = are_rows && (in.extent(k) == 1 || in.stride(k) == next);
    return are_rows;
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_short_rows(const cpu& target, const detail::lines<const T, Out, Rank>& lines, const Op& op,
                       const Finish& finish)
{
    const std::size_t length = lines.length();
    constexpr std::size_t rows = 256;
    for_each_stretch(target, lines.count(), 16 * rows, [&](std::size_t first, std::size_t count) {
        std::array<Out, rows> results;
        for (const std::size_t end = first + count; first < end; first += rows) {
            const std::size_t some = std::min(rows, end - first);
            for (std::size_t k = 0; k < some; ++k)
                finish(fold_of_segment<Acc>(lines.in.data() + (first + k) * length, length, op), results[k]);
            write_row(lines.out, first, some, results.data());
        }
    });
}

// Each row is scanned as a block, and the results of some are put together before they are written: what a block has behind its row
// is replaced there by the next row.
template <scan_kind Kind, class Acc, class T, class Out, class Op>
void scan_short_rows(const cpu& target, const T* in, Out* out, std::size_t rows, std::size_t length, const Op& op,
                     store_kind store)
{
    constexpr std::size_t most = most_without_branches;
    constexpr std::size_t elements = 4096; // of which results lie in the first-level cache
    using buffer = std::array<Out, elements + most>;
    const std::size_t rows_at_once = elements / length;
    const auto scan_some = [&](const T* from, Out* to, std::size_t count, buffer& results) {
        std::size_t i = 0;
        for (; i + most <= count; i += length)
            scan_as_block<Kind, Acc>(from + i, results.data() + i, length, op);
        std::array<T, 3 * most> last{}; // behind which there is nothing to read
        std::copy(from + i, from + count, last.begin());
        for (const std::size_t begin = i; i < count; i += length)
            scan_as_block<Kind, Acc>(static_cast<const T*>(last.data()) + (i - begin), results.data() + i, length, op);
        if (store == store_kind::streamed)
            stream_bytes(results.data(), to, count * sizeof(Out));
        else
            std::copy_n(results.data(), count, to);
    };
    for_each_stretch(target, rows, 16 * rows_at_once, [&](std::size_t first, std::size_t count) {
        buffer results;
        for (const std::size_t end = first + count; first < end; first += rows_at_once)
            scan_some(in + first * length, out + first * length, std::min(rows_at_once, end - first) * length, results);
        stream_fence();
    });
}

// Whether lines are folded one after the other: they are one, or few, or their elements lie closer together than they do, and are enough for
// a block.
template <class T, std::size_t Rank>
bool goes_line_by_line(const view<const T, Rank>& in, std::size_t few_lines, std::size_t few_elements)
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
    if (goes_line_by_line(call.lines.in, unit_lanes<Acc> / 8, few_elements))
        f(std::type_identity<separate_lines<Acc, T, Out, Rank, Op>>{},
          cut_lines(target, lines, length, 1, std::max<std::size_t>(1, elements / length), elements));
    else
        f(std::type_identity<typename groups::type>{},
          cut_lines(target, lines, length, groups::unit, 16 * groups::unit, elements));
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
            if (of.length() > 1 && cpu_engine::are_short_rows(of.in))
                return cpu_engine::reduce_short_rows<Acc>(target, of, op, finish);
        const cpu_engine::line_call<Acc, T, Out, Rank, Op> call{of, op, {}, Out{}};
        constexpr std::size_t few_elements = 64;
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
        if constexpr (cpu_engine::reads_beyond<Acc, const T*, Op>)
            if (init == nullptr && of.length() >= (sizeof(Acc) <= 2 ? 16 : 64) && cpu_engine::are_short_rows(of.in) &&
                cpu_engine::are_short_rows(of.out)) // shorter ones are scanned faster side by side
                return cpu_engine::scan_short_rows<Kind, Acc>(target, of.in.data(), of.out.data(), of.count(),
                                                              of.length(), op, store);
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
