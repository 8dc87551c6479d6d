// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <upsweep/bins.hpp>
#include <upsweep/gpu/cuda.cuh>
#include <upsweep/gpu/primitive/counters.cuh>
#include <upsweep/gpu/primitive/tile.cuh>

// Which slot a sample goes to, on a GPU: the rules of bins.hpp as objects that a kernel takes. Each tells how many bins there are,
// how much shared memory a block lends it, and hands out the function of a block, for which all threads call of_block once before
// a barrier.
namespace upsweep::gpu {

using detail::slot;

// For how many bins a rule is: kernels are compiled for these alone. Few are those whose counters fit the shared memory of a
// block, with the table of the rule beside them.
enum class bin_range { few, many, any };

// The shared memory that a block has for counters and tables.
inline std::size_t table_bytes(const cuda& target)
{
    constexpr std::size_t variables = 1024; // more than the kernels have beside the tables
    return target.workspace().shared_bytes() - variables;
}

// The words that a rule has in the shared memory of a block, before the counters, which are aligned to the banks.
template <class Slots>
constexpr std::size_t words_of(const Slots& rule)
{
    return (rule.shared_bytes() / sizeof(std::uint32_t) + lanes - 1) / lanes * lanes;
}

template <class Few>
bool are_few(const cuda& target, const Few& rule)
{
    const std::size_t counters = scattered_table::words(rule.bins + detail::outside_slots) * sizeof(std::uint32_t);
    return counters + words_of(rule) * sizeof(std::uint32_t) <= table_bytes(target);
}

// Calls f(slot) for each of a lane's samples: after looking for all of them where the function can do so at once, else one by one,
// so that slots take few registers.
template <class Function, class T, int Count, class F>
__device__ void for_each_slot(const Function& slot_of, const lane_vector<T, Count>& samples, F f)
{
    if constexpr (requires(slot(&found)[Count]) { slot_of.find(samples, found); }) {
        slot found[Count];
        slot_of.find(samples, found);
#pragma unroll
        for (int j = 0; j < Count; ++j)
            f(found[j]);
    } else {
#pragma unroll
        for (int j = 0; j < Count; ++j)
            f(slot_of(samples[j]));
    }
}

template <class Function, class T, int Count>
__device__ void find_slots(const Function& slot_of, const lane_vector<T, Count>& samples, slot (&found)[Count])
{
    int j = 0;
    for_each_slot(slot_of, samples, [&](slot k) { found[j++] = k; });
}

// A rule that needs no memory.
template <class Function, bin_range Range = bin_range::any>
struct plain_slots {
    static constexpr bin_range range = Range;
    Function function;
    std::size_t bins;

    constexpr std::size_t shared_bytes() const { return 0; }
    __device__ const Function& of_block(void*) const { return function; }
};

// Where a sample is that is in no bin.
template <class E>
__device__ slot slot_beside(E x, E lo, E hi, slot bins)
{
    return x < lo ? bins : x > hi ? bins + 1 : bins + 2;
}

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

// The type in which a GPU compares samples of type T with the edges of a user, which are doubles. Where it is float, an edge
// becomes the smallest float at or above it: the same floats are at or above both.
template <class T>
using threshold_t =
    std::conditional_t<sub_word_float<T> || std::same_as<T, float> || (std::integral<T> && sizeof(T) <= 2), float,
                       double>;

inline float threshold_at_or_above(double edge, float)
{
    const auto nearest = static_cast<float>(edge);
    return static_cast<double>(nearest) < edge ? std::nextafter(nearest, std::numeric_limits<float>::infinity())
                                               : nearest;
}
inline double threshold_at_or_above(double edge, double) { return edge; }
inline float threshold_at_or_below(double edge, float)
{
    const auto nearest = static_cast<float>(edge);
    return static_cast<double>(nearest) > edge ? std::nextafter(nearest, -std::numeric_limits<float>::infinity())
                                               : nearest;
}
inline double threshold_at_or_below(double edge, double) { return edge; }

// A monotone map from samples between two thresholds to cells, which tells roughly where a sample is: the exponent of its
// distance from the lower one, and the first eight bits after it. Cells are therefore narrow near the lower end, as suits edges
// over many binades, and still numerous elsewhere.
template <class C>
struct cell_map {
    static constexpr std::uint32_t most = sizeof(C) == 4 ? 8192 : 4096;
    static constexpr int dropped_bits = (sizeof(C) == 4 ? 23 : 20) - 8;

    C lo;
    std::uint32_t least;

