// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <upsweep/gpu/histogram/count.cuh>
#include <upsweep/gpu/histogram/edges.cuh>
#include <upsweep/gpu/histogram/even_bins.cuh>
#include <upsweep/gpu/histogram/histogram.cuh>
#include <upsweep/gpu/histogram/merge.cuh>
#include <upsweep/gpu/histogram/table.cuh>
#include <upsweep/gpu/source/matrix_words.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/matrix.hpp>
#include <upsweep/verb/matrix_histogram.hpp>

// A histogram of each row of a matrix, counted in one of two ways:
//
//     by warps    Where rows are many or short, each warp takes some rows at a time, counts them in a privatized
//                 table of its own, and puts their counters: no other warp reads these rows.
//     by blocks   Otherwise the words of all rows, one after the other, are cut into a share for each block. A block
//                 counts what it has of a row in its table. Where a share ends within a row, the blocks on both
//                 sides add to the row's counters:
//
//                 | row 0         | row 1         | row 2         |
//                 | block 0   | block 1   | block 2   | block 3   |
//
// Where the counters of a row are too many for a table, blocks read the row several times, each time for a part of the
// counters.
namespace upsweep::gpu {

struct rows_shape {
    static constexpr int threads = 1024;
    static constexpr int warps = threads / lanes;
    static constexpr int vectors = 4;                 // vectors that a lane reads at once
    static constexpr std::uint64_t short_row = 1024;  // up to so many vectors, one warp counts a row alone
    static constexpr std::uint64_t long_row = 4096;   // from so many vectors on, each lane has a copy of the counters
    static constexpr bin_index most_for_lanes = 1024; // the most counters of which each lane has a copy
    static constexpr std::uint64_t rows_of_warp = 4;  // rows are many if there are so many for each warp
};

using word_cursor = row_cursor<std::uint64_t>;

// The bins of all values of a byte, which a block looks up once for all of its rows. Each lane reads a copy of its own,
// in its own bank of shared memory.
template <class T>
struct bins_of_values {
    static constexpr std::size_t words = is_byte<T> ? std::size_t{byte_values} * lanes : 0;

    const std::uint32_t* copy;

    // All threads of a block call this, and a barrier must follow.
    template <class Function>
    __device__ bins_of_values(std::uint32_t* shared, const Function& bin_of) : copy(shared + lane_id())
    {
        for (unsigned i = threadIdx.x; i < words; i += blockDim.x)
            shared[i] = bin_of(static_cast<T>(i / lanes));
    }

