// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
#include <type_traits>

#include <upsweep/bins.hpp>
#include <upsweep/exact_sum.hpp>
#include <upsweep/gpu/histogram/bin_finder.cuh>
#include <upsweep/gpu/histogram/edges.cuh>
#include <upsweep/gpu/histogram/even_bins.cuh>
#include <upsweep/gpu/histogram/merge.cuh>
#include <upsweep/gpu/histogram/table.cuh>
#include <upsweep/gpu/histogram/weighted_sums.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/range.hpp>
#include <upsweep/verb/weighted_histogram.hpp>
#include <upsweep/weights.hpp>

// A weighted histogram in one kernel and one pass. Its sums are exact and rounded once: the sums of the grid are
// superaccumulators as Kulisch has them (exact_sum.hpp). To add to these for every weight would be slow. A block
// therefore turns weights into fixed-point numbers, by a scale that it takes from some of the weights, and adds them up
// in privatized tables in shared memory; a weight that the scale does not suit is added to the sums of the grid at once
// (weighted_sums.cuh). Integers add up without an error in any order, so neither the scale nor the order shows in a
// result.
//
//     samples -> bins -----+-> the scale suits:  add to the block's table -> merge into the grid's sums -+-> round
//     weights -> scaled ---+-> it does not:      add to the grid's sums at once -------------------------+
namespace upsweep::gpu {

struct weighted_shape {
    static constexpr int threads = 1024;
    static constexpr bin_index most_for_one_block = 512; // up to so many sums, the last block rounds all of them
    static constexpr int many_lanes = 8;                 // so many lanes with one bin make it worth registers
    // A launch adds up this many weights at most; then the digits are carried.
    static constexpr std::uint64_t most_samples = detail::most_summands / 2;

    template <class Sample, class Weight>
    static constexpr int elements = vector_elements<std::max(sizeof(Sample), sizeof(Weight))>;
    static constexpr int rows = 2;
};

// Where the sums go: one for each bin, and those of the weights outside all bins.
template <class Sum>
struct weighted_result {
    Sum* sums;
    weight_outside<Sum>* out_of_range;
    bin_index bins;
    bool accumulates;
    bool last; // whether this is the last piece of a long array

    // After the last piece of an array, rounds the sums of the grid into the result and leaves zeros. After an earlier
    // one, only carries their digits, so that those of the next piece have room. `blocks` blocks call this, and each
    // takes a share of the sums.
    __device__ void take(const grid_sums<Sum>& memory, unsigned block, unsigned blocks) const
    {
        for (bin_index k = block * blockDim.x + threadIdx.x; k < memory.all_bins; k += blocks * blockDim.x) {
            const auto sum = memory[k];
            const auto set = [&](int i, std::int64_t value) { *sum.word(i) = static_cast<unsigned long long>(value); };
            if (last) {
                Sum& to = at(k);
                if (accumulates)
                    detail::add_exactly(to, sum);
                to = detail::rounded_sum<Sum>(sum);
                for (int i = 0; i < grid_sums<Sum>::words; ++i)
                    if (sum(i) != 0)
                        set(i, 0);
            } else if constexpr (std::floating_point<Sum>) {
                detail::carry_digits<Sum>(sum, set);
            }
        }
    }

private:
    __device__ Sum& at(bin_index k) const
    {
        return k < bins        ? sums[k]
               : k == bins     ? out_of_range->below
               : k == bins + 1 ? out_of_range->above
                               : out_of_range->nan;
    }
};

// Where a bin finder has its table: in the shared memory of a block or, where that is full of sums, in device memory.
struct finder_place {
    std::byte* memory;
    std::size_t bytes; // bytes of the table of each block

    __device__ void* of_block(void* shared) const { return memory != nullptr ? memory + blockIdx.x * bytes : shared; }
};

// What a block does: it adds weights to its table, and the table to the sums of the grid.
template <class Shape, class Table, class Source, class Weights, class Sum>
class weighted_block {
    using sample = std::iter_value_t<Source>;
    using weight = std::iter_value_t<Weights>;
    static constexpr int elements = Shape::template elements<sample, weight>;
    static constexpr int rows = Shape::rows;
    using tiles_t = warp_tiles<elements, rows>;

public:
    // Adds the weights of the block's warp tiles to its table. The last block adds the weights in no tile, exactly and
    // one by one.
    template <class Function>
    __device__ void add_tiles(const Source& in, const Weights& weights, std::uint64_t count, const Function& bin_of)
    {
        const tiles_t tiles(in, count);
        const bool aligned = is_aligned<elements>(in + tiles.before) && is_aligned<elements>(weights + tiles.before);
        tiles.for_each(blockIdx.x, gridDim.x, [&](std::uint64_t first) {
            lane_vector<sample, elements> samples[rows];
            lane_vector<weight, elements> weights_of[rows];
            if (aligned) {
#pragma unroll
                for (int r = 0; r < rows; ++r) {
                    samples[r] = load_vector<elements>(in + first + r * tiles_t::row);
                    weights_of[r] = load_vector<elements>(weights + first + r * tiles_t::row);
                }
            } else {
#pragma unroll
                for (int r = 0; r < rows; ++r) {
                    samples[r] = gather_vector<elements>(in + first + r * tiles_t::row);
                    weights_of[r] = gather_vector<elements>(weights + first + r * tiles_t::row);
                }
            }
            std::uint32_t unsuitable = 0;
#pragma unroll
            for (int r = 0; r < rows; ++r)
                unsuitable |= add_vector(samples[r], weights_of[r], bin_of, r == 0, first) << (r * elements);
            for (; unsuitable != 0; unsuitable &= unsuitable - 1) {
                const int i = __ffs(static_cast<int>(unsuitable)) - 1;
                add_exactly_at(in, weights, first + static_cast<unsigned>(i / elements * tiles_t::row + i % elements),
                               bin_of);
            }
        });
        if (blockIdx.x == gridDim.x - 1)
            tiles.for_each_of_rest([&](std::uint64_t i) { add_exactly_at(in, weights, i, bin_of); });
        if (Table::lanes_share)
            hot.flush(table);
    }

