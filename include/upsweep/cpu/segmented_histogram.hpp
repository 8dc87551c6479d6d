// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <upsweep/bins.hpp>
#include <upsweep/cpu/batch_finder.hpp>
#include <upsweep/cpu/histogram.hpp>
#include <upsweep/cpu/segmented.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/outside.hpp>
#include <upsweep/target.hpp>

// A histogram of each segment of an array, on the cores of a CPU. As for lines along an axis, the types of the samples
// and of the bins are erased.
namespace upsweep::cpu_engine {

// Where the histograms of all segments go.
struct segment_results {
    std::span<std::uint64_t> counts;
    std::span<outside> out_of_range;

    std::size_t bins() const { return counts.size() / out_of_range.size(); }
    void clear(std::size_t segment) const
    {
        std::ranges::fill(counts.subspan(segment * bins(), bins()), 0);
        out_of_range[segment] = {};
    }
    // Counts a sample in the caller's counters.
    void count(std::size_t segment, std::size_t bin) const
    {
        outside& beside = out_of_range[segment];
        if (bin < bins())
            ++counts[segment * bins() + bin];
        else
            ++(bin == bins() ? beside.below : bin == bins() + 1 ? beside.above : beside.nan);
    }
};

// The bins of the samples of consecutive segments, of which a batch is found at a time, whatever the segments are.
class bins_in_order {
public:
    bins_in_order(const stretch_finder& find, std::size_t first, std::size_t end) : find_(find), next_(first), end_(end)
    {
    }

    void skip_to(std::size_t sample)
    {
        next_ = sample;
        taken_ = found_ = 0;
    }

    // Calls f(bin) for the next `count` samples.
    template <class F>
    void take(std::size_t count, F f)
    {
        while (count != 0) {
            if (taken_ == found_)
                find_next();
            const std::size_t some = std::min(count, found_ - taken_);
            for (std::size_t j = 0; j < some; ++j)
                f(bins_[taken_ + j]);
            taken_ += some;
            count -= some;
        }
    }

private:
    void find_next()
    {
        found_ = std::min(histogram_batch, end_ - next_);
        find_(next_, found_, bins_.data());
        next_ += found_;
        taken_ = 0;
    }

    const stretch_finder& find_;
    std::size_t next_;
    std::size_t end_;
    std::size_t found_ = 0;
    std::size_t taken_ = 0;
    std::array<detail::bin_index, histogram_batch> bins_;
};

// Counts a long segment in privatized tables.
inline void count_long_segment(const cpu& target, std::size_t segment, std::size_t first, std::size_t length,
                               const stretch_finder& find, const segment_results& results)
{
    std::vector<std::uint64_t> totals(results.bins() + detail::out_of_range_bins);
    for_each_piece(target, length, totals, [&](thread_table& table, std::size_t begin, std::size_t size) {
        std::array<detail::bin_index, histogram_batch> bins;
        for (std::size_t i = begin; i < begin + size; i += histogram_batch) {
            const std::size_t count = std::min(histogram_batch, begin + size - i);
            find(first + i, count, bins.data());
            if (count == histogram_batch)
                table.count<histogram_batch>([&](std::size_t j) { return bins[j]; });
            else
                std::for_each_n(bins.begin(), count, [&](detail::bin_index k) { table.count(k); });
        }
    });
    put_totals(totals, results.counts.data() + segment * results.bins(), results.out_of_range[segment], false);
}

template <class Offset>
void count_segments(const cpu& target, std::span<const Offset> offsets, const stretch_finder& find,
                    const segment_results& results)
{
    // From so many samples on, clearing a table and adding up its copies costs less than waiting at one counter.
    const std::size_t long_segment = std::max<std::size_t>(4096, 16 * results.bins());
    const segment_tasks<Offset> tasks(offsets);
    tasks.for_each_task(
        target,
        [&](std::size_t begin, std::size_t end) {
            bins_in_order bins(find, tasks.first(begin), tasks.first(end));
            for (std::size_t k = begin; k < end; ++k)
                if (tasks.length(k) < long_segment) {
                    results.clear(k);
                    bins.take(tasks.length(k), [&](std::size_t bin) { results.count(k, bin); });
                } else {
                    count_long_segment(cpu{1}, k, tasks.first(k), tasks.length(k), find, results);
                    bins.skip_to(tasks.first(k + 1));
                }
        },
        [&](std::size_t k) { count_long_segment(target, k, tasks.first(k), tasks.length(k), find, results); });
}

} // namespace upsweep::cpu_engine

namespace upsweep::detail {

template <>
struct engine<cpu, verb::histogram_segments> {
    template <class In, class Offset, class Bins>
    static void count(const cpu& target, In in, std::size_t, std::span<const Offset> offsets, const Bins& bins,
                      std::span<std::uint64_t> counts, std::span<outside> out_of_range)
    {
        cpu_engine::with_counters(target, "segmented_histogram", 1, bin_count(bins) + out_of_range_bins, [&] {
            with_bin_finder<std::iter_value_t<In>>(bins, [&](const auto& finder) {
                cpu_engine::count_segments(target, offsets, cpu_engine::bins_of_stretches(in, finder),
                                           {counts, out_of_range});
            });
        });
    }
};

} // namespace upsweep::detail
