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

template <class Few>
bool are_few(const cuda& target, const Few& rule)
{
    const std::size_t counters = scattered_table::words(rule.bins + detail::outside_slots) * sizeof(std::uint32_t);
    return counters + rule.shared_bytes() <= table_bytes(target);
}

// A rule that needs no memory.
template <class Function, bin_range Range = bin_range::any>
struct plain_slots {
    static constexpr bin_range range = Range;
    Function function;
    std::size_t bins;

    std::size_t shared_bytes() const { return 0; }
    __device__ const Function& of_block(void*) const { return function; }
};

// Where a sample is that is in no bin.
template <class E>
__device__ slot slot_beside(E x, E lo, E hi, slot bins)
{
    return x < lo ? bins : x > hi ? bins + 1 : bins + 2;
}

// Even bins: the guess of the CPU, put right by the edge itself where it may be one too low. Where the guess is valid, the step
// is not zero. Floats are so coarse that this happens often: their edges lie in a table, where there are few.
template <class E, bin_range Range>
struct even_slots {
    static constexpr bin_range range = Range;
    static constexpr bool has_table = Range == bin_range::few;

    detail::even_guess<E> guess;
    detail::even_edge edge;
    std::size_t bins;

    std::size_t shared_bytes() const { return has_table ? bins * sizeof(E) : 0; }

    struct function {
        detail::even_guess<E> guess;
        detail::even_edge edge;
        const E* uppers; // of each bin

        template <class T>
        __device__ slot operator()(const T& sample) const
        {
            const E x = convert<E>(sample);
            const bool inside = x >= guess.lo && x <= guess.hi;
            const E place = ((inside ? x : guess.lo) - guess.lo) * guess.scale - guess.bias;
            const auto k = static_cast<std::int32_t>(place);
            E upper = std::numeric_limits<E>::infinity();
            if (place - static_cast<E>(k) >= guess.certain())
                upper = has_table ? uppers[k] : upper_edge(k);
            return inside ? static_cast<slot>(k) + (x >= upper ? 1 : 0)
                          : slot_beside(x, guess.lo, guess.hi, static_cast<slot>(guess.bins));
        }

        // The last bin is closed: nothing is above it.
        __device__ E upper_edge(std::int32_t k) const
        {
            const E upper = static_cast<E>(edge.by_step(static_cast<double>(k + 1)));
            return k + 1 < guess.bins ? upper : std::numeric_limits<E>::quiet_NaN();
        }
    };

    __device__ function of_block(void* shared) const
    {
        function f{guess, edge, nullptr};
        if constexpr (has_table) {
            auto* const table = static_cast<E*>(shared);
            for (auto k = static_cast<std::int32_t>(threadIdx.x); k < guess.bins;
                 k += static_cast<std::int32_t>(blockDim.x))
                table[k] = f.upper_edge(k);
            f.uppers = table;
        }
        return f;
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
        const double scale = static_cast<double>(even.count) / (even.hi - even.lo) * one;
        const double before = (first - even.lo) * scale;
        return {detail::even_edge(even),
                static_cast<std::int64_t>(first),
                last,
                static_cast<std::uint32_t>(std::min(scale, one - 1)),
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

    std::size_t shared_bytes() const { return has_table ? (bins + 1) * sizeof(std::uint32_t) : 0; }

    struct function {
        even_integer_rule rule;
        const std::uint32_t* lowers; // of each bin, as a distance

        template <class T>
        __device__ slot operator()(const T& sample) const
        {
            const auto bins = static_cast<slot>(rule.bins);
            const auto distance = static_cast<std::uint32_t>(sample) - static_cast<std::uint32_t>(rule.begin);
            const bool inside = distance <= rule.last;
            const std::uint64_t place = static_cast<std::uint64_t>(inside ? distance : 0) * rule.scale + rule.start;
            const auto next = static_cast<slot>(place >> 32); // the bin after the guess
            std::uint32_t lower = ~0U;
            if (static_cast<std::uint32_t>(place) >= rule.certain)
                lower = has_table ? lowers[next] : lower_edge(next);
            const slot beside = detail::promoted(sample) < static_cast<decltype(detail::promoted(sample))>(rule.begin)
                                    ? bins
                                    : bins + 1;
            return inside ? next - (distance >= lower ? 0 : 1) : beside;
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

    std::size_t shared_bytes() const
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
            const C given = convert<C>(sample);
            const bool inside = given >= lo && given <= hi;
            const C x = inside ? given : lo;
            slot k = 0;
            slot beyond = bins - 1; // the bin is in [k, k + beyond]
            if constexpr (has_table) {
                const cell here = table[cells(x)];
                const bool is_above = here.edge <= x;
                k = here.before + (is_above ? 1 : 0);
                beyond = is_above ? here.more : 0;
            }
            while (beyond != 0) {
                const slot half = (beyond + 1) / 2;
                const bool is_above = thresholds[k + half] <= x;
                k += is_above ? half : 0;
                beyond = is_above ? beyond - half : half - 1;
            }
            return inside ? k : slot_beside(given, lo, hi, bins);
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
    if (!detail::even_guess<E>::is_valid(bins))
        return f(plain_slots<even_search_slot<E>, bin_range::many>{{edge, static_cast<slot>(bins.count)}, bins.count});
    const detail::even_guess<E> guess(bins);
    if constexpr (std::same_as<E, double>) {
        f(even_slots<E, bin_range::any>{guess, edge, bins.count});
    } else {
        const even_slots<E, bin_range::few> few{guess, edge, bins.count};
        if (are_few(target, few))
            f(few);
        else
            f(even_slots<E, bin_range::many>{guess, edge, bins.count});
    }
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
