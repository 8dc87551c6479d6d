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
#include <upsweep/gpu/primitive/slot.cuh>
#include <upsweep/gpu/primitive/tile.cuh>
#include <upsweep/types.hpp>

// Slots of even bins.
namespace upsweep::gpu {

// Even bins: the guess of the CPU, put right by the edge itself where it may be one too low. Where the guess is valid, the step
// is not zero.
template <class E>
struct even_slots {
    static constexpr bin_range range = bin_range::any;

    detail::even_guess<E> guess;
    detail::even_edge edge;
    std::size_t bins;

    constexpr std::size_t shared_bytes() const { return 0; }

    struct function {
        detail::even_guess<E> guess;
        detail::even_edge edge;

        template <class T>
        __device__ slot operator()(const T& sample) const
        {
            slot k = 0;
            const E x = convert<E>(sample);
            return is_certain(x, k) ? k : by_edge(x, k);
        }

        // Of some samples at once: if one is in doubt, the edges decide on all of them.
        template <class T, int Count>
        __device__ void find(const lane_vector<T, Count>& samples, slot (&found)[Count]) const
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

        __device__ bool is_certain(E x, slot& k) const
        {
            const bool inside = is_inside(x);
            const E place = ((inside ? x : guess.lo) - guess.lo) * guess.scale - guess.bias;
            const auto guessed = static_cast<std::int32_t>(place);
            k = static_cast<slot>(guessed);
            return inside & (place - static_cast<E>(guessed) < guess.certain());
        }

        // The last bin is closed: nothing is above it.
        __device__ slot by_edge(E x, slot k) const
        {
            if (!is_inside(x))
                return slot_beside(x, guess.lo, guess.hi, static_cast<slot>(guess.bins));
            const E upper = static_cast<E>(edge.by_step(static_cast<double>(k + 1)));
            return k + (static_cast<std::int32_t>(k) + 1 < guess.bins && x >= upper ? 1 : 0);
        }
    };

    __device__ function of_block(void*) const { return {guess, edge}; }
};

// Even bins of floats. Where a sample is, in bins, is computed in numbers of type G by one multiplication and addition; half a bin
// less is rounded to an integer, by adding `shift`, so that the integer is in the lower bits of the sum. A sample at or above an
// edge never seems to be below the bin before it, nor above its own: `bias` is more than the edges, which are floats, and the
// arithmetic are off by, together. Where that leaves a doubt, and beside the bins, the edges decide.
template <class G>
struct even_float_rule {
    detail::even_edge edge;
    float lo;
    float hi;
    G scale;   // bins a unit
    G offset;  // where 0 is, in bins, less half a bin and the bias
    G certain; // a sample that is so far above the middle of a bin, or less, is in it
    std::size_t bins;

    static constexpr G shift = sizeof(G) == 4 ? G(0x1.8p23) : G(0x1.8p52);

    // With u the roundoff of a float and m the largest magnitude, the edges are off by u m, times the scale. In floats the sum is
    // off by u for each bin that it can be; the scale, times m, and the offset by what they are.
    static double bias_of(const even_bins& even)
    {
        constexpr double u = 0x1p-24;
        const double scale = scale_of(even);
        const double bins = std::max({std::abs(even.lo), std::abs(even.hi), even.hi - even.lo}) * scale;
        if (sizeof(G) == 8)
            return u * (1.5 * bins + 4);
        const double of_scale = std::abs(scale - static_cast<double>(static_cast<float>(scale))) / scale * bins;
        const double of_offset = u * (std::abs(even.lo) * scale + 1);
        return 1.25 * (u * bins + of_scale + of_offset + u * static_cast<double>(even.count) + 4 * u);
    }

    static double scale_of(const even_bins& even) { return static_cast<double>(even.count) / (even.hi - even.lo); }

