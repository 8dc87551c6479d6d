// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>
#include <type_traits>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/several_lines.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>
#include <upsweep/types.hpp>
#include <upsweep/verb/argmin.hpp>

// Where the least element is. Elements are compared as unsigned integers, their keys, which ascend in the order that is asked for: the
// least key with the lowest index is that of the first element that precedes all others.
namespace upsweep::gpu {

// --- keys ------------------------------------------------------------------------------------------------------------------------

template <class T>
using order_key_t = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;

// Equal for elements that are equal in the order of Op; 0 for NaN, which precedes all else, and for no other floating-point number.
template <class Op, class T>
__device__ order_key_t<T> order_key(const T& element)
{
    using key = order_key_t<T>;
    constexpr key highest = key{1} << (8 * sizeof(key) - 1);
    key ascending = 0;
    if constexpr (sub_word_float<T>) {
        return order_key<Op>(static_cast<float>(element));
    } else if constexpr (std::floating_point<T>) {
        if (element != element)
            return 0;
        const key bits = std::bit_cast<key>(element);
        ascending = (bits & highest) != 0 ? ~bits : bits | highest;
    } else if constexpr (std::is_signed_v<T>) {
        ascending = static_cast<key>(static_cast<std::make_signed_t<key>>(element)) ^ highest;
    } else {
        ascending = static_cast<key>(element);
    }
    return std::same_as<Op, minimum> ? ascending : ~ascending;
}

// A key and where it is; at first, what every element precedes.
template <class Key>
struct placed_key {
    Key key = std::numeric_limits<Key>::max();
    std::uint64_t index = std::numeric_limits<std::uint64_t>::max();

    __device__ void take(Key other, std::uint64_t at)
    {
        if (other < key || (other == key && at < index)) {
            key = other;
            index = at;
        }
    }
    __device__ void take(const placed_key& other) { take(other.key, other.index); }
};

// Of all lanes, for each of them.
template <class Key>
__device__ placed_key<Key> least_of_warp(placed_key<Key> mine)
{
#pragma unroll
    for (int k = 1; k < lanes; k *= 2)
        mine.take(shuffle_xor(mine, k));
    return mine;
}

// --- of an array -----------------------------------------------------------------------------------------------------------------

inline constexpr int argument_threads = 256;
inline constexpr int argument_rows = 8; // vectors of a lane that are on their way at once

// Where blocks leave what they find. The ticket is zero between kernels.
template <class Key>
struct argument_memory {
    tile_state_header* header;
    placed_key<Key>* of_blocks;
};

// Of all threads of a block, for the first one.
template <class Key>
__device__ placed_key<Key> least_of_block(placed_key<Key> mine, placed_key<Key>* of_warps)
{
    mine = least_of_warp(mine);
    if (lane_id() == 0)
        of_warps[warp_id()] = mine;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int w = 1; w < argument_threads / lanes; ++w)
            mine.take(of_warps[w]);
    return mine;
}

