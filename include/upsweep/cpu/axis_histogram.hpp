// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include <upsweep/bins.hpp>
#include <upsweep/cpu/batch_finder.hpp>
#include <upsweep/cpu/histogram.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/lines.hpp>
#include <upsweep/outside.hpp>
#include <upsweep/target.hpp>
#include <upsweep/view.hpp>

// A histogram of each line along an axis, on the cores of a CPU. Groups of neighbouring lines are counted together, each
// in its part of one privatized table. The bins of a batch of samples are found at once, by a function whose type is
// erased, so that all else is compiled once and not for each type of samples and bins.
namespace upsweep::cpu_engine {

// Lines and their counters, without the types of the samples and of the bins.
struct untyped_lines {
    std::size_t length;
    std::size_t lines;
    std::size_t bins;
    std::ptrdiff_t along;        // from one sample of a line to the next
    std::ptrdiff_t between_bins; // from one counter to the next
    std::uint64_t* counts;
    outside* out_of_range;
    std::vector<detail::line_dimension> dimensions; // of the lines, the last of which has neighbours

    const detail::line_dimension& nearest() const { return dimensions.back(); }
    std::size_t all_bins() const { return bins + detail::out_of_range_bins; }

    // Where a line lies in each of the arrays.
    detail::line_dimension place_of(std::size_t line) const
    {
        detail::line_dimension place{1, 0, 0};
        for (std::size_t k = dimensions.size(); k-- > 0;) {
            const detail::line_dimension& of = dimensions[k];
            const auto index = static_cast<std::ptrdiff_t>(line % of.extent);
            line /= of.extent;
            place.in += index * of.in;
            place.out += index * of.out;
            place.beside += index * of.beside;
        }
        return place;
    }
};

template <class T, std::size_t Rank>
untyped_lines without_types(const detail::counted_lines<T, std::uint64_t, Rank>& all)
{
    untyped_lines lines{all.length(),
                        all.count(),
                        all.bins(),
                        all.in.stride(0),
                        all.counts.stride(0),
                        all.counts.data(),
                        all.out_of_range.data(),
                        {}};
    for (std::size_t k = 1; k < Rank; ++k)
        if (all.in.extent(k) != 1 || k + 1 == Rank)
            lines.dimensions.push_back(
                {all.in.extent(k), all.in.stride(k), all.counts.stride(k), all.out_of_range.stride(k)});
    return lines;
}

// How lines are counted: groups of neighbours, whose samples are read row by row where neighbouring lines lie closer
// together than the samples of one (their columns are a row of an image, say), else line by line. Where groups are too
// few for all threads, lines are cut into pieces.
struct line_groups {
    static constexpr std::size_t table_counters = std::size_t{1} << 17; // about, where a group has several lines

    bool by_rows;
    std::size_t lines; // of a group
    std::size_t groups_of_nearest;
    std::size_t groups;
    std::size_t groups_a_task;
    std::size_t pieces; // of each line
    std::size_t piece;  // samples of one

    line_groups(const untyped_lines& all, int threads)
    {
        const std::size_t neighbours = all.nearest().extent;
        const auto step = [](std::ptrdiff_t stride) { return stride < 0 ? -stride : stride; };
        by_rows = neighbours > 1 && step(all.nearest().in) < step(all.along);
        const std::size_t most = std::clamp<std::size_t>(table_counters / all.all_bins(), 1, histogram_batch);
        const std::size_t wanted = by_rows ? histogram_batch : histogram_batch / std::max<std::size_t>(all.length, 1);
        lines = std::clamp<std::size_t>(std::min(most, wanted), 1, neighbours);
        groups_of_nearest = (neighbours + lines - 1) / lines;
        lines = (neighbours + groups_of_nearest - 1) / groups_of_nearest; // about equally many in each
        groups_of_nearest = (neighbours + lines - 1) / lines;
        groups = all.lines / neighbours * groups_of_nearest;

        const std::size_t samples = all.length * lines;
        groups_a_task = std::max<std::size_t>(histogram_grain / (samples + all.all_bins() * lines + 1), 1);
        const std::size_t tasks = (groups + groups_a_task - 1) / groups_a_task;
        const std::size_t wanted_tasks = 4 * static_cast<std::size_t>(threads);
        pieces = 1;
        if (threads > 1 && tasks < wanted_tasks && groups_a_task == 1)
            pieces = std::clamp<std::size_t>(samples / histogram_grain, 1, (wanted_tasks - 1) / tasks + 1);
        piece = (all.length + pieces - 1) / pieces;
    }
};

// Counts pieces of groups in a table of its own, and keeps their totals.
class group_counter {
public:
    group_counter(const untyped_lines& all, const line_groups& groups, const patch_finder& find)
        : all_(all), groups_(groups), find_(find),
          table_(groups.lines * all.all_bins(), std::max(groups.piece, std::size_t{1}) * groups.lines),
          totals_(groups.lines * all.all_bins())
    {
    }

