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
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/matrix.hpp>
#include <upsweep/range.hpp>
#include <upsweep/target.hpp>

namespace upsweep::cpu_engine {

// The counters of one thread. Several copies side by side let increments of the same bin follow one another without
// waiting for the store of the last one, so that constant data is as fast as random data; they stay in the first- or
// second-level cache. This is the privatisation of the lab's histogram ladder, for cores instead of blocks.
class private_table {
public:
    using counter = std::uint32_t;
    static constexpr std::size_t most_samples = std::size_t{1} << 31; // before a counter could wrap

    explicit private_table(std::size_t slots) : slots_(slots), copies_(copies_for(slots)), counters_(slots * copies_) {}

    static std::size_t copies_for(std::size_t slots) { return slots <= 1024 ? 8 : slots <= 16384 ? 4 : 1; }
    static std::size_t bytes_for(std::size_t slots) { return slots * copies_for(slots) * sizeof(counter); }

    // Adds one to slot_of(j) for each j < Count.
    template <std::size_t Count, class F>
    void count(F bin_of)
    {
        switch (copies_) {
        case 8: return count_in<Count, 8>(bin_of);
        case 4: return count_in<Count, 4>(bin_of);
        default: return count_in<Count, 1>(bin_of);
        }
    }
    void count(detail::bin_index k) { ++counters_[k]; }

    void add_to(std::span<std::uint64_t> totals) const
    {
        for (std::size_t copy = 0; copy < copies_; ++copy)
            for (std::size_t k = 0; k < slots_; ++k)
                totals[k] += counters_[copy * slots_ + k];
    }

private:
    template <std::size_t Count, std::size_t Copies, class F>
    void count_in(F bin_of)
    {
        std::array<counter*, Copies> tables;
        for (std::size_t copy = 0; copy < Copies; ++copy)
            tables[copy] = counters_.data() + copy * slots_;
        for (std::size_t j = 0; j < Count; j += Copies)
            for (std::size_t copy = 0; copy < Copies; ++copy)
                ++tables[copy][bin_of(j + copy)];
    }

