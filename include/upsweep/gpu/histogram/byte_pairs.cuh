// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <upsweep/error.hpp>
#include <upsweep/gpu/histogram/bin_finder.cuh>
#include <upsweep/gpu/histogram/count.cuh>
#include <upsweep/gpu/histogram/merge.cuh>
#include <upsweep/gpu/histogram/table.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/joint_bin.hpp>

// A joint histogram of two inputs of bytes, such as two images. A byte has 256 values, so the bin finders are asked
// once for each value and not for each point. A block counts in one of two tables:
//
//     bin_pair_table     has a counter for each combination of bins, where shared memory has room for them. Two
//                        look-ups, one for each coordinate, give the place of a point's counter.
//     value_pair_table   counts pairs of values, of which there are 65536, too many for one block: they are cut into
//                        parts, and a group of blocks, one for each part, reads the same points at the same time,
//                        mostly from the second-level cache. Each block counts the pairs of its part.
namespace upsweep::gpu {

struct byte_pairs_shape {
    static constexpr int threads = 1024;
    static constexpr int rows = 4;    // vectors of each input that a lane has on their way at once
    static constexpr int vector = 16; // points that a lane reads by one load from each input
    static constexpr std::size_t most_bins = std::size_t{1} << 24; // with the out-of-range bins
};

// The bin index of each value of a byte, for each input.
struct bins_of_bytes {
    bin_index of_x[byte_values];
    bin_index of_y[byte_values];
};

// The shape of a table with a counter for each combination of bins: a row for each bin of x, and in it a column for
// each bin of y. A row begins up to `spread` words later than it need, by a hash of its number; without that, the
// counters of a column or of a diagonal would lie in one bank.
struct bin_pairs {
    static constexpr bin_index out_of_range = 2; // a byte is below or above the bins, but never NaN
    static constexpr bin_index spread = lanes - 1;
    static constexpr unsigned look_up_words = byte_values * lanes; // each lane has a copy, in its bank

    bin_index rows;
    bin_index columns;

    static std::size_t counters(std::size_t rows, std::size_t columns) { return rows * (columns + spread); }
    __host__ __device__ std::size_t words() const { return 2 * look_up_words + rows * (columns + spread); }
    __device__ bin_index begin_of(bin_index row) const { return row * (columns + spread) + (row * 0x9e3779b9U >> 27); }
};

// Counts points by their combination of bins. Shared memory has the look-up table of x, which gives where a row begins,
// that of y, which gives the column, and then the counters.
struct bin_pair_table {
    using pairs = bin_pairs;
    static constexpr unsigned look_up_words = pairs::look_up_words;

    pairs shape;
    std::uint32_t* words;
    const std::uint32_t* mine;
    shared_address counters;

    __device__ bin_pair_table(const pairs& all, std::uint32_t* first, const bins_of_bytes& all_bins, unsigned)
        : shape(all), words(first + 2 * look_up_words), mine(first + lane_id()), counters(shared_address_of(words))
    {
        for (unsigned i = threadIdx.x; i < look_up_words; i += blockDim.x) {
            first[i] = shape.begin_of(all_bins.of_x[i / lanes]);
            first[look_up_words + i] = all_bins.of_y[i / lanes];
        }
        clear_words(words, shape.words() - 2 * look_up_words);
    }
    __device__ void count(std::uint32_t x, std::uint32_t y) const
    {
        increment_shared(counters, mine[x * lanes] + mine[look_up_words + y * lanes]);
    }
    __device__ void count_four(std::uint32_t xs, std::uint32_t ys) const
    {
#pragma unroll
        for (int j = 0; j < 4; ++j)
            count(xs >> 8 * j & 0xffU, ys >> 8 * j & 0xffU);
    }
    // Calls add(bin of x, bin of y, count) for each counter that is not zero.
    template <class F>
    __device__ void for_each_total(const bins_of_bytes&, F add) const
    {
        for (bin_index i = threadIdx.x; i < shape.rows * shape.columns; i += blockDim.x) {
            const bin_index row = i / shape.columns;
            const bin_index column = i - row * shape.columns;
            if (const std::uint32_t counted = words[shape.begin_of(row) + column]; counted != 0)
                add(row, column, counted);
        }
    }
};

// The shape of a table that counts some pairs of values. A pair x * 256 + y has a place of 16 bits (value_pair_place),
// and a part has the pairs whose places have equal upper bits.
struct value_pairs {
    unsigned shift; // a part has 2^shift pairs, at least 256