    // Adds the samples [begin, end) of each line of a group to the totals.
    void count(std::size_t group, std::size_t begin, std::size_t end)
    {
        const std::size_t most = std::max<std::size_t>(thread_table::most_samples / groups_.lines, 1);
        for (std::size_t first = begin; first < end; first += most) {
            const std::size_t last = std::min(end, first + most);
            const std::ptrdiff_t from = all_.place_of(first_line(group)).in;
            if (groups_.by_rows)
                count_by_rows(from, lines_of(group), first, last);
            else
                count_by_lines(from, lines_of(group), first, last);
            table_.add_to(totals_);
            table_.clear();
        }
    }

    std::span<std::uint64_t> totals() { return totals_; }

    // Overwrites the counters of a group with totals, which become zero.
    void put(std::size_t group, std::span<std::uint64_t> totals) const
    {
        const detail::line_dimension first = all_.place_of(first_line(group));
        const std::size_t lines = lines_of(group);
        const auto line_step = all_.nearest().out;
        const auto put_bin = [&](std::size_t line, std::size_t bin) {
            all_.counts[first.out + static_cast<std::ptrdiff_t>(line) * line_step +
                        static_cast<std::ptrdiff_t>(bin) * all_.between_bins] = totals[line * all_.all_bins() + bin];
        };
        if (lines > 1 && line_step == 1) // counters of one bin lie side by side
            for (std::size_t bin = 0; bin < all_.bins; ++bin)
                for (std::size_t line = 0; line < lines; ++line)
                    put_bin(line, bin);
        else
            for (std::size_t line = 0; line < lines; ++line)
                for (std::size_t bin = 0; bin < all_.bins; ++bin)
                    put_bin(line, bin);
        for (std::size_t line = 0; line < lines; ++line) {
            const std::uint64_t* const beside = totals.data() + line * all_.all_bins() + all_.bins;
            all_.out_of_range[first.beside + static_cast<std::ptrdiff_t>(line) * all_.nearest().beside] = {
                beside[0], beside[1], beside[2]};
        }
        std::ranges::fill(totals, 0);
    }

private:
    std::size_t first_line(std::size_t group) const
    {
        return group / groups_.groups_of_nearest * all_.nearest().extent +
               group % groups_.groups_of_nearest * groups_.lines;
    }
    std::size_t lines_of(std::size_t group) const
    {
        return std::min(groups_.lines, all_.nearest().extent - group % groups_.groups_of_nearest * groups_.lines);
    }

    void count_by_rows(std::ptrdiff_t from, std::size_t lines, std::size_t begin, std::size_t end)
    {
        const std::size_t at_once = histogram_batch / lines;
        for (std::size_t row = begin; row < end; row += at_once)
            count_patch({.first = from + static_cast<std::ptrdiff_t>(row) * all_.along,
                         .rows = std::min(at_once, end - row),
                         .columns = lines,
                         .row_stride = all_.along,
                         .stride = all_.nearest().in},
                        0, 0, all_.all_bins());
    }

    void count_by_lines(std::ptrdiff_t from, std::size_t lines, std::size_t begin, std::size_t end)
    {
        const std::size_t at_once = std::max<std::size_t>(histogram_batch / (end - begin), 1);
        for (std::size_t line = 0; line < lines; line += at_once)
            for (std::size_t i = begin; i < end; i += histogram_batch)
                count_patch({.first = from + static_cast<std::ptrdiff_t>(line) * all_.nearest().in +
                                      static_cast<std::ptrdiff_t>(i) * all_.along,
                             .rows = std::min(at_once, lines - line),
                             .columns = std::min(histogram_batch, end - i),
                             .row_stride = all_.nearest().in,
                             .stride = all_.along},
                            line, all_.all_bins(), 0);
    }

