// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <span>
#include <string>
#include <vector>

#include <tbb/enumerable_thread_specific.h>

#include <upsweep/bins.hpp>
#include <upsweep/cpu/block.hpp>
#include <upsweep/cpu/histogram.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/exact_sum.hpp>
#include <upsweep/qualifiers.hpp>
#include <upsweep/range.hpp>
#include <upsweep/target.hpp>
#include <upsweep/weights.hpp>

// Adds up weights on the cores of a CPU. The technique is privatization: every thread adds to sums of its own, which
// are added up at the end. The sums have no rounding error (exact_sum.hpp), so that the result does not depend on which
// thread adds what.
namespace upsweep::cpu_engine {

// An exact sum in the memory of one thread. A word that grows too large is carried at once. The functions are compiled
// for the device, too, which never calls them, because nvcc asks for it where functions of host and device are given
// such a sum.
template <class Sum>
struct thread_sum {
    std::int64_t* words;

    UPSWEEP_HOST_DEVICE void add(int i, std::int64_t value) const
    {
        std::int64_t& word = words[i];
        if constexpr (std::integral<Sum>) {
            word = static_cast<std::int64_t>(static_cast<std::uint64_t>(word) + static_cast<std::uint64_t>(value));
        } else {
            constexpr std::int64_t large = std::int64_t{1} << 62;
            word += value;
            if ((word >= large || word <= -large) && i + 1 < detail::sum_format<Sum>::digits) {
                add(i + 1, word >> 32);
                word &= 0xffffffff;
            }
        }
    }
    UPSWEEP_HOST_DEVICE void mark(std::uint64_t given) const
    {
        words[detail::sum_format<Sum>::words - 1] |= static_cast<std::int64_t>(given);
    }
    UPSWEEP_HOST_DEVICE std::int64_t operator()(int i) const { return words[i]; }
};

// A word for each bin, in several copies, which take the samples in turn: an addition need not wait for the store of
// the one before where two samples in a row are in the same bin.
template <class Word>
class summand_table {
public:
    explicit summand_table(std::size_t all_bins)
        : all_bins_(all_bins), copies_(all_bins <= 4096 ? most_copies : 1), sums_(all_bins * copies_)
    {
    }

    static constexpr std::size_t most_copies = 4;

    Word& at(detail::bin_index k, std::size_t sample) { return sums_[(sample & (copies_ - 1)) * all_bins_ + k]; }
    Word total(detail::bin_index k) const
    {
        Word sum = 0;
        for (std::size_t copy = 0; copy < copies_; ++copy)
            sum += sums_[copy * all_bins_ + k];
        return sum;
    }

private:
    std::size_t all_bins_;
    std::size_t copies_;
    std::vector<Word> sums_;
};

__extension__ typedef __int128 int128;

// Which floating-point numbers are added as 128-bit integers, whose lowest bit is bit number `position` of an exact
// sum: those whose own lowest bit is that one or one of the next most_shift. 2^40 of such numbers do not overflow.
template <class F>
struct weight_window {
    using format = detail::float_format<F>;
    static constexpr int most_shift = 127 - 40 - (format::fraction_bits + 1);
    // From no higher position do 128 bits fit into an exact sum. Infinities and NaN are therefore in no window.
    static constexpr int highest = 32 * (detail::sum_format<F>::digits - 5) - 1;
    static_assert(highest + most_shift < format::special_exponent - 1);

    int position = 0;

    // The window for the weights, chosen by at most 4096 of them. Weights 2^8 times as large as the largest of these
    // are in it, too.
    template <class It>
    static weight_window around(It weights, std::size_t count)
    {
        constexpr std::size_t most_looked_at = 4096;
        int largest = 0;
        for (std::size_t i = 0; i < count; i += count / most_looked_at + 1) {
            const F weight = load<F>(weights, i);
            if (detail::exponent_field(weight) != format::special_exponent)
                largest = std::max(largest, detail::parts_of(weight).position);
        }
        return {std::clamp(largest + 8 - most_shift, 0, highest)};
    }
};

// The privatized table of a thread, for floating-point weights. Weights in the window are added to the 128-bit integer
// of their bin. The few others are added to exact sums, for which memory is allocated when the first such weight is
// met.
template <class Sum>
class weight_table {
public:
    weight_table(std::size_t all_bins, weight_window<Sum> window)
        : all_bins_(all_bins), window_(window), sums_(all_bins)
    {
    }

