// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include <upsweep/cpu/lanes.hpp>
#include <upsweep/cpu/line_call.hpp>
#include <upsweep/cpu/store.hpp>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>
#include <upsweep/qualifiers.hpp>

namespace upsweep::cpu_engine {

// Lines that are folded in lockstep. Scans: that are scanned, too.
template <class Acc, class T, class Out, std::size_t Rank, class Op, bool Scans>
class lines_in_lanes {
public:
    using call = line_call<Acc, T, Out, Rank, Op>;

    UPSWEEP_NEVER_INLINE lines_in_lanes(const call& of, std::size_t first, std::size_t count, std::size_t length,
                                        const Acc* before = nullptr)
        : call_(of), first_(first), count_(count),
          reader_(of.lines.in, static_cast<const void*>(of.lines.in.data()) != of.lines.out.data()),
          writer_(of.lines.out), units_(units_of(of.lines, first, count)),
          stack_(units_.back().slot + units_.back().lanes, length, of.op)
    {
        if (before != nullptr)
            for (const unit& u : units_)
                std::copy_n(before + u.in.line - first_, u.in.lines, stack_.folds_before() + u.slot);
        if constexpr (Scans)
            if (are_rows_staged())
                staged_ = std::make_unique_for_overwrite<Acc[]>(most_staged_rows() * count + unit_lanes<Acc>);
    }

    UPSWEEP_NEVER_INLINE void fold(const line_piece& piece)
    {
        std::size_t done = 0;
        if constexpr (!Scans && adds_narrow_integers<T, Acc, Op>) {
            if (std::ranges::all_of(units_, [](const unit& u) { return u.in.first != nullptr && u.in.stride == 1; }))
                return add(piece);
        } else if constexpr (!Scans && std::same_as<T, Acc>) {
            done = fold_close_rows(piece);
        }
        for_each_block({piece.first + done, piece.count - done}, [&](auto rows, std::size_t row) {
            constexpr std::size_t size = decltype(rows)::value;
            for (const unit& u : units_)
                push<size>(u, reader_.template read<size>(u.in, u.lanes, row, buffer_));
        });
    }
    UPSWEEP_NEVER_INLINE void push(const Acc* totals, int level)
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

    UPSWEEP_NEVER_INLINE void scan(const line_piece& piece, const Acc* end)
    {
        const std::size_t done = scan_narrow_rows(piece, end);
        for_each_block({piece.first + done, piece.count - done}, [&](auto rows, std::size_t row) {
            constexpr std::size_t size = decltype(rows)::value;
            const bool is_last = row + size == piece.first + piece.count && end != nullptr;
            if (staged_ != nullptr)
                return scan_staged<size>(row, is_last ? end : nullptr, [&](const unit& u) {
                    return reader_.template read<size>(u.in, u.lanes, row, buffer_);
                });
            for (const unit& u : units_)
                scan_unit<size>(u, row, is_last ? end + u.in.line - first_ : nullptr);
        });
        if (staged_rows_ != 0)
            stream_staged(piece.first + piece.count);
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
        // Ints, for nvcc, as in interleaved_lines.hpp.
        if (row + 4 <= end)
            take(std::integral_constant<int, 4>{});
        if (row + 2 <= end)
            take(std::integral_constant<int, 2>{});
        if (row < end)
            take(std::integral_constant<int, 1>{});
    }

