// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/argmin.cuh>
#include <upsweep/gpu/shapes/several_lines.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>
#include <upsweep/verb/argmin.hpp>

// Where the least element of each line along an axis is. Lines are cut into parts, so that there are enough for all lanes; a group of lanes
// finds the least of a part, and a second kernel that of the parts of a line.
namespace upsweep::gpu {

// Where results go: those of parts, or of lines that have one part each.
template <class Key, class Index, std::size_t Rank>
struct argument_results {
    several_lines<2, Rank> lines; // of the elements and of the results
    Index* out;
    divider count;             // of lines
    std::uint64_t parts;       // of a line
    placed_key<Key>* of_parts; // [line][part], null where lines have one part

    __device__ void write(const std::int64_t (&at)[2], std::uint64_t index) const
    {
        out[at[1]] = static_cast<Index>(index);
    }
};

template <class T, class Index, std::size_t Rank>
struct argument_lines {
    argument_results<order_key_t<T>, Index, Rank> results;
    const T* in;
    int group;          // of lanes, a power of two
    std::uint64_t part; // elements, at most 2^31
};

// Numbers of elements in a part have 32 bits.
template <class T>
using placed_in_part = placed_key<order_key_t<T>, unsigned>;

// Takes the elements number first, first + step and so on of `count` that lie `distance` apart.
template <class Op, class T>
__device__ void take_elements(placed_in_part<T>& least, const T* in, std::int64_t distance, unsigned first,
                              unsigned step, unsigned count)
{
    constexpr unsigned at_once = 8; // elements on their way together
    if (first >= count)
        return;
    order_key_t<T> lowest = std::numeric_limits<order_key_t<T>>::max(); // If none is lower, all are equal.
    unsigned lowest_at = first;
    const auto take = [&](const T& element, unsigned at) {
        const order_key_t<T> key = order_key<Op>(element);
        const bool is_lower = key < lowest;
        lowest = is_lower ? key : lowest;
        lowest_at = is_lower ? at : lowest_at;
    };
    const std::int64_t apart = distance * step;
    const T* from = in + distance * first;
    T loaded[at_once];
    unsigned i = first;
    for (; i + (at_once - 1) * step < count; i += at_once * step) {
#pragma unroll
        for (unsigned j = 0; j < at_once; ++j, from += apart)
            loaded[j] = *from;
#pragma unroll
        for (unsigned j = 0; j < at_once; ++j)
            take(loaded[j], i + j * step);
    }
#pragma unroll
    for (unsigned j = 0; j + 1 < at_once; ++j, from += apart)
        if (i + j * step < count)
            loaded[j] = *from;
#pragma unroll
    for (unsigned j = 0; j + 1 < at_once; ++j)
        if (i + j * step < count)
            take(loaded[j], i + j * step);
    least.take(lowest, lowest_at);
}

// Vectors of a lane that are on their way at once. Of a line there are fewer than of an array, and more lines at a time.
inline constexpr int argument_line_rows = 4;

// Takes the elements from number `begin` on, a row of vectors or more, by all lanes of a warp, as tiles of so many rows or of fewer if there are not so
// many. The last tile ends with the elements: some that have been taken are taken again, which changes nothing, and nothing is left to be taken one by one.
template <class Op, int Rows, class T>
__device__ void take_tiles(warp_search<order_key_t<T>, unsigned>& search, const T* in, unsigned begin, unsigned count,
                           bool aligned)
{
    constexpr unsigned elements = elements_of<const T*>;
    constexpr unsigned tile = elements * lanes * Rows;
    const unsigned of_lane = static_cast<unsigned>(lane_id()) * elements;
    if constexpr (Rows > 1) {
        if (count - begin < tile) {
            take_tiles<Op, Rows / 2>(search, in, begin, count, aligned);
            return;
        }
    }
    unsigned first = begin;
    for (; first + tile <= count; first += tile)
        take_vectors<Op, Rows>(search, in, first + of_lane, aligned);
    if (first < count)
        take_vectors<Op, Rows>(search, in, count - tile + of_lane, aligned && (count - begin) % elements == 0);
}

// Takes the elements of a part that lies in one piece.
template <class Op, class T>
__device__ void take_piece(placed_in_part<T>& least, const T* in, unsigned count)
{
    constexpr unsigned elements = elements_of<const T*>;
    const auto lane = static_cast<unsigned>(lane_id());
    const auto before = static_cast<unsigned>(elements_before_alignment<elements>(in, count));
    if (count - before < elements * lanes) {
        take_elements<Op>(least, in, 1, lane, lanes, count);
        return;
    }
    warp_search<order_key_t<T>, unsigned> search;
    take_tiles<Op, argument_line_rows>(search, in, before, count, is_aligned<elements>(in + before));
    least.take(search.least);
    take_elements<Op>(least, in, 1, lane, lanes, before);
}

template <class Op, bool InOnePiece, class T, class Index, std::size_t Rank>
__global__ void __launch_bounds__(256) argument_lines_kernel(const __grid_constant__ argument_lines<T, Index, Rank> of)
{
    const auto& results = of.results;
    const std::uint64_t tasks = results.count.divisor * results.parts;
    const auto of_warp = static_cast<unsigned>(lanes / of.group);
    const auto lane = static_cast<unsigned>(lane_id() & (of.group - 1));
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / lanes);
    const std::uint64_t warp = blockIdx.x * (blockDim.x / lanes) + static_cast<unsigned>(warp_id());
    for (std::uint64_t first = warp * of_warp; first < tasks; first += warps * of_warp) {
        const std::uint64_t task = first + static_cast<unsigned>(lane_id() / of.group);
        const std::uint64_t number = results.parts == 1 ? 0 : results.count.quotient(task);
        const std::uint64_t line = task - number * results.count.divisor;
        const std::uint64_t begin = number * of.part;
        std::int64_t at[2];
        placed_in_part<T> least;
        if (task < tasks) {
            results.lines.template find<true>(line, at);
            const std::int64_t distance = results.lines.along[0];
            const T* const in = of.in + at[0] + static_cast<std::int64_t>(begin) * distance;
            const auto count = static_cast<unsigned>(min(of.part, results.lines.length - begin));
            if constexpr (InOnePiece)
                take_piece<Op>(least, in, count);
            else
                take_elements<Op>(least, in, distance, lane, static_cast<unsigned>(of.group), count);
        }
        least = least_of_lanes(least, of.group);
        if (task >= tasks || lane != 0)
            continue;
        if (results.of_parts != nullptr)
            results.of_parts[line * results.parts + number] = {least.key, begin + least.index};
        else
            results.write(at, least.index);
    }
}

