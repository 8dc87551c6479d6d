// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tbb/enumerable_thread_specific.h>

#include <upsweep/bins.hpp>
#include <upsweep/cpu/block.hpp>
#include <upsweep/cpu/even_guesses.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/matrix.hpp>
#include <upsweep/range.hpp>
#include <upsweep/target.hpp>

// Counts samples on the cores of a CPU. The technique is privatization, as in the histogram ladder of the lab: every
// thread counts in a table of its own, without atomic operations, and the tables are added up at the end.
namespace upsweep::cpu_engine {

// The privatized table of a thread: a counter for each bin, the out-of-range bins among them. The table holds several
// copies of itself, which take the samples in turn. Without them an increment would wait for the store of the one
// before wherever two samples in a row are in the same bin, and constant data would be slower than random data. There are as
// many as fit the first-level cache together, since increments beyond it take twice as long.
class thread_table {
public:
    using counter = std::uint32_t;
    static constexpr std::size_t most_samples = std::size_t{1} << 31; // No counter wraps within so many samples.

    thread_table(std::size_t all_bins, std::size_t samples)
        : all_bins_(all_bins), copies_(copies_for(all_bins, samples)), counters_(all_bins * copies_)
    {
    }

    // Few samples do not pay for clearing and adding up many counters.
    static std::size_t copies_for(std::size_t all_bins, std::size_t samples)
    {
        constexpr std::size_t most_counters = (std::size_t{16} << 10) / sizeof(counter);
        const std::size_t bins = all_bins - std::min(all_bins, detail::out_of_range_bins);
        const std::size_t most = bins <= most_counters / 8   ? 8
                                 : bins <= most_counters / 4 ? 4
                                 : bins <= most_counters     ? 2
                                                             : 1;
        return samples >= 16 * all_bins ? most
               : samples >= 3 * all_bins
                   ? std::min<std::size_t>(most, 2) // which is enough for the worst of the waiting
                   : 1;
    }
    static std::size_t bytes_for(std::size_t all_bins)
    {
        return all_bins * copies_for(all_bins, most_samples) * sizeof(counter);
    }

    // Adds one to the counter of bin_of(j) for each j < Count. Before each `stretch` of them it calls beside(j): a core
    // computes while it waits for its loads and stores.
    static constexpr std::size_t stretch = 8;
    template <std::size_t Count, class F, class Beside>
    void count(F bin_of, Beside beside)
    {
        switch (copies_) {
        case 8: return count_in<Count, 8>(bin_of, beside);
        case 4: return count_in<Count, 4>(bin_of, beside);
        case 2: return count_in<Count, 2>(bin_of, beside);
        default: return count_in<Count, 1>(bin_of, beside);
        }
    }
    template <std::size_t Count, class F>
    void count(F bin_of)
    {
        count<Count>(bin_of, [](std::size_t) {});
    }
    void count(detail::bin_index k) { ++counters_[k]; }

    void clear() { std::ranges::fill(counters_, 0); }
    void add_to(std::span<std::uint64_t> totals) const
    {
        for (std::size_t copy = 0; copy < copies_; ++copy)
            for (std::size_t k = 0; k < all_bins_; ++k)
                totals[k] += counters_[copy * all_bins_ + k];
    }

private:
    template <std::size_t Count, std::size_t Copies, class F, class Beside>
    void count_in(F bin_of, Beside beside)
    {
        static_assert(Count % stretch == 0 && stretch % Copies == 0);
        std::array<counter*, Copies> tables;
        for (std::size_t copy = 0; copy < Copies; ++copy)
            tables[copy] = counters_.data() + copy * all_bins_;
        for (std::size_t j = 0; j < Count; j += stretch) {
            beside(j);
            for (std::size_t i = 0; i < stretch; ++i)
                ++tables[i % Copies][bin_of(j + i)];
        }
    }