    std::size_t slots_;
    std::size_t copies_;
    std::vector<counter> counters_;
};

inline constexpr std::size_t histogram_block = 256;
inline constexpr std::size_t histogram_grain = std::size_t{1} << 18;

// The bins of one block. Those that cost arithmetic are computed for the whole block before any is counted, in loops without
// memory accesses that depend on the samples: those vectorise, the increments cannot.
template <class T, class In, class Slots>
void bins_of_block(In in, const Slots& slots, detail::bin_index* __restrict block)
{
    for (std::size_t j = 0; j < histogram_block; ++j)
        block[j] = slots(load<T>(in, j));
}

template <class T, class In, class E>
void bins_of_block(In in, const detail::edge_search<E>& slots, detail::bin_index* __restrict block)
{
    std::array<E, histogram_block> buffer;
    slots.template search<histogram_block>(load_block<histogram_block>(in, buffer.data()), block);
}

// The guesses of one block, and whether they are all right.
template <class E>
bool guess_block(const E* samples, const detail::even_guess<E>& guess, std::int32_t* guesses)
{
    constexpr std::size_t lanes = vector_bytes / sizeof(E);
    vector_t<E> highest{};
    for (std::size_t j = 0; j < histogram_block; j += lanes) {
        const auto k = guess.of_vector(load_vector(samples + j), highest);
        std::memcpy(guesses + j, &k, lanes * sizeof(std::int32_t));
    }
    bool certain = true;
    for (std::size_t lane = 0; lane < lanes; ++lane)
        certain &= highest[lane] < guess.certain();
    return certain;
}

template <class T, class In, class E>
void bins_of_block(In in, const detail::even_arithmetic<E>& slots, detail::bin_index* __restrict block)
{
    std::array<E, histogram_block> buffer;
    std::array<std::int32_t, histogram_block> guesses;
    const E* const samples = load_block<histogram_block>(in, buffer.data());
    const bool certain = guess_block(samples, slots.guess(), guesses.data());
    for (std::size_t j = 0; j < histogram_block; ++j)
        block[j] = static_cast<detail::bin_index>(guesses[j]);
    if (!certain)
        for (std::size_t j = 0; j < histogram_block; ++j)
            block[j] = slots.corrected(block[j], samples[j]);
}

// Counts one block.
template <class T, class In, class Slots>
void count_block(private_table& table, In in, const Slots& slots)
{
    std::array<detail::bin_index, histogram_block> block;
    bins_of_block<T>(in, slots, block.data());
    table.count<histogram_block>([&](std::size_t j) { return block[j]; });
}

template <class T, class In, class E>
void count_block(private_table& table, In in, const detail::even_arithmetic<E>& slots)
{
    constexpr std::size_t size = histogram_block;
    std::array<E, size> buffer;
    std::array<std::int32_t, size> guesses;
    const E* const samples = load_block<size>(in, buffer.data());
    if (guess_block(samples, slots.guess(), guesses.data()))
        table.count<size>([&](std::size_t j) { return static_cast<detail::bin_index>(guesses[j]); });
    else
        table.count<size>(
            [&](std::size_t j) { return slots.corrected(static_cast<detail::bin_index>(guesses[j]), samples[j]); });
}

template <class T, class In, class Slots>
void count_samples(private_table& table, In in, std::size_t count, const Slots& slots)
{
    std::size_t i = 0;
    for (; i + histogram_block <= count; i += histogram_block) {
        const block_elements<histogram_block, In> elements(in + static_cast<std::iter_difference_t<In>>(i));
        count_block<T>(table, elements.first, slots);
    }
    for (; i < count; ++i)
        table.count(slots(load<T>(in, i)));
}

// Calls body(table, first, size) for pieces of [0, count) on all threads and adds the threads' tables to `totals`.
// Memory: one table a thread.
template <class Body>
void for_each_piece(const cpu& target, std::size_t count, std::span<std::uint64_t> totals, Body body)
{
    const std::size_t slots = totals.size();
    if (count < 2 * histogram_grain || thread_count(target) == 1) {
        for (std::size_t first = 0; first < count; first += private_table::most_samples) {
            private_table table(slots);
            body(table, first, std::min(private_table::most_samples, count - first));
            table.add_to(totals);
        }
        return;
    }
    for (std::size_t batch = 0; batch < count; batch += private_table::most_samples) {
        const std::size_t size = std::min(private_table::most_samples, count - batch);
        tbb::enumerable_thread_specific<private_table> tables([&] { return private_table(slots); });
        for_each_index(target, (size + histogram_grain - 1) / histogram_grain, [&](std::size_t grain) {
            const std::size_t first = grain * histogram_grain;
            body(tables.local(), batch + first, std::min(histogram_grain, size - first));
        });
        for (const private_table& table : tables)
            table.add_to(totals);
    }
}

// Adds the samples to totals[0, bins) and the ones outside to the three bins behind them. count_piece(table, first, size,
// bins) counts a piece of them.
template <class T, class Slots, class CountPiece>
void histogram_pieces(const cpu& target, std::size_t count, const Slots& slots, std::span<std::uint64_t> totals,
                      CountPiece count_piece)
{
    if constexpr (std::integral<T> && sizeof(T) == 1) {
        if (count >= 1024) { // bytes are counted as they are; each of the 256 values is assigned to its bin afterwards
            std::array<std::uint64_t, 256> by_value{};
            const auto identity = [](T value) {
                return static_cast<detail::bin_index>(static_cast<std::uint8_t>(value));
            };
            for_each_piece(target, count, by_value, [&](private_table& table, std::size_t first, std::size_t size) {
                count_piece(table, first, size, identity);
            });
            for (std::size_t value = 0; value < by_value.size(); ++value)
                if (by_value[value] != 0)
                    totals[slots(static_cast<T>(value))] += by_value[value];
            return;
        }
    }
    for_each_piece(target, count, totals, [&](private_table& table, std::size_t first, std::size_t size) {
        count_piece(table, first, size, slots);
    });
}

template <class In, class Slots>
void histogram_onto(const cpu& target, In in, std::size_t count, const Slots& slots, std::span<std::uint64_t> totals)
{
    if constexpr (detail::strided_iterator<In>)
        if (in.is_contiguous())
            return histogram_onto(target, in.address(), count, slots, totals);
    using sample = std::iter_value_t<In>;
    histogram_pieces<sample>(
        target, count, slots, totals,
        [&](private_table& table, std::size_t first, std::size_t size, const auto& slots_of_piece) {
            count_samples<sample>(table, in + static_cast<std::iter_difference_t<In>>(first), size, slots_of_piece);
        });
}

// Calls f(row, column, size) for the stretches of rows that are the elements [first, first + size), row by row.
template <class T, class F>
void for_each_stretch(const matrix<T>& in, std::size_t first, std::size_t size, F f)
{
    for (std::size_t row = first / in.columns, column = first % in.columns; size != 0; ++row, column = 0) {
        const std::size_t length = std::min(in.columns - column, size);
        f(row, column, length);
        size -= length;
    }
}

template <class T, class Slots>
void histogram_onto(const cpu& target, const matrix<T>& in, const Slots& slots, std::span<std::uint64_t> totals)
{
    if (!in.has_gaps())
        return histogram_onto(target, in.data, in.size(), slots, totals);
    histogram_pieces<T>(target, in.size(), slots, totals,
                        [&](private_table& table, std::size_t first, std::size_t size, const auto& slots_of_piece) {
                            for_each_stretch(in, first, size, [&](std::size_t row, std::size_t column, std::size_t n) {
                                count_samples<T>(table, in.row(row) + column, n, slots_of_piece);
                            });
                        });
}

// Calls count(), which needs `tables` of so many 64-bit counters, and one of 32-bit counters for each thread.
template <class Count>
void with_counters(const cpu& target, std::string_view call, std::size_t tables, std::size_t slots, Count count)
{
    try {
        count();
    } catch (const std::bad_alloc&) {
        const std::size_t bytes = tables * slots * sizeof(std::uint64_t) +
                                  private_table::bytes_for(slots) * static_cast<std::size_t>(thread_count(target));
        throw error(error_kind::out_of_memory, call, "no memory for " + std::to_string(bytes) + " bytes of counters",
                    "ask for fewer bins or fewer threads");
    }
}

// Splits the bins of one histogram into its counters and the samples outside, which are overwritten or added to.
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

// Puts what count_onto(totals) counts. Nothing is written where there is no memory for the totals.
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
        cpu_engine::put_counts(target, "histogram", counts, out_of_range, accumulates,
                               [&](std::span<std::uint64_t> totals) {
                                   if constexpr (is_matrix<std::remove_const_t<In>>)
                                       with_bin_finder<typename In::value_type>(bins, [&](const auto& slots) {
                                           cpu_engine::histogram_onto(target, in, slots, totals);
                                       });
                                   else
                                       with_bin_finder<std::ranges::range_value_t<In>>(bins, [&](const auto& slots) {
                                           cpu_engine::histogram_onto(target, first_of(in), size_of(in), slots, totals);
                                       });
                               });
    }
};

} // namespace upsweep::detail