    __device__ bin_index operator()(const T& sample) const { return copy[static_cast<std::uint8_t>(sample) * lanes]; }
};

// Calls count with what finds the bins of samples: for bytes the bins of all values, which are looked up once. `shared` has room for these
// and for what the finder keeps. All threads of a block call this, after they have cleared the block's counters.
template <class T, class Finder, class Count>
__device__ void with_bins_of_samples(std::uint32_t* shared, const Finder& finder, const Count& count)
{
    const auto bin_of = finder.of_block(shared + bins_of_values<T>::words);
    __syncthreads();
    if constexpr (is_byte<T>) {
        const bins_of_values<T> bin_of_value(shared, bin_of);
        __syncthreads();
        count(bin_of_value);
    } else {
        count(bin_of);
    }
}

// What a warp takes at a time.
struct warp_rows {
    std::uint64_t rows; // how many rows
    bin_index all_bins; // bins of a row, with the out-of-range bins
    bin_index words;    // words of shared memory for the counters of these rows
    bool puts_vectors;  // whether the counters of each row are written by aligned vectors
};

// A counter among those of the rows of a warp, which are fewer than 2^32.
using counter_cursor = row_cursor<std::uint32_t>;

// Puts the counters of the rows from `first` on, which a warp has counted in its table one after the other, and leaves zeros. A lane begins
// with counter `at`, and takes every 32nd.
template <class Counter>
__device__ void put_rows(const results_of_parts<Counter>& result, std::uint64_t first, const swizzled_table& table,
                         bin_index all_bins, bin_index rows, counter_cursor at, const counter_cursor& step)
{
    for (auto i = static_cast<bin_index>(lane_id()); i < rows * all_bins; i += lanes) {
        result[first + at.row].put(at.word, table.take(i));
        at.advance(step, all_bins);
    }
}

// The same where the counters of every row are aligned vectors.
template <class Counter>
__device__ void put_rows_by_vectors(const results_of_parts<Counter>& result, std::uint64_t first,
                                    const swizzled_table& table, bin_index all_bins, bin_index rows)
{
    constexpr bin_index elements = vector_elements<sizeof(Counter)>;
    constexpr bin_index others = detail::out_of_range_bins;
    const auto lane = static_cast<bin_index>(lane_id());
    for (bin_index row = 0; row < rows; ++row) {
        const histogram_result<Counter> to = result[first + row];
        for (bin_index k = lane * elements; k < to.bins; k += lanes * elements) {
            typename lane_vector<Counter, elements>::elements counted;
#pragma unroll
            for (bin_index j = 0; j < elements; ++j)
                counted.element[j] = table.take(row * all_bins + k + j);
            store_vector<elements>(to.counts + k, lane_vector<Counter, elements>::of(counted));
        }
    }
    for (bin_index i = lane; i < rows * others; i += lanes) {
        const bin_index k = all_bins - others + i % others;
        result[first + i / others].put(k, table.take(i / others * all_bins + k));
    }
}

// Counts the rows of a warp, some at a time, in its table, and puts their counters.
template <class Shape, class T, class Function, class Counter>
__device__ void count_rows_of_warp(const matrix_words<T>& in, const Function& bin_of, const swizzled_table& table,
                                   const warp_rows& plan, const results_of_parts<Counter>& result)
{
    const unsigned warp = threadIdx.x / lanes;
    const auto begin = counter_cursor::of(static_cast<std::uint32_t>(lane_id()), plan.all_bins);
    const auto step = counter_cursor::of(lanes, plan.all_bins);
    const std::uint64_t stride = std::uint64_t{gridDim.x} * Shape::warps * plan.rows;
    for (std::uint64_t first = (blockIdx.x + std::uint64_t{warp} * gridDim.x) * plan.rows; first < in.in.rows;
         first += stride) {
        const std::uint64_t rows = in.in.rows - first < plan.rows ? in.in.rows - first : plan.rows;
        in.template for_each_word_of_rows<Shape::vectors>(
            first, static_cast<std::uint32_t>(rows), [&](std::uint32_t row, const row_vector<T>& vector) {
                vector.for_each([&](const T& x) { table.increment(row * plan.all_bins + bin_of(x)); });
            });
        __syncwarp();
        if (plan.puts_vectors)
            put_rows_by_vectors(result, first, table, plan.all_bins, static_cast<bin_index>(rows));
        else
            put_rows(result, first, table, plan.all_bins, static_cast<bin_index>(rows), begin, step);
        __syncwarp();
    }
}

template <class Shape, class T, class Finder, class Counter>
__global__ void __launch_bounds__(Shape::threads, 1)
    rows_by_warps_kernel(matrix_words<T> in, Finder finder, warp_rows plan, results_of_parts<Counter> result)
{
    extern __shared__ __align__(16) std::uint32_t shared_words[];
    const unsigned warp = threadIdx.x / lanes;
    const swizzled_table table{shared_words + warp * plan.words};
    clear_words(shared_words, Shape::warps * plan.words);
    with_bins_of_samples<T>(shared_words + Shape::warps * plan.words, finder,
                            [&](const auto& bin_of) { count_rows_of_warp<Shape>(in, bin_of, table, plan, result); });
}

// How the rows, and the parts of their counters, are shared out among the blocks. The words of a row are read once for
// each part.
struct block_rows {
    bin_index all_bins; // bins of a row, with the out-of-range bins
    bin_index part;     // counters that a block has at a time
    bin_index parts;    // how many parts the bins of a row are cut into