    std::size_t all_bins_;
    std::size_t copies_;
    std::vector<counter> counters_;
};

inline constexpr std::size_t histogram_batch = 256;                  // samples whose bins are found together
inline constexpr std::size_t histogram_grain = std::size_t{1} << 18; // samples that a thread takes at a time

// Finds the bins of a batch of samples. All of them are found before any sample is counted: the loops that find them
// access no memory at addresses that depend on the samples, so compilers vectorise them, which they cannot do with
// increments.
template <class T, class In, class Finder>
void find_bins_of_batch(In in, const Finder& finder, detail::bin_index* __restrict bins)
{
    for (std::size_t j = 0; j < histogram_batch; ++j)
        bins[j] = finder(load<T>(in, j));
}

template <class T, class In, class E>
void find_bins_of_batch(In in, const detail::edge_search<E>& finder, detail::bin_index* __restrict bins)
{
    std::array<E, histogram_batch> buffer;
    finder.template search<histogram_batch>(load_block<histogram_batch>(in, buffer.data()), bins);
}

template <class T, class In, class E>
void find_bins_of_batch(In in, const detail::even_arithmetic<E>& finder, detail::bin_index* __restrict bins)
{
    std::array<E, histogram_batch> buffer;
    std::array<std::int32_t, histogram_batch> guesses;
    const E* const samples = load_block<histogram_batch>(in, buffer.data());
    even_guesses<E, false> batch(finder.guess());
    for (std::size_t j = 0; j < histogram_batch; j += batch.lanes)
        batch.guess(samples + j, guesses.data() + j);
    if (batch.certain())
        std::copy(guesses.begin(), guesses.end(), bins);
    else
        finder.template correct<histogram_batch>(guesses.data(), samples, bins);
}

// Counts batches of samples, one after the other.
template <class T, class Finder>
class batch_counter {
public:
    batch_counter(thread_table& table, const Finder& finder) : table_(table), finder_(finder) {}

    template <class In>
    void count(In in)
    {
        std::array<detail::bin_index, histogram_batch> bins;
        find_bins_of_batch<T>(in, finder_, bins.data());
        table_.count<histogram_batch>([&](std::size_t j) { return bins[j]; });
    }
    void finish() {}

private:
    thread_table& table_;
    const Finder& finder_;
};

// The same in even bins. The bins of a batch are found by arithmetic while those of the batch before are counted.
template <class T, class E>
class batch_counter<T, detail::even_arithmetic<E>> {
public:
    batch_counter(thread_table& table, const detail::even_arithmetic<E>& finder) : table_(table), finder_(finder) {}

    template <class In>
    void count(In in)
    {
        std::array<E, histogram_batch> buffer;
        const E* const samples = load_block<histogram_batch>(in, buffer.data());
        if (inside_)
            count_before_and_guess<true>(samples);
        else
            count_before_and_guess<false>(samples);
    }
    void finish()
    {
        if (are_found_)
            table_.count<histogram_batch>(bins_before());
        are_found_ = false;
    }

private:
    static constexpr std::size_t size = histogram_batch;

    auto bins_before() const
    {
        return [bins = found_[before_].data()](std::size_t j) { return static_cast<detail::bin_index>(bins[j]); };
    }

    template <bool TakenAsInside>
    void count_before_and_guess(const E* samples)
    {
        std::int32_t* const guesses = found_[1 - before_].data();
        even_guesses<E, TakenAsInside> batch(finder_.guess());
        const auto guess = [&](std::size_t first) {
            for (std::size_t j = first; j < first + thread_table::stretch; j += batch.lanes)
                batch.guess(samples + j, guesses + j);
        };
        if (are_found_)
            table_.count<size>(bins_before(), guess);
        else
            for (std::size_t j = 0; j < size; j += thread_table::stretch)
                guess(j);
        are_found_ = false;
        inside_ = batch.all_inside();
        if (TakenAsInside && !inside_)
            return count_before_and_guess<false>(samples);
        if (!batch.certain())
            put_right(guesses, samples);
        before_ = 1 - before_;
        are_found_ = true;
    }

    void put_right(std::int32_t* guesses, const E* samples)
    {
        std::array<detail::bin_index, size> bins;
        finder_.template correct<size>(guesses, samples, bins.data());
        std::copy(bins.begin(), bins.end(), guesses);
    }

