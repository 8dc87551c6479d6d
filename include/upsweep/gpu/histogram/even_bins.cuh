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
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/types.hpp>

// Bins of even bins.
namespace upsweep::gpu {

// Even bins: the guess of the CPU, put right by the edge itself where it may be one too low. Where the guess is valid, the step
// is not zero.
template <class E>
struct guessed_even_bins {
    static constexpr bin_range range = bin_range::any;

    detail::even_guess<E> guess;
    detail::even_edge edge;
    std::size_t bins;

    constexpr std::size_t shared_bytes() const { return 0; }

    struct function {
        detail::even_guess<E> guess;
        detail::even_edge edge;

        template <class T>
        __device__ bin_index operator()(const T& sample) const
        {
            bin_index k = 0;
            const E x = convert<E>(sample);
            return is_certain(x, k) ? k : by_edge(x, k);
        }

        // Of some samples at once: if one is in doubt, the edges decide on all of them.
        template <class T, int Count>
        __device__ void find(const lane_vector<T, Count>& samples, bin_index (&found)[Count]) const
        {
            bool all_certain = true;
#pragma unroll
            for (int j = 0; j < Count; ++j)
                all_certain &= is_certain(convert<E>(samples[j]), found[j]);
            if (!all_certain)
#pragma unroll
                for (int j = 0; j < Count; ++j)
                    found[j] = by_edge(convert<E>(samples[j]), found[j]);
        }

        __device__ bool is_inside(E x) const { return (x >= guess.lo) & (x <= guess.hi); }

        __device__ bool is_certain(E x, bin_index& k) const
        {
            const bool inside = is_inside(x);
            const E place = ((inside ? x : guess.lo) - guess.lo) * guess.scale - guess.bias;
            const auto guessed = static_cast<std::int32_t>(place);
            k = static_cast<bin_index>(guessed);
            return inside & (place - static_cast<E>(guessed) < guess.certain());
        }

        // The last bin is closed: nothing is above it.
        __device__ bin_index by_edge(E x, bin_index k) const
        {
            if (!is_inside(x))
                return out_of_range_bin(x, guess.lo, guess.hi, static_cast<bin_index>(guess.bins));
            const E upper = static_cast<E>(edge.by_step(static_cast<double>(k + 1)));
            return k + (static_cast<std::int32_t>(k) + 1 < guess.bins && x >= upper ? 1 : 0);
        }
    };

    __device__ function of_block(void*) const { return {guess, edge}; }
};

// Even bins of floats whose width is a power of two, and whose edges are multiples of it. Where a sample is, in bins,
// is then sample * scale - lo * scale without any rounding of the two constants. 2^23 more of it, rounded down once, is
// an integer that is in the lower bits of the sum: the bin, and never in doubt. What is in no bin makes a sum below
// 2^23, one too large, or NaN, whose bits, less those of 2^23, are at least as many as there can be bins.
struct exact_float_bins {
    static constexpr bin_range range = bin_range::any;
    static constexpr float shift = 0x1p23F;
    static constexpr std::size_t most = std::size_t{1} << 22;

    float lo;
    float hi;
    float scale; // bins a unit
    float start; // where 0 is, in bins, and the shift
    std::size_t bins;

    explicit exact_float_bins(const even_bins& even)
        : lo(static_cast<float>(even.lo)), hi(static_cast<float>(even.hi)),
          scale(static_cast<float>(1 / detail::even_edge(even).step)),
          start(static_cast<float>(static_cast<double>(shift) - even.lo / detail::even_edge(even).step)),
          bins(even.count)
    {
    }

    // All of this is exact where the step is a power of two, since the quotient then is; and so are the edges, of which
    // each is an integer of 24 bits times the step.
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

    constexpr std::size_t shared_bytes() const { return 0; }

    struct function {
        float lo;
        float hi;
        float scale;
        float start;
        bin_index bins;

        template <class T>
        __device__ bin_index operator()(const T& sample) const
        {
            const float x = convert<float>(sample);
            const bin_index k = bin_inside(x);
            return k < bins ? k : out_of_range(x);
        }

        template <class T, int Count>
        __device__ void find(const lane_vector<T, Count>& samples, bin_index (&found)[Count]) const
        {
            bool all_inside = true;
#pragma unroll
            for (int j = 0; j < Count; ++j) {
                found[j] = bin_inside(convert<float>(samples[j]));
                all_inside &= found[j] < bins;
            }
            if (!all_inside)
#pragma unroll
                for (int j = 0; j < Count; ++j)
                    if (found[j] >= bins)
                        found[j] = out_of_range(convert<float>(samples[j]));
        }