    // Whether the rule can be used: doubts are the exception, and the scale is as exact as a number of its type can be.
    static bool is_valid(const even_bins& even)
    {
        const double scale = scale_of(even);
        return even.count <= (std::size_t{1} << 30) && bias_of(even) <= (sizeof(G) == 4 ? 1.0 / 32 : 0.2) &&
               std::isfinite(static_cast<float>(even.lo)) && std::isfinite(static_cast<float>(even.hi)) &&
               detail::even_edge(even).step != 0 && scale >= static_cast<double>(std::numeric_limits<G>::min()) &&
               scale <= static_cast<double>(std::numeric_limits<G>::max());
    }

    static even_float_rule of(const even_bins& even)
    {
        const double scale = scale_of(even);
        const double bias = bias_of(even);
        return {detail::even_edge(even),
                static_cast<float>(even.lo),
                static_cast<float>(even.hi),
                static_cast<G>(scale),
                static_cast<G>(-even.lo * scale - 0.5 - bias),
                static_cast<G>(0.5 - 2 * bias),
                even.count};
    }

    // The edges, by `threads` threads of which each writes some. The last bin is closed: nothing is above it.
    __device__ void write_edges(float* to, std::size_t thread, std::size_t threads) const
    {
        for (std::size_t k = thread; k <= bins; k += threads)
            to[k] = k < bins ? static_cast<float>(edge.by_step(static_cast<double>(k)))
                             : std::numeric_limits<float>::quiet_NaN();
    }
};

template <class Rule>
__global__ void write_edges_kernel(Rule rule, float* to)
{
    rule.write_edges(to, blockIdx.x * blockDim.x + threadIdx.x, std::size_t{gridDim.x} * blockDim.x);
}

template <class G, bin_range Range>
struct even_float_slots : even_float_rule<G> {
    using rule = even_float_rule<G>;
    static constexpr bin_range range = Range;
    static constexpr bool has_table = Range == bin_range::few;

    const float* there; // the edges in device memory, where a block has no room for them

    constexpr std::size_t shared_bytes() const { return has_table ? (this->bins + 1) * sizeof(float) : 0; }

    struct function {
        rule even;
        const float* edges;

        template <class T>
        __device__ slot operator()(const T& sample) const
        {
            slot k = 0;
            const float x = convert<float>(sample);
            if (is_certain(x, k))
                return k;
            return is_inside(x) ? by_edge(x, k) : slot_beside(x, even.lo, even.hi, static_cast<slot>(even.bins));
        }

        // Of some samples at once: if one is in doubt, the edges decide on all of them.
        template <class T, int Count>
        __device__ void find(const lane_vector<T, Count>& samples, slot (&found)[Count]) const
        {
            bool all_certain = true;
            bool certain[Count];
#pragma unroll
            for (int j = 0; j < Count; ++j)
                all_certain &= certain[j] = is_certain(convert<float>(samples[j]), found[j]);
            if (all_certain)
                return;
            bool all_inside = true;
#pragma unroll
            for (int j = 0; j < Count; ++j) {
                const float x = convert<float>(samples[j]);
                all_inside &= is_inside(x);
                if (has_table || !certain[j]) // from shared memory it is cheaper to get an edge than to ask
                    found[j] = by_edge(x, found[j]);
            }
            if (!all_inside)
#pragma unroll
                for (int j = 0; j < Count; ++j)
                    if (const float x = convert<float>(samples[j]); !is_inside(x))
                        found[j] = slot_beside(x, even.lo, even.hi, static_cast<slot>(even.bins));
        }

        __device__ bool is_inside(float x) const { return (x >= even.lo) & (x <= even.hi); }

        // Guesses the bin, which is not one of the bins where the sample is in none.
        __device__ bool is_certain(float x, slot& k) const
        {
            const G place = std::fma(static_cast<G>(x), even.scale, even.offset);
            const G sum = place + rule::shift;
            k = lower_bits(sum) - lower_bits(rule::shift);
            // A float far beside the bins is above them by its bits, a double may not be.
            const bool inside = sizeof(G) == 4 || is_inside(x);
            return inside & (k < static_cast<slot>(even.bins)) & (place - (sum - rule::shift) < even.certain);
        }