    thread_table& table_;
    const detail::even_arithmetic<E>& finder_;
    std::array<std::array<std::int32_t, size>, 2> found_; // the bins of the batch before, and guesses of the next
    std::size_t before_ = 0;
    bool are_found_ = false;
    bool inside_ = true; // Whether all samples of the last batch were in range.
};

// Whether a finder takes no longer for a batch of samples than for a few.
template <class Finder>
inline constexpr bool finds_by_vectors = false;
template <class E>
inline constexpr bool finds_by_vectors<detail::edge_search<E>> = true;
template <class E>
inline constexpr bool finds_by_vectors<detail::even_arithmetic<E>> = true;

// Counts fewer samples than a batch has, which is filled up with one of them.
template <class T, class In, class Finder>
void count_part_of_batch(thread_table& table, In in, std::size_t count, const Finder& finder)
{
    std::array<T, histogram_batch> samples;
    samples.fill(static_cast<T>(*in));
    std::copy_n(in, count, samples.begin());
    std::array<detail::bin_index, histogram_batch> bins;
    find_bins_of_batch<T>(static_cast<const T*>(samples.data()), finder, bins.data());
    for (std::size_t j = 0; j < count; ++j)
        table.count(bins[j]);
}

template <class T, class In, class Finder>
void count_samples(thread_table& table, In in, std::size_t count, const Finder& finder)
{
    batch_counter<T, Finder> counter(table, finder);
    std::size_t i = 0;
    for (; i + histogram_batch <= count; i += histogram_batch) {
        const block_elements<histogram_batch, In> elements(in + static_cast<std::iter_difference_t<In>>(i));
        counter.count(elements.first);
    }
    counter.finish();
    constexpr std::size_t few = 16;
    if constexpr (finds_by_vectors<Finder>)
        if (count - i > few)
            return count_part_of_batch<T>(table, in + static_cast<std::iter_difference_t<In>>(i), count - i, finder);
    for (; i < count; ++i)
        table.count(finder(load<T>(in, i)));
}

// Calls count_piece(table, first, size) for pieces of [0, count) on all threads, each with a table of its own, and adds
// the tables to `totals`, which have an element for each bin. Memory: one table a thread. The tables are emptied before
// a counter could wrap.
template <class CountPiece>
void for_each_piece(const cpu& target, std::size_t count, std::span<std::uint64_t> totals, CountPiece count_piece)
{
    const std::size_t all_bins = totals.size();
    if (count < 2 * histogram_grain || thread_count(target) == 1) {
        for (std::size_t first = 0; first < count; first += thread_table::most_samples) {
            thread_table table(all_bins, count);
            count_piece(table, first, std::min(thread_table::most_samples, count - first));
            table.add_to(totals);
        }
        return;
    }
    for (std::size_t begin = 0; begin < count; begin += thread_table::most_samples) {
        const std::size_t size = std::min(thread_table::most_samples, count - begin);
        tbb::enumerable_thread_specific<thread_table> tables([&] { return thread_table(all_bins, size); });
        for_each_index(target, (size + histogram_grain - 1) / histogram_grain, [&](std::size_t grain) {
            const std::size_t first = grain * histogram_grain;
            count_piece(tables.local(), begin + first, std::min(histogram_grain, size - first));
        });
        for (const thread_table& table : tables)
            table.add_to(totals);
    }
}

// Adds to `totals` the numbers of samples in each bin and in the three out-of-range bins behind them.
// count_piece(table, first, size, finder) counts a piece of the samples.
template <class T, class Finder, class CountPiece>
void histogram_pieces(const cpu& target, std::size_t count, const Finder& finder, std::span<std::uint64_t> totals,
                      CountPiece count_piece)
{
    if constexpr (std::integral<T> && sizeof(T) == 1) {
        if (count >= 1024) { // Bytes are counted by value; each of the 256 values is given its bin afterwards.
            std::array<std::uint64_t, 256> by_value{};
            const auto by_own_value = [](T value) {
                return static_cast<detail::bin_index>(static_cast<std::uint8_t>(value));
            };
            for_each_piece(target, count, by_value, [&](thread_table& table, std::size_t first, std::size_t size) {
                count_piece(table, first, size, by_own_value);
            });
            for (std::size_t value = 0; value < by_value.size(); ++value)
                if (by_value[value] != 0)
                    totals[finder(static_cast<T>(value))] += by_value[value];
            return;
        }
    }
    for_each_piece(target, count, totals, [&](thread_table& table, std::size_t first, std::size_t size) {
        count_piece(table, first, size, finder);
    });
}

template <class In, class Finder>
void histogram_onto(const cpu& target, In in, std::size_t count, const Finder& finder, std::span<std::uint64_t> totals)
{
    if constexpr (detail::strided_iterator<In>)
        if (in.is_contiguous())
            return histogram_onto(target, in.address(), count, finder, totals);
    using sample = std::iter_value_t<In>;
    histogram_pieces<sample>(
        target, count, finder, totals,
        [&](thread_table& table, std::size_t first, std::size_t size, const auto& finder_of_piece) {
            count_samples<sample>(table, in + static_cast<std::iter_difference_t<In>>(first), size, finder_of_piece);
        });
}

// Elements are numbered row by row. Calls f(row, column, size) for each row's part of the elements [first, first +
// size).
template <class T, class F>
void for_each_stretch(const matrix<T>& in, std::size_t first, std::size_t size, F f)
{
    for (std::size_t row = first / in.columns, column = first % in.columns; size != 0; ++row, column = 0) {
        const std::size_t length = std::min(in.columns - column, size);
        f(row, column, length);
        size -= length;
    }
}

template <class T, class Finder>
void histogram_onto(const cpu& target, const matrix<T>& in, const Finder& finder, std::span<std::uint64_t> totals)
{
    if (!in.has_gaps())
        return histogram_onto(target, in.data, in.size(), finder, totals);
    histogram_pieces<T>(target, in.size(), finder, totals,
                        [&](thread_table& table, std::size_t first, std::size_t size, const auto& finder_of_piece) {
                            for_each_stretch(in, first, size, [&](std::size_t row, std::size_t column, std::size_t n) {
                                count_samples<T>(table, in.row(row) + column, n, finder_of_piece);
                            });
                        });
}

// Calls count(), which needs memory for `tables` tables of 64-bit counters and for a table of each thread, and says how
// much where there is not enough.
template <class Count>
void with_counters(const cpu& target, std::string_view call, std::size_t tables, std::size_t all_bins, Count count)
{
    try {
        count();
    } catch (const std::bad_alloc&) {
        const std::size_t bytes = tables * all_bins * sizeof(std::uint64_t) +
                                  thread_table::bytes_for(all_bins) * static_cast<std::size_t>(thread_count(target));
        throw error(error_kind::out_of_memory, call, "no memory for " + std::to_string(bytes) + " bytes of counters",
                    "ask for fewer bins or fewer threads");
    }
}

// Overwrites the caller's counters of one histogram, and its out-of-range bins, with the totals, or adds the totals to
// them.
inline void put_totals(std::span<const std::uint64_t> totals, std::uint64_t* counts, outside& out_of_range,
                       bool accumulates)
{
    const std::size_t bins = totals.size() - detail::out_of_range_bins;
    const auto put = [&](std::uint64_t& to, std::uint64_t total) { to = (accumulates ? to : 0) + total; };
    for (std::size_t k = 0; k < bins; ++k)
        put(counts[k], totals[k]);
    put(out_of_range.below, totals[bins]);
    put(out_of_range.above, totals[bins + 1]);
    put(out_of_range.nan, totals[bins + 2]);
}

// The same with the totals that count_onto(totals) counts. Nothing is written where there is no memory for them.
template <class CountOnto>
void put_counts(const cpu& target, std::string_view call, std::span<std::uint64_t> counts, outside* out_of_range,
                bool accumulates, CountOnto count_onto)
{
    if (out_of_range == nullptr)
        throw error(error_kind::invalid_argument, call, "there is no place for the samples outside the bins",
                    "pass the address of an up::outside");
    std::vector<std::uint64_t> totals;
    const std::size_t all_bins = counts.size() + detail::out_of_range_bins;
    with_counters(target, call, 1, all_bins, [&] {
        totals.resize(all_bins);
        count_onto(std::span(totals));
    });
    put_totals(totals, counts.data(), *out_of_range, accumulates);
}

} // namespace upsweep::cpu_engine