    // Adds the table of the block to the sums of the grid. The blocks begin at different sums, so that they do not all
    // wait for the same ones.
    __device__ void merge(bin_index all_bins) const
    {
        if constexpr (Table::limbs != 0) {
            __syncthreads();
            for_each_total(table, all_bins, [&](bin_index k, const auto& total) { scale.add_to(sums[k], total); });
        }
    }

    const fixed_point_scale<Sum>& scale;
    const grid_sums<Sum>& sums;
    const Table& table;
    hot_bins hot{};

private:
    // Adds a weight that the scale does not suit to the sums of the grid.
    template <class Function>
    __device__ void add_exactly_at(const Source& in, const Weights& weights, std::uint64_t at,
                                   const Function& bin_of) const
    {
        detail::add_exactly(convert<Sum>(weights[at]), sums[bin_of(in[at])]);
    }

    // Adds the weights of a vector to the table and returns a bit for each one that the scale does not suit. Nearly
    // always all of them are whole numbers by that scale, which one branch finds out.
    template <class Function>
    __device__ std::uint32_t add_vector(const lane_vector<sample, elements>& samples,
                                        const lane_vector<weight, elements>& weights, const Function& bin_of,
                                        bool is_first, std::uint64_t first)
    {
        bin_index k[elements];
        find_bins(bin_of, samples, k);
        if (Table::lanes_share && is_first)
            hot.consider(k[0], static_cast<int>(first / tiles_t::tile % lanes), Shape::many_lanes, table);

        std::uint32_t unsuitable = 0;
        Sum scaled[elements];
        std::uint64_t whole[elements];
        bool all_whole = true;
#pragma unroll
        for (int j = 0; j < elements; ++j) {
            scaled[j] = scale.scaled(convert<Sum>(weights[j]));
            whole[j] = scale.whole(scaled[j]);
            all_whole &= scale.is_whole(scaled[j]);
        }
        if (!all_whole) {
#pragma unroll
            for (int j = 0; j < elements; ++j) {
                fixed_point number{};
                whole[j] = 0;
                if (!scale.convert(convert<Sum>(weights[j]), scaled[j], number)) {
                    unsuitable |= 1U << j;
                    continue;
                }
                if (number.fraction != 0 && !(Table::lanes_share && hot.add_fraction(k[j], number.fraction)))
                    number.whole += table.add_fraction(k[j], number.fraction);
                whole[j] = number.whole;
            }
        }
        bool is_hot[elements];
#pragma unroll
        for (int j = 0; j < elements; ++j)
            is_hot[j] = Table::lanes_share && hot.add(k[j], whole[j]);
        table.add(k, whole, is_hot);
        return unsuitable;
    }
};

template <class Shape, class Table, class Source, class Weights, class Finder, class Sum>
__global__ void __launch_bounds__(Shape::threads, 1)
    weighted_histogram_kernel(Source in, Weights weights, std::uint64_t count, Finder finder, finder_place place,
                              table_shape shape, int limit_bits, weighted_result<Sum> result, grid_totals grid)
{
    extern __shared__ __align__(16) std::uint32_t shared_words[];

    const std::size_t words = Table::limbs * shape.words();
    clear_words(shared_words, words);
    const auto bin_of = finder.of_block(place.of_block(shared_words + words));
    const fixed_point_scale<Sum> scale = choose_scale<Sum>(weights, count, limit_bits);
    __syncthreads();
    const grid_sums<Sum> sums{grid.totals, shape.all_bins};
    const Table table(shared_words, shape, scale, sums);

    weighted_block<Shape, Table, Source, Weights, Sum> self{scale, sums, table};
    self.add_tiles(in, weights, count, bin_of);
    self.merge(shape.all_bins);
    if (shape.all_bins > Shape::most_for_one_block) {
        grid.wait_for_all(gridDim.x);
        result.take(sums, blockIdx.x, gridDim.x);
    } else if (grid.is_last(gridDim.x)) {
        result.take(sums, 0, 1);
    }
}

template <class Shape, class Table, class Source, class Weights, class Finder, class Sum>
void launch_weighted_histogram(const cuda& target, Source in, Weights weights, std::uint64_t count,
                               const Finder& finder, bool finder_is_shared, const table_shape& shape,
                               weighted_result<Sum> result)
{
    using sample = std::iter_value_t<Source>;
    using weight = std::iter_value_t<Weights>;
    constexpr std::uint64_t warp_tile = warp_tiles<Shape::template elements<sample, weight>, Shape::rows>::tile;
    const auto resident = static_cast<std::uint64_t>(target.workspace().multiprocessors());
    finder_place place{nullptr, (finder.shared_bytes() + 127) / 128 * 128};
    if (!finder_is_shared && place.bytes != 0)
        place.memory =
            static_cast<std::byte*>(target.workspace().memory(workspace_purpose::lists, resident * place.bytes));
    // A long array is added up in pieces, by a launch each, between which the digits of the sums are carried.
    std::uint64_t first = 0;
    do {
        const std::uint64_t piece = std::min(count - first, Shape::most_samples);
        result.last = first + piece == count;
        const std::uint64_t blocks = std::clamp<std::uint64_t>(piece / warp_tile, 1, resident);
        const std::uint64_t most_of_block = piece / blocks + (Shape::threads / lanes) * warp_tile;
        const grid_shape grid{.blocks = static_cast<unsigned>(blocks),
                              .threads = Shape::threads,
                              .shared_bytes = Table::limbs * shape.words() * sizeof(std::uint32_t) +
                                              (place.memory == nullptr ? finder.shared_bytes() : 0),
                              .cooperative = shape.all_bins > Shape::most_for_one_block};
        launch<weighted_histogram_kernel<Shape, Table, Source, Weights, Finder, Sum>>(
            target, "weighted_histogram", grid, in + first, weights + first, piece, finder, place, shape,
            63 - std::bit_width(most_of_block), result,
            grid_totals_of(target, std::size_t{shape.all_bins} * grid_sums<Sum>::words));
        first += piece;
    } while (first < count);
}

// Adds the weights up in the table for which a block has room: with a copy for each lane, with fewer copies, or no
// table at all. The table of the bin finder moves to device memory where that makes room for a copy.
template <class Shape, class Source, class Weights, class Finder, class Sum>
void weighted_histogram(const cuda& target, Source in, Weights weights, std::uint64_t count, const Finder& finder,
                        const weighted_result<Sum>& result)
{
    table_shape shape{static_cast<bin_index>(finder.bins + detail::out_of_range_bins), 0};
    constexpr std::size_t limbs = shared_sums<Sum, true>::limbs;
    const auto copies_beside = [&](std::size_t bytes) {
        return (table_bytes(target) - bytes) / (limbs * shape.words() * sizeof(std::uint32_t));
    };
    const bool finder_is_shared = copies_beside(finder.shared_bytes()) != 0;
    const std::size_t copies = copies_beside(finder_is_shared ? finder.shared_bytes() : 0);
    if (copies == 0)
        return launch_weighted_histogram<Shape, no_sums<Sum>>(target, in, weights, count, finder, true, shape, result);
    shape.copy_bits = static_cast<unsigned>(std::bit_width(std::min<std::size_t>(copies, lanes))) - 1;
    if (shape.copy_bits == lane_levels)
        launch_weighted_histogram<Shape, shared_sums<Sum, false>>(target, in, weights, count, finder, true, shape,
                                                                  result);
    else
        launch_weighted_histogram<Shape, shared_sums<Sum, true>>(target, in, weights, count, finder, finder_is_shared,
                                                                 shape, result);
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::weighted_histogram> {
    template <class In, class Weights, class Bins, class Sum>
    static void add_up(const cuda& target, In& in, Weights& weights, const Bins& bins, std::span<Sum> sums,
                       weight_outside<Sum>* out_of_range, bool accumulates)
    {
        constexpr std::string_view call = "weighted_histogram";
        const std::size_t count = size_of(in);
        const gpu::current_device current(target.device());
        gpu::check_place(target, call, sums.data(), sums.size());
        gpu::check_place(target, call, out_of_range, 1);
        const gpu::weighted_result<Sum> result{sums.data(), out_of_range, static_cast<bin_index>(sums.size()),
                                               accumulates, true};
        gpu::with_sources(first_of(in), first_of(weights), [&](const auto& samples, const auto& of_samples) {
            gpu::check_place(target, call, samples, count);
            gpu::check_place(target, call, of_samples, count);
            gpu::with_bin_finder<std::ranges::range_value_t<In>>(target, bins, [&](const auto& finder) {
                gpu::weighted_histogram<gpu::weighted_shape>(target, samples, of_samples, count, finder, result);
            });
        });
    }
};

} // namespace upsweep::detail