// Puts the parts of lines together: groups of lanes do, or each block for one line.
template <bool ByBlocks, class Key, class Index, std::size_t Rank>
__global__ void __launch_bounds__(argument_threads)
    join_arguments_kernel(const __grid_constant__ argument_results<Key, Index, Rank> results, int group)
{
    const std::uint64_t thread = blockIdx.x * std::uint64_t{argument_threads} + threadIdx.x;
    const std::uint64_t line = ByBlocks ? blockIdx.x : thread / static_cast<unsigned>(group);
    const unsigned first = threadIdx.x % static_cast<unsigned>(group);
    const bool has_line = line < results.count.divisor;
    placed_key<Key> least;
    if (has_line)
        for (std::uint64_t part = first; part < results.parts; part += static_cast<unsigned>(group))
            least.take(results.of_parts[line * results.parts + part]);
    if constexpr (ByBlocks) {
        __shared__ raw_array<placed_key<Key>, argument_threads / lanes> of_warps;
        least = least_of_block(least, &of_warps[0]);
    } else {
        least = least_of_lanes(least, group);
    }
    if (!has_line || first != 0)
        return;
    std::int64_t at[2];
    results.lines.template find<true>(line, at);
    results.write(at, least.index);
}

template <class Key, class Index, std::size_t Rank>
void join_arguments(const cuda& target, std::string_view call, const argument_results<Key, Index, Rank>& results)
{
    constexpr std::uint64_t many_parts = 512;
    const auto lines = static_cast<unsigned>(results.count.divisor); // few enough to be cut into parts
    if (results.parts > many_parts) {
        launch(target, call, join_arguments_kernel<true, Key, Index, Rank>, grid_shape{lines, argument_threads, 0},
               results, argument_threads);
        return;
    }
    const auto group = static_cast<int>(std::bit_ceil(std::min<std::uint64_t>(results.parts, lanes)));
    const auto of_block = static_cast<unsigned>(argument_threads / group);
    launch(target, call, join_arguments_kernel<false, Key, Index, Rank>,
           grid_shape{(lines + of_block - 1) / of_block, argument_threads, 0}, results, group);
}

// Of lines of one element nothing is to be found.
template <class Index, std::size_t Rank>
__global__ void write_first_positions_kernel(const __grid_constant__ several_lines<2, Rank> lines, Index* out)
{
    const std::uint64_t line = blockIdx.x * std::uint64_t{argument_threads} + threadIdx.x;
    if (line >= lines.count)
        return;
    std::int64_t at[2];
    lines.template find<true>(line, at);
    out[at[1]] = 0;
}

