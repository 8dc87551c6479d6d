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
#include <upsweep/gpu/histogram/small.cuh>
#include <upsweep/gpu/histogram/table.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/matrix.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/matrix.hpp>
#include <upsweep/range.hpp>
#include <upsweep/verb/histogram.hpp>

// A histogram on a GPU is a source of samples x a bin finder x a table of counters x a merge of the tables. choose()
// alone decides which kernel counts:
//
//     of_few_samples       small.cuh         few samples and few bins
//     by_lane_tables,
//     by_half_as_many,
//     by_block_tables      the kernel below  tables that fit into the shared memory of one block
//     by_cluster_tables    cluster.cuh       tables that fit into the shared memory of two blocks
//     by_partitions        partitioned.cuh   any larger number of bins
//
// The kernel below counts most histograms. It is privatization in shared memory, as the textbooks, CUB and H6 of the
// laboratory have it: each block counts in a table of its own, and the tables are merged into the totals of the grid at
// the end.
namespace upsweep::gpu {

struct block_histogram_shape {
    static constexpr int threads = 1024;
    // How many rows of vectors a warp reads at once. With more, registers run out where bins are computed in doubles.
    template <class Source>
    static constexpr int rows = sizeof(std::iter_value_t<Source>) < 8 ? 8 : 4;
};
// A lane keeps the channels of its elements in registers, too, which leaves room for four rows.
template <class T, int Channels>
constexpr int block_histogram_shape::rows<channel_rows<T, Channels>> = 4;

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

    if (size.adds_once())
        merge_once(table, bin_of, size, result, grid);
    else
        merge_and_wait(table, bin_of, size, result, grid);
}