namespace upsweep::detail {

template <>
struct engine<cpu, verb::histogram> {
    template <class In, class Bins>
    static void count(const cpu& target, In& in, const Bins& bins, std::span<std::uint64_t> counts,
                      outside* out_of_range, bool accumulates)
    {
        cpu_engine::put_counts(
            target, "histogram", counts, out_of_range, accumulates, [&](std::span<std::uint64_t> totals) {
                if constexpr (is_matrix<std::remove_const_t<In>>)
                    with_bin_finder<typename In::value_type>(
                        bins, [&](const auto& finder) { cpu_engine::histogram_onto(target, in, finder, totals); });
                else
                    with_bin_finder<std::ranges::range_value_t<In>>(bins, [&](const auto& finder) {
                        cpu_engine::histogram_onto(target, first_of(in), size_of(in), finder, totals);
                    });
            });
    }
};

template <>
struct engine<cpu, verb::counter> {
    template <class T, class Bins>
    class state {
    public:
        state(const cpu& target, const Bins& bins) : target_(target), bins_(bins)
        {
            const std::size_t all_bins = bin_count(bins) + out_of_range_bins;
            cpu_engine::with_counters(target, "histogram", 0, all_bins, [&] { totals_.resize(all_bins); });
        }

        template <class In>
        void feed(In first, std::size_t count)
        {
            const std::span<std::uint64_t> totals(totals_);
            cpu_engine::with_counters(target_, "histogram", 0, totals.size(), [&] {
                with_bin_finder<std::iter_value_t<In>>(bins_, [&](const auto& finder) {
                    cpu_engine::histogram_onto(target_, first, count, finder, totals);
                });
            });
        }
        void result(std::span<std::uint64_t> counts, outside& out_of_range) const
        {
            cpu_engine::put_totals(totals_, counts.data(), out_of_range, false);
        }

    private:
        cpu target_;
        Bins bins_;
        std::vector<std::uint64_t> totals_; // with the out-of-range bins
    };
};

} // namespace upsweep::detail
