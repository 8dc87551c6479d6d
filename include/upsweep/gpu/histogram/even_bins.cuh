// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <upsweep/bins.hpp>
#include <upsweep/gpu/histogram/bin_finder.cuh>
#include <upsweep/types.hpp>

// Bin finders for even bins. All of them find exactly the bins that bins.hpp defines; they differ in the samples and
// bins for which their arithmetic is exact enough, and in what they cost. with_bin_finder, at the end, takes the first
// that can be used:
//
//     even_integer_bins         integers of up to 32 bits     one multiplication in fixed-point arithmetic
//     guessed_even_bins         samples compared as doubles   the CPU engine's guess; a comparison where in doubt
//     exact_float_bins          widths of a power of two      one fused multiplication and addition, rounded down
//     even_float_bins<float>    floats                        the same, rounded to nearest; a comparison with the edge
//     even_float_bins<double>   floats in many bins           the same in doubles
//     searched_even_bins        any                           a binary search
namespace upsweep::gpu {

// Finds bins by the guess of the CPU engine (even_guess), which is right or one too low; where it is in doubt, the
// upper edge of the guessed bin decides. The guess is valid only where the step from edge to edge is not zero, as
// edge.by_step asks for.
struct guessed_even_bins : plain_bin_finder<guessed_even_bins>, two_step_finder<guessed_even_bins> {
    detail::even_guess<double> guess;
    detail::even_edge edge;
    std::size_t bins;

    explicit guessed_even_bins(const even_bins& even) : guess(even), edge(even), bins(even.count) {}

    static bool is_valid(const even_bins& even) { return detail::even_guess<double>::is_valid(even); }

    template <class T>
    __device__ bool quick(const T& sample, bin_index& k) const
    {
        const auto x = convert<double>(sample);
        const bool inside = is_inside(x);
        const double place = ((inside ? x : guess.lo) - guess.lo) * guess.scale - guess.bias;
        const auto guessed = static_cast<std::int32_t>(place);
        k = static_cast<bin_index>(guessed);
        return inside & (place - guessed < guess.certain());
    }

    // The last bin is closed: no edge is above it, so a sample is not compared with one.
    template <class T>
    __device__ bin_index settle(const T& sample, bin_index k) const
    {
        const auto x = convert<double>(sample);
        if (!is_inside(x))
            return out_of_range_bin(x, guess.lo, guess.hi, static_cast<bin_index>(guess.bins));
        const double upper = edge.by_step(static_cast<double>(k + 1));
        return k + (static_cast<std::int32_t>(k) + 1 < guess.bins && x >= upper ? 1 : 0);
    }

private:
    __device__ bool is_inside(double x) const { return (x >= guess.lo) & (x <= guess.hi); }
};

// Even bins of floats whose width is a power of two, and whose edges are multiples of it. The position of a sample,
// counted in bins, is then sample * scale - lo * scale, and neither constant is rounded. One fused operation adds 2^23
// to the position and rounds down once, so that the bin is the integer in the lower bits of the sum. A sample in no bin
// makes a sum below 2^23, one that is too large, or NaN: less the bits of 2^23, the bits of each of these, as an
// unsigned number, are above any bin.
struct exact_float_bins : plain_bin_finder<exact_float_bins>, two_step_finder<exact_float_bins> {
    static constexpr float shift = 0x1p23F;
    static constexpr std::size_t most = std::size_t{1} << 22;

    float lo;
    float hi;
    float scale; // how many bins are as wide as 1
    float start; // the position of 0, in bins, plus `shift`
    std::size_t bins;

    explicit exact_float_bins(const even_bins& even)
        : lo(static_cast<float>(even.lo)), hi(static_cast<float>(even.hi)),
          scale(static_cast<float>(1 / detail::even_edge(even).step)),
          start(static_cast<float>(static_cast<double>(shift) - even.lo / detail::even_edge(even).step)),
          bins(even.count)
    {
    }