        // The guess for a sample inside, put right.
        __device__ slot by_edge(float x, slot k) const
        {
            const slot next = k + 1 < static_cast<slot>(even.bins) ? k + 1 : static_cast<slot>(even.bins);
            return x >= edges[next] ? next : next - 1;
        }

        __device__ static slot lower_bits(G x)
        {
            if constexpr (sizeof(G) == 4)
                return std::bit_cast<std::uint32_t>(x);
            else
                return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x));
        }
    };

    __device__ function of_block(void* shared) const
    {
        if constexpr (has_table) {
            auto* const table = static_cast<float*>(shared);
            this->write_edges(table, threadIdx.x, blockDim.x);
            return {*this, table};
        } else {
            return {*this, there};
        }
    }
};

// Even bins of integers of up to 32 bits: the same with the distance of a sample from the first integer in the range, in
// fixed-point arithmetic. An integer is at or above an edge if it is at or above the next integer.
struct even_integer_rule {
    detail::even_edge edge;
    std::int64_t begin;    // the first integer in the range
    std::uint32_t last;    // the distance from it to the last one
    std::uint32_t scale;   // bins a unit, times 2^32, rounded down
    std::uint64_t start;   // 1 + the place of the first integer, times 2^32, less what the guess can be too high by
    std::uint32_t certain; // below it, the part of a bin that the guess drops is no reason for doubt
    std::size_t bins;
    std::uint32_t closing = 0; // the distance of the last edge, where that is beyond `last`
    bool never_in_doubt = false;

    static constexpr double one = 4294967296.0;
    static constexpr std::uint32_t slack = 1U << 17; // more than the rounding of the edges of 32-bit integers can make

    // Whether the rule can be used: for 2^30 integers at most, no more bins than integers.
    template <class T>
    static bool is_valid(const even_bins& even)
    {
        const double first = first_integer<T>(even);
        const double end = last_integer<T>(even);
        return first <= end && end - first < 0x1p30 && static_cast<double>(even.count) <= even.hi - even.lo;
    }

    template <class T>
    static even_integer_rule of(const even_bins& even)
    {
        const double first = first_integer<T>(even);
        const auto last = static_cast<std::uint32_t>(last_integer<T>(even) - first);
        const double width = (even.hi - even.lo) / static_cast<double>(even.count);
        const double scale = one / width;
        const double before = (first - even.lo) * scale;
        const auto rounded = static_cast<std::uint32_t>(std::min(scale, one - 1));
        // Where all edges are integers, samples count as half a unit more, which keeps them away from the edges. The last one,
        // which would be in a bin of its own, is treated apart.
        if (std::floor(even.lo) == even.lo && std::floor(width) == width && last > 0 && 2.0 * last + 8 < scale) {
            const std::uint32_t closing = first + last == even.hi ? last : 0;
            return {detail::even_edge(even),
                    static_cast<std::int64_t>(first),
                    closing != 0 ? last - 1 : last,
                    rounded,
                    (std::uint64_t{1} << 32) + static_cast<std::uint64_t>(before + scale / 2),
                    ~0U,
                    even.count,
                    closing,
                    true};
        }
        return {detail::even_edge(even),
                static_cast<std::int64_t>(first),
                last,
                rounded,
                (std::uint64_t{1} << 32) + static_cast<std::uint64_t>(before) - slack,
                static_cast<std::uint32_t>(one - 2.0 * last - 4.0 * slack),
                even.count};
    }

private:
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

template <bin_range Range>
struct even_integer_slots : even_integer_rule {
    static constexpr bin_range range = Range;
    static constexpr bool has_table = Range == bin_range::few;

    constexpr std::size_t shared_bytes() const
    {
        return has_table && !never_in_doubt ? (bins + 1) * sizeof(std::uint32_t) : 0;
    }

