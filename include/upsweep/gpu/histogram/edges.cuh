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

template <class C>
C threshold_at_or_above(double edge)
{
    const auto nearest = static_cast<C>(edge);
    return static_cast<double>(nearest) < edge ? std::nextafter(nearest, std::numeric_limits<C>::infinity()) : nearest;
}

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

// The bin finder of a user's edges. For few bins a block keeps a copy of the thresholds in its shared memory, and before
// it the table of cells, which tells for each cell the first edge in it, how many inner edges come before that, and how
// many follow in the cell. For any number of bins there is no table, but a block keeps the copy where it can spare the
// memory.
template <class C, bin_range Range>
struct edge_bins {
    static constexpr bin_range range = Range;
    static constexpr bool has_table = Range == bin_range::few;

    const C* thresholds = nullptr; // bins + 1 of them, in device memory
    std::size_t first_word;        // where they begin in the uploaded list
    C hi;
    std::size_t bins;
    cell_map<C> cells;
    bool has_room; // whether a block can spare shared memory for a copy, where this is for any number of bins
    // Whether a thread has so many samples to find that filling the table pays. For few, a binary search among all edges is faster.
    bool fills_table = has_table;

    edge_bins(const edges& of, threshold_list& list) : edge_bins(of, thresholds_of(of), list) {}

    constexpr std::size_t shared_bytes() const { return cell_bytes + (is_copied() ? (bins + 1) * sizeof(C) : 0); }
    void expect(std::uint64_t samples_of_thread) { fills_table = has_table && samples_of_thread > most_to_search; }
    void place(const std::uint64_t* words) { thresholds = reinterpret_cast<const C*>(words + first_word); }

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
            if (has_table && table != nullptr) {
                const cell here = table[cells(x)];
                return here.edge <= x ? search(x, here.before + 1, here.more) : here.before;
            }
            return search(x, 0, bins - 1);
        }

        // Finds the bins of a lane's vector at once. Most cells have one edge at most, so that the second loop, which
        // searches, is rare.
        template <class T, int Count>
        requires has_table __device__ void find(const lane_vector<T, Count>& samples, bin_index (&found)[Count]) const
        {
            bin_index more[Count];
            bool all_found = table != nullptr;
            if (table == nullptr) {
#pragma unroll
                for (int j = 0; j < Count; ++j) {
                    found[j] = 0;
                    more[j] = bins - 1;
                }
            } else {
#pragma unroll
                for (int j = 0; j < Count; ++j) {
                    const C x = convert<C>(samples[j]);
                    const cell here = table[cells(x)]; // some cell, not used, where x is out of range
                    const bool is_above = here.edge <= x;
                    found[j] = here.before + (is_above ? 1U : 0U);
                    more[j] = is_above ? here.more : 0;
                    all_found &= is_inside(x) & (more[j] == 0);
                }
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
            return last_for_which(k, beyond + 1, [&](bin_index edge) { return thresholds[edge] <= x; });
        }
    };

    __device__ function of_block(void* shared) const
    {
        function f{thresholds, nullptr, thresholds[0], hi, static_cast<bin_index>(bins), cells};
        auto* const copies = reinterpret_cast<C*>(static_cast<std::byte*>(shared) + cell_bytes);
        if (is_copied()) {
            for (unsigned k = threadIdx.x; k <= bins; k += blockDim.x)
                copies[k] = thresholds[k];
            f.thresholds = copies;
        }
        if (has_table && fills_table) {
            auto* const table = static_cast<cell*>(shared);
            __syncthreads();
            for (std::uint32_t i = threadIdx.x; i < cell_map<C>::most; i += blockDim.x) {
                const bin_index before = inner_edges_before(copies, i);
                const auto is_here = [&](bin_index edge) { return edge < bins && cells(copies[edge]) == i; };
                const bool first = is_here(before + 1);
                const bin_index more = is_here(before + 2) ? inner_edges_before(copies, i + 1) - before - 1 : 0;
                table[i] = {first ? copies[before + 1] : std::numeric_limits<C>::quiet_NaN(),
                            static_cast<std::uint16_t>(before), static_cast<std::uint16_t>(more)};
            }
            f.table = table;
        }
        return f;
    }