    // The upper 32 bits of a number, whose order is that of the numbers that are not negative.
    UPSWEEP_HOST_DEVICE static std::uint32_t upper_bits(C x)
    {
        if constexpr (sizeof(C) == 4)
            return std::bit_cast<std::uint32_t>(x);
        else
            return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x) >> 32);
    }

    UPSWEEP_HOST_DEVICE std::uint32_t operator()(C x) const
    {
        const std::uint32_t bits = upper_bits(x - lo);
        const std::uint32_t cell = ((bits > least ? bits : least) - least) >> dropped_bits;
        return cell < most - 1 ? cell : most - 1;
    }

    // The last cells are for the last edges within the range.
    explicit cell_map(const std::vector<C>& thresholds) : lo(thresholds.front())
    {
        const std::uint32_t greatest = upper_bits(thresholds[thresholds.size() - 2] - lo);
        constexpr std::uint32_t distance = (most - 1) << dropped_bits;
        least = greatest > distance ? greatest - distance : 0;
    }
};

// Edges of a user. A block that can keep them in its shared memory has a table beside them that tells, for each cell, which
// of them are in it, and where the first of these is: most samples then need one comparison.
template <class C, bin_range Range>
struct edge_slots {
    static constexpr bin_range range = Range;
    static constexpr bool has_table = Range == bin_range::few;

    const C* thresholds; // bins + 1 of them
    C hi;
    std::size_t bins;
    cell_map<C> cells;

    constexpr std::size_t shared_bytes() const
    {
        return has_table ? cell_map<C>::most * sizeof(cell) + (bins + 1) * sizeof(C) : 0;
    }

    struct alignas(2 * sizeof(C)) cell {
        C edge;               // the first one in the cell; what no sample reaches where there is none
        std::uint16_t before; // bins that end before it
        std::uint16_t more;   // edges in the cell after the first
    };

    struct function {
        const C* thresholds;
        const cell* table;
        C lo;
        C hi;
        slot bins;
        cell_map<C> cells;

        template <class T>
        __device__ slot operator()(const T& sample) const
        {
            const C x = convert<C>(sample);
            if (!is_inside(x))
                return slot_beside(x, lo, hi, bins);
            if constexpr (has_table) {
                const cell here = table[cells(x)];
                return here.edge <= x ? search(x, here.before + 1, here.more) : here.before;
            } else {
                return search(x, 0, bins - 1);
            }
        }

        // Of some samples at once: most cells have one edge at most.
        template <class T, int Count>
        requires has_table __device__ void find(const lane_vector<T, Count>& samples, slot (&found)[Count]) const
        {
            slot more[Count];
            bool all_found = true;
#pragma unroll
            for (int j = 0; j < Count; ++j) {
                const C x = convert<C>(samples[j]);
                const cell here = table[cells(x)]; // some cell where there is none for it
                const bool is_above = here.edge <= x;
                found[j] = here.before + (is_above ? 1U : 0U);
                more[j] = is_above ? here.more : 0;
                all_found &= is_inside(x) & (more[j] == 0);
            }
            if (all_found)
                return;
#pragma unroll
            for (int j = 0; j < Count; ++j) {
                const C x = convert<C>(samples[j]);
                found[j] = is_inside(x) ? search(x, found[j], more[j]) : slot_beside(x, lo, hi, bins);
            }
        }

        __device__ bool is_inside(C x) const { return (x >= lo) & (x <= hi); }

        // The bin of a sample that is in [k, k + beyond].
        __device__ slot search(C x, slot k, slot beyond) const
        {
            while (beyond != 0) {
                const slot half = (beyond + 1) / 2;
                const bool is_above = thresholds[k + half] <= x;
                k += is_above ? half : 0;
                beyond = is_above ? beyond - half : half - 1;
            }
            return k;
        }
    };

    __device__ function of_block(void* shared) const
    {
        function f{thresholds, nullptr, thresholds[0], hi, static_cast<slot>(bins), cells};
        if constexpr (has_table) {
            auto* const table = static_cast<cell*>(shared);
            auto* const copies = reinterpret_cast<C*>(table + cell_map<C>::most);
            for (unsigned k = threadIdx.x; k <= bins; k += blockDim.x)
                copies[k] = thresholds[k];
            __syncthreads();
            for (std::uint32_t i = threadIdx.x; i < cell_map<C>::most; i += blockDim.x) {
                const slot before = inner_edges_before(copies, i);
                const auto is_here = [&](slot edge) { return edge < bins && cells(copies[edge]) == i; };
                const bool first = is_here(before + 1);
                const slot more = is_here(before + 2) ? inner_edges_before(copies, i + 1) - before - 1 : 0;
                table[i] = {first ? copies[before + 1] : std::numeric_limits<C>::quiet_NaN(),
                            static_cast<std::uint16_t>(before), static_cast<std::uint16_t>(more)};
            }
            f.thresholds = copies;
            f.table = table;
        }
        return f;
    }

private:
    // How many of the edges within the range are in cells before this one.
    __device__ slot inner_edges_before(const C* edges, std::uint32_t cell) const
    {
        slot before = 0;
        for (auto length = static_cast<slot>(bins - 1); length != 0;) { // the answer is in [before, before + length]
            const slot half = (length + 1) / 2;
            const bool is_before = cells(edges[before + half]) < cell;
            before += is_before ? half : 0;
            length = is_before ? length - half : half - 1;
        }
        return before;
    }
};

