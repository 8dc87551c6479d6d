// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <type_traits>

#include <upsweep/bins.hpp>
#include <upsweep/gpu/histogram/bin_finder.cuh>
#include <upsweep/gpu/histogram/cluster.cuh>
#include <upsweep/gpu/histogram/count.cuh>
#include <upsweep/gpu/histogram/edges.cuh>
#include <upsweep/gpu/histogram/even_bins.cuh>
#include <upsweep/gpu/histogram/merge.cuh>
#include <upsweep/gpu/histogram/partitioned.cuh>
#include <upsweep/gpu/histogram/table.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/few.cuh>
#include <upsweep/gpu/source/matrix.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/matrix.hpp>
#include <upsweep/range.hpp>
#include <upsweep/verb/histogram.hpp>

// A histogram on a GPU is a source of samples x a bin finder x a table of counters x a merge of the tables. histogram(),
// below the first kernel, alone decides which kernel counts, and in which tables:
//
//     the kernel below   tables that fit into the shared memory of one block
//     cluster.cuh        tables that fit into the shared memory of two blocks
//     partitioned.cuh    any larger number of bins
//
// The kernel below counts most histograms. It is privatization in shared memory, as the textbooks, CUB and H6 of the
// laboratory have it: each block counts in a table of its own, and the tables are merged into the totals of the grid at
// the end.
namespace upsweep::gpu {

struct block_histogram_shape {
    static constexpr int threads = 1024;
    // How many rows of vectors a warp reads at once. With more, registers run out where bins are computed in doubles, and few
    // warps have a tile of bytes to count at the end.
    template <class Source>
    static constexpr bool are_bytes = std::is_pointer_v<Source> && sizeof(std::iter_value_t<Source>) == 1;
    template <class Source>
    static constexpr int rows = sizeof(std::iter_value_t<Source>) < 8 && !are_bytes<Source> ? 8 : 4;
};
template <class T>
constexpr bool block_histogram_shape::are_bytes<matrix_rows<T>> = sizeof(T) == 1;
// A lane keeps the channels of its elements in registers, too, which leaves room for four rows.
template <class T, int Channels>
constexpr int block_histogram_shape::rows<channel_rows<T, Channels>> = 4;
template <class Source>
constexpr int block_histogram_shape::rows<few_elements<Source>> = few_elements<Source>::rows;

// Whether tables of a source's samples always have few enough bins for merge_once.
template <class Source>
inline constexpr bool always_adds_once = false;
template <class Source>
inline constexpr bool always_adds_once<few_elements<Source>> = true;

template <class Shape, class Table, class Source, class Finder, class Size, class Result>
__global__ void __launch_bounds__(Shape::threads, 1)
    block_histogram_kernel(Source in, std::uint64_t count, Finder finder, Size size, Result result, grid_totals grid)
{
    extern __shared__ __align__(16) std::uint32_t shared_words[];
    source_reader<Shape::template rows<Source>, Source> samples(in, count, blockIdx.x, gridDim.x);

    // The bin finder's words come first in shared memory, so that the compiler knows their address.
    const auto bin_of = finder.of_block(shared_words);
    const Table table{shared_words + words_of(finder)};
    clear_words(table.counters, size.template words<Table>());
    __syncthreads();

    samples.for_each([&](const auto& vector) { count_samples(table, bin_of, vector); });
    __syncthreads();

    if (always_adds_once<Source> || size.adds_once())
        merge_once(table, bin_of, size, result, grid);
    else
        merge_and_wait(table, bin_of, size, result, grid);
}

// Whether a bin finder searches bins among edges, unless it expects so many samples that it fills a table first.
template <class Finder>
inline constexpr bool searches_bins = requires(Finder finder)
{
    finder.expect(1);
};

template <class Table, class Source, class Finder, class Size, class Result>
void block_histogram(const cuda& target, const Source& in, std::uint64_t count, const Finder& finder, const Size& size,
                     const Result& result)
{
    using shape = block_histogram_shape;
    const std::size_t words = words_of(finder) + size.template words<Table>();
    // A block that is alone need not bring many counters together with those of others, which takes longer than to find the bins of
    // a few samples, but not than to search them.
    constexpr std::uint64_t few_of_thread = searches_bins<Finder> ? 4 : 16;
    const auto blocks_of = [&](int most) { return useful_blocks<shape::rows<Source>>(in, most, count); };
    const bool alone = size.has_bins() && size.all_bins > shape::threads && count <= few_of_thread * shape::threads &&
                       blocks_of(1) == 1;
    const grid_shape grid{.blocks = alone ? 1 : blocks_of(target.workspace().multiprocessors()),
                          .threads = shape::threads,
                          .shared_bytes = words * sizeof(std::uint32_t),
                          .cluster = 1,
                          .cooperative = !size.adds_once()};
    launch<block_histogram_kernel<shape, Table, Source, Finder, Size, Result>>(
        target, "histogram", grid, in, count, finder, size, result, grid_totals_to_merge(target, size.all_bins));
}

// The kernel above reads a source in one piece, or in several by a launch each. This calls f(piece, count, result) for
// the pieces; from the second one on, the result accumulates. The pieces may depend on the type of the table. An array
// is one piece.
template <class Source, class Result, class Table, class F>
void for_each_piece(const Source& in, std::uint64_t count, const Result& result, std::type_identity<Table>, F f)
{
    f(in, count, result);
}
template <class T, class Result, class Table, class F>
void for_each_piece(const matrix_source<T>& in, std::uint64_t, Result result, std::type_identity<Table>, F f)
{
    for_each_piece(in.in, 1, [&](const matrix<T>& piece) {
        f(matrix_rows<T>{piece}, piece.size(), result);
        result.accumulates = true;
    });
}

// Whether the counters always fit into the shared memory of one block, so that no kernel for larger tables is compiled:
// the bin finder promises few bins, or samples are counted by the 256 values of a byte.
template <class Source, class Finder, class Keys = sample_keys<std::iter_value_t<Source>>>
inline constexpr bool is_counted_by_block = Finder::range == bin_range::few ||
                                            (Keys::by_value && !Keys::has_many_values);

// Counts the samples by the kernel that suits their number, and how much of a block's shared memory their counters
// need. The conditions at compile time leave out the kernels that cannot be the choice for these types.
template <class Source, class Finder, class Result>
void histogram(const cuda& target, const Source& in, std::uint64_t count, const Finder& finder, const Result& result)
{
    using sample = std::iter_value_t<Source>;
    using keys = sample_keys<sample>;
    using few = few_elements<Source>;
    constexpr bool may_have_few_bins = Finder::range != bin_range::many;
    const bin_index all_bins = all_bins_of(finder);
    const table_size<sample> size{keys::by_value ? keys::values_of(in) : all_bins, all_bins};
    const std::size_t available = table_bytes(target) - words_of(finder) * sizeof(std::uint32_t);
    const auto fits = [&]<class Table>(std::type_identity<Table>) {
        return size.template words<Table>() * sizeof(std::uint32_t) <= available;
    };
    const auto by_block = [&]<class Table>(std::type_identity<Table> table) {
        for_each_piece(in, count, result, table, [&](const auto& piece, std::uint64_t elements, const Result& to) {
            block_histogram<Table>(target, piece, elements, finder, size, to);
        });
    };
    // So few samples that adding up more copies of the counters would take longer than lanes wait for one another.
    if constexpr (may_have_few_bins && few::is_possible) {
        using table = table_of_four;
        if (size.adds_once() && few{in}.are_few(target.workspace().multiprocessors(), count) &&
            fits(std::type_identity<table>{}))
            return block_histogram<table>(target, few{in}, count, finder, size, result);
    }
    const auto blocks = static_cast<std::uint64_t>(target.workspace().multiprocessors());
    // So few elements of channels that adding up a copy of each counter for every lane would take longer, too.
    if constexpr (keys::has_many_values) {
        constexpr std::type_identity<table_of_four> table;
        if (fits(std::type_identity<lane_table>{}) && count < 2 * blocks * size.template words<lane_table>())
            return by_block(table);
    }
    // A copy of each counter for every lane.
    if constexpr (may_have_few_bins || keys::by_value) {
        constexpr std::type_identity<lane_table> table;
        if (size.keys <= keys::most_for_lanes && fits(table))
            return by_block(table);
    }
    // A copy of each counter for every two lanes.
    if constexpr (keys::has_many_values) {
        constexpr std::type_identity<replicated_table<lanes / 2>> table;
        if (fits(table))
            return by_block(table);
        // A copy for every four lanes, where a block counts more elements than it then has counters to add up.
        constexpr std::type_identity<table_of_four> of_four;
        if (fits(of_four) && count >= blocks * size.template words<table_of_four>())
            return by_block(of_four);
    }
    // One copy of each counter, at a swizzled place.
    if constexpr (!keys::by_value || keys::has_many_values || Finder::range == bin_range::few) {
        constexpr std::type_identity<swizzled_table> table;
        if (fits(table))
            return by_block(table);
    }
    if constexpr (!is_counted_by_block<Source, Finder>) {
        if (cluster_has_room<Source, Finder, Result>(target, all_bins, available))
            return cluster_histogram(target, in, count, finder, all_bins, result);
        partitioned_histogram(target, in, count, finder, all_bins, result);
    }
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::histogram> {
    template <class In, class Bins, class Counter>
    static void count(const cuda& target, In& in, const Bins& bins, std::span<Counter> counts, outside* out_of_range,
                      bool accumulates)
    {
        constexpr std::string_view call = "histogram";
        const gpu::current_device current(target.device());
        gpu::check_place(target, call, counts.data(), counts.size());
        gpu::check_place(target, call, out_of_range, 1);
        const gpu::histogram_result<Counter> result{counts.data(), out_of_range, static_cast<bin_index>(counts.size()),
                                                    accumulates};
        if constexpr (is_matrix<std::remove_const_t<In>>) {
            gpu::check_place(target, call, in.data, in.size());
            if (in.has_gaps())
                count_from(target, gpu::matrix_source(in), in.size(), bins, result);
            else
                count_from(target, in.data, in.size(), bins, result);
        } else {
            gpu::with_source(first_of(in),
                             [&](const auto& source) { count_from(target, source, size_of(in), bins, result); });
        }
    }

private:
    template <class Source, class Bins, class Result>
    static void count_from(const cuda& target, const Source& in, std::uint64_t count, const Bins& bins,
                           const Result& result)
    {
        gpu::check_place(target, "histogram", in, count);
        gpu::with_bin_finder<std::iter_value_t<Source>>(target, bins, [&](auto finder) {
            if constexpr (gpu::searches_bins<decltype(finder)>) {
                const auto blocks = static_cast<std::uint64_t>(target.workspace().multiprocessors());
                finder.expect(count / (blocks * gpu::block_histogram_shape::threads));
            }
            gpu::histogram(target, in, count, finder, result);
        });
    }
};

} // namespace upsweep::detail