    // Returns whether all of this is exact. The step must be a power of two, since the quotients are exact then. So are
    // the edges, each of which is an integer of 24 bits times the step.
    static bool is_valid(const even_bins& even)
    {
        const double step = detail::even_edge(even).step;
        int exponent = 0;
        if (std::frexp(step, &exponent) != 0.5 || std::abs(exponent) > 100 || even.count > most)
            return false;
        const double first = even.lo / step;
        return std::floor(first) == first && std::abs(first) <= static_cast<double>(most) &&
               even.hi / step - first == static_cast<double>(even.count);
    }

    template <class T>
    __device__ bool quick(const T& sample, bin_index& k) const
    {
        k = std::bit_cast<std::uint32_t>(__fmaf_rd(convert<float>(sample), scale, start)) -
            std::bit_cast<std::uint32_t>(shift);
        return k < static_cast<bin_index>(bins);
    }

    // The last bin is closed: a sample equal to hi is in it.
    template <class T>
    __device__ bin_index settle(const T& sample, bin_index k) const
    {
        const float x = convert<float>(sample);
        const auto all = static_cast<bin_index>(bins);
        return k < all ? k : x == hi ? all - 1 : out_of_range_bin(x, lo, hi, all);
    }
};

// Converts an integer to a double by putting its bits below those of 2^52, which takes less time than the instruction
// for it.
__device__ inline double double_of(std::uint32_t x)
{
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(0x1p52) | x) - 0x1p52;
}

// Returns the integer at or above x, or the nearest one that the type has.
__device__ inline std::int32_t rounded_up(double x, std::int32_t) { return __double2int_ru(x); }
__device__ inline std::uint32_t rounded_up(double x, std::uint32_t) { return __double2uint_ru(x); }

// Even bins of floats. The position of a sample, counted in bins, is computed in numbers of type G by one
// multiplication and addition, and rounded to the nearest integer by adding `shift`: the integer is in the lower bits
// of the sum. It is the number of an edge, and the sample is in the bin that begins at that edge or in the one before,
// as long as the arithmetic and the edges, which are floats, are off by less than half a bin together. A comparison
// with the edge itself, computed as its definition says, tells which.
template <class G>
struct even_float_bins : plain_bin_finder<even_float_bins<G>, sizeof(G) == 4 ? bin_range::any : bin_range::many>,
                         two_step_finder<even_float_bins<G>> {
    static constexpr G shift = sizeof(G) == 4 ? G(0x1.8p23) : G(0x1.8p52);

    detail::even_edge edge;
    float lo;
    float hi;
    G scale;  // how many bins are as wide as 1
    G offset; // the position of 0, in bins
    std::size_t bins;

    explicit even_float_bins(const even_bins& even)
        : edge(even), lo(static_cast<float>(even.lo)), hi(static_cast<float>(even.hi)),
          scale(static_cast<G>(scale_of(even))), offset(static_cast<G>(-even.lo * scale_of(even))), bins(even.count)
    {
    }

    // Returns by how many bins a position can be off. Let u be the roundoff of a float and m the largest magnitude. The
    // edges are off by u m, or by the roundoff of subnormal floats, times the scale. In floats, the sum is also off by
    // u for each bin that it can be, the product by m times the error of the scale, and the offset by its own roundoff.
    static double error_of(const even_bins& even)
    {
        constexpr double u = 0x1p-24;
        constexpr double least = 0x1p-150; // roundoff of a subnormal float
        const double scale = scale_of(even);
        const double bins = std::max({std::abs(even.lo), std::abs(even.hi), even.hi - even.lo}) * scale;
        if (sizeof(G) == 8)
            return u * (1.5 * bins + 4) + least * scale;
        const double of_scale = std::abs(scale - static_cast<double>(static_cast<float>(scale))) / scale * bins;
        const double of_offset = u * (std::abs(even.lo) * scale + 1);
        return 1.25 * (u * bins + of_scale + of_offset + u * static_cast<double>(even.count) + 4 * u);
    }

    static double scale_of(const even_bins& even) { return static_cast<double>(even.count) / (even.hi - even.lo); }

    // Returns whether the bin finder can be used. Positions must be off by a quarter of a bin at most, and the scale
    // must be a normal number of its type. The formula of the other edges, taken for the last one, must not exceed it:
    // else a sample above the last edge could be found below it.
    static bool is_valid(const even_bins& even)
    {
        const detail::even_edge edge(even);
        const double scale = scale_of(even);
        const auto hi = static_cast<float>(even.hi);
        return even.count <= (std::size_t{1} << (sizeof(G) == 4 ? 21 : 30)) && error_of(even) <= 0.25 &&
               std::isfinite(static_cast<float>(even.lo)) && std::isfinite(hi) && edge.step != 0 &&
               static_cast<float>(edge.by_step(edge.count)) <= hi &&
               scale >= static_cast<double>(std::numeric_limits<G>::min()) &&
               scale <= static_cast<double>(std::numeric_limits<G>::max());
    }

    // Where the sample is in no bin, k is the index of no bin either: the sum of a sample far out of range has other
    // upper bits than the sums of bins have. Of a double, the lower 32 bits alone cannot tell, so the range is checked.
    template <class T>
    __device__ bool quick(const T& sample, bin_index& k) const
    {
        const float x = convert<float>(sample);
        const G sum = std::fma(static_cast<G>(x), scale, offset) + shift;
        const bin_index nearest = lower_bits(sum) - lower_bits(shift);
        const auto nearest_edge = static_cast<float>(edge.by_step(double_of(nearest)));
        k = nearest - (x >= nearest_edge ? 0 : 1);
        if constexpr (sizeof(G) == 8)
            k = is_inside(x) ? k : ~bin_index{0};
        return k < static_cast<bin_index>(bins);
    }

    // The last bin is closed: a sample at or just below its end is in it, whatever the first step has found.
    template <class T>
    __device__ bin_index settle(const T& sample, bin_index k) const
    {
        const float x = convert<float>(sample);
        const auto all = static_cast<bin_index>(bins);
        return k < all ? k : is_inside(x) ? all - 1 : out_of_range_bin(x, lo, hi, all);
    }

private:
    __device__ bool is_inside(float x) const { return (x >= lo) & (x <= hi); }

    __device__ static bin_index lower_bits(G x)
    {
        if constexpr (sizeof(G) == 4)
            return std::bit_cast<std::uint32_t>(x);
        else
            return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x));
    }
};