private:
    constexpr bool is_copied() const { return has_table || (Range == bin_range::any && has_room); }

    static constexpr std::uint64_t most_to_search = 8;
    static constexpr std::size_t cell_bytes = has_table ? cell_map<C>::most * sizeof(cell) : 0;

    // The last bin is closed: its threshold is the largest number at or below the edge.
    edge_bins(const edges& of, const std::vector<C>& values, threshold_list& list)
        : first_word(list.append(values)), hi(-threshold_at_or_above<C>(-of.values.back())), bins(values.size() - 1),
          cells(values), has_room(values.size() * sizeof(C) <= list.shared_bytes())
    {
    }

    static std::vector<C> thresholds_of(const edges& of)
    {
        std::vector<C> thresholds(of.values.size());
        std::ranges::transform(of.values, thresholds.begin(), threshold_at_or_above<C>);
        return thresholds;
    }

    // Returns how many of the edges within the range are in cells before this one.
    __device__ bin_index inner_edges_before(const C* edges, std::uint32_t cell) const
    {
        return last_for_which(bin_index{0}, static_cast<bin_index>(bins),
                              [&](bin_index edge) { return cells(edges[edge]) < cell; });
    }
};

// A piece of a list that travels in the parameters of a kernel, which are at most 4 KiB. The host need not wait for a
// copy, nor keep the list once the kernel is launched.
struct list_piece {
    static constexpr std::size_t most = 500;
    std::uint64_t words[most];
};

template <class Piece>
__global__ void write_piece_kernel(std::uint64_t* to, Piece piece, std::size_t count)
{
    for (std::size_t k = threadIdx.x; k < count; k += blockDim.x)
        to[k] = piece.words[k];
}

// Returns where upload will put so many words.
inline std::uint64_t* upload_place(const cuda& target, std::size_t count)
{
    return static_cast<std::uint64_t*>(
        target.workspace().memory(workspace_purpose::bin_edges, count * sizeof(std::uint64_t)));
}

// Writes a list to device memory, in the order of the stream, and returns where it is. (A template, so that the kernel is
// compiled only where it is used.)
template <class Piece = list_piece>
const std::uint64_t* upload(const cuda& target, const threshold_list& list)
{
    const std::vector<std::uint64_t>& words = list.words();
    std::uint64_t* const to = upload_place(target, words.size());
    for (std::size_t first = 0; first < words.size(); first += Piece::most) {
        const std::size_t count = std::min(Piece::most, words.size() - first);
        Piece piece{};
        std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(first), count, piece.words);
        launch(target, "histogram", write_piece_kernel<Piece>, 1, 512, 0, to + first, piece, count);
    }
    return to;
}

template <class T, class F>
void with_bin_finder(const cuda& target, const edges& bins, F f)
{
    const auto call = [&]<bin_range Range>(edge_bins<threshold_t<T>, Range> finder, const threshold_list& thresholds) {
        finder.place(upload(target, thresholds));
        f(finder);
    };
    threshold_list thresholds(0);
    const edge_bins<threshold_t<T>, bin_range::few> few(bins, thresholds);
    const std::size_t words = words_of(few) + swizzled_table::words(few.bins + detail::out_of_range_bins);
    if (words * sizeof(std::uint32_t) <= table_bytes(target))
        return call(few, thresholds);
    threshold_list of_many(0);
    call(edge_bins<threshold_t<T>, bin_range::many>(bins, of_many), of_many);
}

template <class T>
auto any_bin_finder(const edges& bins, threshold_list& thresholds)
{
    return edge_bins<threshold_t<T>, bin_range::any>(bins, thresholds);
}

// Returns the bin finder of one kind of bins with its thresholds uploaded, ready for a kernel, of whose blocks it may
// take so many bytes of shared memory.
template <class T, class Bins>
auto any_bin_finder_on(const cuda& target, const Bins& bins, std::size_t shared_bytes)
{
    threshold_list thresholds(shared_bytes);
    auto finder = any_bin_finder<T>(bins, thresholds);
    finder.place(upload(target, thresholds));
    return finder;
}

// Returns how many bytes of a block's shared memory bin finders may take beside so many counters. Edges are kept there
// only where the whole table fits beside them: a larger table needs all of shared memory.
inline std::size_t bytes_beside(const cuda& target, std::size_t counters)
{
    const std::size_t most = table_bytes(target) / 4;
    return swizzled_table::words(counters) * sizeof(std::uint32_t) + most <= table_bytes(target) ? most : 0;
}

} // namespace upsweep::gpu