// How many lanes find the least of a part: as many as have some elements each, or, of few lines side by side, as many as read elements of
// all of them that lie together.
inline int lanes_of_part(std::uint64_t length, std::uint64_t lines_side_by_side)
{
    constexpr std::uint64_t of_lane = 32;
    const auto most = static_cast<int>(std::bit_ceil(std::min<std::uint64_t>((length + of_lane - 1) / of_lane, lanes)));
    const auto together = static_cast<int>(std::bit_floor(lanes / std::min<std::uint64_t>(lines_side_by_side, lanes)));
    return std::min(most, together);
}

template <class Op, class T, class Index, std::size_t Rank>
void find_arguments(const cuda& target, std::string_view call, argument_lines<T, Index, Rank> of, bool side_by_side)
{
    constexpr std::uint64_t row = std::uint64_t{lanes} * elements_of<const T*>;
    constexpr std::uint64_t tile = row * argument_line_rows;
    constexpr std::uint64_t least_of_lane = 64;            // elements, so that what is put together is little
    constexpr std::uint64_t most_parts = 8192;             // that a block puts together soon
    constexpr std::uint64_t most = std::uint64_t{1} << 31; // elements of a part
    constexpr std::uint64_t waves = 2;                     // so that the last one, in part, is short
    auto& results = of.results;
    const std::uint64_t count = results.lines.count;
    const std::uint64_t length = results.lines.length;
    if (length == 1) {
        const auto blocks = static_cast<unsigned>((count + argument_threads - 1) / argument_threads);
        return launch(target, call, write_first_positions_kernel<Index, Rank>, grid_shape{blocks, argument_threads, 0},
                      results.lines, results.out);
    }
    of.group = lanes_of_part(length, side_by_side ? count : 1);
    const bool in_one_piece = of.group == lanes && results.lines.along[0] == 1 && length >= 2 * row;
    const auto threads = static_cast<std::uint64_t>(target.workspace().multiprocessors()) * 2048 * waves;
    const std::uint64_t useful_parts =
        std::min((threads / static_cast<unsigned>(of.group) + count - 1) / count, most_parts);
    const std::uint64_t unit = in_one_piece ? tile : least_of_lane * static_cast<unsigned>(of.group);
    const std::uint64_t share = (length + useful_parts - 1) / useful_parts;
    of.part = std::min((share + unit - 1) / unit * unit, most);
    results.count = divider(count);
    results.parts = (length + of.part - 1) / of.part;
    if (results.parts > 1)
        results.of_parts = static_cast<placed_key<order_key_t<T>>*>(
            target.workspace().memory(workspace_purpose::offsets, count * results.parts * sizeof(*results.of_parts)));
    constexpr std::uint64_t most_warps = std::uint64_t{1} << 33; // of a grid
    const std::uint64_t of_warp = lanes / static_cast<unsigned>(of.group);
    const std::uint64_t warps = std::min((count * results.parts + of_warp - 1) / of_warp, most_warps);
    const grid_shape grid = grid_of_warps(warps, argument_threads);
    if (in_one_piece)
        launch(target, call, argument_lines_kernel<Op, true, T, Index, Rank>, grid, of);
    else
        launch(target, call, argument_lines_kernel<Op, false, T, Index, Rank>, grid, of);
    if (results.parts > 1)
        join_arguments(target, call, results);
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::argument_lines> {
    template <class Op, class T, class Index, std::size_t Rank>
    static void find(const cuda& target, const lines<const T, Index, Rank>& all)
    {
        constexpr std::string_view call = argument_call<Op>;
        const gpu::current_device current(target.device());
        gpu::check_place(target, call, gpu::strided_source(all.in.begin().elements()), all.in.size());
        gpu::check_place(target, call, gpu::strided_source(all.out.begin().elements()), all.out.size());
        std::array<std::size_t, Rank> extents;
        std::array<std::array<std::ptrdiff_t, 2>, Rank> strides;
        for (std::size_t k = 0; k < Rank; ++k) {
            extents[k] = all.in.extent(k);
            strides[k] = {all.in.stride(k), all.out.stride(k)};
        }
        const gpu::several_lines<2, Rank> by_axis(extents, strides, 0, 0);
        gpu::find_arguments<Op>(
            target, call,
            gpu::argument_lines<T, Index, Rank>{{by_axis, all.out.data(), {}, 0, nullptr}, all.in.data(), 0, 0},
            by_axis.lie_side_by_side(0));
    }
};

} // namespace upsweep::detail
