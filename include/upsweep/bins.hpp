// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <upsweep/error.hpp>
#include <upsweep/outside.hpp>
#include <upsweep/qualifiers.hpp>
#include <upsweep/types.hpp>

// The kinds of bins, and the bin finders of the CPU engine, which tell in which bin a sample is. docs/histogram.md
// defines the bins; a GPU finds the same ones by other arithmetic.
namespace upsweep {

// `count` bins of equal width over [lo, hi]; the last one is closed. The edges are those of NumPy's linspace in double,
// rounded to float for samples of f32, f16 and bf16; a sample is in bin k where edges[k] <= sample < edges[k + 1],
// exactly.
struct even_bins {
    double lo = 0;
    double hi = 1;
    std::size_t count = 10;
};

// Bin k is [values[k], values[k + 1]); the last one is closed. At least two edges, strictly ascending.
struct edges {
    std::vector<double> values;

    edges(std::initializer_list<double> list) : values(list) {}
    template <std::ranges::input_range R>
        requires(!std::same_as<std::remove_cvref_t<R>, edges>)
    explicit edges(R&& range) : values(std::ranges::begin(range), std::ranges::end(range)) {}
};

// Bin k counts the integer first + k.
struct integer_bins {
    std::int64_t first = 0;
    std::size_t count = 256;
};

// A sample is in bin f(sample), an integer. It counts as below all bins where the result is negative, as above where it
// is `count` or more.
template <class F>
struct bins_by {
    F f;
    std::size_t count;