        __device__ bin_index bin_inside(float x) const
        {
            return std::bit_cast<std::uint32_t>(__fmaf_rd(x, scale, start)) - std::bit_cast<std::uint32_t>(shift);
        }

        // The last bin is closed.
        __device__ bin_index out_of_range(float x) const
        {
            return x == hi ? bins - 1 : out_of_range_bin(x, lo, hi, bins);
        }
    };

    __device__ function of_block(void*) const { return {lo, hi, scale, start, static_cast<bin_index>(bins)}; }
};

// An integer as a double, by the bits of 2^52 and it: a conversion takes longer.
__device__ inline double double_of(std::uint32_t x)
{
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(0x1p52) | x) - 0x1p52;
}

// The integer at or above x, or the nearest that there is.
__device__ inline std::int32_t rounded_up(double x, std::int32_t) { return __double2int_ru(x); }
__device__ inline std::uint32_t rounded_up(double x, std::uint32_t) { return __double2uint_ru(x); }

// Even bins of floats. Where a sample is, in bins, is computed in numbers of type G by one multiplication and addition,
// and rounded to an integer by adding `shift`: the integer is in the lower bits of the sum. The sample is in the bin
// that begins at this edge or in the one before, as long as the arithmetic and the edges, which are floats, are off by
// less than half a bin together. A comparison with the edge itself, computed as its definition says, tells which.
template <class G>
struct even_float_arithmetic {
    detail::even_edge edge;
    float lo;
    float hi;
    G scale;  // bins a unit
    G offset; // where 0 is, in bins
    std::size_t bins;

    static constexpr G shift = sizeof(G) == 4 ? G(0x1.8p23) : G(0x1.8p52);

    // How many bins a place can be off by. With u the roundoff of a float and m the largest magnitude, the edges are
    // off by u m, or by what subnormal floats are, times the scale. In floats the sum is off by u for each bin that it
    // can be; the scale, times m, and the offset by what they are.
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

    // Whether the bin finder can be used: the scale is as exact as a number of its type can be, and nothing above the last
    // edge is below what the arithmetic of the others makes of it.
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

    static even_float_arithmetic of(const even_bins& even)
    {
        const double scale = scale_of(even);
        return {detail::even_edge(even), static_cast<float>(even.lo),      static_cast<float>(even.hi),
                static_cast<G>(scale),   static_cast<G>(-even.lo * scale), even.count};
    }
};

template <class G>
struct even_float_bins : even_float_arithmetic<G> {
    using finder = even_float_arithmetic<G>;
    static constexpr bin_range range = sizeof(G) == 4 ? bin_range::any : bin_range::many;

    constexpr std::size_t shared_bytes() const { return 0; }

    struct function {
        finder even;

        template <class T>
        __device__ bin_index operator()(const T& sample) const
        {
            const float x = convert<float>(sample);
            const bin_index k = bin_inside(x);
            return k < static_cast<bin_index>(even.bins) ? k : out_of_range(x);
        }

        // Of some samples at once, with one branch.
        template <class T, int Count>
        __device__ void find(const lane_vector<T, Count>& samples, bin_index (&found)[Count]) const
        {
            bool all_inside = true;
#pragma unroll
            for (int j = 0; j < Count; ++j) {
                found[j] = bin_inside(convert<float>(samples[j]));
                all_inside &= found[j] < static_cast<bin_index>(even.bins);
            }
            if (!all_inside)
#pragma unroll
                for (int j = 0; j < Count; ++j)
                    if (found[j] >= static_cast<bin_index>(even.bins))
                        found[j] = out_of_range(convert<float>(samples[j]));
        }

        // No bin's number where a sample is in none: far beside the bins, sums are above those of bins by their bits.
        __device__ bin_index bin_inside(float x) const
        {
            const G sum = std::fma(static_cast<G>(x), even.scale, even.offset) + finder::shift;
            const bin_index nearest = lower_bits(sum) - lower_bits(finder::shift);
            const auto edge = static_cast<float>(even.edge.by_step(double_of(nearest)));
            const bin_index k = nearest - (x >= edge ? 0 : 1);
            if constexpr (sizeof(G) == 8) // where the lower bits do not tell
                return is_inside(x) ? k : ~bin_index{0};
            return k;
        }

        // The last bin is closed.
        __device__ bin_index out_of_range(float x) const
        {
            const auto bins = static_cast<bin_index>(even.bins);
            return is_inside(x) ? bins - 1 : out_of_range_bin(x, even.lo, even.hi, bins);
        }

        __device__ bool is_inside(float x) const { return (x >= even.lo) & (x <= even.hi); }

        __device__ static bin_index lower_bits(G x)
        {
            if constexpr (sizeof(G) == 4)
                return std::bit_cast<std::uint32_t>(x);
            else
                return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x));
        }
    };

    __device__ function of_block(void*) const { return {*this}; }
};