    // Counts the samples of a patch, whose first one is of line number `line`; the counters of the next row, and of the
    // next column, are so many further.
    void count_patch(const sample_patch& patch, std::size_t line, std::size_t row_counters, std::size_t column_counters)
    {
        std::array<detail::bin_index, histogram_batch> bins;
        find_(patch, bins.data());
        const std::size_t first = line * all_.all_bins();
        if (patch.size() == histogram_batch && (patch.rows == 1 || patch.columns == 1)) {
            const std::size_t step = patch.rows == 1 ? column_counters : row_counters;
            return table_.count<histogram_batch>([&](std::size_t j) { return first + j * step + bins[j]; });
        }
        for (std::size_t r = 0, j = 0; r < patch.rows; ++r)
            for (std::size_t c = 0; c < patch.columns; ++c, ++j)
                table_.count(static_cast<detail::bin_index>(first + r * row_counters + c * column_counters + bins[j]));
    }

    const untyped_lines& all_;
    const line_groups& groups_;
    const patch_finder& find_;
    thread_table table_;
    std::vector<std::uint64_t> totals_; // of the lines of a group, one after the other
};

// Counts the groups, some of them a task.
inline void count_groups(const cpu& target, const untyped_lines& all, const line_groups& groups,
                         const patch_finder& find)
{
    for_each_index(target, (groups.groups + groups.groups_a_task - 1) / groups.groups_a_task, [&](std::size_t task) {
        group_counter counter(all, groups, find);
        const std::size_t first = task * groups.groups_a_task;
        for (std::size_t group = first; group < std::min(first + groups.groups_a_task, groups.groups); ++group) {
            counter.count(group, 0, all.length);
            counter.put(group, counter.totals());
        }
    });
}

// Counts groups that are few, so that the totals of all of them are kept, to which each piece is added.
inline void count_pieces(const cpu& target, const untyped_lines& all, const line_groups& groups,
                         const patch_finder& find)
{
    const std::size_t counters = groups.lines * all.all_bins();
    std::vector<std::uint64_t> totals(groups.groups * counters);
    std::mutex adding;
    for_each_index(target, groups.groups * groups.pieces, [&](std::size_t task) {
        const std::size_t group = task / groups.pieces;
        const std::size_t begin = task % groups.pieces * groups.piece;
        group_counter counter(all, groups, find);
        counter.count(group, std::min(begin, all.length), std::min(begin + groups.piece, all.length));
        const std::lock_guard lock(adding);
        std::transform(counter.totals().begin(), counter.totals().end(),
                       totals.begin() + static_cast<std::ptrdiff_t>(group * counters),
                       totals.begin() + static_cast<std::ptrdiff_t>(group * counters), std::plus{});
    });
    const group_counter writer(all, groups, find);
    for (std::size_t group = 0; group < groups.groups; ++group)
        writer.put(group, std::span(totals).subspan(group * counters, counters));
}

inline void count_lines(const cpu& target, const untyped_lines& all, const patch_finder& find)
{
    const line_groups groups(all, thread_count(target));
    with_counters(target, "histogram", 2 * static_cast<std::size_t>(thread_count(target)),
                  groups.lines * all.all_bins(), [&] {
                      if (groups.pieces == 1)
                          count_groups(target, all, groups, find);
                      else
                          count_pieces(target, all, groups, find);
                  });
}

} // namespace upsweep::cpu_engine

namespace upsweep::detail {

template <>
struct engine<cpu, verb::histogram_lines> {
    template <class T, std::size_t Rank, class Bins>
    static void count(const cpu& target, const counted_lines<T, std::uint64_t, Rank>& all, const Bins& bins)
    {
        with_bin_finder<T>(bins, [&](const auto& finder) {
            cpu_engine::count_lines(target, cpu_engine::without_types(all),
                                    cpu_engine::bins_of_patches(all.in.data(), finder));
        });
    }
};

} // namespace upsweep::detail
