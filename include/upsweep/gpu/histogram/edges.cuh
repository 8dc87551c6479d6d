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

#include <upsweep/gpu/histogram/bin_finder.cuh>
#include <upsweep/gpu/histogram/table.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/types.hpp>

// Finds bins between the edges of a user, which may lie at any distances. A monotone map takes a sample to a *cell*,
// and a table in shared memory tells which edges are in the cell: most samples then need one look-up and one
// comparison. Where shared memory has no room for the table, a binary search among the edges finds the bin.
namespace upsweep::gpu {

// The type in which a GPU compares samples of type T with the edges of a user, which are doubles. An edge in this type
// is a threshold. Where the type is float, the threshold is the smallest float at or above the edge, which changes no
// comparison: the same floats are at or above both.
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
// The last bin is closed: the largest float at or below the last edge is the last one in it.
inline float threshold_at_or_below(double edge, float)
{
    const auto nearest = static_cast<float>(edge);
    return static_cast<double>(nearest) > edge ? std::nextafter(nearest, -std::numeric_limits<float>::infinity())
                                               : nearest;
}
inline double threshold_at_or_below(double edge, double) { return edge; }

// A monotone map from samples between the first and the last threshold to cells, which tells roughly where a sample is.
// The cell is the exponent of the sample's distance from the first threshold, and the first eight bits after the
// exponent. Cells are therefore narrow near the lower end, as suits edges over many binades, and still numerous
// elsewhere.
template <class C>
struct cell_map {
    static constexpr std::uint32_t most = sizeof(C) == 4 ? 8192 : 4096;
    static constexpr int dropped_bits = (sizeof(C) == 4 ? 23 : 20) - 8;

    C lo;
    std::uint32_t least; // smaller distances, by their upper bits, are all in cell 0

    // Returns the upper 32 bits of a number. Those of numbers that are not negative have the order of the numbers.
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

    // The last threshold within the range has the last cell, or one before it: if there are too many cells, those near
    // the lower end become one.
    explicit cell_map(const std::vector<C>& thresholds) : lo(thresholds.front())
    {
        const std::uint32_t greatest = upper_bits(thresholds[thresholds.size() - 2] - lo);
        constexpr std::uint32_t distance = (most - 1) << dropped_bits;
        least = greatest > distance ? greatest - distance : 0;
    }
};

// The bin finder of a user's edges. With the table of cells (has_table), a block keeps a copy of the edges in its
// shared memory, and beside them the table, which tells for each cell the first edge in it, how many inner edges come
// before that, and how many follow in the cell.
template <class C, bin_range Range>
struct edge_bins {
    static constexpr bin_range range = Range;
    static constexpr bool has_table = Range == bin_range::few;

    const C* thresholds; // bins + 1 of them, in device memory
    C hi;
    std::size_t bins;
    cell_map<C> cells;

    constexpr std::size_t shared_bytes() const
    {
        return has_table ? cell_map<C>::most * sizeof(cell) + (bins + 1) * sizeof(C) : 0;
    }

    struct alignas(2 * sizeof(C)) cell {
        C edge;               // the first edge in the cell; NaN, which no sample reaches, where there is none
        std::uint16_t before; // the bin of a sample below that edge: the inner edges in the cells before
        std::uint16_t more;   // how many edges follow the first one in the cell
    };

    struct function {
        const C* thresholds;
        const cell* table;
        C lo;
        C hi;
        bin_index bins;
        cell_map<C> cells;

        template <class T>
        __device__ bin_index operator()(const T& sample) const
        {
            const C x = convert<C>(sample);
            if (!is_inside(x))
                return out_of_range_bin(x, lo, hi, bins);
            if constexpr (has_table) {
                const cell here = table[cells(x)];
                return here.edge <= x ? search(x, here.before + 1, here.more) : here.before;
            } else {
                return search(x, 0, bins - 1);
            }
        }

        // Finds the bins of a lane's vector at once. Most cells have one edge at most, so that the second loop, which
        // searches, is rare.
        template <class T, int Count>
        requires has_table __device__ void find(const lane_vector<T, Count>& samples, bin_index (&found)[Count]) const
        {
            bin_index more[Count];
            bool all_found = true;
#pragma unroll
            for (int j = 0; j < Count; ++j) {
                const C x = convert<C>(samples[j]);
                const cell here = table[cells(x)]; // some cell, not used, where x is out of range
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
                found[j] = is_inside(x) ? search(x, found[j], more[j]) : out_of_range_bin(x, lo, hi, bins);
            }
        }

        __device__ bool is_inside(C x) const { return (x >= lo) & (x <= hi); }

        // Returns the bin of a sample, which is in [k, k + beyond], by a binary search.
        __device__ bin_index search(C x, bin_index k, bin_index beyond) const
        {
            while (beyond != 0) {
                const bin_index half = (beyond + 1) / 2;
                const bool is_above = thresholds[k + half] <= x;
                k += is_above ? half : 0;
                beyond = is_above ? beyond - half : half - 1;
            }
            return k;
        }
    };

