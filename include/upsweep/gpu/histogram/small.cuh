// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <upsweep/gpu/histogram/bin_finder.cuh>
#include <upsweep/gpu/histogram/count.cuh>
#include <upsweep/gpu/histogram/merge.cuh>
#include <upsweep/gpu/histogram/table.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>

// A histogram of few bins and of so few samples that each lane has all of its samples in registers at once. As with
// small folds, the fewer instructions the better: each of them is fetched from memory and used once.
namespace upsweep::gpu {

struct small_histogram_shape {
    static constexpr int threads = 1024;
    template <class Source>
    static constexpr int elements = vector_elements<sizeof(std::iter_value_t<Source>)>;
    // Vectors of a lane. With more vectors of small samples, counting them would take longer than reading them.
    template <class Source>
    static constexpr int rows = sizeof(std::iter_value_t<Source>) < 4 ? 2 : 4;
    // How many samples a block reads in one row of vectors.
    template <class Source>
    static constexpr unsigned row = unsigned{threads} * elements<Source>;
    // With so few samples, adding up more copies of the counters would take longer than lanes wait for one another.
    using table = replicated_table<8>;
};

// Vectors of the samples must be aligned. A row of the grid is a vector for each thread of all blocks; a thread reads
// one in each row.
template <class Shape, class Source, class Finder, class Size, class Result>
__global__ void __launch_bounds__(Shape::threads)
    small_histogram_kernel(Source in, unsigned count, Finder finder, Size size, Result result, grid_totals grid)
{
    using sample = std::iter_value_t<Source>;
    using table_t = typename Shape::table;
    constexpr int elements = Shape::template elements<Source>;
    constexpr int rows = Shape::template rows<Source>;
    extern __shared__ __align__(16) std::uint32_t shared_words[];

    const unsigned first = blockIdx.x * Shape::template row<Source> + threadIdx.x * elements;
    const unsigned row = gridDim.x * Shape::template row<Source>;
    lane_vector<sample, elements> vectors[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r)
        if (first + r * row + elements <= count)
            vectors[r] = load_vector<elements>(in + (first + r * row));

    const auto bin_of = finder.of_block(shared_words);
    const table_t table{shared_words + words_of(finder)};
    clear_words(table.counters, size.template words<table_t>());
    __syncthreads();

#pragma unroll
    for (int r = 0; r < rows; ++r)
        if (first + r * row + elements <= count)
            count_samples(table, bin_of, vectors[r]);
    if (blockIdx.x == 0 && threadIdx.x < count % elements)
        count_samples(table, bin_of, gather_vector<1>(in + (count - 1 - threadIdx.x)));
    __syncthreads();
    merge_once(table, bin_of, size, result, grid);
}

// Whether the kernel is compiled for a source, and whether its samples are few and aligned, so that the kernel can
// count them.
template <class Source>
inline constexpr bool can_be_small = may_have_words<small_histogram_shape::elements<Source>, Source>;

template <class Source>
bool is_small(const cuda& target, const Source& in, std::uint64_t count)
{
    using shape = small_histogram_shape;
    const auto multiprocessors = static_cast<std::uint64_t>(target.workspace().multiprocessors());
    return count <= multiprocessors * shape::row<Source> * shape::rows<Source> &&
           is_aligned<shape::elements<Source>>(in);
}

template <class Source, class Finder, class Size, class Result>
void small_histogram(const cuda& target, const Source& in, unsigned count, const Finder& finder, const Size& size,
                     const Result& result)
{
    using shape = small_histogram_shape;
    constexpr auto kernel = small_histogram_kernel<shape, Source, Finder, Size, Result>;
    allow_shared_bytes<kernel>(target);
    const unsigned useful = (count + shape::row<Source> - 1) / shape::row<Source>;
    const auto multiprocessors = static_cast<unsigned>(target.workspace().multiprocessors());
    const std::size_t words = words_of(finder) + size.template words<shape::table>();
    const grid_shape grid{.blocks = std::clamp(useful, 1U, multiprocessors),
                          .threads = shape::threads,
                          .shared_bytes = words * sizeof(std::uint32_t)};
    launch(target, "histogram", kernel, grid, in, count, finder, size, result,
           grid_totals_to_merge(target, size.all_bins));
}

} // namespace upsweep::gpu