template <class Table, class Source, class Finder, class Size, class Result>
void block_histogram(const cuda& target, const Source& in, std::uint64_t count, const Finder& finder, const Size& size,
                     const Result& result)
{
    using shape = block_histogram_shape;
    constexpr auto kernel = block_histogram_kernel<shape, Table, Source, Finder, Size, Result>;
    allow_shared_bytes<kernel>(target);
    const std::size_t words = words_of(finder) + size.template words<Table>();
    const grid_shape grid{.blocks =
                              useful_blocks<Source, shape::rows<Source>>(target.workspace().multiprocessors(), count),
                          .threads = shape::threads,
                          .shared_bytes = words * sizeof(std::uint32_t),
                          .cluster = 1,
                          .cooperative = !size.adds_once()};
    launch(target, "histogram", kernel, grid, in, count, finder, size, result,
           grid_totals_to_merge(target, size.all_bins));
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

// --- which kernel counts ---------------------------------------------------------------------------------------------

enum class counting {
    of_few_samples,    // each lane holds all of its samples in registers
    by_lane_tables,    // a block has a copy of each counter for every lane of a warp
    by_half_as_many,   // a block has a copy of each counter for every two lanes
    by_block_tables,   // a block has one copy of each counter, at a swizzled place
    by_cluster_tables, // the two blocks of a cluster have one table, of which each keeps a half
    by_partitions      // samples are sorted by partitions of the bins, which are then counted one by one
};

// Up to this many counters, a table has a copy of each for every lane of a warp. With more counters, adding the copies
// up takes longer than lanes wait for one another at a single copy. Elements of channels meet at one counter more
// often: they have copies for all lanes wherever these fit.
template <class Sample>
inline constexpr bin_index most_for_lanes = 1024;
template <class T>
inline constexpr bin_index most_for_lanes<channel_sample<T>> = ~bin_index{0};

// Whether samples that are counted by value can have so many values that a block may lack room for a copy for every
// lane: the bytes of an image have 256 values in each channel.
template <class Sample>
inline constexpr bool has_many_values = false;
template <class T>
inline constexpr bool has_many_values<channel_sample<T>> = is_byte<T>;

// Whether the counters always fit into the shared memory of one block, so that no kernel for larger tables is compiled:
// the bin finder promises few bins, or samples are counted by the 256 values of a byte.
template <class Source, class Finder, class Sample = std::iter_value_t<Source>>
inline constexpr bool is_counted_by_block = Finder::range == bin_range::few ||
                                            (sample_keys<Sample>::by_value && !has_many_values<Sample>);

// Chooses how samples are counted, by their number and by how much of a block's shared memory their counters need.
template <class Result, class Source, class Finder, class Sample = std::iter_value_t<Source>>
counting choose(const cuda& target, const Source& in, std::uint64_t count, const Finder& finder,
                const table_size<Sample>& size)
{
    constexpr bool by_value = sample_keys<Sample>::by_value;
    const std::size_t available = table_bytes(target) - words_of(finder) * sizeof(std::uint32_t);
    const auto fits = [&](std::size_t words) { return words * sizeof(std::uint32_t) <= available; };
    if constexpr (Finder::range != bin_range::many && can_be_small<Source>)
        if (size.adds_once() && is_small(target, in, count) && fits(size.template words<replicated_table<8>>()))
            return counting::of_few_samples;
    if constexpr (Finder::range != bin_range::many || by_value)
        if (size.keys <= most_for_lanes<Sample> && fits(size.template words<lane_table>()))
            return counting::by_lane_tables;
    if constexpr (has_many_values<Sample>)
        if (fits(size.template words<replicated_table<lanes / 2>>()))
            return counting::by_half_as_many;
    if (fits(size.template words<swizzled_table>()))
        return counting::by_block_tables;
    if constexpr (!is_counted_by_block<Source, Finder>)
        if (cluster_has_room<Source, Finder, Result>(target, size.all_bins, available))
            return counting::by_cluster_tables;
    return counting::by_partitions;
}

// Counts the samples by the kernel that choose() names. The conditions at compile time leave out the kernels that it
// cannot name for these types.
template <class Source, class Finder, class Result>
void histogram(const cuda& target, const Source& in, std::uint64_t count, const Finder& finder, const Result& result)
{
    using sample = std::iter_value_t<Source>;
    constexpr bool by_value = sample_keys<sample>::by_value;
    const bin_index all_bins = all_bins_of(finder);
    const table_size<sample> size{by_value ? value_keys_of(in) : all_bins, all_bins};
    const auto by_block = [&]<class Table>(std::type_identity<Table> table) {
        for_each_piece(in, count, result, table, [&](const auto& piece, std::uint64_t elements, const Result& to) {
            block_histogram<Table>(target, piece, elements, finder, size, to);
        });
    };
    switch (choose<Result>(target, in, count, finder, size)) {
    case counting::of_few_samples:
        if constexpr (Finder::range != bin_range::many && can_be_small<Source>)
            small_histogram(target, in, static_cast<unsigned>(count), finder, size, result);
        break;
    case counting::by_lane_tables:
        if constexpr (Finder::range != bin_range::many || by_value)
            by_block(std::type_identity<lane_table>{});
        break;
    case counting::by_half_as_many:
        if constexpr (has_many_values<sample>)
            by_block(std::type_identity<replicated_table<lanes / 2>>{});
        break;
    case counting::by_block_tables:
        if constexpr (!by_value || has_many_values<sample> || Finder::range == bin_range::few)
            by_block(std::type_identity<swizzled_table>{});
        break;
    case counting::by_cluster_tables:
        if constexpr (!is_counted_by_block<Source, Finder>)
            cluster_histogram(target, in, count, finder, all_bins, result);
        break;
    case counting::by_partitions:
        if constexpr (!is_counted_by_block<Source, Finder>)
            partitioned_histogram(target, in, count, finder, all_bins, result);
        break;
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
        gpu::with_bin_finder<std::iter_value_t<Source>>(
            target, bins, [&](const auto& finder) { gpu::histogram(target, in, count, finder, result); });
    }
};

} // namespace upsweep::detail