// Every thread finds the least of its elements, every block that of its threads, and the last block to end that of all blocks.
template <class Op, class In, class Index>
__global__ void __launch_bounds__(argument_threads)
    argument_kernel(In in, std::uint64_t count, argument_memory<order_key_t<std::iter_value_t<In>>> memory,
                    Index* result)
{
    using key = order_key_t<std::iter_value_t<In>>;
    constexpr int elements = elements_of<In>;
    using tiles_t = warp_tiles<elements, argument_rows>;
    __shared__ raw_array<placed_key<key>, argument_threads / lanes> of_warps;
    __shared__ bool is_last;
    const tiles_t tiles(in, count);
    const bool aligned = is_aligned<elements>(in + tiles.before);
    placed_key<key> least;
    tiles.for_each(blockIdx.x, gridDim.x, [&](std::uint64_t first) {
        key keys[argument_rows * elements];
        key lowest = std::numeric_limits<key>::max();
#pragma unroll
        for (int r = 0; r < argument_rows; ++r) {
            const In from = in + (first + static_cast<unsigned>(r * tiles_t::row));
            const auto vector = aligned ? load_vector<elements>(from) : gather_vector<elements>(from);
#pragma unroll
            for (int j = 0; j < elements; ++j) {
                keys[r * elements + j] = order_key<Op>(vector[j]);
                lowest = keys[r * elements + j] < lowest ? keys[r * elements + j] : lowest;
            }
        }
        // Seldom there is a lower one than before, and then it is looked for.
        if (lowest < least.key || least.index == std::numeric_limits<std::uint64_t>::max())
#pragma unroll
            for (int i = 0; i < argument_rows * elements; ++i)
                least.take(keys[i], first + static_cast<unsigned>(i / elements * tiles_t::row + i % elements));
    });
    if (blockIdx.x + 1 == gridDim.x)
        tiles.for_each_of_rest([&](std::uint64_t i) { least.take(order_key<Op>(gather_vector<1>(in + i)[0]), i); });
    least = least_of_block(least, &of_warps[0]);
    if (threadIdx.x == 0) {
        memory.of_blocks[blockIdx.x] = least;
        fence();
        is_last = take_ticket(memory.header, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last)
        return;
    fence();
    least = {};
    for (unsigned block = threadIdx.x; block < gridDim.x; block += argument_threads)
        least.take(memory.of_blocks[block]);
    least = least_of_block(least, &of_warps[0]);
    if (threadIdx.x == 0)
        *result = static_cast<Index>(least.index);
}

template <class Op, class In, class Index>
void find_argument(const cuda& target, std::string_view call, const In& in, std::uint64_t count, Index* result)
{
    using key = order_key_t<std::iter_value_t<In>>;
    constexpr auto kernel = argument_kernel<Op, In, Index>;
    constexpr std::size_t header_bytes = 256;
    constexpr std::uint64_t elements_a_block = std::uint64_t{argument_threads} * argument_rows * elements_of<In>;
    const std::uint64_t most = resident_blocks<kernel>(target, argument_threads, 0);
    const std::uint64_t useful = (count + elements_a_block - 1) / elements_a_block;
    const auto blocks = static_cast<unsigned>(useful < most ? useful : most);
    auto* const first = static_cast<std::byte*>(target.workspace().memory(
        workspace_purpose::arguments, header_bytes + most * sizeof(placed_key<std::uint64_t>)));
    launch(target, call, kernel, grid_shape{blocks, argument_threads, 0}, in, count,
           argument_memory<key>{reinterpret_cast<tile_state_header*>(first),
                                reinterpret_cast<placed_key<key>*>(first + header_bytes)},
           result);
}

// --- along an axis -----------------------------------------------------------------------------------------------------------------

// The lines, and parts of them: a warp finds the least of one part or, where lines lie side by side, a lane does.
template <class T, class Index, std::size_t Rank>
struct argument_lines {
    several_lines<2, Rank> lines;
    const T* in;
    Index* out;
    std::uint64_t part;                   // elements
    divider parts;                        // of a line
    divider count;                        // of lines
    placed_key<order_key_t<T>>* of_parts; // null where lines have one part each
};

template <class Op, bool SideBySide, class T, class Index, std::size_t Rank>
__global__ void __launch_bounds__(256) argument_lines_kernel(const __grid_constant__ argument_lines<T, Index, Rank> of)
{
    constexpr int step = SideBySide ? 1 : lanes;
    constexpr int at_once = 8; // elements of a lane that are on their way together
    const std::uint64_t tasks = of.count.divisor * of.parts.divisor;
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    const std::uint64_t mine = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
    for (std::uint64_t task = SideBySide ? mine : mine / lanes; task < tasks;
         task += SideBySide ? threads : threads / lanes) {
        std::uint64_t line = 0;
        std::uint64_t number = 0;
        if constexpr (SideBySide) {
            number = of.count.quotient(task);
            line = task - number * of.count.divisor;
        } else {
            line = of.parts.quotient(task);
            number = task - line * of.parts.divisor;
        }
        std::int64_t at[2];
        of.lines.find(line, at);
        const std::uint64_t first = number * of.part;
        const std::uint64_t end = first + of.part < of.lines.length ? first + of.part : of.lines.length;
        placed_key<order_key_t<T>> least;
        std::uint64_t i = first + (SideBySide ? 0U : static_cast<unsigned>(lane_id()));
        const T* from = of.in + at[0] + static_cast<std::int64_t>(i) * of.lines.along[0];
        for (; i < end; i += at_once * step) {
            T loaded[at_once];
#pragma unroll
            for (int j = 0; j < at_once; ++j) {
                if (i + j * step < end)
                    loaded[j] = *from;
                from += step * of.lines.along[0];
            }
#pragma unroll
            for (int j = 0; j < at_once; ++j)
                if (i + j * step < end)
                    least.take(order_key<Op>(loaded[j]), i + j * step);
        }
        if constexpr (!SideBySide)
            least = least_of_warp(least);
        if (SideBySide || lane_id() == 0) {
            if (of.of_parts != nullptr)
                of.of_parts[line * of.parts.divisor + number] = least;
            else
                of.out[at[1]] = static_cast<Index>(least.index);
        }
    }
}

// Puts the parts of lines together.
template <class T, class Index, std::size_t Rank>
__global__ void __launch_bounds__(256) join_arguments_kernel(const __grid_constant__ argument_lines<T, Index, Rank> of)
{
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / lanes);
    for (std::uint64_t line = blockIdx.x * (blockDim.x / lanes) + static_cast<unsigned>(warp_id());
         line < of.count.divisor; line += warps) {
        placed_key<order_key_t<T>> least;
        for (std::uint64_t part = static_cast<unsigned>(lane_id()); part < of.parts.divisor; part += lanes)
            least.take(of.of_parts[line * of.parts.divisor + part]);
        least = least_of_warp(least);
        std::int64_t at[2];
        of.lines.find(line, at);
        if (lane_id() == 0)
            of.out[at[1]] = static_cast<Index>(least.index);
    }
}