    // Returns where the share of a block begins among the words of all parts of all rows, which stand one after the
    // other.
    __device__ static std::uint64_t share(std::uint64_t words, unsigned block)
    {
        return words / gridDim.x * block + words % gridDim.x * block / gridDim.x;
    }
    // Returns where the part of the bins ends that begins at `first`.
    __device__ bin_index end_of(bin_index first) const
    {
        return parts == 1 || all_bins - first < part ? all_bins : first + part;
    }
};

// Clears the counters to which several blocks add: those of a row within which the share of this block begins.
template <class T, class Counter>
__global__ void clear_shared_rows_kernel(matrix_words<T> in, block_rows plan, results_of_parts<Counter> result)
{
    const std::uint64_t begin = block_rows::share(in.in.rows * plan.parts * in.words, blockIdx.x);
    const word_cursor at = word_cursor::of(begin, in.words);
    if (at.word == 0)
        return;
    const word_cursor row = word_cursor::of(at.row, plan.parts);
    const auto first = static_cast<bin_index>(row.word) * plan.part;
    for (bin_index k = first + threadIdx.x; k < plan.end_of(first); k += blockDim.x)
        result[row.row].put(k, 0);
}

// Bytes of long rows, which have many more elements than a byte has values, are counted by value.
template <class T, class Table>
inline constexpr bool rows_by_value = is_byte<T>&& std::same_as<Table, lane_table>;

// Counts those samples of a vector whose bins are in the part of the table, which begins at bin `first`.
template <class Table, class T, class Function>
__device__ void count_in_part(const Table& table, const row_vector<T>& vector, const Function& bin_of, bin_index first,
                              bin_index part)
{
    vector.for_each([&](const T& x) {
        if constexpr (rows_by_value<T, Table>) {
            table.increment(static_cast<std::uint8_t>(x));
        } else {
            const bin_index k = bin_of(x) - first;
            if (k < part)
                table.increment(k);
        }
    });
}

// Takes the counters of a row over into the result: where this block has read all of the row (`is_whole`) it puts them;
// where others have read some of it, too, it adds them. All threads of a block call this, and a barrier must follow.
template <class T, class Table, class Function, class Counter>
__device__ void merge_part(const Table& table, const Function& bin_of, const block_rows& plan, bin_index first,
                           bool is_whole, const histogram_result<Counter>& result)
{
    if constexpr (rows_by_value<T, Table>) {
        for (bin_index k = threadIdx.x; is_whole && k < plan.all_bins; k += blockDim.x)
            result.put(k, 0);
        __syncthreads();
        if (threadIdx.x < plan.part)
            if (const std::uint32_t counted = table.total(threadIdx.x); counted != 0)
                result.add(bin_of(static_cast<T>(threadIdx.x)), counted);
    } else {
        __syncthreads();
        for (bin_index k = first + threadIdx.x; k < plan.end_of(first); k += blockDim.x) {
            const std::uint32_t counted = table.total(k - first);
            if (is_whole)
                result.put(k, counted);
            else if (counted != 0)
                result.add(k, counted);
        }
    }
}

template <class Shape, class Table, class T, class Finder, class Counter>
__global__ void __launch_bounds__(Shape::threads, 1)
    rows_by_blocks_kernel(matrix_words<T> in, Finder finder, block_rows plan, results_of_parts<Counter> result)
{
    extern __shared__ __align__(16) std::uint32_t shared_words[];
    const Table table{shared_words};
    const std::size_t words = Table::words(plan.part);
    clear_words(shared_words, words);
    const auto bin_of = finder.of_block(shared_words + words);
    __syncthreads();

    const std::uint64_t all = in.in.rows * plan.parts * in.words;
    const std::uint64_t end = block_rows::share(all, blockIdx.x + 1);
    for (std::uint64_t begin = block_rows::share(all, blockIdx.x); begin < end;) {
        const word_cursor at = word_cursor::of(begin, in.words);
        const word_cursor row = word_cursor::of(at.row, plan.parts);
        const auto first = static_cast<bin_index>(row.word) * plan.part;
        const std::uint64_t beyond = end - begin < in.words - at.word ? at.word + (end - begin) : in.words;
        const auto count = [&](const row_vector<T>& vector) { count_in_part(table, vector, bin_of, first, plan.part); };
        in.template for_each_word_of_row<Shape::vectors>(row.row, at.word, beyond, threadIdx.x, Shape::threads, count);
        merge_part<T>(table, bin_of, plan, first, at.word == 0 && beyond == in.words, result[row.row]);
        __syncthreads();
        clear_words(shared_words, words);
        __syncthreads();
        begin += beyond - at.word;
    }
}

template <class Table, class T, class Finder, class Counter>
void launch_rows_by_blocks(const cuda& target, const matrix_words<T>& in, const Finder& finder, const block_rows& plan,
                           const results_of_parts<Counter>& result)
{
    using shape = rows_shape;
    const std::uint64_t items = in.in.rows * plan.parts;
    const std::uint64_t useful = std::max(items, items * in.words / (shape::threads * shape::vectors));
    const auto blocks = static_cast<unsigned>(
        std::min<std::uint64_t>(useful, static_cast<unsigned>(target.workspace().multiprocessors())));
    if (blocks > 1 && !result.first.accumulates)
        launch(target, "histogram_rows", clear_shared_rows_kernel<T, Counter>, grid_shape{blocks, 512, 0}, in, plan,
               result);
    launch<rows_by_blocks_kernel<shape, Table, T, Finder, Counter>>(
        target, "histogram_rows",
        grid_shape{.blocks = blocks,
                   .threads = shape::threads,
                   .shared_bytes = Table::words(plan.part) * sizeof(std::uint32_t) + finder.shared_bytes()},
        in, finder, plan, result);
}

template <class T, class Finder, class Counter>
void histogram_rows(const cuda& target, const matrix<T>& rows, const Finder& finder,
                    const results_of_parts<Counter>& result)
{
    using shape = rows_shape;
    const matrix_words<T> in(rows);
    const auto all_bins = static_cast<bin_index>(finder.bins + detail::out_of_range_bins);
    const auto warps = static_cast<std::uint64_t>(target.workspace().multiprocessors()) * shape::warps;
    const std::size_t available = (table_bytes(target) - finder.shared_bytes()) / sizeof(std::uint32_t);
    const std::size_t of_warp = (available - bins_of_values<T>::words) / shape::warps / lanes * lanes;
    if (all_bins <= of_warp && (in.words <= shape::short_row || rows.rows >= shape::rows_of_warp * warps)) {
        const std::uint64_t wanted = std::max<std::uint64_t>(lanes * shape::vectors / in.words, 1);
        const std::uint64_t rows_at_once =
            std::min({wanted, std::uint64_t{of_warp / all_bins}, (rows.rows + warps - 1) / warps});
        const auto words = static_cast<bin_index>(swizzled_table::words(rows_at_once * all_bins));
        const std::uint64_t pieces = (rows.rows + rows_at_once - 1) / rows_at_once;
        const std::uint64_t blocks = std::min((pieces + shape::warps - 1) / shape::warps, warps / shape::warps);
        constexpr int counters = vector_elements<sizeof(Counter)>;
        const bool puts_vectors = !result.first.accumulates && finder.bins >= lanes && finder.bins % counters == 0 &&
                                  is_aligned<counters>(result.first.counts);
        launch<rows_by_warps_kernel<shape, T, Finder, Counter>>(
            target, "histogram_rows",
            grid_shape{.blocks = static_cast<unsigned>(blocks),
                       .threads = shape::threads,
                       .shared_bytes = (shape::warps * words + bins_of_values<T>::words) * sizeof(std::uint32_t) +
                                       finder.shared_bytes()},
            in, finder, warp_rows{rows_at_once, all_bins, words, puts_vectors}, result);
        return;
    }
    const bin_index keys = is_byte<T> ? 256 : all_bins; // bytes of long rows are counted by value
    if (sizeof(T) <= 2 && in.words >= shape::long_row && keys <= shape::most_for_lanes &&
        lane_table::words(keys) <= available)
        return launch_rows_by_blocks<lane_table>(target, in, finder, block_rows{all_bins, keys, 1}, result);
    const std::size_t most = available / lanes * lanes;
    const auto parts = static_cast<bin_index>((all_bins - 1) / most + 1);
    launch_rows_by_blocks<swizzled_table>(target, in, finder, block_rows{all_bins, (all_bins - 1) / parts + 1, parts},
                                          result);
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::histogram_rows> {
    template <class T, class Bins, class Counter>
    static void count(const cuda& target, const matrix<T>& in, const Bins& bins, std::span<Counter> counts,
                      std::span<outside> out_of_range, bool accumulates)
    {
        constexpr std::string_view call = "histogram_rows";
        const gpu::current_device current(target.device());
        gpu::check_place(target, call, in.data, in.size());
        gpu::check_place(target, call, counts.data(), counts.size());
        gpu::check_place(target, call, out_of_range.data(), out_of_range.size());
        if (in.size() != 0) {
            gpu::histogram_rows(target, in, gpu::any_bin_finder_on<T>(target, bins, gpu::table_bytes(target) / 4),
                                gpu::results_of_parts<Counter>{{counts.data(), out_of_range.data(),
                                                                static_cast<bin_index>(bin_count(bins)), accumulates}});
        } else if (in.rows != 0 && !accumulates) {
            gpu::check(call, cudaMemsetAsync(counts.data(), 0, counts.size_bytes(), target.stream()));
            gpu::check(call, cudaMemsetAsync(out_of_range.data(), 0, out_of_range.size_bytes(), target.stream()));
        }
    }
};

} // namespace upsweep::detail