    struct function {
        even_integer_rule rule;
        const std::uint32_t* lowers; // of each bin, as a distance

        template <class T>
        __device__ slot operator()(const T& sample) const
        {
            slot k = 0;
            return is_certain(sample, k) ? k : by_edge(sample);
        }

        template <class T, int Count>
        __device__ void find(const lane_vector<T, Count>& samples, slot (&found)[Count]) const
        {
            bool all_certain = true;
#pragma unroll
            for (int j = 0; j < Count; ++j)
                all_certain &= is_certain(samples[j], found[j]);
            if (!all_certain)
#pragma unroll
                for (int j = 0; j < Count; ++j)
                    found[j] = by_edge(samples[j]);
        }

        template <class T>
        __device__ std::uint32_t distance_of(T sample) const
        {
            return static_cast<std::uint32_t>(sample) - static_cast<std::uint32_t>(rule.begin);
        }
        __device__ std::uint64_t place_of(std::uint32_t distance) const
        {
            return static_cast<std::uint64_t>(distance) * rule.scale + rule.start;
        }

        template <class T>
        __device__ bool is_certain(T sample, slot& k) const
        {
            const std::uint32_t distance = distance_of(sample);
            const std::uint64_t place = place_of(distance);
            k = static_cast<slot>(place >> 32) - 1;
            return (distance <= rule.last) & (static_cast<std::uint32_t>(place) < rule.certain);
        }

        template <class T>
        __device__ slot by_edge(T sample) const
        {
            const auto bins = static_cast<slot>(rule.bins);
            const std::uint32_t distance = distance_of(sample);
            if (distance > rule.last) {
                const bool is_below =
                    detail::promoted(sample) < static_cast<decltype(detail::promoted(sample))>(rule.begin);
                return is_below ? bins : distance == rule.closing ? bins - 1 : bins + 1;
            }
            const std::uint64_t place = place_of(distance);
            const auto next = static_cast<slot>(place >> 32); // the bin after the guess
            if (static_cast<std::uint32_t>(place) < rule.certain)
                return next - 1;
            return next - (distance >= (has_table ? lowers[next] : lower_edge(next)) ? 0 : 1);
        }

        __device__ std::uint32_t lower_edge(slot k) const
        {
            if (k >= rule.bins)
                return ~0U; // the last bin is closed
            const double distance = ceil(rule.edge.by_step(static_cast<double>(k))) - static_cast<double>(rule.begin);
            return distance <= 0 ? 0
                                 : static_cast<std::uint32_t>(
                                       distance < even_integer_rule::one - 1 ? distance : even_integer_rule::one - 1);
        }
    };

    __device__ function of_block(void* shared) const
    {
        function f{*this, nullptr};
        if constexpr (has_table) {
            if (never_in_doubt)
                return f;
            auto* const table = static_cast<std::uint32_t*>(shared);
            for (slot k = threadIdx.x; k <= bins; k += blockDim.x)
                table[k] = f.lower_edge(k);
            f.lowers = table;
        }
        return f;
    }
};

// Even bins whose edges are too close together for the guess: a search among edges that are computed where they are needed.
template <class E>
struct even_search_slot {
    detail::even_edge edge;
    slot bins;

    template <class T>
    __device__ slot operator()(const T& sample) const
    {
        const E x = convert<E>(sample);
        const E lo = static_cast<E>(edge.lo);
        const E hi = static_cast<E>(edge.hi);
        if (!(x >= lo && x <= hi))
            return slot_beside(x, lo, hi, bins);
        slot k = 0;
        for (slot length = bins; length > 1;) { // the bin stays in [k, k + length)
            const slot half = length / 2;
            k += static_cast<E>(edge(static_cast<double>(k + half))) <= x ? half : 0;
            length -= half;
        }
        return k;
    }
};

} // namespace upsweep::gpu