// Even bins of integers of up to 32 bits: the position of a sample, counted in bins, is computed in fixed-point
// arithmetic from its distance from the first integer in the range. The bin that this guesses is never too high, and
// never more than one too low.
struct even_integer_arithmetic {
    detail::even_edge edge;
    std::int64_t begin;  // the first integer in the range
    std::uint32_t last;  // the distance from `begin` to the last integer in the range
    std::uint32_t scale; // 2^32 times how many bins are as wide as 1, rounded down
    std::uint64_t start; // 2^32 times the position of the first integer, less what the guess could be too high by
    std::size_t bins;
    std::uint32_t closing = 0; // the distance of the last edge, where it is an integer beyond `last`
    bool is_exact = false;     // whether every guess is right

    static constexpr double one = 4294967296.0;
    static constexpr std::uint32_t slack = 1U << 17; // more than what rounding can move edges of 32-bit integers by

    // Returns whether the bin finder can be used: the range has 2^30 integers at most and is at least as wide as there
    // are bins, and no edge is above all integers of the type.
    template <class T>
    static bool is_valid(const even_bins& even)
    {
        const double first = first_integer<T>(even);
        const double end = last_integer<T>(even);
        return first <= end && end - first < 0x1p30 && static_cast<double>(even.count) <= even.hi - even.lo &&
               even.hi <= static_cast<double>(std::numeric_limits<decltype(detail::promoted(T{}))>::max());
    }