// A piece of an array that travels in the parameters of a kernel, so that nobody waits for a copy, nor must keep the array.
template <class C>
struct array_piece {
    static constexpr int most = 4000 / sizeof(C);
    C values[most];
};

template <class C>
__global__ void write_piece_kernel(C* to, array_piece<C> piece, int count)
{
    for (int k = static_cast<int>(threadIdx.x); k < count; k += static_cast<int>(blockDim.x))
        to[k] = piece.values[k];
}

template <class C>
C* upload(const cuda& target, const std::vector<C>& values)
{
    auto* const to = static_cast<C*>(target.workspace().edges(values.size() * sizeof(C)));
    constexpr std::size_t most = array_piece<C>::most;
    for (std::size_t first = 0; first < values.size(); first += most) {
        const std::size_t count = std::min(most, values.size() - first);
        array_piece<C> piece{};
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first), count, piece.values);
        launch(target, "histogram", write_piece_kernel<C>, 1, 512, 0, to + first, piece, static_cast<int>(count));
    }
    return to;
}

// with_slots(target, bins, f) calls f(rule for samples of type T).
template <class T, class F>
void with_slots(const cuda& target, const edges& bins, F f)
{
    using C = threshold_t<T>;
    const std::vector<double>& edges = bins.values;
    std::vector<C> thresholds(edges.size());
    std::ranges::transform(edges, thresholds.begin(), [](double edge) { return threshold_at_or_above(edge, C{}); });
    const cell_map<C> cells(thresholds);
    const std::size_t count = edges.size() - 1;
    const C hi = threshold_at_or_below(edges.back(), C{});
    const C* const there = upload(target, thresholds);
    const edge_slots<C, bin_range::few> few{there, hi, count, cells};
    if (are_few(target, few))
        f(few);
    else
        f(edge_slots<C, bin_range::many>{there, hi, count, cells});
}

template <class T, class F>
void with_slots(const cuda& target, const even_bins& bins, F f)
{
    using E = detail::edge_t<T>;
    const detail::even_edge edge(bins);
    if constexpr (std::integral<T> && (sizeof(T) == 2 || sizeof(T) == 4)) {
        if (even_integer_rule::is_valid<T>(bins)) {
            const even_integer_rule rule = even_integer_rule::of<T>(bins);
            const even_integer_slots<bin_range::few> few{rule};
            if (are_few(target, few))
                f(few);
            else
                f(even_integer_slots<bin_range::many>{rule});
            return;
        }
    }
    if constexpr (std::same_as<E, double>) {
        if (detail::even_guess<E>::is_valid(bins))
            return f(even_slots<E>{detail::even_guess<E>(bins), edge, bins.count});
    } else {
        if (even_float_rule<float>::is_valid(bins)) {
            const even_float_slots<float, bin_range::few> few{even_float_rule<float>::of(bins), nullptr};
            if (are_few(target, few))
                return f(few);
        }
        const auto by_edges_beside = [&](const auto& rule) {
            auto* const edges = static_cast<float*>(target.workspace().edges((bins.count + 1) * sizeof(float)));
            launch(target, "histogram", write_edges_kernel<std::remove_cvref_t<decltype(rule)>>,
                   static_cast<unsigned>(target.workspace().processors()), 256, 0, rule, edges);
            f(even_float_slots<std::remove_cvref_t<decltype(rule.scale)>, bin_range::many>{rule, edges});
        };
        if (even_float_rule<float>::is_valid(bins))
            return by_edges_beside(even_float_rule<float>::of(bins));
        if (even_float_rule<double>::is_valid(bins))
            return by_edges_beside(even_float_rule<double>::of(bins));
    }
    f(plain_slots<even_search_slot<E>, bin_range::many>{{edge, static_cast<slot>(bins.count)}, bins.count});
}

template <class T, class F>
void with_slots(const cuda&, const integer_bins& bins, F f)
{
    static_assert(std::integral<T>, "integer bins are for integer samples; see even_bins");
    f(plain_slots<detail::integer_offset<T>>{detail::integer_offset<T>(bins), bins.count});
}

template <class T, class G, class F>
void with_slots(const cuda&, const bins_by<G>& bins, F f)
{
    f(plain_slots<detail::by_function<T, G>>{detail::by_function<T, G>(bins), bins.count});
}

} // namespace upsweep::gpu