// Even bins of integers of up to 32 bits: the same in fixed-point arithmetic with the distance of a sample from the
// first integer in the range. The guess is never too high, and never more than one too low.
struct even_integer_arithmetic {
    detail::even_edge edge;
    std::int64_t begin;  // the first integer in the range
    std::uint32_t last;  // the distance from it to the last one
    std::uint32_t scale; // bins a unit, times 2^32, rounded down
    std::uint64_t start; // the place of the first integer, times 2^32, less what the guess can be too high by
    std::size_t bins;
    std::uint32_t closing = 0; // the distance of the last edge, where that is beyond `last`
    bool is_exact = false;     // every guess is right

    static constexpr double one = 4294967296.0;
    static constexpr std::uint32_t slack = 1U << 17; // more than the rounding of the edges of 32-bit integers can make

    // Whether the bin finder can be used: for 2^30 integers at most, no more bins than integers, and no edge above all of them.
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
        // Where all edges are multiples of a unit that divides one, samples count as half a unit more, which keeps them
        // away from the edges by more than the arithmetic is off by. The last one, which would be in a bin of its own,
        // is treated apart.
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
    // Whether the edges are multiples of a power of two that doubles have without rounding.
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

// IsExact is for bin finders that are; without it all of them can be used.
template <bool IsExact>
struct even_integer_bins : even_integer_arithmetic {
    static constexpr bin_range range = bin_range::any;

    constexpr std::size_t shared_bytes() const { return 0; }

    struct function {
        even_integer_arithmetic finder;

        template <class T>
        __device__ bin_index operator()(const T& sample) const
        {
            bin_index k = 0;
            return has_bin(sample, k) ? k : bin_of(sample, k);
        }

        // Of some samples at once, with one branch.
        template <class T, int Count>
        __device__ void find(const lane_vector<T, Count>& samples, bin_index (&found)[Count]) const
        {
            bool have_bins = true;
#pragma unroll
            for (int j = 0; j < Count; ++j)
                have_bins &= has_bin(samples[j], found[j]);
            if (!have_bins)
#pragma unroll
                for (int j = 0; j < Count; ++j)
                    found[j] = bin_of(samples[j], found[j]);
        }

        template <class T>
        __device__ std::uint32_t distance_of(T sample) const
        {
            return static_cast<std::uint32_t>(sample) - static_cast<std::uint32_t>(finder.begin);
        }

        // Guesses the bin, modulo 2^32: that of the first integer may be one too low, too. Then the upper edge of the
        // bin tells.
        template <class T>
        __device__ bool has_bin(T sample, bin_index& k) const
        {
            const std::uint32_t distance = distance_of(sample);
            k = static_cast<bin_index>((static_cast<std::uint64_t>(distance) * finder.scale + finder.start) >> 32);
            if constexpr (IsExact)
                return distance <= finder.last;
            const auto x = detail::promoted(sample);
            k += x >= rounded_up(finder.edge.by_step(double_of(k + 1)), x) ? 1 : 0;
            return (distance <= finder.last) & (k < static_cast<bin_index>(finder.bins));
        }

        // The bin that was found, of which the last one is closed, or a bin beside the bins.
        template <class T>
        __device__ bin_index bin_of(T sample, bin_index k) const
        {
            const auto bins = static_cast<bin_index>(finder.bins);
            const auto x = detail::promoted(sample);
            const std::uint32_t distance = distance_of(sample);
            if (distance <= finder.last)
                return k < bins ? k : bins - 1;
            if (finder.closing != 0 && distance == finder.closing)
                return bins - 1;
            return x < static_cast<decltype(x)>(finder.begin) ? bins : bins + 1;
        }
    };

    __device__ function of_block(void*) const { return {*this}; }
};

// Even bins whose edges are too close together for the guess: a search among edges that are computed where they are needed.
template <class E>
struct searched_even_bin {
    detail::even_edge edge;
    bin_index bins;

    template <class T>
    __device__ bin_index operator()(const T& sample) const
    {
        const E x = convert<E>(sample);
        const E lo = static_cast<E>(edge.lo);
        const E hi = static_cast<E>(edge.hi);
        if (!(x >= lo && x <= hi))
            return out_of_range_bin(x, lo, hi, bins);
        bin_index k = 0;
        for (bin_index length = bins; length > 1;) { // the bin stays in [k, k + length)
            const bin_index half = length / 2;
            k += static_cast<E>(edge(static_cast<double>(k + half))) <= x ? half : 0;
            length -= half;
        }
        return k;
    }
};

} // namespace upsweep::gpu