    constexpr bins_by(F function, std::size_t bins) : f(function), count(bins) {}
};

namespace detail {

inline void check_bin_count(std::size_t count)
{
    if (count == 0)
        throw error(error_kind::invalid_argument, "histogram", "there are no bins", "ask for at least one");
    if (count > std::numeric_limits<bin_index>::max() - out_of_range_bins)
        throw error(error_kind::invalid_argument, "histogram", std::to_string(count) + " bins are more than 2^32 - 4",
                    "ask for fewer bins");
}

// Returns the shortest text that stands for the number: 1e-09, where std::to_string has 0.000000.
inline std::string printed(double number)
{
    std::array<char, 32> text;
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

// Computes edge k of even bins by the arithmetic of NumPy's linspace.
struct even_edge {
    double lo;
    double hi;
    double width;
    double count;
    double step;

    explicit even_edge(const even_bins& bins)
        : lo(bins.lo), hi(bins.hi), width(hi - lo), count(static_cast<double>(bins.count)), step(width / count)
    {
    }

    UPSWEEP_HOST_DEVICE double operator()(double k) const
    {
        return k < count ? (step == 0 ? k / count * width + lo : by_step(k)) : hi;
    }
    // The same for an edge within the range, where the step is not zero.
    UPSWEEP_HOST_DEVICE double by_step(double k) const { return k * step + lo; }
};

inline std::vector<double> even_edges(const even_bins& bins)
{
    const even_edge edge(bins);
    std::vector<double> edges(bins.count + 1);
    for (std::size_t k = 0; k <= bins.count; ++k)
        edges[k] = edge(static_cast<double>(k));
    return edges;
}

// The type in which samples of type T are compared with edges.
template <class T>
using edge_t = std::conditional_t<sub_word_float<T> || std::same_as<T, float>, float, double>;

// Returns edges of type E with which samples of type E compare as they do with those in double: a sample of f32 is at or
// above an edge where it is at or above the least float that is, and at or below the last edge where it is at or below
// the greatest float that is.
template <class E>
std::vector<E> equivalent_edges(const std::vector<double>& edges)
{
    constexpr E infinity = std::numeric_limits<E>::infinity();
    std::vector<E> result(edges.begin(), edges.end());
    for (std::size_t k = 0; k < result.size(); ++k)
        if (static_cast<double>(result[k]) < edges[k])
            result[k] = std::nextafter(result[k], infinity);
    E& last = result.back();
    if (static_cast<double>(last) > edges.back())
        last = std::nextafter(last, -infinity);
    return result;
}

// Returns how far edges lie from those of even bins between the first and the last, in bins.
template <class E>
double deviation_from_even(const std::vector<E>& edges)
{
    const auto lo = static_cast<double>(edges.front());
    const double scale = static_cast<double>(edges.size() - 1) / (static_cast<double>(edges.back()) - lo);
    double largest = 0;
    for (std::size_t k = 0; k < edges.size(); ++k)
        largest = std::max(largest, std::abs((static_cast<double>(edges[k]) - lo) * scale - static_cast<double>(k)));
    return largest;
}

// Finds bins by a binary search among the edges, in O(log count) steps a sample.
template <class E>
class edge_search {
public:
    explicit edge_search(std::vector<E> edges) : edges_(std::move(edges)) {}

    std::size_t count() const { return edges_.size() - 1; }

    bin_index operator()(E x) const
    {
        bin_index bin;
        search<1>(&x, &bin);
        return bin;
    }

    // Finds the bins of Count samples together: the memory accesses of one search are under way while another waits for
    // its own.
    template <std::size_t Count>
    void search(const E* __restrict samples, bin_index* __restrict bins) const
    {
        const E* const edges = edges_.data();
        const auto bin_count = static_cast<bin_index>(count());
        std::fill_n(bins, Count, bin_index{0});
        // The bin of sample j, if it has one, is always among the `length` bins from bins[j] on.
        for (bin_index length = bin_count; length > 1;) {
            const bin_index half = length / 2;
            for (std::size_t j = 0; j < Count; ++j)
                bins[j] += edges[bins[j] + half] <= samples[j] ? half : 0;
            length -= half;
        }
        const E lo = edges_.front();
        const E hi = edges_.back();
        for (std::size_t j = 0; j < Count; ++j) {
            const E x = samples[j];
            const bin_index out_of_range = x < lo ? bin_count : x > hi ? bin_count + 1 : bin_count + 2;
            const bool inside = (x >= lo) & (x <= hi);
            bins[j] = inside ? bins[j] : out_of_range;
        }
    }

private:
    std::vector<E> edges_;
};

// Guesses the bin of a sample among bins that are even, but for a deviation of their edges of a fraction of a bin, by
// arithmetic. The guess is right for samples out of range; for others it is the right bin or the one below.
template <class E>
struct even_guess {
    E lo;
    E hi;
    E scale; // how many bins are as wide as 1
    E bias;  // is subtracted so that no guess is too high
    std::int32_t bins;

    explicit even_guess(const even_bins& even, double deviation = 0)
        : lo(static_cast<E>(even.lo)), hi(static_cast<E>(even.hi)),
          scale(static_cast<E>(static_cast<double>(even.count) / (even.hi - even.lo))), bias(bias_of(even, deviation)),
          bins(static_cast<std::int32_t>(even.count))
    {
    }

    // The bias, in bins, is the deviation of the edges and twice the largest error that the arithmetic can make. With u
    // the unit roundoff and m the largest magnitude, the ends and the edges are off by at most 4 u m, and the
    // difference, the product and the scale by u (hi - lo) each, all times the scale: together below 8 u m scale. With
    // the bias subtracted the guess is never too high and, while the bias is a quarter of a bin at most, never more
    // than one too low.
    static E bias_of(const even_bins& even, double deviation = 0)
    {
        const double u = static_cast<double>(std::numeric_limits<E>::epsilon()) / 2;
        const double magnitude = std::max({std::abs(even.lo), std::abs(even.hi), even.hi - even.lo});
        return static_cast<E>(deviation + 16 * u * magnitude * (static_cast<double>(even.count) / (even.hi - even.lo)));
    }
    static bool is_valid(const even_bins& even, double deviation = 0)
    {
        const even_guess guess(even, deviation);
        return even.count <= (std::size_t{1} << 30) && guess.bias <= E(0.25) && std::isfinite(guess.scale) &&
               std::isfinite(guess.hi - guess.lo);
    }

    std::int32_t operator()(E x) const
    {
        return static_cast<std::int32_t>(position(x, lo, hi, E(bins), E(bins) + 1, E(bins) + 2));
    }

    // The same of a vector of samples, before truncation to integers. While what that drops is below certain(), the guesses are
    // right.
    template <class V>
    V of_vector(const V& x) const
    {
        const V none{};
        const E beyond = E(bins);
        return position(x, none + lo, none + hi, none + beyond, none + (beyond + 1), none + (beyond + 2));
    }

    // The same of samples that are in range.
    template <class V>
    V of_vector_inside(const V& x) const
    {
        return unbounded(x, V{} + lo);
    }
    // The values in range that are nearest to the samples. That of NaN is any of them.
    template <class V>
    V nearest_inside(const V& x) const
    {
        const V low = V{} + lo;
        const V high = V{} + hi;
        const V not_below = x > low ? x : low;
        return not_below < high ? not_below : high;
    }

    // A guess is too low only where the sample lies less than twice the bias, in bins, below the next edge.
    UPSWEEP_HOST_DEVICE E certain() const { return 1 - 2 * bias; }

private:
    // How many bins above lo a sample lies, less the bias.
    template <class V>
    V unbounded(const V& x, const V& low) const
    {
        return (x - low) * scale - bias;
    }
    // The same, or the out-of-range bin. It is above -1, so that truncation never makes it negative.
    template <class V>
    V position(const V& x, const V& low, const V& high, const V& below, const V& above, const V& nan) const
    {
        const V guess = unbounded(x, low);
        const V not_below = x < low ? below : guess;
        const V in_order = x > high ? above : not_below;
        return x == x ? in_order : nan;
    }
};

// Finds even bins, or nearly even ones, by a guess, which one comparison with the upper edge of the guessed bin puts
// right. The edges of even bins are computed where they are needed; others are looked up.
template <class E>
class even_arithmetic {
public:
    even_arithmetic(const even_guess<E>& guess, const even_edge& edge) : guess_(guess), edge_(edge) {}
    even_arithmetic(const even_guess<E>& guess, const std::vector<E>& edges)
        : guess_(guess), edge_({0, 1, 1}), // any, for no edge is computed
          uppers_(count() + out_of_range_bins, std::numeric_limits<E>::quiet_NaN())
    {
        // NaN stays the upper edge of the last bin, which is closed, and of the out-of-range bins: no sample is moved
        // up from there.
        std::copy(edges.begin() + 1, edges.end() - 1, uppers_.begin());
    }

    std::size_t count() const { return static_cast<std::size_t>(guess_.bins); }

    const even_guess<E>& guess() const { return guess_; }

    // Puts the guesses of Count samples right.
    template <std::size_t Count>
    void correct(const std::int32_t* __restrict guesses, const E* __restrict samples, bin_index* __restrict bins) const
    {
        if (uppers_.empty())
            for (std::size_t j = 0; j < Count; ++j)
                bins[j] = by_formula(guesses[j], samples[j]);
        else
            for (std::size_t j = 0; j < Count; ++j)
                bins[j] = by_table(guesses[j], samples[j]);
    }

    bin_index operator()(E x) const
    {
        const std::int32_t k = guess_(x);
        return uppers_.empty() ? by_formula(k, x) : by_table(k, x);
    }

private:
    bin_index by_formula(std::int32_t k, E x) const
    {
        const std::int32_t next = k + 1;
        const bool is_above = (x >= static_cast<E>(edge_.by_step(next))) & (next < guess_.bins);
        return static_cast<bin_index>(k + static_cast<std::int32_t>(is_above));
    }
    bin_index by_table(std::int32_t k, E x) const
    {
        const auto bin = static_cast<bin_index>(k);
        return bin + (x >= uppers_[bin] ? 1U : 0U);
    }

    even_guess<E> guess_;
    even_edge edge_;
    std::vector<E> uppers_; // the upper edge of each bin, where they are looked up
};

// Returns the value as an integer that std::cmp_less takes: bool, characters and enumerations are promoted.
template <class T>
UPSWEEP_HOST_DEVICE constexpr auto promoted(T x)
{
    if constexpr (std::is_enum_v<T>)
        return +static_cast<std::underlying_type_t<T>>(x);
    else
        return +x;
}

// Finds integer bins by the distance from the first integer, modulo 2^32 or 2^64: one comparison tells whether a sample
// is in range.
template <class T>
class integer_offset {
    using number = decltype(promoted(T{}));
    using word = std::conditional_t<sizeof(number) == 8, std::uint64_t, std::uint32_t>;

public:
    explicit integer_offset(const integer_bins& bins)
        : count_(bins.count), above_(static_cast<bin_index>(bins.count) + 1)
    {
        constexpr number lowest = std::numeric_limits<number>::min();
        constexpr number highest = std::numeric_limits<number>::max();
        begin_ = std::cmp_less(bins.first, lowest) ? lowest : static_cast<number>(bins.first);
        const std::uint64_t skipped = static_cast<std::uint64_t>(begin_) - static_cast<std::uint64_t>(bins.first);
        const std::uint64_t beyond = static_cast<std::uint64_t>(highest) - static_cast<std::uint64_t>(begin_);
        const bool all_below = std::cmp_greater(bins.first, highest);
        if (all_below || skipped >= bins.count) {
            // All samples are below the bins, or all are above: every one gets the same out-of-range bin, which is
            // above_ here. The lowest, at distance 0, gets it as bin_of_begin_.
            above_ -= all_below ? 1 : 0;
            begin_ = lowest;
            bin_of_begin_ = above_;
            last_ = 0;
        } else {
            bin_of_begin_ = static_cast<bin_index>(skipped);
            last_ = static_cast<word>(std::min<std::uint64_t>(bins.count - 1 - skipped, beyond));
        }
    }

    std::size_t count() const { return count_; }

    UPSWEEP_HOST_DEVICE bin_index operator()(T x) const
    {
        const bin_index out_of_range = promoted(x) < begin_ ? static_cast<bin_index>(count_) : above_;
        const word from_begin = distance(x);
        return is_inside(from_begin) ? bin_at(from_begin) : out_of_range;
    }

    UPSWEEP_HOST_DEVICE word distance(T x) const { return static_cast<word>(promoted(x)) - static_cast<word>(begin_); }
    UPSWEEP_HOST_DEVICE bool is_inside(word distance) const { return distance <= last_; }
    UPSWEEP_HOST_DEVICE bin_index bin_at(word distance) const
    {
        return static_cast<bin_index>(distance) + bin_of_begin_;
    }

private:
    number begin_; // the first integer with a bin that a sample can be
    word last_;    // the distance from it to the last one
    bin_index bin_of_begin_;
    std::size_t count_;
    bin_index above_;
};

template <class T, class F>
class by_function {
public:
    explicit by_function(const bins_by<F>& bins) : f_(bins.f), count_(bins.count) {}

    std::size_t count() const { return count_; }

    UPSWEEP_HOST_DEVICE bin_index operator()(const T& x) const
    {
        using result = std::remove_cvref_t<decltype(f_(x))>;
        static_assert(std::integral<result> || std::is_enum_v<result>, "a bin function returns an integer");
        const auto k = promoted(f_(x));
        const auto bins = static_cast<bin_index>(count_);
        if (std::cmp_less(k, 0))
            return bins;
        return std::cmp_less(k, count_) ? static_cast<bin_index>(k) : bins + 1;
    }

private:
    F f_;
    std::size_t count_;
};

// check_bins(bins) refuses a description of bins that makes no sense. It allocates no memory, however many bins are
// asked for.
inline void check_bins(const edges& bins)
{
    const std::vector<double>& values = bins.values;
    if (values.size() < 2)
        throw error(error_kind::invalid_argument, "histogram", "fewer than two edges bound no bin",
                    "give at least two edges");
    check_bin_count(values.size() - 1);
    for (std::size_t k = 0; k < values.size(); ++k) {
        if (std::isnan(values[k]))
            throw error(error_kind::invalid_argument, "histogram", "edge " + std::to_string(k) + " is NaN",
                        "give numbers");
        if (k > 0 && !(values[k - 1] < values[k]))
            throw error(error_kind::invalid_argument, "histogram",
                        "edges are not ascending: edge " + std::to_string(k) + " is not above the one before it",
                        "sort the edges and drop duplicates");
    }
}

inline void check_bins(const even_bins& bins)
{
    check_bin_count(bins.count);
    if (!(bins.lo < bins.hi))
        throw error(error_kind::invalid_argument, "histogram",
                    "the range is empty: lo = " + printed(bins.lo) + " is not below hi = " + printed(bins.hi),
                    "give lo < hi");
    if (!std::isfinite(bins.hi - bins.lo))
        throw error(error_kind::invalid_argument, "histogram", "the range is not finite", "give finite lo and hi");
}

template <class Bins>
void check_bins(const Bins& bins)
{
    check_bin_count(bins.count);
}

// bin_count(bins) is the number of bins, without the out-of-range ones.
inline std::size_t bin_count(const edges& bins) { return bins.values.size() - 1; }
template <class Bins>
std::size_t bin_count(const Bins& bins)
{
    return bins.count;
}

// Refuses bins that make no sense, and counters of which there is not one a bin.
template <class Bins>
void check_counters(const Bins& bins, std::size_t counters)
{
    check_bins(bins);
    if (counters != bin_count(bins))
        throw error(error_kind::invalid_argument, "histogram",
                    std::to_string(counters) + " counters for " + std::to_string(bin_count(bins)) + " bins",
                    "pass one counter a bin");
}

// Finds even bins of width one, whose edges are integers, among integers: they are integer bins, but for the last one, which has its
// upper edge, too.
template <class T>
class unit_bins {
public:
    explicit unit_bins(const even_bins& bins)
        : with_upper_edge_({static_cast<std::int64_t>(bins.lo), bins.count + 1}),
          count_(static_cast<bin_index>(bins.count))
    {
    }

    static bool is_valid(const even_bins& bins)
    {
        // Integers that the edges are exactly.
        constexpr double largest =
            static_cast<double>(std::uint64_t{1} << (std::numeric_limits<edge_t<T>>::digits - 1));
        return bins.lo >= -largest && bins.hi <= largest &&
               bins.lo == static_cast<double>(static_cast<std::int64_t>(bins.lo)) &&
               bins.hi - bins.lo == static_cast<double>(bins.count);
    }

    std::size_t count() const { return count_; }

    // The bin of the upper edge and the out-of-range bins follow one place too late.
    UPSWEEP_HOST_DEVICE bin_index operator()(T x) const
    {
        const bin_index bin = with_upper_edge_(x);
        return bin - static_cast<bin_index>(bin >= count_);
    }

private:
    integer_offset<T> with_upper_edge_;
    bin_index count_;
};

// with_bin_finder<T>(bins, f) calls f with the bin finder for samples of type T: an object whose operator() returns the
// bin of a sample.
template <class T, class F>
auto with_bin_finder(const edges& bins, F f)
{
    using edge = edge_t<T>;
    std::vector<edge> values = equivalent_edges<edge>(bins.values);
    const even_bins even{values.front(), values.back(), values.size() - 1};
    if (even.lo < even.hi) { // floats may be so few that the bounds change places
        const double deviation = deviation_from_even(values);
        if (even_guess<edge>::is_valid(even, deviation))
            return f(even_arithmetic<edge>(even_guess<edge>(even, deviation), values));
    }
    return f(edge_search<edge>(std::move(values)));
}

template <class T, class F>
auto with_bin_finder(const even_bins& bins, F f)
{
    using edge = edge_t<T>;
    if constexpr (std::integral<T> && !std::same_as<T, bool>)
        if (unit_bins<T>::is_valid(bins))
            return f(unit_bins<T>(bins));
    const even_edge edge_of(bins);
    if (even_guess<edge>::is_valid(bins) && edge_of.step != 0)
        return f(even_arithmetic<edge>(even_guess<edge>(bins), edge_of));
    const std::vector<double> exact = even_edges(bins);
    return f(edge_search<edge>(std::vector<edge>(exact.begin(), exact.end())));
}

template <class T, class F>
auto with_bin_finder(const integer_bins& bins, F f)
{
    static_assert(std::integral<T>, "integer bins are for integer samples; see even_bins");
    return f(integer_offset<T>(bins));
}

template <class T, class G, class F>
auto with_bin_finder(const bins_by<G>& bins, F f)
{
    return f(by_function<T, G>(bins));
}

} // namespace detail
} // namespace upsweep