template <class Op, class T, class Index, std::size_t Rank>
void find_arguments(const cuda& target, std::string_view call, argument_lines<T, Index, Rank> of, bool side_by_side)
{
    constexpr int threads = 256;
    const std::uint64_t count = of.lines.count;
    const std::uint64_t length = of.lines.length;
    const auto multiprocessors = static_cast<std::uint64_t>(target.workspace().multiprocessors());
    const std::uint64_t useful_tasks = multiprocessors * (side_by_side ? 2048U : 64U);
    const std::uint64_t least_part = side_by_side ? 64 : 1024;
    const std::uint64_t useful_parts = (useful_tasks + count - 1) / count;
    const std::uint64_t share = (length + useful_parts - 1) / useful_parts;
    of.part = share > least_part ? share : least_part;
    const std::uint64_t parts = (length + of.part - 1) / of.part;
    of.parts = divider(parts);
    of.count = divider(count);
    if (parts > 1)
        of.of_parts = static_cast<placed_key<order_key_t<T>>*>(
            target.workspace().memory(workspace_purpose::offsets, count * parts * sizeof(*of.of_parts)));
    const auto grid = [&](std::uint64_t warps) {
        return grid_shape{some_blocks(target, (warps + threads / lanes - 1) / (threads / lanes)), threads, 0};
    };
    const std::uint64_t tasks = count * parts;
    if (side_by_side)
        launch(target, call, argument_lines_kernel<Op, true, T, Index, Rank>, grid((tasks + lanes - 1) / lanes), of);
    else
        launch(target, call, argument_lines_kernel<Op, false, T, Index, Rank>, grid(tasks), of);
    if (parts > 1)
        launch(target, call, join_arguments_kernel<T, Index, Rank>, grid(count), of);
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::argument> {
    template <class Op, class In, class Index>
    static void find(const cuda& target, In in, std::size_t count, Index* result)
    {
        const gpu::current_device current(target.device());
        gpu::check_pointer(target, argument_call<Op>, result);
        gpu::with_source(in, [&](const auto& from) {
            gpu::check_place(target, argument_call<Op>, from, count);
            gpu::find_argument<Op>(target, argument_call<Op>, from, count, result);
        });
    }
};

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
            gpu::argument_lines<T, Index, Rank>{by_axis, all.in.data(), all.out.data(), 0, {}, {}, nullptr},
            by_axis.lie_side_by_side(0));
    }
};

} // namespace upsweep::detail
