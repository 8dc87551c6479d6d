// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <upsweep/gpu/histogram/bin_finders.cuh>
#include <upsweep/gpu/histogram/block.cuh>
#include <upsweep/gpu/histogram/counters.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>

// Histogram of so few samples that a lane has all of its own in registers at once, and few bins. As for small folds, the fewer
// instructions the better.
namespace upsweep::gpu {

struct small_histogram_shape {
    static constexpr int threads = 1024;
    template <class It>
    static constexpr int elements = vector_elements<sizeof(std::iter_value_t<It>)>;
    template <class It> // vectors of a lane; with more of small samples, counting them takes longer than reading
    static constexpr int rows = sizeof(std::iter_value_t<It>) < 4 ? 2 : 4;
    template <class It> // samples of a block's row
    static constexpr unsigned row = unsigned{threads} * elements<It>;
};

// Counters of a block with eight copies of each, for every eighth lane: with so few samples, more of them take longer to add up
// than lanes to wait for one another.
struct copied_table {
    static constexpr bin_index copies = 8;

    std::uint32_t* counters;
    shared_address address = shared_address_of(counters + static_cast<bin_index>(lane_id()) % copies);

    static constexpr std::size_t words(std::size_t count) { return (count * copies + lanes - 1) / lanes * lanes; }

    __device__ void increment(bin_index k) const { increment_shared(address, k * copies); }
    __device__ std::uint32_t total(bin_index k) const
    {
        const auto* const quarters = reinterpret_cast<const uint4*>(counters) + k * 2;
        const uint4 a = quarters[k / 4 % 2]; // eight threads read from all banks
        const uint4 b = quarters[k / 4 % 2 ^ 1];
        return a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
    }
};

// Samples are aligned for vectors. A block's rows lie a grid's row apart.
template <class Shape, class It, class Finder, class Counter>
__global__ void __launch_bounds__(Shape::threads)
    small_histogram_kernel(It in, unsigned count, Finder finder, bin_index all_bins, histogram_result<Counter> result,
                           counter_memory memory)
{
    using sample = std::iter_value_t<It>;
    constexpr int elements = Shape::template elements<It>;
    constexpr int rows = Shape::template rows<It>;
    extern __shared__ __align__(16) std::uint32_t shared_words[];

    const unsigned first = blockIdx.x * Shape::template row<It> + threadIdx.x * elements;
    const unsigned row = gridDim.x * Shape::template row<It>;
    lane_vector<sample, elements> vectors[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r)
        if (first + r * row + elements <= count)
            vectors[r] = load_vector<elements>(in + (first + r * row));

    const auto bin_of = finder.of_block(shared_words);
    const copied_table table{shared_words + words_of(finder)};
    const swizzled_table of_bins{table.counters + copied_table::words(keys_of<sample>(all_bins))};
    clear_words(table.counters, words_of_tables<copied_table, sample>(all_bins, true));
    __syncthreads();

#pragma unroll
    for (int r = 0; r < rows; ++r)
        if (first + r * row + elements <= count)
            count_samples(table, bin_of, vectors[r]);
    if (blockIdx.x == 0 && threadIdx.x < count % elements)
        count_samples(table, bin_of, gather_vector<1>(in + (count - 1 - threadIdx.x)));
    __syncthreads();
    add_totals_once<sample>(table, bin_of, of_bins, all_bins, result, memory);
}

// Samples for which there is a kernel, and whether these are few and aligned.
template <class It>
inline constexpr bool can_be_small = has_words<small_histogram_shape::elements<It>, It>;

template <class It>
bool is_small(const cuda& target, It in, std::uint64_t count)
{
    using shape = small_histogram_shape;
    constexpr std::uintptr_t bytes = shape::elements<It> * sizeof(std::iter_value_t<It>);
    const auto multiprocessors = static_cast<std::uint64_t>(target.workspace().multiprocessors());
    return count <= multiprocessors * shape::row<It> * shape::rows<It> &&
           reinterpret_cast<std::uintptr_t>(in) % bytes == 0;
}

template <class It, class Finder, class Counter>
void small_histogram(const cuda& target, It in, std::uint64_t count, const Finder& finder, bin_index all_bins,
                     const histogram_result<Counter>& result)
{
    using shape = small_histogram_shape;
    constexpr auto kernel = small_histogram_kernel<shape, It, Finder, Counter>;
    allow_shared_bytes<kernel>(target);
    const std::uint64_t useful = (count + shape::row<It> - 1) / shape::row<It>;
    const auto multiprocessors = static_cast<std::uint64_t>(target.workspace().multiprocessors());
    const std::size_t words = words_of(finder) + words_of_tables<copied_table, std::iter_value_t<It>>(all_bins, true);
    const grid_shape grid{.blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(useful, 1, multiprocessors)),
                          .threads = shape::threads,
                          .shared_bytes = words * sizeof(std::uint32_t)};
    launch(target, "histogram", kernel, grid, in, static_cast<unsigned>(count), finder, all_bins, result,
           counters_of(target, spread(all_bins)));
}

} // namespace upsweep::gpu