    template <class T>
    static even_integer_arithmetic of(const even_bins& even)
    {
        const detail::even_edge edge(even);
        const double first = first_integer<T>(even);
        const auto last = static_cast<std::uint32_t>(last_integer<T>(even) - first);
        const double scale = one / edge.step;
        const double before = (first - even.lo) * scale;
        even_integer_arithmetic finder{edge,
                                       static_cast<std::int64_t>(first),
                                       last,
                                       static_cast<std::uint32_t>(std::min(scale, one - 1)),
                                       static_cast<std::uint64_t>(before) - slack,
                                       even.count};
        // Where all edges are multiples of a unit of 1, 1/2, 1/4 or so, half a unit is added to every sample. This
        // keeps samples away from the edges by more than the arithmetic is off by, so that every guess is right. A
        // sample equal to the last edge would be given a bin behind the last one: it is treated apart.
        for (double unit = 1; last > 0 && before < 0x1p52 && 2.0 * last + 8 < scale * unit; unit /= 2)
            if (are_multiples(even, edge.step, unit)) {
                finder.closing = first + last == even.hi ? last : 0;
                finder.last -= finder.closing != 0 ? 1 : 0;
                finder.start = static_cast<std::uint64_t>(before + scale * unit / 2);
                finder.is_exact = true;
                break;
            }
        return finder;
    }

private:
    // Returns whether the edges are multiples of the unit, a power of two, and doubles have all of them without
    // rounding.
    static bool are_multiples(const even_bins& even, double step, double unit)
    {
        const auto is_multiple = [&](double x) {
            return std::floor(x / unit) == x / unit && std::abs(x / unit) < 0x1p52;
        };
        return is_multiple(even.lo) && is_multiple(even.hi) && is_multiple(step) && is_multiple(even.hi - even.lo) &&
               static_cast<double>(even.count) * step == even.hi - even.lo;
    }
    template <class T>
    static double first_integer(const even_bins& even)
    {
        return std::max(std::ceil(even.lo), static_cast<double>(std::numeric_limits<T>::min()));
    }
    template <class T>
    static double last_integer(const even_bins& even)
    {
        return std::min(std::floor(even.hi), static_cast<double>(std::numeric_limits<T>::max()));
    }
};

// The bin finder of integers. IsExact is for bins of which every guess is right.
template <bool IsExact>
struct even_integer_bins : even_integer_arithmetic,
                           plain_bin_finder<even_integer_bins<IsExact>>,
                           two_step_finder<even_integer_bins<IsExact>> {
    explicit even_integer_bins(const even_integer_arithmetic& arithmetic) : even_integer_arithmetic(arithmetic) {}

    // Guesses the bin and compares the sample with the upper edge of the guessed bin. The guess is taken modulo 2^32,
    // since that of the first integer may be one below bin 0.
    template <class T>
    __device__ bool quick(const T& sample, bin_index& k) const
    {
        const std::uint32_t distance = distance_of(sample);
        k = static_cast<bin_index>((static_cast<std::uint64_t>(distance) * scale + start) >> 32);
        if constexpr (IsExact)
            return distance <= last;
        const auto x = detail::promoted(sample);
        k += x >= rounded_up(edge.by_step(double_of(k + 1)), x) ? 1 : 0;
        return (distance <= last) & (k < static_cast<bin_index>(bins));
    }

    // Returns the bin that was found, or the last one for a sample at its end, since that bin is closed, or an
    // out-of-range bin.
    template <class T>
    __device__ bin_index settle(const T& sample, bin_index k) const
    {
        const auto all = static_cast<bin_index>(bins);
        const auto x = detail::promoted(sample);
        const std::uint32_t distance = distance_of(sample);
        if (distance <= last)
            return k < all ? k : all - 1;
        if (closing != 0 && distance == closing)
            return all - 1;
        return x < static_cast<decltype(x)>(begin) ? all : all + 1;
    }

private:
    template <class T>
    __device__ std::uint32_t distance_of(const T& sample) const
    {
        return static_cast<std::uint32_t>(sample) - static_cast<std::uint32_t>(begin);
    }
};

// Even bins whose edges are too close together for any of this arithmetic: a binary search among edges that are
// computed where they are needed.
template <class E>
struct searched_even_bins : plain_bin_finder<searched_even_bins<E>, bin_range::many> {
    detail::even_edge edge;
    std::size_t bins;

    explicit searched_even_bins(const even_bins& even) : edge(even), bins(even.count) {}

    template <class T>
    __device__ bin_index operator()(const T& sample) const
    {
        const E x = convert<E>(sample);
        const E lo = static_cast<E>(edge.lo);
        const E hi = static_cast<E>(edge.hi);
        const auto all = static_cast<bin_index>(bins);
        if (!(x >= lo && x <= hi))
            return out_of_range_bin(x, lo, hi, all);
        return last_for_which(bin_index{0}, all,
                              [&](bin_index k) { return static_cast<E>(edge(static_cast<double>(k))) <= x; });
    }
};