    __device__ function of_block(void* shared) const
    {
        function f{thresholds, nullptr, thresholds[0], hi, static_cast<bin_index>(bins), cells};
        if constexpr (has_table) {
            auto* const table = static_cast<cell*>(shared);
            auto* const copies = reinterpret_cast<C*>(table + cell_map<C>::most);
            for (unsigned k = threadIdx.x; k <= bins; k += blockDim.x)
                copies[k] = thresholds[k];
            __syncthreads();
            for (std::uint32_t i = threadIdx.x; i < cell_map<C>::most; i += blockDim.x) {
                const bin_index before = inner_edges_before(copies, i);
                const auto is_here = [&](bin_index edge) { return edge < bins && cells(copies[edge]) == i; };
                const bool first = is_here(before + 1);
                const bin_index more = is_here(before + 2) ? inner_edges_before(copies, i + 1) - before - 1 : 0;
                table[i] = {first ? copies[before + 1] : std::numeric_limits<C>::quiet_NaN(),
                            static_cast<std::uint16_t>(before), static_cast<std::uint16_t>(more)};
            }
            f.thresholds = copies;
            f.table = table;
        }
        return f;
    }

private:
    // Returns how many of the edges within the range are in cells before this one.
    __device__ bin_index inner_edges_before(const C* edges, std::uint32_t cell) const
    {
        bin_index before = 0;
        for (auto length = static_cast<bin_index>(bins - 1); length != 0;) {
            // The result stays in [before, before + length].
            const bin_index half = (length + 1) / 2;
            const bool is_before = cells(edges[before + half]) < cell;
            before += is_before ? half : 0;
            length = is_before ? length - half : half - 1;
        }
        return before;
    }
};

// A piece of an array that travels in the parameters of a kernel, which are at most 4 KiB. The host need not wait for a
// copy, nor keep the array once the kernel is launched.
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

// Returns where upload will put so many values.
template <class C = std::uint64_t>
C* upload_place(const cuda& target, std::size_t count)
{
    return static_cast<C*>(target.workspace().memory(workspace_purpose::bin_edges, count * sizeof(C)));
}

// Writes values to device memory, in the order of the stream, and returns where they are.
template <class C>
const C* upload(const cuda& target, const std::vector<C>& values)
{
    C* const to = upload_place<C>(target, values.size());
    constexpr std::size_t most = array_piece<C>::most;
    for (std::size_t first = 0; first < values.size(); first += most) {
        const std::size_t count = std::min(most, values.size() - first);
        array_piece<C> piece{};
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first), count, piece.values);
        launch(target, "histogram", write_piece_kernel<C>, 1, 512, 0, to + first, piece, static_cast<int>(count));
    }
    return to;
}

template <class C>
std::vector<C> thresholds_of(const std::vector<double>& edges)
{
    std::vector<C> thresholds(edges.size());
    std::ranges::transform(edges, thresholds.begin(), [](double edge) { return threshold_at_or_above(edge, C{}); });
    return thresholds;
}

// Returns the bin finder of edges. Its caller sets where the thresholds lie in device memory.
template <class T, bin_range Range>
edge_bins<threshold_t<T>, Range> edge_bins_of(const edges& bins, const std::vector<threshold_t<T>>& thresholds)
{
    using C = threshold_t<T>;
    return {nullptr, threshold_at_or_below(bins.values.back(), C{}), thresholds.size() - 1, cell_map<C>(thresholds)};
}

template <class T, class F>
void with_bin_finder(const cuda& target, const edges& bins, F f)
{
    const auto thresholds = thresholds_of<threshold_t<T>>(bins.values);
    auto few = edge_bins_of<T, bin_range::few>(bins, thresholds);
    auto many = edge_bins_of<T, bin_range::many>(bins, thresholds);
    few.thresholds = many.thresholds = upload(target, thresholds);
    const std::size_t words = words_of(few) + swizzled_table::words(few.bins + detail::out_of_range_bins);
    if (words * sizeof(std::uint32_t) <= table_bytes(target))
        f(few);
    else
        f(many);
}

// The one type of bin finder for a user's edges. It has no table of cells, but searches among the thresholds, which a
// block keeps in shared memory where it can spare it.
template <class T>
struct any_edge_bins {
    using threshold = threshold_t<T>;
    static constexpr bin_range range = bin_range::any;

    edge_bins<threshold, bin_range::many> found_by;
    bool is_shared;
    std::size_t first_word; // where its thresholds begin in the uploaded list
    std::size_t bins;

    any_edge_bins(const edges& edges, const std::vector<threshold>& values, threshold_list& thresholds)
        : found_by(edge_bins_of<T, bin_range::many>(edges, values)),
          is_shared(values.size() * sizeof(threshold) <= thresholds.shared_bytes()),
          first_word(thresholds.append(values)), bins(found_by.bins)
    {
    }

    constexpr std::size_t shared_bytes() const { return is_shared ? (bins + 1) * sizeof(threshold) : 0; }

    __device__ auto of_block(void* shared) const
    {
        auto function = found_by.of_block(nullptr);
        if (is_shared) {
            auto* const copies = static_cast<threshold*>(shared);
            for (unsigned k = threadIdx.x; k <= bins; k += blockDim.x)
                copies[k] = found_by.thresholds[k];
            function.thresholds = copies;
        }
        return function;
    }
};

template <class T>
auto any_bin_finder(const edges& bins, threshold_list& thresholds)
{
    return any_edge_bins<T>(bins, thresholds_of<threshold_t<T>>(bins.values), thresholds);
}

template <class T>
void place(any_edge_bins<T>& finder, const std::uint64_t* words)
{
    finder.found_by.thresholds = reinterpret_cast<const threshold_t<T>*>(words + finder.first_word);
}

// Returns the bin finder of one kind of bins with its thresholds uploaded, ready for a kernel.
template <class T, class Bins>
auto any_bin_finder_on(const cuda& target, const Bins& bins)
{
    threshold_list thresholds(table_bytes(target) / 4);
    auto finder = any_bin_finder<T>(bins, thresholds);
    place(finder, upload(target, thresholds.words()));
    return finder;
}

} // namespace upsweep::gpu