    // A word more than there are pairs: the pairs of other parts are counted in it, and nobody reads it.
    __host__ __device__ std::size_t words() const { return (std::size_t{1} << shift) + 1; }
};

// Gives four pairs of values their places at once. A word has a byte of each: before, of x and of y, and then the upper
// and the lower byte of the places. Every step changes some bits by others that it leaves as they are, and so undoes
// itself.
struct value_pair_place {
    // The highest bit of x tells which of two parts a pair belongs to. It becomes the parity of bits of x and y, so that
    // both parts get about as many of the points of any image: few large values would leave one block without work.
    __device__ static std::uint32_t share_out(std::uint32_t xs, std::uint32_t ys)
    {
        constexpr std::uint32_t highest = 0x80808080U;
        std::uint32_t parity = xs ^ ys;
        parity ^= parity << 2;
        parity ^= parity << 4;
        return (xs & ~highest) | (parity & highest);
    }
    // The lower bits of y tell the bank of shared memory. Bits of x and upper ones of y are mixed into them, so that
    // neither pairs of the same y nor pairs of equal values meet in a bank.
    __device__ static std::uint32_t spread(std::uint32_t xs, std::uint32_t ys)
    {
        return ys ^ (ys >> 5 & 0x07070707U) ^ (xs << 1 & 0x1e1e1e1eU) ^ (xs >> 4 & 0x0f0f0f0fU);
    }

    __device__ static void from_values(std::uint32_t& xs, std::uint32_t& ys)
    {
        xs = share_out(xs, ys);
        ys = spread(xs, ys);
    }
    __device__ static void to_values(std::uint32_t& xs, std::uint32_t& ys)
    {
        ys = spread(xs, ys);
        xs = share_out(xs, ys);
    }
};

// Counts the points whose pairs of values are in the part of this block. A part's places are those from 0 on after its
// number has been taken off their upper bits by exclusive or; all others are the place of the word that nobody reads,
// which takes fewer instructions than a branch for each point.
struct value_pair_table {
    using pairs = value_pairs;

    std::uint32_t* words;
    shared_address counters;
    std::uint32_t size;
    std::uint32_t upper; // the upper bytes of four places where the part begins