// --- which of them is used -------------------------------------------------------------------------------------------

// The bins of bytes are looked up once for each of their 256 values: the guess has the fewest instructions, each of
// which a small histogram fetches from memory.
template <class T, class F>
void with_bin_finder(const cuda&, const even_bins& bins, F f)
{
    using E = detail::edge_t<T>;
    if constexpr (std::integral<T> && (sizeof(T) == 2 || sizeof(T) == 4))
        if (even_integer_arithmetic::is_valid<T>(bins)) {
            const auto arithmetic = even_integer_arithmetic::of<T>(bins);
            return arithmetic.is_exact ? f(even_integer_bins<true>(arithmetic))
                                       : f(even_integer_bins<false>(arithmetic));
        }
    if constexpr (std::same_as<E, float>) {
        if (exact_float_bins::is_valid(bins))
            return f(exact_float_bins(bins));
        if (even_float_bins<float>::is_valid(bins))
            return f(even_float_bins<float>(bins));
        if (even_float_bins<double>::is_valid(bins))
            return f(even_float_bins<double>(bins));
    } else if (guessed_even_bins::is_valid(bins)) {
        return f(guessed_even_bins(bins));
    }
    f(searched_even_bins<E>(bins));
}

// The one type of bin finder for even bins: it has several of these, of which a branch takes the first that can be
// used, for all lanes alike.
template <class T>
struct any_even_bins : plain_bin_finder<any_even_bins<T>>, two_step_finder<any_even_bins<T>> {
    using E = detail::edge_t<T>;
    static constexpr bool can_be_integers = std::integral<T> && sizeof(T) <= 4;
    static constexpr bool are_floats = std::same_as<E, float>;
    struct nothing {
        explicit nothing(const even_bins&) {}
    };
    enum class way { integers, floats, others, search };

    way taken;
    searched_even_bins<E> searched;
    std::conditional_t<can_be_integers, even_integer_bins<false>, nothing> integers;
    std::conditional_t<are_floats, even_float_bins<float>, nothing> floats;
    std::conditional_t<are_floats, even_float_bins<double>, guessed_even_bins> others;
    std::size_t bins;

    explicit any_even_bins(const even_bins& even)
        : taken(way_of(even)), searched(even), integers(integers_of(even)), floats(even), others(even), bins(even.count)
    {
    }

    __device__ bool quick(const T& sample, bin_index& k) const
    {
        if constexpr (can_be_integers)
            if (taken == way::integers)
                return integers.quick(sample, k);
        if constexpr (are_floats)
            if (taken == way::floats)
                return floats.quick(sample, k);
        if (taken == way::others)
            return others.quick(sample, k);
        return false;
    }
    __device__ bin_index settle(const T& sample, bin_index k) const
    {
        if constexpr (can_be_integers)
            if (taken == way::integers)
                return integers.settle(sample, k);
        if constexpr (are_floats)
            if (taken == way::floats)
                return floats.settle(sample, k);
        return taken == way::search ? searched(sample) : others.settle(sample, k);
    }

private:
    static way way_of(const even_bins& even)
    {
        if constexpr (can_be_integers)
            if (even_integer_arithmetic::is_valid<T>(even))
                return way::integers;
        if constexpr (are_floats)
            if (even_float_bins<float>::is_valid(even))
                return way::floats;
        return decltype(others)::is_valid(even) ? way::others : way::search;
    }
    static auto integers_of(const even_bins& even)
    {
        if constexpr (!can_be_integers)
            return even;
        else
            return even_integer_arithmetic::is_valid<T>(even)
                       ? even_integer_arithmetic::of<T>(even)
                       : even_integer_arithmetic{detail::even_edge(even), 0, 0, 0, 0, 0};
    }
};

template <class T>
auto any_bin_finder(const even_bins& bins, threshold_list&)
{
    return any_even_bins<T>(bins);
}

} // namespace upsweep::gpu