    void add(detail::bin_index k, Sum weight, std::size_t sample)
    {
        const detail::float_parts parts = detail::parts_of(weight);
        const auto mantissa = static_cast<std::int64_t>(parts.mantissa);
        const auto shift = static_cast<unsigned>(parts.position - window_.position);
        if (shift <= static_cast<unsigned>(weight_window<Sum>::most_shift))
            sums_.at(k, sample) += int128{parts.negative ? -mantissa : mantissa} << shift;
        else if (mantissa != 0)
            add_exactly(k, weight);
    }

    void add_to(const thread_sum<Sum>& sum, detail::bin_index k) const
    {
        const int128 inside = sums_.total(k);
        const auto add_half = [&](std::uint64_t half, std::int64_t upper, int position) {
            detail::add_fixed_point(upper, static_cast<std::uint32_t>(half), position, sum);
        };
        const auto low = static_cast<std::uint64_t>(inside);
        const auto high = static_cast<std::int64_t>(inside >> 64);
        add_half(low, static_cast<std::int64_t>(low >> 32), window_.position);
        add_half(static_cast<std::uint64_t>(high), high >> 32, window_.position + 64);
        if (!exact_.empty()) {
            for (int i = 0; i < digits; ++i)
                sum.add(i, exact_[k * words + i]);
            sum.mark(static_cast<std::uint64_t>(exact_[k * words + digits]));
        }
    }

private:
    static constexpr int digits = detail::sum_format<Sum>::digits;
    static constexpr std::size_t words = detail::sum_format<Sum>::words;

    void add_exactly(detail::bin_index k, Sum weight)
    {
        exact_.resize(all_bins_ * words);
        detail::add_exactly(weight, thread_sum<Sum>{exact_.data() + k * words});
    }

    std::size_t all_bins_;
    weight_window<Sum> window_;
    summand_table<int128> sums_;
    std::vector<std::int64_t> exact_;
};

// The privatized table of a thread, for integer weights.
template <std::integral Sum>
class weight_table<Sum> {
public:
    explicit weight_table(std::size_t all_bins) : sums_(all_bins) {}