    // Folds blocks of many rows, where these lie close together and are read where they lie. Returns how many rows there are in them.
    std::size_t fold_close_rows(const line_piece& piece)
    {
        constexpr std::size_t size = close_rows_at_once;
        const std::size_t lanes = units_.back().slot + units_.back().lanes;
        const bool are_enough_lanes = lanes >= unit_lanes<Acc> || lanes <= lane_group<Op, Acc>::lanes;
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

    // Adds up narrow integers that lie in rows, in blocks that are as large as sums and the stack's count allow.
    void add(const line_piece& piece)
    {
        constexpr int most = 8; // the level of 256 rows
        for (std::size_t done = 0; done < piece.count;) {
            const int of_count = stack_.count() == 0 ? most : std::countr_zero(stack_.count());
            const int level = std::min({most, of_count, static_cast<int>(std::bit_width(piece.count - done)) - 1});
            push_sums(piece.first + done, level);
            done += std::size_t{1} << level;
        }
    }
    // Appends 2^level rows from one on, in strips of neighbouring units whose sums stay in the first-level cache.
    void push_sums(std::size_t row, int level)
    {
        std::array<twice_as_wide<T>, 16 * unit_lanes<Acc>> sums;
        for (auto u = units_.begin(); u != units_.end();) {
            std::size_t lanes = 0;
            auto end = u;
            while (end != units_.end() && end->in.first == u->in.first + lanes && lanes + end->in.lines <= sums.size())
                lanes += end++->in.lines;
            std::fill_n(sums.begin(), lanes, twice_as_wide<T>{0});
            add_rows(reader_.in_place(u->in, row), std::size_t{1} << level, lanes, sums.data());
            for (auto next = sums.begin(); u != end; next += static_cast<std::ptrdiff_t>(u++->in.lines)) {
                lane_row<Acc> totals;
                const auto behind = std::transform(next, next + static_cast<std::ptrdiff_t>(u->in.lines),
                                                   totals.begin(), [](auto sum) { return static_cast<Acc>(sum); });
                std::fill(behind, totals.begin() + static_cast<std::ptrdiff_t>(u->lanes), Acc{0});
                stack_.push(u->slot, u->lanes, totals, level);
            }
        }
        stack_.advance(level);
    }

    template <std::size_t Rows>
    void push(const unit& u, const lane_rows<Acc>& rows)
    {
        lane_row<Acc> totals;
        fold_rows<Rows>(rows, u.lanes, totals, call_.op);
        stack_.push(u.slot, u.lanes, totals, level_of<Rows>);
    }

    // Whether results are put together before they are streamed, since the rows of the group are no whole lines of memory.
    bool are_rows_staged() const
    {
        if constexpr (!std::same_as<Acc, Out>)
            return false;
        constexpr std::size_t line = 64;
        constexpr std::size_t least_part =
            1024; // of a row, where rows do not join each other: it begins and ends with a part of a line
        const std::ptrdiff_t step = call_.lines.out.stride(0);
        const auto row_bytes = static_cast<std::uintptr_t>(step) * sizeof(Out);
        const Out* const first = units_.front().out.first;
        const bool are_whole_lines =
            (reinterpret_cast<std::uintptr_t>(first) | row_bytes | (count_ * sizeof(Out))) % line == 0;
        const bool is_long = step == static_cast<std::ptrdiff_t>(count_) || count_ * sizeof(Out) >= least_part;
        return call_.options.store == store_kind::streamed && call_.options.init == nullptr && !are_whole_lines &&
               is_long && std::ranges::all_of(units_, [&](const unit& u) {
                   const bool is_whole = u.lanes == u.in.lines || &u == &units_.back();
                   return is_whole && u.out.stride == 1 && u.out.first == first + (u.out.line - first_);
               });
    }
    // So many rows are staged, a multiple of eight: where they join each other, enough for streams that begin and end with a part of a line to
    // be few.
    std::size_t most_staged_rows() const
    {
        constexpr std::size_t bytes = 8192;
        constexpr std::size_t rows = close_rows_at_once;
        const std::size_t some = bytes / (count_ * sizeof(Out)) / rows * rows;
        return std::max(some, rows_at_once);
    }
    // From the last unit to the first, and within a unit from the last lanes on: what is written behind the end of a row is replaced by the row
    // behind it.
    template <std::size_t Rows, class Read>
    void scan_staged(std::size_t row, const Acc* end, Read read)
    {
        Acc* const to = staged_.get() + staged_rows_ * count_;
        for (auto u = units_.rbegin(); u != units_.rend(); ++u) {
            const lane_rows<Acc> rows = read(*u);
            const folds_around around =
                push_for_scan<Rows>(*u, rows, end != nullptr ? end + u->in.line - first_ : nullptr);
            scan_to<Rows, store_kind::cached>(*u, rows, around.before, around.after(), to + (u->in.line - first_),
                                              static_cast<std::ptrdiff_t>(count_));
        }
        staged_rows_ += Rows;
        if (staged_rows_ + Rows > most_staged_rows())
            stream_staged(row + Rows);
    }
    // Scans blocks of many rows, where one group of lanes has all lines, which are read where they lie. Returns how many rows there are in them.
    std::size_t scan_narrow_rows(const line_piece& piece, const Acc* end)
    {
        constexpr std::size_t size = close_rows_at_once;
        std::size_t done = 0;
        if constexpr (std::same_as<T, Acc>) {
            const unit& u = units_.front();
            if (staged_ == nullptr || units_.size() != 1 || u.lanes > lane_group<Op, Acc>::lanes ||
                stack_.count() % size != 0)
                return 0;
            for (; done + size <= piece.count; done += size) {
                const std::size_t row = piece.first + done;
                if (!reader_.is_in_place(u.in, u.lanes, row + size))
                    break;
                scan_staged<size>(row, done + size == piece.count ? end : nullptr,
                                  [&](const unit& all) { return reader_.in_place(all.in, row); });
                stack_.advance(std::countr_zero(size)); // level_of<size> nvcc does not parse here
            }
        }
        return done;
    }
    // Streams the staged rows, which end before row `end`.
    void stream_staged(std::size_t end)
    {
        if constexpr (std::same_as<Acc, Out>) {
            const std::ptrdiff_t step = call_.lines.out.stride(0);
            Out* const to = units_.front().out.first + static_cast<std::ptrdiff_t>(end - staged_rows_) * step;
            if (step == static_cast<std::ptrdiff_t>(count_))
                stream_bytes(staged_.get(), to, staged_rows_ * count_ * sizeof(Out));
            else
                for (std::size_t r = 0; r < staged_rows_; ++r)
                    stream_bytes(staged_.get() + r * count_, to + static_cast<std::ptrdiff_t>(r) * step,
                                 count_ * sizeof(Out));
            staged_rows_ = 0;
        }
    }

    // What a scan of a block goes on from, and ends with.
    struct folds_around {
        const Acc* before;
        const Acc* known; // null: `ends`
        lane_row<Acc> ends;

        const Acc* after() const { return known != nullptr ? known : ends.data(); }
    };
    template <std::size_t Rows>
    folds_around push_for_scan(const unit& u, const lane_rows<Acc>& rows, const Acc* end)
    {
        folds_around around;
        around.before = stack_.folds() + u.slot;
        push<Rows>(u, rows);
        around.known = end == nullptr ? stack_.folds_after(level_of<Rows>) + u.slot : nullptr;
        if (end != nullptr) {
            std::fill_n(around.ends.begin(), u.lanes, *end);
            std::copy_n(end, u.in.lines, around.ends.begin());
        }
        return around;
    }

    template <std::size_t Rows>
    void scan_unit(const unit& u, std::size_t row, const Acc* end)
    {
        const lane_rows<Acc> rows = reader_.template read<Rows>(u.in, u.lanes, row, buffer_);
        const folds_around around = push_for_scan<Rows>(u, rows, end);
        const Acc* const before = around.before;
        const Acc* const after = around.after();
        if constexpr (std::same_as<Acc, Out>)
            if (u.out.first != nullptr && u.out.stride == 1 && u.out.lines == u.lanes && call_.options.init == nullptr)
                return scan_to_output<Rows>(u, row, rows, before, after);
        std::array<lane_row<Acc>, Rows> results;
        scan_to<Rows, store_kind::cached>(u, rows, before, after, results[0].data(), unit_lanes<Acc>);
        write_aside(u, row, results.data(), Rows);
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
        if constexpr (Rows == rows_at_once) // The last rows are few, and not compiled for it.
            if (is_aligned && call_.options.store == store_kind::streamed)
                return scan_to<Rows, store_kind::streamed>(u, rows, before, after, to, step);
        scan_to<Rows, store_kind::cached>(u, rows, before, after, to, step);
    }
    // Writes results that have to be combined with an initial value, converted, or put where lines do not lie side by side.
    UPSWEEP_NEVER_INLINE void write_aside(const unit& u, std::size_t row, lane_row<Acc>* results,
                                          std::size_t rows) const
    {
        if (const Acc* const init = call_.options.init)
            for (std::size_t r = 0; r < rows; ++r)
                for (std::size_t lane = 0; lane < u.in.lines; ++lane)
                    results[r][lane] = as_result<Acc, Op>(call_.op(*init, results[r][lane]));
        if (u.out.lines == u.in.lines)
            return writer_.write(u.out, row, rows, results[0].data());
        for (std::size_t r = 0; r < rows; ++r)
            store_results(results[r].data(),
                          call_.lines.out.begin() +
                              static_cast<std::ptrdiff_t>((row + r) * reader_.lines() + u.in.line),
                          u.in.lines);
    }
    template <std::size_t Rows, store_kind Store>
    void scan_to(const unit& u, const lane_rows<Acc>& rows, const Acc* before, const Acc* after, Acc* to,
                 std::ptrdiff_t step) const
    {
        scan_rows<Rows, Store>(rows, u.lanes, call_.options.kind, before, after, to, step, call_.op);
    }

    call call_;
    std::size_t first_;
    std::size_t count_;
    lane_reader<Acc, T, Rank> reader_;
    lane_writer<Acc, Out, Rank> writer_;
    std::vector<unit> units_;
    lane_stack<Acc, Op, Scans> stack_;
    typename lane_reader<Acc, T, Rank>::buffer buffer_;
    row_of_values<Acc> staged_; // rows of results, or null
    std::size_t staged_rows_ = 0;
};

} // namespace upsweep::cpu_engine