    __device__ value_pair_table(const pairs& all, std::uint32_t* memory, const bins_of_bytes&, unsigned part)
        : words(memory), counters(shared_address_of(memory)), size(1U << all.shift),
          upper((part << all.shift >> 8) * 0x01010101U)
    {
        clear_words(words, all.words());
    }
    __device__ void count(std::uint32_t x, std::uint32_t y) const
    {
        value_pair_place::from_values(x, y);
        increment_shared(counters, min(((x ^ upper) & 0xffU) << 8 | (y & 0xffU), size));
    }
    __device__ void count_two(std::uint32_t places) const
    {
        const std::uint32_t mine = __vminu2(places, size << 16 | size);
        increment_shared(counters, mine & 0xffffU);
        increment_shared(counters, mine >> 16);
    }
    __device__ void count_four(std::uint32_t xs, std::uint32_t ys) const
    {
        value_pair_place::from_values(xs, ys);
        xs ^= upper;
        count_two(__byte_perm(xs, ys, 0x1504));
        count_two(__byte_perm(xs, ys, 0x3726));
    }
    template <class F>
    __device__ void for_each_total(const bins_of_bytes& all_bins, F add) const
    {
        for (std::uint32_t place = threadIdx.x; place < size; place += blockDim.x) {
            std::uint32_t x = place >> 8 ^ (upper & 0xffU);
            std::uint32_t y = place & 0xffU;
            value_pair_place::to_values(x, y);
            if (const std::uint32_t counted = words[place]; counted != 0)
                add(all_bins.of_x[x & 0xffU], all_bins.of_y[y & 0xffU], counted);
        }
    }
};

// Asks the bin finders once for each value of a byte. All threads of a block call this, and a barrier must follow.
template <class X, class Y, class Finder>
__device__ void find_bins_of_bytes(const Finder& finder, bins_of_bytes& bins_of)
{
    const unsigned value = threadIdx.x % byte_values;
    if (threadIdx.x < byte_values)
        bins_of.of_x[value] = finder.first.of_block(nullptr)(static_cast<X>(value));
    else if (threadIdx.x < 2 * byte_values)
        bins_of.of_y[value] = finder.rest.first.of_block(nullptr)(static_cast<Y>(value));
}

// Counts the points that fall to a thread of group number `group`, when `groups` groups of blocks share them out. Warp
// tiles begin where vectors of xs are aligned. The last group also counts the points before the first tile and behind
// the last one.
template <class Shape, class Table>
__device__ void count_points(const Table& table, const std::uint8_t* xs, const std::uint8_t* ys, std::uint64_t count,
                             unsigned group, unsigned groups)
{
    using vector = lane_vector<std::uint8_t, Shape::vector>;
    const warp_tiles<Shape::vector, Shape::rows> tiles(xs, count);
    const auto count_tiles = [&](auto load_ys) {
        tiles.for_each(group, groups, [&](std::uint64_t first) {
            vector x[Shape::rows];
            vector y[Shape::rows];
#pragma unroll
            for (int r = 0; r < Shape::rows; ++r) {
                const std::uint64_t at = first + static_cast<unsigned>(r * tiles.row);
                x[r] = load_vector<Shape::vector>(xs + at);
                y[r] = load_ys(ys + at);
            }
#pragma unroll
            for (int r = 0; r < Shape::rows; ++r) {
                table.count_four(x[r].memory.x, y[r].memory.x);
                table.count_four(x[r].memory.y, y[r].memory.y);
                table.count_four(x[r].memory.z, y[r].memory.z);
                table.count_four(x[r].memory.w, y[r].memory.w);
            }
        });
    };
    if (is_aligned<Shape::vector>(ys + tiles.before))
        count_tiles([](const std::uint8_t* from) { return load_vector<Shape::vector>(from); });
    else
        count_tiles([](const std::uint8_t* from) { return gather_vector<Shape::vector>(from); });
    if (group == groups - 1)
        tiles.for_each_of_rest([&](std::uint64_t at) { table.count(xs[at], ys[at]); });
}

// Block b belongs to group b / parts and has part number b % parts of the counters.
template <class Shape, class Table, class X, class Y, class Finder, class Counter>
__global__ void __launch_bounds__(Shape::threads, 1)
    byte_pairs_kernel(const X* xs, const Y* ys, std::uint64_t count, Finder finder, typename Table::pairs pairs,
                      unsigned parts, bin_index all_bins, histogram_result<Counter> result, grid_totals grid)
{
    extern __shared__ __align__(16) std::uint32_t shared_words[];
    __shared__ bins_of_bytes bins_of;
    find_bins_of_bytes<X, Y>(finder, bins_of);
    __syncthreads();
    const Table table(pairs, shared_words, bins_of, blockIdx.x % parts);
    __syncthreads();

    count_points<Shape>(table, reinterpret_cast<const std::uint8_t*>(xs), reinterpret_cast<const std::uint8_t*>(ys),
                        count, blockIdx.x / parts, gridDim.x / parts);
    __syncthreads();

    const auto x_bins = static_cast<bin_index>(finder.first.bins);
    const auto y_bins = static_cast<bin_index>(finder.rest.first.bins);
    table.for_each_total(bins_of, [&](bin_index x, bin_index y, std::uint32_t counted) {
        detail::joint_bin point;
        point.add(x, x_bins);
        point.add(y, y_bins);
        grid.add(point.among(x_bins * y_bins), counted);
    });
    wait_and_take_totals(result, grid, all_bins);
}

template <class Table, class X, class Y, class Finder, class Counter>
void byte_pairs_histogram(const cuda& target, const X* xs, const Y* ys, std::uint64_t count, const Finder& finder,
                          const typename Table::pairs& pairs, unsigned parts, const histogram_result<Counter>& result)
{
    using shape = byte_pairs_shape;
    const bin_index all_bins = result.bins + detail::out_of_range_bins;
    const std::uint64_t most = std::max(static_cast<unsigned>(target.workspace().multiprocessors()) / parts, 1U);
    const std::uint64_t groups = std::min(count / warp_tiles<shape::vector, shape::rows>::tile + 1, most);
    launch<byte_pairs_kernel<shape, Table, X, Y, Finder, Counter>>(
        target, "joint_histogram",
        grid_shape{.blocks = static_cast<unsigned>(groups) * parts,
                   .threads = shape::threads,
                   .shared_bytes = pairs.words() * sizeof(std::uint32_t),
                   .cluster = 1,
                   .cooperative = true},
        xs, ys, count, finder, pairs, parts, all_bins, result, grid_totals_of(target, all_bins));
}

// Counts the points with the table for which a block has room. The bin finders must not need shared memory.
template <class X, class Y, class Finder, class Counter>
void byte_pairs_histogram(const cuda& target, const X* xs, const Y* ys, std::uint64_t count, const Finder& finder,
                          const histogram_result<Counter>& result)
{
    check_most_bins("joint_histogram", result.bins, byte_pairs_shape::most_bins - detail::out_of_range_bins);
    const std::size_t available = (table_bytes(target) - sizeof(bins_of_bytes)) / sizeof(std::uint32_t);
    const std::size_t rows = finder.first.bins + bin_pairs::out_of_range;
    const std::size_t columns = finder.rest.first.bins + bin_pairs::out_of_range;
    if (bin_pairs::counters(rows, columns) + 2 * bin_pairs::look_up_words <= available)
        return byte_pairs_histogram<bin_pair_table>(
            target, xs, ys, count, finder, bin_pairs{static_cast<bin_index>(rows), static_cast<bin_index>(columns)}, 1,
            result);
    value_pairs pairs{16};
    while (pairs.words() > available)
        --pairs.shift;
    byte_pairs_histogram<value_pair_table>(target, xs, ys, count, finder, pairs,
                                           byte_values * byte_values >> pairs.shift, result);
}

} // namespace upsweep::gpu