    void add(detail::bin_index k, Sum weight, std::size_t sample)
    {
        sums_.at(k, sample) += static_cast<std::uint64_t>(weight);
    }
    void add_to(const thread_sum<Sum>& sum, detail::bin_index k) const
    {
        sum.add(0, static_cast<std::int64_t>(sums_.total(k)));
    }

private:
    summand_table<std::uint64_t> sums_;
};

template <class T, class In, class Finder>
void find_bins(In in, const Finder& finder, detail::bin_index* bins)
{
    find_bins_of_batch<T>(in, finder, bins);
}

// Even bins are found one by one: the additions of weights take so long that guesses in vectors gain nothing, and cost
// 8 % with weights of double.
template <class T, class In, class E>
void find_bins(In in, const detail::even_arithmetic<E>& finder, detail::bin_index* bins)
{
    for (std::size_t j = 0; j < histogram_batch; ++j)
        bins[j] = finder(load<T>(in, j));
}

template <class Sum, class In, class Weights, class Finder>
void add_weights(weight_table<Sum>& table, In in, Weights weights, std::size_t count, const Finder& finder)
{
    using sample = std::iter_value_t<In>;
    constexpr std::size_t size = histogram_batch;
    std::array<detail::bin_index, size> bins;
    std::array<Sum, size> buffer;
    std::size_t i = 0;
    for (; i + size <= count; i += size) {
        const block_elements<size, In> samples(in + static_cast<std::iter_difference_t<In>>(i));
        find_bins<sample>(samples.first, finder, bins.data());
        const Sum* const summands =
            load_block<size>(weights + static_cast<std::iter_difference_t<Weights>>(i), buffer.data());
        for (std::size_t j = 0; j < size; ++j)
            table.add(bins[j], summands[j], j);
    }
    for (; i < count; ++i)
        table.add(finder(load<sample>(in, i)), load<Sum>(weights, i), i);
}

// Calls put(k, sum) for every bin k with the exact sum of its weights; the threads share the bins. Memory: one table a
// thread.
template <class Sum, class In, class Weights, class Finder, class Put>
void weighted_histogram(const cpu& target, In in, Weights weights, std::size_t count, const Finder& finder, Put put)
{
    const std::size_t all_bins = finder.count() + detail::out_of_range_bins;
    const auto new_table = [&] {
        if constexpr (std::integral<Sum>)
            return weight_table<Sum>(all_bins);
        else
            return weight_table<Sum>(all_bins, weight_window<Sum>::around(weights, count));
    };
    const weight_table<Sum> empty = new_table();
    const auto add_piece = [&](weight_table<Sum>& table, std::size_t first, std::size_t size) {
        add_weights(table, in + static_cast<std::iter_difference_t<In>>(first),
                    weights + static_cast<std::iter_difference_t<Weights>>(first), size, finder);
    };
    tbb::enumerable_thread_specific<weight_table<Sum>> of_threads(empty);
    if (count < 2 * histogram_grain || thread_count(target) == 1)
        add_piece(of_threads.local(), 0, count);
    else
        for_each_index(target, (count + histogram_grain - 1) / histogram_grain, [&](std::size_t grain) {
            const std::size_t first = grain * histogram_grain;
            add_piece(of_threads.local(), first, std::min(histogram_grain, count - first));
        });
    for_each_index(target, (all_bins + histogram_batch - 1) / histogram_batch, [&](std::size_t piece) {
        for (std::size_t k = piece * histogram_batch; k < std::min(all_bins, (piece + 1) * histogram_batch); ++k) {
            std::array<std::int64_t, detail::sum_format<Sum>::words> words{};
            const thread_sum<Sum> sum{words.data()};
            for (const weight_table<Sum>& table : of_threads)
                table.add_to(sum, static_cast<detail::bin_index>(k));
            put(k, sum);
        }
    });
}

} // namespace upsweep::cpu_engine

namespace upsweep::detail {

template <>
struct engine<cpu, verb::weighted_histogram> {
    template <class In, class Weights, class Bins, class Sum>
    static void add_up(const cpu& target, In& in, Weights& weights, const Bins& bins, std::span<Sum> sums,
                       weight_outside<Sum>* out_of_range, bool accumulates)
    {
        if (out_of_range == nullptr)
            throw error(error_kind::invalid_argument, "weighted_histogram",
                        "there is no place for the weights outside the bins",
                        "pass the address of an up::weight_outside");
        const auto put = [&](std::size_t k, const cpu_engine::thread_sum<Sum>& sum) {
            const std::size_t count = sums.size();
            Sum& to = k < count        ? sums[k]
                      : k == count     ? out_of_range->below
                      : k == count + 1 ? out_of_range->above
                                       : out_of_range->nan;
            if (accumulates)
                add_exactly(to, sum);
            to = rounded_sum<Sum>(sum);
        };
        try {
            with_bin_finder<std::ranges::range_value_t<In>>(bins, [&](const auto& finder) {
                cpu_engine::weighted_histogram<Sum>(target, first_of(in), first_of(weights), size_of(in), finder, put);
            });
        } catch (const std::bad_alloc&) {
            throw error(error_kind::out_of_memory, "weighted_histogram",
                        "no memory for the sums of " + std::to_string(sums.size()) + " bins and each thread",
                        "ask for fewer bins or fewer threads");
        }
    }
};

} // namespace upsweep::detail
