// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <upsweep/cpu/lanes.hpp>
#include <upsweep/cpu/line_call.hpp>
#include <upsweep/cpu/reduce.hpp>
#include <upsweep/monoids.hpp>
#include <upsweep/qualifiers.hpp>

// Moments of many lines of one length in lockstep, as lanes.hpp folds other operators. Below the fold of a line all operands of a level are of
// equally many elements: the binary counter has two arrays of numbers, means and sums of squares, which compilers fold by vectors, and no counts.
namespace upsweep::cpu_engine {

// Elements First to First + Count - 1 of a lane, by halves.
template <std::size_t First, std::size_t Count, class T>
UPSWEEP_ALWAYS_INLINE inline auto moments_of_lane(const lane_rows<T>& rows, std::size_t lane)
{
    if constexpr (Count == 1)
        return detail::moments_of<T, 1>(rows.first[static_cast<std::ptrdiff_t>(First) * rows.step + lane]);
    else
        return mean_and_variance{}(moments_of_lane<First, Count / 2>(rows, lane),
                                   moments_of_lane<First + Count / 2, Count / 2>(rows, lane));
}

// The totals of `Rows` rows, lane by lane.
template <std::size_t Rows, class T>
void fold_rows_of_moments(const lane_rows<T>& rows, std::size_t lanes, T* __restrict means, T* __restrict squares)
{
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        const auto total = moments_of_lane<0, Rows>(rows, lane);
        means[lane] = total.mean;
        if constexpr (Rows == 1)
            squares[lane] = 0;
        else
            squares[lane] = total.squares;
    }
}

// The stacks of many lanes: digit k of the count stands for a row of means and one of sums of squares, of 2^k elements each.
template <class T>
class moments_stack {
public:
    // Of so many lanes, which hold at most `most` elements.
    moments_stack(std::size_t lanes, std::uint64_t most)
        : lanes_(lanes),
          rows_(std::make_unique_for_overwrite<T[]>(2 * lanes * static_cast<std::size_t>(std::bit_width(most))))
    {
    }

    // Appends the part of lanes first to first + lanes - 1 of a block of 2^level rows, of which the count is a multiple.
    void push(std::size_t first, std::size_t lanes, T* __restrict means, T* __restrict squares, int level)
    {
        const int to = level + std::countr_one(count_ >> level);
        for (int k = level; k < to; ++k) {
            const T* __restrict const left_means = means_of(k) + first;
            const T* __restrict const left_squares = squares_of(k) + first;
            const T half = static_cast<T>(std::uint64_t{1} << k) * T(0.5);
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                const T distance = means[lane] - left_means[lane];
                const T between = distance * distance * half;
                means[lane] = left_means[lane] + distance * T(0.5);
                squares[lane] = (left_squares[lane] + squares[lane]) + between;
            }
        }
        std::copy_n(means, lanes, means_of(to) + first);
        std::copy_n(squares, lanes, squares_of(to) + first);
    }
    // Counts the block, when all lanes have been pushed.
    void advance(int level) { count_ += std::uint64_t{1} << level; }

    moments<T> fold(std::size_t lane) const
    {
        moments<T> result;
        for (int k = std::bit_width(count_) - 1; k >= 0; --k)
            if ((count_ >> k & 1) != 0)
                result = mean_and_variance{}(result,
                                             moments<T>(std::uint64_t{1} << k, means_of(k)[lane], squares_of(k)[lane]));
        return result;
    }

private:
    T* means_of(int digit) const { return rows_.get() + 2 * static_cast<std::size_t>(digit) * lanes_; }
    T* squares_of(int digit) const { return means_of(digit) + lanes_; }

    std::size_t lanes_;
    std::uint64_t count_ = 0;
    std::unique_ptr<T[]> rows_;
};

// A group of lines whose moments are folded so; axis.hpp says what groups are.
template <class T, class Element, class Call>
class moments_in_lanes {
public:
    moments_in_lanes(const Call& of, std::size_t first, std::size_t count, std::size_t length)
        : first_(first), reader_(of.lines.in, false), stack_(count, length)
    {
        for (std::size_t done = 0; done < count; done += units_.back().lines)
            units_.push_back(unit_of_lines(of.lines.in, first + done, std::min(unit_lanes<T>, count - done)));
    }

    UPSWEEP_NEVER_INLINE void fold(const line_piece& piece)
    {
        std::size_t row = piece.first;
        const std::size_t end = row + piece.count;
        while (row + rows_at_once <= end)
            take<rows_at_once>(row);
        if (row + 4 <= end)
            take<4>(row);
        if (row + 2 <= end)
            take<2>(row);
        if (row < end)
            take<1>(row);
    }
    void push(const moments<T>* totals, int level)
    {
        for (const auto& unit : units_) {
            lane_row<T> means;
            lane_row<T> squares;
            const std::size_t slot = unit.line - first_;
            for (std::size_t lane = 0; lane < unit.lines; ++lane) {
                means[lane] = totals[slot + lane].mean();
                squares[lane] = totals[slot + lane].sum_of_squares();
            }
            stack_.push(slot, unit.lines, means.data(), squares.data(), level);
        }
        stack_.advance(level);
    }
    void write_folds(moments<T>* to) const
    {
        const std::size_t count = units_.back().line + units_.back().lines - first_;
        for (std::size_t lane = 0; lane < count; ++lane)
            to[lane] = stack_.fold(lane);
    }

private:
    // Folds the next rows as a block.
    template <std::size_t Rows>
    void take(std::size_t& row)
    {
        for (const auto& unit : units_) {
            lane_row<T> means;
            lane_row<T> squares;
            fold_rows_of_moments<Rows>(reader_.template read<Rows>(unit, unit.lines, row, buffer_), unit.lines,
                                       means.data(), squares.data());
            stack_.push(unit.line - first_, unit.lines, means.data(), squares.data(), level_of<Rows>);
        }
        stack_.advance(level_of<Rows>);
        row += Rows;
    }

    using reader = lane_reader<T, Element, Call::rank>;
    std::size_t first_;
    reader reader_;
    moments_stack<T> stack_;
    std::vector<line_unit<const Element>> units_;
    typename reader::buffer buffer_;
};

} // namespace upsweep::cpu_engine
